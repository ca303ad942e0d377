"""Made questions that set two parts of the rows beside each other: two values of a column, or two periods."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlrag_dspy.learn.patterns import Pattern
from sqlrag_dspy.learn.phrases import Draw, compare, dated_years
from sqlrag_dspy.learn.restrictions import MONTHS
from sqlrag_dspy.link.dates.intervals import move_months
from sqlrag_dspy.program.sketching.skeleton import BESIDE
from sqlrag_dspy.types import Beside, Item, Predicate

WHOLE_YEARS = 0.6
"""How often periods are years, rather than months of one year."""

_Groups = tuple[tuple[Predicate, ...], ...]


def comparison(pattern: Pattern) -> str:
    """How a pattern compares two parts, "" where it does not."""
    if pattern.having in ("more", "less"):
        return pattern.having
    ordered = pattern.order.partition(":")[2]
    shown = BESIDE.get(pattern.show.removeprefix("group+"), "")
    return shown or (ordered if ordered in BESIDE.values() else "")


def beside_of(draw: Draw, pattern: Pattern, of: Item) -> Beside | None:
    """The two parts, said as {v1} and {v2} or {p1} and {p2}; None when the table has none to compare."""
    how: Any = comparison(pattern)
    parts = _values(draw) if "v1" in pattern.slots else _periods(draw)
    if parts is None:
        return None
    return Beside(of, parts[0], parts[1], how, not pattern.order.endswith(how))


def _values(draw: Draw) -> tuple[_Groups, _Groups] | None:
    column = compare(draw)
    if column is None:
        return None
    pair = draw.filters.pop()[0].value
    first, second = (
        ((Predicate(draw.table.name, column.name, "=", value),),)
        for value in (pair if isinstance(pair, tuple) else ())
    )
    return first, second


def _periods(draw: Draw) -> tuple[_Groups, _Groups] | None:
    found = dated_years(draw)
    if found is None:
        return None
    dated, first, last = found
    rng = draw.rng
    if first < last and rng.random() < WHOLE_YEARS:
        years = sorted(rng.sample(range(first, last + 1), 2))
        draw.said["p1"], draw.said["p2"] = (str(year) for year in years)
        spans = [(date(year, 1, 1), date(year + 1, 1, 1)) for year in years]
    else:
        year, months = rng.randint(first, last), sorted(rng.sample(range(12), 2))
        names = [MONTHS[draw.lang][month] for month in months]
        joint = " " if draw.lang != "es" else " de "
        draw.said["p1"] = f"{names[0]}{joint}{year}"
        draw.said["p2"] = f"{names[1]}{joint}{year}"
        spans = [(start := date(year, month + 1, 1), move_months(start, 1)) for month in months]
    one, other = (
        (
            (Predicate(draw.table.name, dated.name, ">=", start.isoformat()),),
            (Predicate(draw.table.name, dated.name, "<", end.isoformat()),),
        )
        for start, end in spans
    )
    return one, other
