"""Totals and extremes over a column with values that do not fit its type.

Among numbers they read as NULL and are left out; among dates kept as text "unknown" is the latest of all.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.dialect.dates import sorts_as_text, text_date
from sqlrag_dspy.sql.kinds import Field, function_name
from sqlrag_dspy.sql.linting.absence import is_missing, required
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    field_with_column,
    own,
    place_of,
    said,
    unwrapped,
    where_of,
)
from sqlrag_dspy.sql.probing import within

_EXTREMES = ("min", "max")


def misfits(statement: Statement) -> Iterator[str]:
    """SUM, AVG, MIN or MAX of a column in which values were stored that are none of its type."""
    for select in statement.selects():
        for call in select.find_all(exp.Sum, exp.Avg, exp.Anonymous):
            if (name := _name(call)) is None or not own(call, select):
                continue
            given = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
            column = unwrapped(given)
            found = field_with_column(column)
            if found is None or found.column is None:
                continue
            if found.column.profile.found == "text" and isinstance(bare(given), exp.Cast):
                yield from _lost_texts(statement, select, given, found, name)
            if not found.column.profile.misfits:
                continue
            if found.column.profile.date_formats:
                is_text = text_date(bare(given)) is not None and sorts_as_text(found.column)
                if is_text and place_of(column) not in required(select):
                    yield f'{_holds(found)}; {name} compares them as text, use date("{found.name}")'
            elif is_missing(statement, select, column):
                yield f"{_holds(found)} and read as NULL; {name} leaves them out: correct them in the source, or say so"


def _lost_texts(
    statement: Statement, select: exp.Select, given: exp.Expr, found: Field, name: str
) -> Iterator[str]:
    """Texts of a text column that is added up as numbers, which are none."""
    missing = [exp.Is(this=node.copy(), expression=exp.Null()) for node in (unwrapped(given), given)]
    lost = within(
        select,
        [exp.Count(this=exp.Star())],
        [*where_of(select), exp.Not(this=missing[0]), missing[1]],
    )
    if many := statement.probe.number(lost):
        yield (
            f"{said(found)} is text, of which {many} value(s) here are no number and read as NULL; {name} leaves them "
            "out: correct them in the source, or say so"
        )


def _holds(found: Field) -> str:
    column = found.column
    sort = "date" if column is not None and column.is_date else "number"
    return f"{said(found)} holds {column.profile.misfits if column is not None else 0} value(s) that are no {sort}"


def _name(call: exp.Expr) -> str | None:
    """What the call aggregates by, when it is one of one thing."""
    if isinstance(call, exp.Sum | exp.Avg):
        return type(call).__name__.upper()
    name = function_name(call)
    return name.upper() if name in _EXTREMES and len(call.expressions) == 1 else None
