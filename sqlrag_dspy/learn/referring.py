"""Made questions about rows and others of their table: "employees under Ana", "with the same job as Ana"."""

from __future__ import annotations

from sqlrag_dspy.learn.patterns import Pattern, Surfaces
from sqlrag_dspy.learn.phrases import Draw, value_of
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.sketching.referring import other_row, reference_of
from sqlrag_dspy.types import Item, Predicate, Same, Table

OTHER = "other"
"""The group of a pattern that is the row which is referred to."""


def share(draw: Draw, database: Database) -> Same | None:
    """What rows have in common with one that is named, said as {alike} and {v}; None without a column or a name."""
    display, column = database.display_column(draw.table), draw.pick("text")
    values = [v for v, _ in display.profile.values] or list(display.profile.samples)
    if column is None or column.name == display.name or not values:
        return None
    draw.said["alike"], value = draw.noun(column, False) or "", draw.rng.choice(values)
    draw.said["v"] = str(value)
    named = (Predicate(draw.table.name, display.name, "=", value),)
    return Same(Item(draw.table.name, column.name), (named,))


def refers(pattern: Pattern) -> bool:
    """Whether a pattern speaks of rows that others of their table refer to."""
    return bool(pattern.via) or OTHER in pattern.groups


def may_refer(table: Table, surfaces: Surfaces) -> bool:
    """Whether rows of a table refer to others of it, in a way that has words."""
    return surfaces.knows(table.name, reference_of(table))


def name_other(draw: Draw, pattern: Pattern, database: Database) -> Item | None:
    """The other row, with the words for it and its restriction; None when a word or a value is missing."""
    table, via = draw.table, reference_of(draw.table)
    item = other_row(table)
    if item is None:
        return None
    for slot in ("by", "did"):
        draw.said[slot] = draw.surfaces.word(draw.rng, draw.lang, table.name, via, slot) or ""
    if pattern.via == "value":
        display = database.display_column(table)
        values = [v for v, _ in display.profile.values] or list(display.profile.samples)
        if not values:
            return None
        value = draw.rng.choice(values)
        draw.said["v"] = str(value)
        draw.filters.append((Predicate(table.name, display.name, "=", value, via=via),))
    if pattern.via == "kind":
        found = value_of(draw, "category")
        if found is None:
            return None
        draw.said["kind"] = found[2]
        draw.filters.append((Predicate(table.name, found[0], "=", found[1], via=via),))
    return item
