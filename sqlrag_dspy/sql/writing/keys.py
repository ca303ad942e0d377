"""Key filters to SQL: the keys of the rows that a search may look at. Sketches are building.py's."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.allowed import refuse_unlisted
from sqlrag_dspy.sql.checking.grammar import parse, render
from sqlrag_dspy.sql.writing.building import write
from sqlrag_dspy.sql.writing.conditions import Filters
from sqlrag_dspy.sql.writing.predicates import find_table
from sqlrag_dspy.sql.writing.referring import source
from sqlrag_dspy.types import Catalog, Item, Sketch


def keys_query(table: str, filters: Filters, catalog: Catalog) -> str:
    """SELECT of the key columns of the rows of `table` that pass `filters`, alternatives as in Sketch.filters."""
    found = find_table(catalog, table)
    items = tuple(Item(found.name, name) for name in found.key)
    return write(Sketch(found.name, items, filters=tuple(tuple(each) for each in filters)), catalog)


def keys_where(table: str, where: str, catalog: Catalog) -> str:
    """SELECT of the key columns of the rows of `table` for which the SQL condition `where` holds.

    The condition is parsed by itself and must be one condition: no ORDER BY, LIMIT or second query after it.
    Its dialect is left as it is, since the result is still to be checked.
    """
    found = find_table(catalog, table)
    if not where.strip():
        raise SqlRejected("the condition is empty; write one such as status = 'open'")
    try:
        tree = parse(f"SELECT 1 WHERE {where}", brackets=catalog.dialect == "sqlite")
    except RecursionError as error:
        raise SqlRejected("the condition is nested too deeply; use IN (…) or fewer brackets") from error
    said = {key for key, value in tree.args.items() if value} - {"expressions", "where"}
    if not isinstance(tree, exp.Select) or said or len(tree.expressions) != 1:
        raise SqlRejected(
            "write a single condition, such as status = 'open' AND year > 2020, and nothing after it"
        )
    refuse_unlisted(tree)
    query = exp.Select(
        expressions=[exp.column(exp.to_identifier(name, quoted=True)) for name in found.key],
        from_=exp.From(this=source(found.name)),
        where=tree.args["where"],
    )
    return render(query)
