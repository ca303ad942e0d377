"""A source in memory and an embedder without a model, for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

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
            seed = int.from_bytes(blake2b(word.encode("utf-8"), digest_size=4).digest(), "big")
            vector += np.random.default_rng(seed).normal(size=self.dimensions)
        return vector


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
