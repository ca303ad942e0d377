"""The sync of one table: rows as they come are compared with what the index knows of them.

New and changed texts become chunks, words and vectors; those of changed and deleted rows are left behind
dead, until there are too many. Leaves out: the transaction and the other tables (`sync`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import contents, lexical, store
from sqlrag_dspy.index.chunk import split
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.language import detect, majority
from sqlrag_dspy.index.lending import Lender
from sqlrag_dspy.types import Key, RowReader, Value

BATCH = 512
"""Texts embedded at once."""
DEAD_SHARE = 0.25
"""Share of chunks that may be leftovers before the files are written anew."""
SMALL = 5_000
"""Up to so many chunks leftovers are never kept: rewriting costs less than a second."""
CONTEXT_LENGTH = 300
"""Characters of a row's short texts that go in front of each of its chunks, at most."""


@dataclass
class Totals:
    """What a sync has done so far, over all tables."""

    seen: int = 0
    added: int = 0
    changed: int = 0
    deleted: int = 0
    chunks: int = 0
    is_dirty: bool = False


@dataclass(frozen=True)
class Row:
    """One row as read: its texts, what introduces it, its filter values, and their hashes."""

    key: str
    texts: tuple[str, ...]
    contexts: tuple[str, ...]
    filters: tuple[Value, ...]
    hashes: tuple[str, ...]

    @property
    def filter_text(self) -> str:
        return " . ".join(value for value in self.filters if isinstance(value, str))


