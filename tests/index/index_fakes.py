"""A source in memory and an embedder without a model, for the tests of this room."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index import store as stores
from sqlrag_dspy.types import Column, Found, Key, Profile, Table, Value

TOY = ["toy"]


class ToyEmbedder:
    """Words to fixed random directions, summed: alike when words are shared. Counts the texts it was given."""

    def __init__(self, dimensions: int = 24) -> None:
        self.dimensions = dimensions
        self.texts: list[str] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(-1, self.dimensions)

    def _vector(self, text: str) -> NDArray[np.float64]:
        vector = np.zeros(self.dimensions)
        for word in text.casefold().split():
            vector += _direction(word, self.dimensions)
        return vector


@lru_cache(maxsize=1 << 14)
def _direction(word: str, dimensions: int) -> NDArray[np.float64]:
    seed = int.from_bytes(blake2b(word.encode("utf-8"), digest_size=4).digest(), "big")
    return np.random.default_rng(seed).normal(size=dimensions)


class MemoryRows:
    """Tables as lists of dicts, read as a source would be."""

    def __init__(self, tables: dict[str, list[dict[str, Value]]], keys: dict[str, tuple[str, ...]]) -> None:
        self.tables = tables
        self.keys = keys

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        wanted = None if keys is None else {key if isinstance(key, tuple) else (key,) for key in keys}
        for row in self.tables[table]:
            if wanted is None or tuple(row[name] for name in self.keys[table]) in wanted:
                yield tuple(row[name] for name in columns)


class DigestRows(MemoryRows):
    """The same, for a source that can tell what changed. `handed` counts the rows whose texts it gave."""

    handed = 0

    def digests(
        self, table: str, columns: Sequence[str], digested: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        for values in self.scan(table, [*columns, *digested], keys):
            self.handed += "body" in columns
            told = blake2b(repr(values[len(columns) :]).encode("utf-8", "surrogatepass")).hexdigest()
            yield (*values[: len(columns)], told)


def column(name: str, found: Found = "text", length: float = 0.0) -> Column:
    return Column(name, "", Profile(found, mean_length=length, is_long_text=length > 200))


def notes_table(filters: Sequence[str] = ("kind", "stars", "good")) -> Table:
    """id, title, body, and three filter columns: text, number, boolean."""
    columns = (
        column("id", "integer"),
        column("title", length=20),
        column("body", length=900),
        column("kind"),
        column("stars", "number"),
        column("good", "boolean"),
    )
    return Table("notes", ("id",), columns, ("body",), tuple(filters))


def note(
    id_: Value, body: Value, *, title: str = "", kind: Value = "a", stars: Value = 1, good: Value = 1
) -> dict[str, Value]:
    return {"id": id_, "title": title, "body": body, "kind": kind, "stars": stars, "good": good}


def notes(*rows: dict[str, Value]) -> MemoryRows:
    return MemoryRows({"notes": list(rows)}, {"notes": ("id",)})


def stored(folder: Path) -> dict[str, object]:
    """All that the files of an index hold of live rows, by the names of tables and keys and not by numbers."""
    connection = sqlite3.connect(folder / stores.DATABASE)
    found: dict[str, object] = {}
    for table_id, name, spec, language in connection.execute(
        "SELECT id, name, spec, language FROM tables"
    ).fetchall():
        keys = dict(connection.execute("SELECT id, key FROM rows WHERE table_id = ?", (table_id,)))
        chunks = {
            chunk: (keys[row], column, start, end)
            for chunk, row, column, start, end in connection.execute(
                "SELECT id, row, col, start, end FROM chunks WHERE table_id = ? AND NOT dead", (table_id,)
            )
        }
        rows = {
            key: (json.loads(hashes), spoken)
            for key, hashes, spoken in connection.execute(
                "SELECT key, hashes, language FROM rows WHERE table_id = ?", (table_id,)
            )
        }
        mirrored = {
            (keys[row], column, value)
            for row, column, value in connection.execute(
                "SELECT row, col, value FROM mirrored WHERE table_id = ?", (table_id,)
            )
        }
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.instances_{table_id} USING fts5vocab(main, words_{table_id}, 'instance')"
        )
        words = sorted(
            (*chunks[chunk], term, column, offset)
            for term, chunk, column, offset in connection.execute(
                f"SELECT term, doc, col, offset FROM temp.instances_{table_id}"
            )
            if chunk in chunks
        )
        vectors = {}
        for embedder, file, count in connection.execute(
            "SELECT embedder, file, count FROM vectors WHERE table_id = ?", (table_id,)
        ):
            index = stores.read_vectors(folder / file, count)
            matrix = stores.matrix(index)
            vectors[embedder] = {place: matrix[chunk].tobytes() for chunk, place in chunks.items()}
        found[name] = (spec, language, rows, sorted(chunks.values()), mirrored, words, vectors)
    connection.close()
    return found
