"""Rows and chunks of one table as arrays, packed with the generation so that a large index opens at once.

The packed arrays are a copy of what `rows` and `chunks` say; they name the vector files they were made with, and
where they are missing or of another generation the tables are read instead. Keys are read as they are needed.
Leaves out: which rows are allowed (`selection`) and in what order they stand (`ranking`).
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index import store
from sqlrag_dspy.index.words.postings import read_lengths
from sqlrag_dspy.types import Key

Ids = NDArray[np.int64]
_TYPES = {
    "row_ids": np.int64,
    "int_keys": np.int64,
    "chunk_row": np.int32,
    "chunk_column": np.int16,
    "chunk_start": np.int32,
    "chunk_end": np.int32,
    "chunk_words": np.int32,
}
_OPTIONAL = {"int_keys", "chunk_words"}
"""Arrays that a table may lack, or an earlier version did not keep."""
_CHUNK = np.dtype([(name, np.int64) for name in ("row", "col", "start", "end", "dead")])
FEW_ROWS = 20_000
"""Rows whose keys are read all at once, since that takes a moment only."""
FEW_KEYS = 0.05
"""Share of a table's keys up to which they are looked up one by one."""
_WHOLE_NUMBER = re.compile("-?[0-9]{1,17}")
_BATCH = 500
"""Ids in one statement."""


