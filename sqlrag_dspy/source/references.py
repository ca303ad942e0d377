"""References that are not declared: columns whose names suggest another table, and whose values are its keys.

Leaves out the declared ones: those are read with the tables (`introspect`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.source.reading import Reading
from sqlrag_dspy.types import Column, ForeignKey, Table

MISSING = 0.02
"""Share of a column's distinct values that may be no keys of the table that it refers to."""
EXACT = 40
"""Distinct values of a column, at most, of which none may be missing (as counted, or estimated from a sample)."""
KEPT = 1_000_000
"""Keys of other tables that the worker keeps meanwhile, at most."""
WHOLE_TEXT = 80
"""Characters from which the least and greatest text of a profile are cut."""


def infer(engine: Engine, tables: Sequence[Table], readings: Sequence[Reading]) -> list[Table]:
    """The tables with references added that their names suggest and their values confirm."""
    values = _Values(engine, {reading.table: reading for reading in readings})
    try:
        return [_inferred(values, table, tables) for table in tables]
    finally:
        values.forget()


def _inferred(values: _Values, table: Table, tables: Sequence[Table]) -> Table:
    known = {name.casefold() for reference in table.foreign_keys for name in reference.columns}
    found = list(table.foreign_keys)
    for column in table.columns:
        profile = column.profile
        if (
            column.name.casefold() in known
            or profile.found not in ("integer", "text")
            or profile.is_long_text
        ):
            continue
        if table.key == (column.name,):
            continue
        for other, key in _candidates(column, table, tables):
            if not _is_ruled_out(column, key) and values.are_contained(table, column, other, key):
                found.append(ForeignKey((column.name,), other.name, (key.name,), is_declared=False))
                break
    return dataclasses.replace(table, foreign_keys=tuple(found))


def _candidates(column: Column, table: Table, tables: Sequence[Table]) -> list[tuple[Table, Column]]:
    """Tables that the column's name suggests, with the column of theirs that it may refer to."""
    if table.is_view:
        return []
    low = column.name.casefold()
    others = [other for other in tables if other.name != table.name and not other.is_view and other.rows]
    found: list[tuple[Table, str]] = []
    keyed = [(other, other.key[0]) for other in others if len(other.key) == 1 and other.key != ("rowid",)]
    found += [(other, key) for other, key in keyed if _names(low, key.casefold(), other.name.casefold())]
    # parent_number, target_number: only when one table alone has a key of that name, and not just "id".
    ends = [(other, key) for other, key in keyed if len(key) > 2 and low.endswith("_" + key.casefold())]
    found += ends if len(ends) == 1 else []
    # A column of the same name that hardly repeats there: two duplicate rows keep it from being a key.
    for other in others:
        same = other.column(column.name)
        is_id = low == "id" or low.endswith(("_id", "code", "key"))
        if same and is_id and same.profile.distinct >= 0.85 * other.rows and same.profile.null_share == 0:
            found.append((other, same.name))
    matching = []
    for other, key in dict.fromkeys(found):
        target = other.column(key)
        if target is not None and target.profile.found == column.profile.found:
            matching.append((other, target))
    return matching


def _names(low: str, key: str, owner: str) -> bool:
    stems = {owner, owner.removesuffix("s"), owner.removesuffix("es"), owner.removesuffix("ies") + "y"}
    return low == key or any(low in (stem, f"{stem}_{key}", f"{stem}{key}", f"{stem}_id") for stem in stems)


def _is_ruled_out(column: Column, key: Column) -> bool:
    """Whether the profiles alone tell that some value of the column is no key: most candidates end here."""
    here, there = column.profile, key.profile
    if here.distinct > EXACT or column.ignores_case or key.ignores_case:
        return False
    if here.values and there.values and here.found == "text":
        return not {value for value, _ in here.values} <= {value for value, _ in there.values}
    ends = (here.minimum, there.minimum, here.maximum, there.maximum)
    if all(isinstance(end, int) for end in ends) or all(
        isinstance(end, str) and len(end) < WHOLE_TEXT for end in ends
    ):
        low, least, high, most = ends
        return bool(low < least or high > most)  # type: ignore[operator]
    return False


class _Values:
    """The values of columns as the views show them, compared in the worker.

    A table is read by the expression of one column; planning its whole view takes longer than a short table.
    """

    def __init__(self, engine: Engine, readings: Mapping[str, Reading]) -> None:
        self._engine = engine
        self._readings = readings
        self._kept: dict[tuple[str, str], str] = {}
        self._rows = 0

    def are_contained(self, table: Table, column: Column, other: Table, key: Column) -> bool:
        """Whether nearly all values of the column are keys of the other table."""
        try:
            distinct, missing = self._engine.trusted(
                "SELECT count(*), count(*) FILTER (NOT is_key) FROM (SELECT v, v IN "
                f"({self._keys(other, key)}) AS is_key FROM (SELECT DISTINCT v FROM {self._all(table, column)}))"
            )[0]
        except QueryFailed:
            return False
        return bool(distinct) and missing <= MISSING * distinct

    def forget(self) -> None:
        """Drops what was kept."""
        for name in self._kept.values():
            self._engine.trusted(f"DROP TABLE IF EXISTS {name}")

    def _all(self, table: Table, column: Column) -> str:
        reading = self._readings[table.name]
        expression = dict(reading.columns)[column.name]
        return f"(SELECT v FROM (SELECT {expression} AS v FROM {reading.relation}) WHERE v IS NOT NULL)"

    def _keys(self, other: Table, key: Column) -> str:
        """A select of the keys, from a table of them where many columns may ask for them again."""
        place = (other.name, key.name)
        if place not in self._kept:
            if key.ignores_case or self._rows + other.rows > KEPT:
                return f"SELECT v FROM {self._all(other, key)}"
            name = f"temp.keys_{len(self._kept)}"
            self._engine.trusted(
                f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT DISTINCT v FROM {self._all(other, key)}"
            )
            self._kept[place] = name
            self._rows += other.rows
        return f"SELECT v FROM {self._kept[place]}"
