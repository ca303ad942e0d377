"""Which rows of a table may be searched: allowed keys and mirrored filters to row positions.

Leaves out: dates, ranges and joins, whose keys SQL has chosen before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sqlrag_dspy.errors import IndexUnusable, SqlRagError
from sqlrag_dspy.index import store
from sqlrag_dspy.index.contents import Contents, Ids
from sqlrag_dspy.types import Key, Table, Value


@dataclass(frozen=True)
class Selection:
    """Allowed rows: positions (None: all), and allowed keys that the index has not seen yet."""

    positions: Ids | None
    unseen: tuple[Key, ...]
    count: int


class Selector:
    """Chooses rows of one table of an open index, which does not change while it is open."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        table_id: int,
        table: Table,
        spec: store.Spec,
        contents: Contents,
    ) -> None:
        self._connection = connection
        self._id = table_id
        self._table = table
        self._spec = spec
        self._contents = contents
        self._equal = lru_cache(maxsize=32)(self._look_up)

    def select(
        self, allowed: Collection[Key] | None, filters: Mapping[str, Value | Sequence[Value]]
    ) -> Selection:
        """The rows that are among `allowed` and equal every filter."""
        chosen: Ids | None = None
        unseen: list[Key] = []
        if allowed is not None:
            chosen, unseen = self._contents.find(list(allowed))
        for name, values in filters.items():
            matching = self._filtered(name, values)
            chosen = matching if chosen is None else np.intersect1d(chosen, matching, assume_unique=True)
            unseen = []  # what an unseen row holds is not known here
        if chosen is None:
            return Selection(None, (), self._contents.row_count)
        return Selection(chosen, tuple(unseen), len(chosen) + len(unseen))

    def _filtered(self, name: str, values: Value | Sequence[Value]) -> Ids:
        column = next((c for c in self._spec.filters if c.casefold() == name.casefold()), None)
        if column is None:
            mirrored = ", ".join(self._spec.filters) or "none"
            raise IndexUnusable(
                f"column {name!r} of {self._spec.name} is not mirrored in the index (mirrored: {mirrored}); add it "
                f"to 'filters' under [tables.{self._spec.name}] and run 'sqlrag index', or restrict it in SQL"
            )
        number = self._spec.filters.index(column)
        found = [self._equal(number, self._typed(column, value)) for value in alternatives(values)]
        if len(found) == 1:
            return found[0]
        return np.unique(np.concatenate([*found, np.zeros(0, dtype=np.int64)]))

    def _look_up(self, column: int, value: Value) -> Ids:
        """Positions of the rows with this value, ascending."""
        rows = self._connection.execute(
            "SELECT row FROM mirrored WHERE table_id = ? AND col = ? AND value IS ?",
            (self._id, column, value),
        )
        return np.sort(self._contents.positions_of_ids(np.fromiter((row for (row,) in rows), dtype=np.int64)))

    def _typed(self, column: str, value: Value) -> Value:
        """The value as the column holds it: number, 0/1, or text."""
        known = self._table.column(column)
        kind = known.profile.found if known else "text"
        if value is None:
            return None
        if kind in ("integer", "number"):
            try:
                number = float(value)
            except ValueError as error:
                raise SqlRagError(
                    f"{self._spec.name}.{column} is a number, {value!r} is not; filter by a number"
                ) from error
            return int(number) if number.is_integer() else number
        if kind == "boolean":
            spoken = str(int(value) if isinstance(value, float) else value).casefold()
            if spoken in ("true", "yes", "1", "t", "y"):
                return 1
            if spoken in ("false", "no", "0", "f", "n"):
                return 0
            raise SqlRagError(f"{self._spec.name}.{column} is true or false, {value!r} is neither")
        return store.folded(value if isinstance(value, str) else str(value))


def alternatives(values: Value | Sequence[Value]) -> Sequence[Value]:
    """The values of one filter: itself, or each of several."""
    return values if isinstance(values, (list, tuple)) else (values,)
