"""What looks at a statement shares one parsed tree, and leaves it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_databases import CATALOG, TABLES, lines, open_duckdb, runner

from sqlrag_dspy.sql import assumptions, check, explain, explain_empty, misspelt, notices, read
from sqlrag_dspy.sql.checking.statement import resolved, tree_of
from sqlrag_dspy.types import Catalog

HERE = Path(__file__).parent
CASES = lines(HERE / "legitimate.sql")


def looked_over(query, catalog, run):
    """Everything that is said of a statement."""
    return (
        notices(query, catalog, run),
        explain(query, catalog),
        explain_empty(query, catalog, run),
        misspelt(query, catalog, run),
        assumptions(query, catalog),
        read(query.text, catalog),
    )


def is_whole(tree):
    """Whether every node still hangs under its parent."""
    return all(
        child.parent is node and child in (node.args[child.arg_key], *_listed(node.args[child.arg_key]))
        for node in tree.walk()
        for child in node.iter_expressions()
    )


def _listed(held):
    return held if isinstance(held, list) else ()


@pytest.mark.parametrize(("statement", "reason"), CASES)
def test_nothing_that_looks_at_a_statement_changes_it(statement, reason):
    query = check(statement, CATALOG)
    run = runner(open_duckdb())
    looked_over(query, CATALOG, run)
    shared = tree_of(query.text, CATALOG)
    fresh, _ = resolved(query.text, CATALOG)
    assert shared == fresh
    assert [sorted(node.meta) for node in shared.walk()] == [sorted(node.meta) for node in fresh.walk()]
    assert is_whole(shared)


def test_a_tree_is_shared_for_one_statement_over_one_catalog():
    first = tree_of("SELECT count(*) FROM orders", CATALOG)
    assert tree_of("SELECT count(*) FROM orders", CATALOG) is first
    other = Catalog(TABLES)
    assert tree_of("SELECT count(*) FROM orders", other) is not first
    assert tree_of("SELECT count(*) FROM line", CATALOG) is not first