def _text(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _hash(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def read_rows(reader: RowReader, spec: store.Spec) -> Iterator[Row]:
    """All rows of a table, ready to compare with what the index knows of them."""
    columns = spec.columns
    for values in reader.scan(spec.name, columns):
        row = dict(zip(columns, values))
        texts = tuple(_text(row[name]) for name in spec.text)
        contexts = tuple(
            " . ".join(t for c in spec.context if c != name and (t := _text(row[c]).strip()))[:CONTEXT_LENGTH]
            for name in spec.text
        )
        filters = tuple(row[name] for name in spec.filters)
        key: Key = tuple(row[name] for name in spec.key)
        hashes = [_hash(text, context) if text.strip() else "" for text, context in zip(texts, contexts)]
        yield Row(store.key_json(key), texts, contexts, filters, (*hashes, _hash(json.dumps(filters))))


@dataclass
class TableSync:
    """The sync of one table: rows are compared as they come, chunks gathered, vectors written at the end."""

    connection: sqlite3.Connection
    folder: Path
    reader: RowReader
    spec: store.Spec
    id: int
    encoders: Sequence[Embedder]
    written: list[Path]
    """Vector files made so far, to be removed when the sync fails."""
    lender: Lender | None = None
    _pending: list[str] = field(default_factory=list)
    _embedded: list[list[NDArray[np.float32]]] = field(default_factory=list)
    _known_texts: dict[bytes, int] = field(default_factory=dict)
    _sources: list[int] = field(default_factory=list)
    """Where each new chunk's vector comes from: n >= 0, the n-th text embedded; n < 0, old chunk -n - 1."""

    def run(self, progress: Callable[[int], object], totals: Totals) -> None:
        """Compares, writes rows, chunks, words and vectors; adds to the totals."""
        execute = self.connection.execute
        known = {
            key: (row, tuple(json.loads(hashes)))
            for row, key, hashes in execute("SELECT id, key, hashes FROM rows WHERE table_id = ?", (self.id,))
        }
        old_count = int(
            execute("SELECT coalesce(max(id) + 1, 0) FROM chunks WHERE table_id = ?", (self.id,)).fetchone()[
                0
            ]
        )
        has_vectors = bool(
            execute("SELECT count(*) FROM vectors WHERE table_id = ?", (self.id,)).fetchone()[0]
        )
        self._embedded = [[] for _ in self.encoders]
        self._next = old_count
        next_row = int(execute("SELECT coalesce(max(id), 0) + 1 FROM rows").fetchone()[0])
        seen: set[str] = set()
        added = changed = 0
        for row in read_rows(self.reader, self.spec):
            if row.key in seen:
                raise IndexUnusable(
                    f"two rows of {self.spec.name} have the key {', '.join(self.spec.key)} = {row.key}; set a "
                    f"key that tells rows apart under [tables.{self.spec.name}] in sqlrag.toml"
                )
            seen.add(row.key)
            old = known.get(row.key)
            if old is None:
                self._insert(next_row, row)
                next_row += 1
                added += 1
            elif old[1] != row.hashes:
                self._update(old[0], old[1], row)
                changed += 1
            if len(seen) % 64 == 0:
                progress(totals.seen + len(seen))
        self._embed()
        gone = [known[key][0] for key in known.keys() - seen]
        for row_id in gone:
            self._bury(row_id)
            execute("DELETE FROM rows WHERE id = ?", (row_id,))
            execute("DELETE FROM mirrored WHERE table_id = ? AND row = ?", (self.id, row_id))
        totals.seen += len(seen)
        progress(totals.seen)
        totals.added += added
        totals.changed += changed
        totals.deleted += len(gone)
        if added or changed or gone or not has_vectors:
            totals.is_dirty = True
            self._finish(old_count)
        totals.chunks += int(
            execute("SELECT count(*) FROM chunks WHERE table_id = ? AND NOT dead", (self.id,)).fetchone()[0]
        )

    # --- rows ---

    def _insert(self, row_id: int, row: Row) -> None:
        language = next((detect(text) for text in row.texts if text.strip()), None)
        self.connection.execute(
            "INSERT INTO rows(id, table_id, key, hashes, language) VALUES (?, ?, ?, ?, ?)",
            (row_id, self.id, row.key, json.dumps(row.hashes), language),
        )
        self._mirror(row_id, row)
        for column in range(len(self.spec.text)):
            self._add_chunks(row_id, column, row)

    def _update(self, row_id: int, old_hashes: tuple[str, ...], row: Row) -> None:
        """New chunks for the texts that changed; when only filter values did, old vectors serve on."""
        language = next((detect(text) for text in row.texts if text.strip()), None)
        self.connection.execute(
            "UPDATE rows SET hashes = ?, language = ? WHERE id = ?",
            (json.dumps(row.hashes), language, row_id),
        )
        have_filters_changed = old_hashes[-1] != row.hashes[-1]
        if have_filters_changed:
            self._mirror(row_id, row)
        for column, (old, new) in enumerate(zip(old_hashes[:-1], row.hashes[:-1])):
            if old != new:
                self._bury(row_id, column)
                self._add_chunks(row_id, column, row)
            elif have_filters_changed:
                self._add_chunks(row_id, column, row, reused=self._bury(row_id, column))

    def _mirror(self, row_id: int, row: Row) -> None:
        self.connection.executemany(
            "INSERT OR REPLACE INTO mirrored VALUES (?, ?, ?, ?)",
            ((self.id, row_id, column, store.folded(value)) for column, value in enumerate(row.filters)),
        )

    def _bury(self, row_id: int, column: int | None = None) -> list[tuple[int, int, int]]:
        """Marks the live chunks of a row (or of one column of it) dead; their (id, start, end)."""
        where = "row = ? AND NOT dead AND table_id = ?" + ("" if column is None else f" AND col = {column}")
        chunks = self.connection.execute(
            f"SELECT id, start, end FROM chunks WHERE {where} ORDER BY id", (row_id, self.id)
        ).fetchall()
        self.connection.execute(f"UPDATE chunks SET dead = 1 WHERE {where}", (row_id, self.id))
        return chunks

    # --- chunks ---

    def _add_chunks(
        self, row_id: int, column: int, row: Row, reused: Sequence[tuple[int, int, int]] = ()
    ) -> None:
        text, context = row.texts[column], row.contexts[column]
        spans = [(start, end) for _, start, end in reused] or split(text)
        lent = self.lender.vectors(row.hashes[column], spans) if self.lender and not reused else None
        chunks, words = [], []
        for at, (start, end) in enumerate(spans):
            piece = text[start:end]
            if reused:
                self._sources.append(-reused[at][0] - 1)
            else:
                vectors = None if lent is None else [each[at : at + 1] for each in lent]
                self._sources.append(self._source(f"{context}\n{piece}" if context else piece, vectors))
            chunks.append((self.id, self._next, row_id, column, start, end))
            words.append((self._next, piece, context, row.filter_text))
            self._next += 1
        self.connection.executemany(
            "INSERT INTO chunks(table_id, id, row, col, start, end) VALUES (?, ?, ?, ?, ?, ?)", chunks
        )
        lexical.add(self.connection, self.id, words)

    def _source(self, text: str, lent: Sequence[NDArray[np.float32]] | None) -> int:
        """The number under which this text is embedded, or its lent vectors lie; equal texts count once."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        number = self._known_texts.get(digest)
        if number is None:
            number = self._known_texts[digest] = len(self._known_texts)
            if lent is not None:
                self._embed()  # vectors lie in the order of their numbers
                for parts, vector in zip(self._embedded, lent):
                    parts.append(vector)
            else:
                self._pending.append(text)
                if len(self._pending) >= BATCH:
                    self._embed()
        return number

    def _embed(self) -> None:
        if self._pending:
            for encoder, parts in zip(self.encoders, self._embedded):
                parts.append(encoder(self._pending))
            self._pending = []

    # --- files ---

    def _finish(self, old_count: int) -> None:
        """Writes the vector files of the new generation, without leftovers when there are too many."""
        execute = self.connection.execute
        chunks = execute(
            "SELECT id, row, col, start, end FROM chunks WHERE table_id = ? AND NOT dead ORDER BY id",
            (self.id,),
        ).fetchall()
        dead = self._next - len(chunks)
        is_compacting = dead > 0 and (len(chunks) <= SMALL or dead > DEAD_SHARE * self._next)
        live = np.array(
            [chunk[0] for chunk in chunks] if is_compacting else range(self._next), dtype=np.int64
        )
        sources = np.array(self._sources, dtype=np.int64)
        for number, encoder in enumerate(self.encoders):
            old = self._old_vectors(encoder.name, old_count)
            parts = self._embedded[number]
            dimensions = parts[0].shape[1] if parts else old.shape[1] if old is not None else 1
            blank = np.zeros((0, dimensions), dtype=np.float32)
            old = blank if old is None else old
            fresh = np.concatenate(parts) if parts else blank
            fresh_ids = sources[live[live >= old_count] - old_count]
            added = np.empty((len(fresh_ids), dimensions), dtype=np.float32)
            is_new = fresh_ids >= 0
            added[is_new] = fresh[fresh_ids[is_new]]
            added[~is_new] = old[-fresh_ids[~is_new] - 1]
            path = self.folder / f"vectors-{uuid4().hex[:12]}.faiss"
            self.written.append(path)
            kept = old[live[live < old_count]] if is_compacting else old
            store.write_vectors(path, dimensions, [kept, added])
            execute(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                (self.id, encoder.name, path.name, len(live)),
            )
        if is_compacting:
            self._renumber(chunks)
        contents.pack(self.connection, self.id)
        languages = [
            language for (language,) in execute("SELECT language FROM rows WHERE table_id = ?", (self.id,))
        ]
        execute("UPDATE tables SET language = ? WHERE id = ?", (majority(languages), self.id))

    def _old_vectors(self, embedder: str, count: int) -> NDArray[np.float32] | None:
        row = self.connection.execute(
            "SELECT file FROM vectors WHERE table_id = ? AND embedder = ?", (self.id, embedder)
        ).fetchone()
        if row is None:
            return None
        self._mapped = store.read_vectors(self.folder / row[0], count)
        return store.matrix(self._mapped)

    def _renumber(self, chunks: Sequence[tuple[int, int, int, int, int]]) -> None:
        """Numbers live chunks 0, 1, 2, … and feeds their words anew: FTS5 forgets none without its text."""
        self.connection.execute("DELETE FROM chunks WHERE table_id = ?", (self.id,))
        self.connection.executemany(
            "INSERT INTO chunks(table_id, id, row, col, start, end) VALUES (?, ?, ?, ?, ?, ?)",
            ((self.id, at, *chunk[1:]) for at, chunk in enumerate(chunks)),
        )
        of_row: dict[int, list[tuple[int, int, int, int]]] = {}
        for at, (_, row_id, column, start, end) in enumerate(chunks):
            of_row.setdefault(row_id, []).append((at, column, start, end))
        ids = {
            key: row_id
            for row_id, key in self.connection.execute(
                "SELECT id, key FROM rows WHERE table_id = ?", (self.id,)
            )
        }
        lexical.empty(self.connection, self.id)
        for row in read_rows(self.reader, self.spec):
            lexical.add(
                self.connection,
                self.id,
                (
                    (at, row.texts[column][start:end], row.contexts[column], row.filter_text)
                    for at, column, start, end in of_row.get(ids.get(row.key, -1), ())
                ),
            )
