"""What a query takes for granted that a question may have meant otherwise, read off the query.

Facts of the statement alone: which rows a join leaves out, what "first" was taken to mean, how dates are compared.
Whether they matter is for the reader; what is likely wrong is said by the lints.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.statement import tree_of
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    field_with_column,
    meant,
    place_of,
    sources_used,
    terms_of,
    unwrapped,
)
from sqlrag_dspy.sql.probing import Probe
from sqlrag_dspy.sql.telling.phrases import condition_text, plain_name
from sqlrag_dspy.types import Catalog, CheckedSql

MOST = 5
"""Assumptions of one query."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def assumptions(query: CheckedSql, catalog: Catalog, *, limit: int = 1000) -> tuple[str, ...]:
    """A line each, at most `MOST`; () for a query that takes nothing for granted. `limit` is what `check` was given."""
    try:
        tree = tree_of(query.text, catalog)
    except (SqlRejected, RecursionError):
        return ()
    statement = Statement(tree, catalog, Probe(tree, catalog, None), limit)
    found: dict[str, None] = {}
    for select in statement.selects():
        for said in (*_ranked(statement, select), *_left_out(select), *_dated(select)):
            found[said] = None
    return tuple(found)[:MOST]


def _ranked(statement: Statement, select: exp.Select) -> Iterator[str]:
    """By what rows are first, where only the first are kept."""
    order, kept = select.args.get("order"), statement.own_limit(select)
    if order is None or kept is None or not order.expressions:
        return
    first = order.expressions[0]
    end = "highest" if first.args.get("desc") else "lowest"
    yield f"'first' is taken as the {end} {condition_text(meant(first.this, select))}"


def _left_out(select: exp.Select) -> Iterator[str]:
    """Rows that an inner join leaves out because nothing refers to them, where those rows are what is shown."""
    group = select.args.get("group")
    shown = {
        name
        for node in (*select.expressions, *(group.expressions if group else ()))
        for name in sources_used(node)
    }
    for term in terms_of(select):
        if not isinstance(term, exp.EQ):
            continue
        for one, other in ((term.this, term.expression), (term.expression, term.this)):
            child, parent = field_with_column(unwrapped(one)), field_with_column(unwrapped(other))
            place = place_of(unwrapped(other))
            if (
                child is None
                or parent is None
                or child.table is None
                or parent.table is None
                or place is None
            ):
                continue
            refers = any(
                key.columns == (child.name,)
                and key.table == parent.table.name
                and child.table is not parent.table
                for key in child.table.foreign_keys
            )
            if refers and place[0] in shown:
                yield f"{plain_name(parent.table.name)} without {plain_name(child.table.name)} are left out"


def _dated(select: exp.Select) -> Iterator[str]:
    """How dates are compared."""
    where = select.args.get("where")
    for node in where.find_all(*_COMPARISONS) if where is not None else ():
        found = (field_with_column(column) for column in node.find_all(exp.Column))
        if any(each is not None and each.column is not None and each.column.is_date for each in found):
            yield "dates are compared as they are stored, with no time zone"
            return
