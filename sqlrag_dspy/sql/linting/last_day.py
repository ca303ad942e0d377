"""Date ranges that lose their last day, or month, or take in one too many."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

from sqlglot import exp

from sqlrag_dspy.sql.dialect.dates import ISO_DATE, ISO_PART
from sqlrag_dspy.sql.linting.moments import Dated, dated
from sqlrag_dspy.sql.linting.statement import Statement


def last_day(statement: Statement) -> Iterator[str]:
    """Bounds that stop at midnight before the day they name, or at the first day of a month they name."""
    for select in statement.selects():
        bounds = [each for each in dated(select) if each.node.find_ancestor(exp.Select) is select]
        for each in bounds:
            lower = next((b for b in bounds if b.place == each.place and b.op in (">=", ">")), None)
            yield from _told(each, lower)


def _told(each: Dated, lower: Dated | None) -> Iterator[str]:
    name, value = repr(each.column.name), each.value
    day = _day(value)
    if day is None:
        if ISO_PART.fullmatch(value) and each.style == "text" and each.op in ("<=", ">"):
            effect = "leaves out nearly all of it" if each.op == "<=" else "takes in nearly all of it"
            yield f"{name} {each.op} {value!r} {effect}, since days sort after their month; write whole dates"
        return
    after = (day + timedelta(days=1)).isoformat()
    start = _day(lower.value) if lower is not None else None
    if each.has_times:
        if each.op in ("=", "in"):
            yield (
                f"{name} stores a time after the date, so it never equals {value!r}; "
                f"use >= '{day}' and < '{after}'"
            )
        elif each.op == "<=" and not (day.day == 1 and start is not None and start.day == 1 and start < day):
            yield f"{name} stores a time after the date, so '{day}' itself is left out; use < '{after}'"
        elif each.op == ">":
            yield (
                f"{name} stores a time after the date, so rows of '{day}' are taken in; "
                f"use >= '{after}', or >= '{day}' to mean it"
            )
    elif each.op == "<=" and start is not None and day.day == 1 and start.day == 1 and start < day:
        yield f"the range of {name} takes in '{day}' as well; use < '{day}' for whole months"
    elif each.op == "<=" and start is not None and start.day == 1 and start < day and _is_short(day):
        yield f"the range of {name} leaves out '{after}', the last day of its month; use <= '{after}' for whole months"
    if each.op == "<" and start is not None and start.day == 1 and start < day:
        last = monthrange(day.year, day.month)[1]
        if day.day == last and lower is not None and lower.op == ">=":
            yield f"the range of {name} leaves out its last day, '{day}'; use < '{after}' for whole months"


def _is_short(day: date) -> bool:
    """Whether it is the last day of other months, or of February in other years, and not of its own."""
    return day.day in (28, 30) and monthrange(day.year, day.month)[1] == day.day + 1


def _day(value: str) -> date | None:
    """The day that a literal names when it stands for midnight; None for other moments and parts of a date."""
    if not ISO_DATE.match(value) or value[10:].strip("T Z").replace("00:00", "").strip(":0."):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None
