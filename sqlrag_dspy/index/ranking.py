"""One table of an open index: which rows are allowed, and in what order they answer a question.

Leaves out: opening the files (`store`), the weights of the two rankings (`fuse`), and texts (`passages`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable, SqlRagError
from sqlrag_dspy.index import store
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.fuse import Evidence, fuse
from sqlrag_dspy.index.lexical import WordIndex
from sqlrag_dspy.types import Key, Table, Value

if TYPE_CHECKING:
    import faiss

Ids = NDArray[np.int64]
CANDIDATES = 100
"""Rows that each ranking puts forward, at least."""


@dataclass(frozen=True)
class Contents:
    """Rows and chunks of one table in memory. Chunk i is vector i; rows are known by their position here."""

    row_ids: Ids
    keys: list[Key]
    position_of: dict[Key, int]
    chunk_row: Ids
    """Position of each chunk's row; -1 for a leftover of a changed or deleted row."""
    chunk_column: Ids
    chunk_start: Ids
    chunk_end: Ids


@dataclass(frozen=True)
class Selection:
    """Allowed rows: positions (None: all), and allowed keys that the index has not seen yet."""

    positions: Ids | None
    unseen: tuple[Key, ...]
    count: int


@dataclass(frozen=True)
class Ranked:
    """A row in its place; chunks that speak for it as (column number, start, end, score), best first."""

    key: Key
    score: float
    chunks: tuple[tuple[int, int, int, float], ...] = ()


