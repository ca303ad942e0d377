"""Made questions about groups as wholes: the first of each, what has both of two, and parts of an amount."""

from __future__ import annotations

from typing import Any

from sqlrag_dspy.learn.others import another
from sqlrag_dspy.learn.patterns import Pattern
from sqlrag_dspy.learn.phrases import Draw, compare, dated_years
from sqlrag_dspy.types import Catalog, Item, Predicate

OTHER = 0.3
"""How often "each" is said of another table's rows, where there is one."""

Bound = tuple[Item, str, Any]


def each_of(draw: Draw, pattern: Pattern, catalog: Catalog) -> tuple[Item, ...] | None:
    """What the first rows are taken within, said as {each}; empty when the pattern asks for none, None without any."""
    if not pattern.each:
        return ()
    if pattern.each != "text":
        dated = next((c for c in draw.table.columns if c.is_date), None)
        part: Any = "year_month" if pattern.each == "month" else pattern.each
        return (Item(draw.table.name, dated.name, "", part),) if dated is not None else None
    other = another(draw, catalog) if draw.rng.random() < OTHER else None
    if other is not None:
        item, draw.said["each"], draw.said["eachs"] = other
        return (item,)
    column = draw.pick("text")
    if column is None:
        return None
    draw.said["each"], draw.said["eachs"] = draw.noun(column, False) or "", draw.noun(column, True) or ""
    return (Item(draw.table.name, column.name),)


def both_of(draw: Draw, pattern: Pattern) -> Bound | None:
    """That a group has rows of two values, said as {v1} and {v2}, or of two years, said as {y1} and {y2}."""
    if "v1" in pattern.slots:
        column = compare(draw)
        if column is None:
            return None
        return Item(draw.table.name, column.name, "count_distinct"), "=", 2
    found = dated_years(draw)
    if found is None:
        return None
    dated, first, last = found
    if first == last:
        return None
    years = sorted(draw.rng.sample(range(first, last + 1), 2))
    draw.said["y1"], draw.said["y2"] = (str(year) for year in years)
    draw.filters.append((Predicate(draw.table.name, dated.name, "in", tuple(years), "year"),))
    return Item(draw.table.name, dated.name, "count_distinct", "year"), "=", 2


def amount_of(draw: Draw) -> Item | None:
    """The amount that a part is taken of, said as {measure}."""
    column = draw.pick("number")
    if column is None:
        return None
    draw.said["measure"] = draw.noun(column, False) or ""
    return Item(draw.table.name, column.name)
