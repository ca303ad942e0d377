"""The days from one date column of a row to another, written and recognised.

SQLite says julianday(b) - julianday(a); DuckDB counts whole days with date_diff. Both are told by the columns'
own formats. A plain minus between dates kept as text, which in SQLite subtracts their years, means the same.
Leaves out differences of other units, but for a factor that turns days into hours or weeks.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.dialect.comparing import bare, number, string
from sqlrag_dspy.sql.dialect.dates import (
    as_moment,
    call,
    cast,
    has_time,
    iso_literal,
    parsed,
    read_date,
    text,
    text_date,
)
from sqlrag_dspy.sql.kinds import column_kind, field_of, function_name, kind_of
from sqlrag_dspy.sql.reading.date_parts import dated
from sqlrag_dspy.types import Column, Table


@dataclass(frozen=True)
class Elapsed:
    """The days from `start` to `end`, two date columns of one table, times `factor` (24: hours)."""

    table: Table
    start: Column
    end: Column
    factor: float = 1.0


def days_between(start: exp.Expr, start_column: Column, end: exp.Expr, end_column: Column) -> exp.Expr:
    """The days from one date to another; whole ones where neither column has a time of day.

    Raises SqlRejected for a column that holds no dates.
    """
    for column in (start_column, end_column):
        if not column.is_date:
            raise SqlRejected(f"{column.name!r} holds no dates, so no days can be counted from or to it")
    first, last = (
        parsed(node, column) if column.profile.date_formats else node
        for node, column in ((start, start_column), (end, end_column))
    )
    return days_from(first, last, is_whole=not is_timed(start_column) and not is_timed(end_column))


_KEPT = ("max", "min", "any_value", "first", "last", "arbitrary")
"""Functions of one argument that give one of its values as it is stored."""


def stored_date(node: exp.Expr) -> Column | None:
    """The text column that holds dates of which an expression is one value: itself, MAX or a subquery of it."""
    node = bare(node)
    while True:
        if isinstance(node, exp.Subquery):
            node = bare(node.this)
        elif isinstance(node, exp.Select) and len(node.expressions) == 1:
            node = bare(node.expressions[0].unalias())
        elif function_name(node) in _KEPT and len(node.expressions) == 1:
            node = bare(node.expressions[0])
        else:
            return text_date(node)


def text_difference(node: exp.Sub) -> exp.Expr | None:
    """The days that a minus between a text date and another date means; None when it is no such minus."""
    if not _is_text_date(node.this) and not _is_text_date(node.expression):
        return None
    last, first = _moment(node.this), _moment(node.expression)
    if last is None or first is None:
        return None
    return days_from(first[0], last[0], is_whole=not first[1] and not last[1])


def _is_text_date(node: exp.Expr) -> bool:
    return stored_date(node) is not None or _iso_pattern(node) is not None


def _iso_pattern(node: exp.Expr) -> str | None:
    """The pattern of a strftime that writes whole ISO dates."""
    node = bare(node)
    pattern = string(node.expressions[-1]) if function_name(node) == "strftime" else None
    return pattern if pattern is not None and pattern.startswith("%Y-%m-%d") else None


def _moment(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """A date as DuckDB reads it, and whether it has a time of day; None for anything else."""
    column = stored_date(node)
    if column is not None:
        return parsed(node, column), has_time(column)
    pattern = _iso_pattern(node)
    if pattern is not None:
        return as_moment(node), pattern != "%Y-%m-%d"
    said = string(node)
    if said is not None and said.lower() != "now" and iso_literal(said) is None and read_date(said) is None:
        return None
    kind = kind_of(node)
    if said is None and kind not in ("date", "timestamp"):
        return None
    moment = as_moment(bare(node))
    return moment, kind_of(moment) != "date"


def days_from(first: exp.Expr, last: exp.Expr, *, is_whole: bool) -> exp.Expr:
    """The days from one moment to another, both as DuckDB's own dates."""
    if is_whole:
        return call("date_diff", text("day"), cast(first, "DATE"), cast(last, "DATE"))
    return exp.Sub(this=call("julian", last), expression=call("julian", first))


def elapsed_of(node: exp.Expr) -> Elapsed | None:
    """The days between two columns that an expression computes, None when it computes something else."""
    node = bare(node)
    if isinstance(node, exp.Mul):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            digits, found = number(one), elapsed_of(other)
            if digits is not None and found is not None and float(digits) > 0:
                return Elapsed(found.table, found.start, found.end, found.factor * float(digits))
        return None
    if isinstance(node, exp.Sub):
        ends = _day_number(node.this), _day_number(node.expression)
    elif function_name(node) in ("date_diff", "datediff") and len(node.expressions) == 3:
        if string(node.expressions[0]) != "day":
            return None
        ends = _whole_day(node.expressions[2]), _whole_day(node.expressions[1])
    else:
        return None
    last, first = ends
    if last is None or first is None or last[0] is not first[0] or last[1] is first[1]:
        return None
    return Elapsed(last[0], first[1], last[1])


def is_timed(column: Column) -> bool:
    return has_time(column) or column_kind(column) == "timestamp"


def _day_number(node: exp.Expr) -> tuple[Table, Column] | None:
    """The column inside julianday(x), julian(x) or julian(x) - 0.5."""
    node = bare(node)
    if isinstance(node, exp.Sub) and number(node.expression) == "0.5":
        node = bare(node.this)
    if function_name(node) not in ("julianday", "julian") or len(node.expressions) != 1:
        return None
    return date_column(node.expressions[0])


def _whole_day(node: exp.Expr) -> tuple[Table, Column] | None:
    """The column of which a day is taken; one with a time of day would be cut."""
    found = date_column(node.this if isinstance(bare(node), exp.Cast) else node)
    return None if found is None or is_timed(found[1]) else found


def date_column(node: exp.Expr) -> tuple[Table, Column] | None:
    """The date column that an expression stands for, however its text is parsed or put together."""
    node = bare(node)
    if function_name(node) == "try_strptime":
        node = bare(node.expressions[0])
    found = field_of(node)
    if found is not None:
        is_date = found.column is not None and found.column.is_date
        return (found.table, found.column) if is_date and found.table and found.column else None
    spelt = dated(node)
    if spelt is None:
        return None
    whole = "%Y-%m-%d" if not is_timed(spelt.column) else "%Y-%m-%d %H:%M"
    return (spelt.table, spelt.column) if spelt.pattern in (whole, f"{whole}:%S") else None
