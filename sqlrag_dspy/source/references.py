"""References that are not declared: columns whose names suggest another table, and whose values are its keys.

Leaves out the declared ones: those are read with the tables (`introspect`).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
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
    targets = _Targets(tables)
    try:
        return [_inferred(values, table, targets) for table in tables]
    finally:
        values.forget()


def _inferred(values: _Values, table: Table, targets: _Targets) -> Table:
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
        for other, key in targets.of(column, table):
            if not _is_ruled_out(column, key) and values.are_contained(table, column, other, key):
                found.append(ForeignKey((column.name,), other.name, (key.name,), is_declared=False))
                break
    return dataclasses.replace(table, foreign_keys=tuple(found))


class _Targets:
    """The tables that a column may refer to by its name; looked up, as every column of every table asks."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._named: dict[str, list[tuple[Table, str]]] = defaultdict(list)
        """By what a column is called that refers to a key."""
        self._keyed: dict[str, list[tuple[Table, str]]] = defaultdict(list)
        """By what the key itself is called."""
        self._held: dict[str, list[tuple[Table, Column]]] = defaultdict(list)
        """By what any column is called."""
        for table in tables:
            if table.is_view or not table.rows:
                continue
            if len(table.key) == 1 and table.key != ("rowid",):
                key = table.key[0]
                self._keyed[key.casefold()].append((table, key))
                for name in _referring(key.casefold(), table.name.casefold()):
                    self._named[name].append((table, key))
            for low, column in {c.name.casefold(): c for c in reversed(table.columns)}.items():
                self._held[low].append((table, column))

    def of(self, column: Column, table: Table) -> list[tuple[Table, Column]]:
        """Tables that the name of a table's column suggests, with the column of theirs that it may refer to."""
        if table.is_view:
            return []
        low = column.name.casefold()
        found = [(other, key) for other, key in self._named.get(low, ()) if other.name != table.name]
        # parent_number, target_number: only when one table alone has a key of that name, and not just "id".
        tails = [low[at + 1 :] for at, sign in enumerate(low) if sign == "_" and len(low) - at > 3]
        ends = [each for tail in tails for each in self._keyed.get(tail, ()) if each[0].name != table.name]
        found += ends if len(ends) == 1 else []
        # A column of the same name that hardly repeats there: two duplicate rows keep it from being a key.
        if low == "id" or low.endswith(("_id", "code", "key")):
            for other, same in self._held.get(low, ()):
                is_telling = same.profile.distinct >= 0.85 * other.rows and same.profile.null_share == 0
                if is_telling and other.name != table.name:
                    found.append((other, same.name))
        matching = []
        for other, key in dict.fromkeys(found):
            target = other.column(key)
            if target is not None and target.profile.found == column.profile.found:
                matching.append((other, target))
        return matching


def _referring(key: str, owner: str) -> set[str]:
    """What a column may be called that refers to the key of a table, in lower case."""
    stems = {owner, owner.removesuffix("s"), owner.removesuffix("es"), owner.removesuffix("ies") + "y"}
    return {key, *(name for stem in stems for name in (stem, f"{stem}_{key}", f"{stem}{key}", f"{stem}_id"))}


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