class TableIndex:
    """One table, for reading. Not for two threads at once: `Index` holds a lock."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        table_id: int,
        table: Table,
        spec: store.Spec,
        language: str | None,
        vectors: Mapping[str, faiss.IndexFlatIP],
    ) -> None:
        self._connection = connection
        self._id = table_id
        self.table = table
        self.spec = spec
        self._language = language
        self._vectors = vectors

    @cached_property
    def contents(self) -> Contents:
        """All rows and chunk offsets, read at the first search."""
        rows = self._connection.execute(
            "SELECT id, key FROM rows WHERE table_id = ? ORDER BY id", (self._id,)
        ).fetchall()
        keys = [store.key_of(key) for _, key in rows]
        row_ids = np.array([id_ for id_, _ in rows], dtype=np.int64)
        chunks = np.array(
            self._connection.execute(
                "SELECT row, col, start, end, dead FROM chunks WHERE table_id = ? ORDER BY id", (self._id,)
            ).fetchall(),
            dtype=np.int64,
        ).reshape(-1, 5)
        positions = np.where(chunks[:, 4] == 0, np.searchsorted(row_ids, chunks[:, 0]), -1)
        return Contents(
            row_ids,
            keys,
            {key: at for at, key in enumerate(keys)},
            positions,
            chunks[:, 1],
            chunks[:, 2],
            chunks[:, 3],
        )

    @cached_property
    def _words(self) -> WordIndex:
        ignored = [self.spec.name.casefold(), self.spec.name.casefold().removesuffix("s")]
        return WordIndex(
            self._connection, self._id, max(1, int((self.contents.chunk_row >= 0).sum())), ignored
        )

    # --- which rows ---

    def select(
        self, allowed: Collection[Key] | None, filters: Mapping[str, Value | Sequence[Value]]
    ) -> Selection:
        """The rows that are among `allowed` and equal every filter."""
        contents = self.contents
        chosen: set[int] | None = None
        unseen: list[Key] = []
        if allowed is not None:
            chosen = set()
            for key in dict.fromkeys(map(_plain_key, allowed)):
                position = contents.position_of.get(key)
                if position is None:
                    unseen.append(key)
                else:
                    chosen.add(position)
        for name, values in filters.items():
            matching = self._filtered(name, values)
            chosen = matching if chosen is None else chosen & matching
            unseen = []  # what an unseen row holds is not known here
        if chosen is None:
            return Selection(None, (), len(contents.keys))
        positions = np.array(sorted(chosen), dtype=np.int64)
        return Selection(positions, tuple(unseen), len(positions) + len(unseen))

    def _filtered(self, name: str, values: Value | Sequence[Value]) -> set[int]:
        column = next((c for c in self.spec.filters if c.casefold() == name.casefold()), None)
        if column is None:
            mirrored = ", ".join(self.spec.filters) or "none"
            raise IndexUnusable(
                f"column {name!r} of {self.spec.name} is not mirrored in the index (mirrored: {mirrored}); add it to "
                f"'filters' under [tables.{self.spec.name}] and run 'sqlrag index', or restrict it in SQL"
            )
        number = self.spec.filters.index(column)
        found: set[int] = set()
        query = "SELECT row FROM mirrored WHERE table_id = ? AND col = ? AND value IS ?"
        for value in alternatives(values):
            typed = self._typed(column, value)
            rows = self._connection.execute(query, (self._id, number, typed)).fetchall()
            ids = np.array([row for (row,) in rows], dtype=np.int64)
            found.update(np.searchsorted(self.contents.row_ids, ids).tolist())
        return found

    def _typed(self, column: str, value: Value) -> Value:
        """The value as the column holds it: number, 0/1, or text."""
        known = self.table.column(column)
        kind = known.profile.found if known else "text"
        if value is None:
            return None
        if kind in ("integer", "number"):
            try:
                number = float(value)
            except ValueError as error:
                raise SqlRagError(
                    f"{self.spec.name}.{column} is a number, {value!r} is not; filter by a number"
                ) from error
            return int(number) if number.is_integer() else number
        if kind == "boolean":
            spoken = str(int(value) if isinstance(value, float) else value).casefold()
            if spoken in ("true", "yes", "1", "t", "y"):
                return 1
            if spoken in ("false", "no", "0", "f", "n"):
                return 0
            raise SqlRagError(f"{self.spec.name}.{column} is true or false, {value!r} is neither")
        return store.folded(value if isinstance(value, str) else str(value))

    # --- in what order ---

    def rank(
        self, text: str, selection: Selection, k: int, encoders: Sequence[Embedder], language: str | None
    ) -> list[Ranked]:
        """At least `k` allowed rows, or all of them; rows that nothing speaks for come last."""
        contents = self.contents
        encoder, is_foreign = self._choose(encoders, language)
        chunk_ids = self._chunks_of(selection)
        best: dict[int, list[tuple[float, int]]] = {}
        order: list[tuple[float, int]] = []
        if len(chunk_ids) and text.strip():
            order, best = self._order(text, chunk_ids, selection, k, encoder, is_foreign)
        ranked = [
            Ranked(
                contents.keys[row],
                score,
                tuple(
                    (
                        int(contents.chunk_column[c]),
                        int(contents.chunk_start[c]),
                        int(contents.chunk_end[c]),
                        round(s, 4),
                    )
                    for s, c in sorted(best[row], reverse=True)
                ),
            )
            for score, row in order
        ]
        if len(ranked) < k:
            taken = {row for _, row in order}
            rest = range(len(contents.keys)) if selection.positions is None else selection.positions.tolist()
            ranked += [Ranked(contents.keys[row], 0.0) for row in rest if row not in taken][: k - len(ranked)]
            ranked += [Ranked(key, 0.0) for key in selection.unseen][: k - len(ranked)]
        return ranked

    def _choose(self, encoders: Sequence[Embedder], language: str | None) -> tuple[Embedder, bool]:
        """The encoder for a question in that language: the first, unless the documents' is another."""
        is_foreign = language is not None and self._language is not None and language != self._language
        reads_both = self._language is None or is_foreign
        if reads_both and not encoders[0].is_multilingual and (language not in (None, "en") or is_foreign):
            return next((e for e in encoders if e.is_multilingual), encoders[0]), is_foreign
        return encoders[0], is_foreign

    def _chunks_of(self, selection: Selection) -> Ids:
        chunk_row = self.contents.chunk_row
        if selection.positions is None:
            return np.flatnonzero(chunk_row >= 0)
        mask = np.zeros(len(self.contents.keys) + 1, dtype=bool)  # the last slot is that of leftovers (-1)
        mask[selection.positions] = True
        return np.flatnonzero(mask[chunk_row])

    def _order(
        self, text: str, chunk_ids: Ids, selection: Selection, k: int, encoder: Embedder, is_foreign: bool
    ) -> tuple[list[tuple[float, int]], dict[int, list[tuple[float, int]]]]:
        """Rows as (score, position), best first, and the chunks of each as (score, id)."""
        chunk_row = self.contents.chunk_row
        wanted = max(CANDIDATES, 3 * k)
        vectors = self._vectors[encoder.name]
        query = encoder([text])
        cosines = self._nearest(vectors, query, chunk_ids, wanted)
        terms = self._words.terms(text)
        is_everything = selection.positions is None
        matches = self._words.match(terms, None if is_everything else chunk_ids.tolist(), limit=10 * wanted)
        words = {id_: score for id_, score in matches.scores.items() if chunk_row[id_] >= 0}
        row_words: dict[int, float] = {}
        for id_, score in words.items():
            row = int(chunk_row[id_])
            row_words[row] = max(score, row_words.get(row, 0.0))
        forward = sorted(row_words, key=lambda row: -row_words[row])[:wanted]
        missing = set(forward) - {int(chunk_row[id_]) for id_ in cosines}
        if missing:
            mask = np.isin(chunk_row[chunk_ids], np.fromiter(missing, dtype=np.int64))
            ids = chunk_ids[mask]
            cosines.update(zip(ids.tolist(), (store.matrix(vectors)[ids] @ query[0]).tolist()))
        best: dict[int, list[tuple[float, int]]] = {}
        row_cosine: dict[int, float] = {}
        for id_, cosine in cosines.items():
            row = int(chunk_row[id_])
            row_cosine[row] = max(cosine, row_cosine.get(row, -1.0))
            best.setdefault(row, []).append((cosine, id_))
        rows = list(row_cosine)
        scores = fuse(
            np.array([row_cosine[row] for row in rows]),
            np.array([row_words.get(row, 0.0) for row in rows]),
            Evidence(matches.mass, is_foreign),
        )
        order = sorted(zip(scores.tolist(), rows), key=lambda pair: (-pair[0], pair[1]))
        for row, chunks in best.items():
            ids = np.array([id_ for _, id_ in chunks], dtype=np.int64)
            fused = fuse(
                np.array([cosine for cosine, _ in chunks]),
                np.array([words.get(int(id_), 0.0) for id_ in ids]),
                Evidence(matches.mass, is_foreign),
            )
            best[row] = list(zip(fused.tolist(), ids.tolist()))
        return order, best

    def _nearest(
        self, vectors: faiss.IndexFlatIP, query: NDArray[np.float32], chunk_ids: Ids, wanted: int
    ) -> dict[int, float]:
        """The nearest allowed chunks (id -> cosine), as many as it takes to see `wanted` rows; exact."""
        import faiss

        selector = faiss.IDSelectorArray(chunk_ids)
        parameters = faiss.SearchParameters(sel=selector)
        count = min(len(chunk_ids), 4 * wanted)
        while True:
            cosines, ids = vectors.search(query, count, params=parameters)
            if count == len(chunk_ids) or len(np.unique(self.contents.chunk_row[ids[0]])) >= wanted:
                return dict(zip(ids[0].tolist(), cosines[0].tolist()))
            count = min(len(chunk_ids), 4 * count)


def alternatives(values: Value | Sequence[Value]) -> Sequence[Value]:
    """The values of one filter: itself, or each of several."""
    return values if isinstance(values, (list, tuple)) else (values,)  # type: ignore[return-value]


def _plain_key(key: Key) -> Key:
    if isinstance(key, (list, tuple)):
        return key[0] if len(key) == 1 else tuple(key)
    return key