class Contents:
    """Rows, in key order, and chunks of one table. Chunk i is vector i; rows are known by position.

    `chunk_row` is the position of each chunk's row, -1 for a leftover of a changed or deleted row.
    """

    def __init__(
        self, connection: sqlite3.Connection, table_id: int, arrays: dict[str, NDArray[np.signedinteger]]
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self.row_ids = arrays["row_ids"]
        self._int_keys = arrays.get("int_keys")
        self._words = arrays.get("chunk_words")
        self.chunk_row = arrays["chunk_row"]
        self._column, self._start, self._end = (
            arrays[name] for name in ("chunk_column", "chunk_start", "chunk_end")
        )

    @property
    def row_count(self) -> int:
        return len(self.row_ids)

    def span(self, chunk: int) -> tuple[int, int, int]:
        """Column number, start and end of a chunk."""
        return int(self._column[chunk]), int(self._start[chunk]), int(self._end[chunk])

    # --- chunks ---

    @cached_property
    def chunk_words(self) -> NDArray[np.signedinteger]:
        """How many words each chunk has, its row's short texts and filter values included."""
        return read_lengths(self._connection, self._table_id) if self._words is None else self._words

    @cached_property
    def live_chunks(self) -> Ids:
        """Ids of the chunks of every row."""
        return np.flatnonzero(self.chunk_row >= 0)

    @cached_property
    def _by_row(self) -> tuple[Ids, Ids]:
        """Chunk ids row by row, and where those of each row begin."""
        live = self.live_chunks
        rows = self.chunk_row[live]
        order = live[np.argsort(rows, kind="stable")]
        return order, np.searchsorted(np.sort(rows, kind="stable"), np.arange(self.row_count + 1))

    def chunks_of(self, positions: Ids | None) -> Ids:
        """Ids of the chunks of these rows (None: all), ascending."""
        if positions is None:
            return self.live_chunks
        if len(positions) * 16 < self.row_count:
            chunks, begins = self._by_row
            counts = begins[positions + 1] - begins[positions]
            # Every row's stretch of `chunks`, laid end to end.
            shift = np.repeat(begins[positions] - np.cumsum(counts) + counts, counts)
            return np.sort(chunks[shift + np.arange(len(shift))])
        mask = np.zeros(self.row_count + 1, dtype=bool)  # the last slot is that of leftovers (-1)
        mask[positions] = True
        return np.flatnonzero(mask[self.chunk_row])

    def some_chunks(self, count: int) -> Ids:
        """Ids of `count` chunks (or all, when there are fewer) from all over the table, from first row to last.

        They are told by the keys of rows and by places in texts, so an index that was synced often and one made anew
        of the same rows give the same chunks.
        """
        live = self.live_chunks
        ends = np.cumsum(np.bincount(self.chunk_row[live], minlength=self.row_count))
        wanted = np.unique(np.linspace(0, len(live) - 1, min(count, len(live))).astype(np.int64))
        rows = np.searchsorted(ends, wanted, side="right")
        chosen = np.unique(rows)
        theirs = self.chunks_of(chosen)
        theirs = theirs[np.lexsort((self._start[theirs], self._column[theirs], self.chunk_row[theirs]))]
        counts = np.bincount(np.searchsorted(chosen, self.chunk_row[theirs]))
        begins = np.cumsum(counts) - counts
        place = np.searchsorted(chosen, rows)
        return theirs[begins[place] + wanted - (ends[rows] - counts[place])]

    # --- rows ---

    @cached_property
    def _by_id(self) -> tuple[Ids, Ids]:
        order = np.argsort(self.row_ids)
        return order, np.asarray(self.row_ids, dtype=np.int64)[order]

    def positions_of_ids(self, row_ids: Ids) -> Ids:
        """Where each row of the index stands; the ids must be of this table."""
        order, ordered = self._by_id
        return order[np.searchsorted(ordered, row_ids)]

    @cached_property
    def _keys(self) -> list[Key]:
        """Every key; they stand in the order of their spelling."""
        if self._int_keys is not None:
            return list(self._int_keys.tolist())
        found = self._connection.execute(
            "SELECT key FROM rows WHERE table_id = ? ORDER BY key", (self._table_id,)
        )
        return [store.key_of(key) for (key,) in found]

    @cached_property
    def _position_of(self) -> dict[Key, int]:
        return {key: at for at, key in enumerate(self._keys)}

    @cached_property
    def _sorted_int_keys(self) -> tuple[Ids, Ids] | None:
        if self._int_keys is None:
            return None
        order = np.argsort(self._int_keys, kind="stable")
        return order, self._int_keys[order]

    def keys_at(self, positions: Ids) -> list[Key]:
        """The keys of the rows at these positions."""
        if self._int_keys is not None:
            return list(self._int_keys[positions].tolist())
        if "_keys" in self.__dict__ or self.row_count <= FEW_ROWS or len(positions) > FEW_ROWS:
            return [self._keys[at] for at in positions.tolist()]
        ids = self.row_ids[positions].tolist()
        found: dict[int, Key] = {}
        for at in range(0, len(ids), _BATCH):
            batch = ids[at : at + _BATCH]
            rows = self._connection.execute(
                f"SELECT id, key FROM rows WHERE id IN ({','.join('?' * len(batch))})", batch
            )
            found.update((id_, store.key_of(key)) for id_, key in rows)
        return [found[id_] for id_ in ids]

    def find(self, keys: Sequence[Key]) -> tuple[Ids, list[Key]]:
        """Positions of the rows with these keys, ascending, each once; and the keys that no row has."""
        if (known := self._sorted_int_keys) is not None and len(known[0]) and len(keys):
            asked = _integers(keys)
            if asked is not None:
                order, ordered = known
                places = np.minimum(np.searchsorted(ordered, asked), len(ordered) - 1)
                is_known = ordered[places] == asked
                unseen = list(dict.fromkeys(asked[~is_known].tolist()))
                return np.unique(order[places[is_known]]), unseen
        plain = list(dict.fromkeys(map(_plain_key, keys)))
        is_dear = "_position_of" not in self.__dict__ and self.row_count > FEW_ROWS
        if is_dear and len(plain) <= FEW_KEYS * self.row_count:
            places_found = [self._look_up(key) for key in plain]
        else:
            places_found = [self._position_of.get(key) for key in plain]
        positions = np.array([at for at in places_found if at is not None], dtype=np.int64)
        return np.unique(positions), [key for key, at in zip(plain, places_found) if at is None]

    def _look_up(self, key: Key) -> int | None:
        found = self._connection.execute(
            "SELECT id FROM rows WHERE table_id = ? AND key = ?", (self._table_id, store.key_json(key))
        ).fetchone()
        return None if found is None else int(self.positions_of_ids(np.array(found))[0])


def _integers(keys: Sequence[Key]) -> Ids | None:
    """The keys as an array when every one is a whole number, else None."""
    if type(keys[0]) is not int:
        return None
    try:
        asked = np.array(keys)
    except ValueError:  # lists of different lengths
        return None
    return asked if asked.dtype == np.int64 and asked.ndim == 1 else None


def _plain_key(key: Key) -> Key:
    if isinstance(key, (list, tuple)):
        return key[0] if len(key) == 1 else tuple(key)
    return key


# --- packing ----------------------------------------------------------------------------------------


def read(connection: sqlite3.Connection, table_id: int) -> Contents:
    """The contents of a table, packed or not."""
    packed = _unpack(connection, table_id)
    return Contents(connection, table_id, packed or _gather(connection, table_id))


def pack(connection: sqlite3.Connection, table_id: int) -> None:
    """Keeps the arrays of a table with the generation that is being written; call after its vectors are named."""
    file = _vector_file(connection, table_id)
    connection.execute("DELETE FROM arrays WHERE table_id = ?", (table_id,))
    packed = {
        name: np.ascontiguousarray(array, dtype=_TYPES[name]).tobytes()
        for name, array in _gather(connection, table_id).items()
    }
    connection.executemany(
        "INSERT INTO arrays VALUES (?, ?, ?, ?)",
        ((table_id, name, file, content) for name, content in packed.items()),
    )
    store.set_meta(connection, _sums_name(table_id), {"file": file, **_sums(packed)})


def forget(connection: sqlite3.Connection, table_id: int) -> None:
    """Drops what is packed of a table that is indexed no more."""
    connection.execute("DELETE FROM arrays WHERE table_id = ?", (table_id,))
    connection.execute("DELETE FROM meta WHERE name = ?", (_sums_name(table_id),))


def _sums_name(table_id: int) -> str:
    return f"checksums {table_id}"


def _sums(packed: Mapping[str, bytes]) -> dict[str, int]:
    return {name: zlib.crc32(content) for name, content in packed.items()}


def _vector_file(connection: sqlite3.Connection, table_id: int) -> str:
    """The name of one vector file of the table: every sync that changes it writes new ones."""
    found = connection.execute("SELECT min(file) FROM vectors WHERE table_id = ?", (table_id,)).fetchone()
    return str(found[0])


def _unpack(connection: sqlite3.Connection, table_id: int) -> dict[str, NDArray[np.signedinteger]] | None:
    """The packed arrays of this generation; None where there are none. Raises IndexUnusable when damaged."""
    if not store.has_table(connection, "arrays"):
        return None
    file = _vector_file(connection, table_id)
    packed: dict[str, bytes] = dict(
        connection.execute(
            "SELECT name, content FROM arrays WHERE table_id = ? AND file = ?", (table_id, file)
        ).fetchall()
    )
    if not packed:
        return None
    noted = store.meta(connection, _sums_name(table_id))
    try:
        # An earlier version noted none, or left the note of an older generation standing.
        is_sound = noted is None or noted.pop("file") != file or noted == _sums(packed)
        arrays = {
            name: np.frombuffer(content, dtype=_TYPES[name])
            for name, content in packed.items()
            if name in _TYPES
        }
    except (ValueError, TypeError) as error:  # cut short, or no bytes at all
        raise store.damaged(f"what is packed beside {file}") from error
    of_rows, of_chunks = (
        {len(array) for name, array in arrays.items() if name.startswith("chunk_") == is_chunk}
        for is_chunk in (False, True)
    )
    if not is_sound or len(of_rows) > 1 or len(of_chunks) > 1:
        raise store.damaged(f"what is packed beside {file}")
    return arrays if _TYPES.keys() - _OPTIONAL <= arrays.keys() else None


def _gather(connection: sqlite3.Connection, table_id: int) -> dict[str, NDArray[np.signedinteger]]:
    """The arrays as the tables say."""
    of_table = (table_id,)
    rows = connection.execute("SELECT id, key FROM rows WHERE table_id = ? ORDER BY key", of_table).fetchall()
    row_ids = np.fromiter((id_ for id_, _ in rows), dtype=np.int64, count=len(rows))
    chunks = np.fromiter(
        connection.execute(
            "SELECT row, col, start, end, dead FROM chunks WHERE table_id = ? ORDER BY id", of_table
        ),
        dtype=_CHUNK,
    )
    arrays: dict[str, NDArray[np.signedinteger]] = {
        "row_ids": row_ids,
        "chunk_row": np.full(len(chunks), -1, dtype=np.int32),
        "chunk_column": chunks["col"].astype(np.int16),
        "chunk_start": chunks["start"].astype(np.int32),
        "chunk_end": chunks["end"].astype(np.int32),
        "chunk_words": read_lengths(connection, table_id),
    }
    is_live = chunks["dead"] == 0
    order = np.argsort(row_ids)
    arrays["chunk_row"][is_live] = order[np.searchsorted(row_ids[order], chunks["row"][is_live])]
    if all(map(_WHOLE_NUMBER.fullmatch, (key for _, key in rows))):
        arrays["int_keys"] = np.fromiter((int(key) for _, key in rows), dtype=np.int64, count=len(rows))
    return arrays
