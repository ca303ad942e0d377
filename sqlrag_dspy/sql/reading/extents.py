"""Recognises how far the ends of a column lie apart: MAX(x) - MIN(x), of dates in days."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number, string
from sqlrag_dspy.sql.dialect.dates import sorts_as_text
from sqlrag_dspy.sql.elapsed import date_column, is_timed, stored_date
from sqlrag_dspy.sql.kinds import field_of, function_name
from sqlrag_dspy.types import Item

_DAYS = ("julianday", "julian")


def range_of(node: exp.Expr) -> Item | None:
    """The column whose greatest value less its least an expression is; None for any other expression."""
    node = bare(node)
    if isinstance(node, exp.Sub):
        high, low = node.this, node.expression
    elif function_name(node) in ("date_diff", "datediff") and len(node.expressions) == 3:
        if string(node.expressions[0]) != "day":
            return None
        low, high = node.expressions[1:]
    else:
        return None
    found = _inside(high, "max")
    if found is None or found != _inside(low, "min"):
        return None
    inner, is_counted = found
    dated, raw = date_column(inner), stored_date(inner)
    if raw is not None and not sorts_as_text(raw):
        return None  # the greatest text is not the last date
    if dated is not None:
        is_whole = not isinstance(node, exp.Sub)
        if (not is_counted and not is_whole) or (is_whole and is_timed(dated[1])):
            return None
        return Item(dated[0].name, dated[1].name, "range")
    named = field_of(inner)
    if named is None or named.table is None or named.column is None or is_counted:
        return None
    return Item(named.table.name, named.column.name, "range") if named.column.is_number else None


def _inside(node: exp.Expr, aggregate: str) -> tuple[exp.Expr, bool] | None:
    """What is inside MAX(x), julianday(MAX(x)) or CAST(MAX(x) AS DATE), and whether days are counted."""
    node, is_counted = bare(node), False
    found = False
    while True:
        name = function_name(node)
        if isinstance(node, exp.Sub) and number(node.expression) == "0.5" and not found:
            node = bare(node.this)  # the half day by which `julian` is ahead of SQLite's julianday
        elif isinstance(node, exp.Cast) and not found:
            node = bare(node.this)
        elif name == aggregate and len(node.expressions) == 1 and not found:
            node, found = bare(node.expressions[0]), True
        elif name == "try_strptime" and not found:
            column = stored_date(
                node.expressions[0]
            )  # the greatest text is the last date only where it sorts so
            if column is None or not sorts_as_text(column):
                return None
            node = bare(node.expressions[0])
        elif name in _DAYS and len(node.expressions) == 1:
            node, is_counted = bare(node.expressions[0]), True
        else:
            return (node, is_counted) if found else None
