"""The sync of one table: rows as they come are compared with what the index knows of them.

New and changed texts become chunks, words and vectors; those of changed and deleted rows are left behind
dead, until there are too many. Leaves out: the transaction and the other tables (`sync`), which rows changed
(`rows`), and how texts become vectors (`embedding`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index import contents, store
from sqlrag_dspy.index.approximate import clusters
from sqlrag_dspy.index.approximate import upkeep as approximate
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.syncing import languages
from sqlrag_dspy.index.syncing.chunk import split
from sqlrag_dspy.index.syncing.embedding import Embedding
from sqlrag_dspy.index.syncing.lending import Lender
from sqlrag_dspy.index.syncing.rows import Row, compare, read_rows
from sqlrag_dspy.index.words import kinship, lexical
from sqlrag_dspy.types import RowReader

DEAD_SHARE = 0.25
"""Share of chunks that may be leftovers before the files are written anew."""
SMALL = 5_000
"""Up to so many chunks leftovers are never kept: rewriting costs less than a second."""
TOGETHER = 512
"""Rows written to the index at once."""
LIVE = "SELECT count(*) FROM chunks WHERE table_id = ? AND NOT dead"
"""How many chunks of a table are of a row as it is now."""


@dataclass
class Totals:
    """What a sync has done so far, over all tables."""

    seen: int = 0
    added: int = 0
    changed: int = 0
    deleted: int = 0
    chunks: int = 0
    is_dirty: bool = False
    """Whether a search may now find something else."""
    is_noted: bool = False
    """Whether something else was noted, of which only the next sync reads."""

    def leave(self, connection: sqlite3.Connection, table_id: int) -> None:
        """Counts a table that is as it was at the last sync."""
        rows = "SELECT count(*) FROM rows WHERE table_id = ?"
        self.seen += int(connection.execute(rows, (table_id,)).fetchone()[0])
        self.chunks += int(connection.execute(LIVE, (table_id,)).fetchone()[0])


@dataclass
class _Buffer:
    """Rows of the index's own tables that are to be written."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    mirrored: list[tuple[Any, ...]] = field(default_factory=list)
    chunks: list[tuple[Any, ...]] = field(default_factory=list)
    words: list[tuple[int, str, str, str]] = field(default_factory=list)


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
    _sources: list[int] = field(default_factory=list)
    """Where each new chunk's vector comes from: n >= 0, the n-th text embedded; n < 0, old chunk -n - 1."""
    _new: _Buffer = field(default_factory=lambda: _Buffer())

    def __post_init__(self) -> None:
        self._kinship = kinship.Writer(self.connection, self.id)
        self._word_reader = next((each for each in self.encoders if each.reads_words), None)

    @property
    def is_complete(self) -> bool:
        """Whether the index has all that this version keeps of the rows that it knows."""
        return self._word_reader is None or self._kinship.is_complete()

    def run(self, progress: Callable[[int], object], totals: Totals) -> None:
        """Compares, writes rows, chunks, words and vectors; adds to the totals."""
        self._embedding = Embedding(self.encoders)
        try:
            self._run(progress, totals)
        finally:
            self._embedding.close()

    def _run(self, progress: Callable[[int], object], totals: Totals) -> None:
        known: dict[str, int] = {}
        digests: dict[str, str | None] = {}
        for row_id, key, digest in self._all("SELECT id, key, digest FROM rows WHERE table_id = ?"):
            known[key], digests[key] = row_id, digest
        self._old_count = int(
            self._all("SELECT coalesce(max(id) + 1, 0) FROM chunks WHERE table_id = ?")[0][0]
        )
        has_vectors = bool(self._all("SELECT count(*) FROM vectors WHERE table_id = ?")[0][0])
        self._next = self._old_count
        self._rows = len(known)
        next_row = int(self.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM rows").fetchone()[0])
        added = changed = 0
        comparison = compare(self.reader, self.spec, digests)
        before = totals.seen
        del digests

        def told() -> None:
            # What is embedded counts, not what is read: that takes nearly all the time.
            progress(before + int(len(comparison.seen) * self._embedding.share))

        for row in comparison.rows:
            if row.key not in known:
                known[row.key] = next_row
                self._insert(next_row, row)
                next_row += 1
                added += 1
            else:
                is_changed = self._update(known[row.key], row)
                changed += is_changed
                totals.is_noted |= not is_changed and row.digest is not None
            if len(self._new.rows) >= TOGETHER:
                self._flush()
            if (added + changed) % 64 == 0:
                told()
        self._flush()
        gone = [known[key] for key in known.keys() - comparison.seen]
        for row_id in gone:
            self._bury(row_id)
            self.connection.execute("DELETE FROM rows WHERE id = ?", (row_id,))
            self.connection.execute("DELETE FROM mirrored WHERE table_id = ? AND row = ?", (self.id, row_id))
        totals.seen += len(comparison.seen)
        totals.added += added
        totals.changed += changed
        totals.deleted += len(gone)
        if added or changed or gone or not has_vectors or not self.is_complete:
            totals.is_dirty = True
            self._finish(told)
        progress(totals.seen)
        totals.chunks += int(self._all(LIVE)[0][0])

    def _all(self, query: str) -> list[Any]:
        """Rows of a query about this table."""
        return self.connection.execute(query, (self.id,)).fetchall()

    # --- rows ---

    def _insert(self, row_id: int, row: Row) -> None:
        self._rows += 1
        language = languages.of_row(row, self._rows)
        self._new.rows.append((row_id, self.id, row.key, json.dumps(row.hashes), language, row.digest))
        self._mirror(row_id, row)
        for column in range(len(self.spec.text)):
            self._add_chunks(row_id, column, row)

    def _update(self, row_id: int, row: Row) -> bool:
        """New chunks for the texts that changed; when only filter values did, old vectors serve on.

        Says whether anything changed.
        """
        self._flush()
        old_hashes = tuple(
            json.loads(
                self.connection.execute("SELECT hashes FROM rows WHERE id = ?", (row_id,)).fetchone()[0]
            )
        )
        if old_hashes == row.hashes:
            if row.digest is not None:
                self.connection.execute("UPDATE rows SET digest = ? WHERE id = ?", (row.digest, row_id))
            return False
        language = languages.of_row(row, self._rows)
        self.connection.execute(
            "UPDATE rows SET hashes = ?, language = ?, digest = ? WHERE id = ?",
            (json.dumps(row.hashes), language, row.digest, row_id),
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
        return True

    def _mirror(self, row_id: int, row: Row) -> None:
        self._new.mirrored += [
            (self.id, row_id, column, store.folded(value)) for column, value in enumerate(row.filters)
        ]

    def _bury(self, row_id: int, column: int | None = None) -> list[tuple[int, int, int]]:
        """Marks the live chunks of a row (or of one column of it) dead; their (id, start, end)."""
        # The plus keeps SQLite from going through the whole table by its primary key.
        where = "row = ? AND NOT dead AND +table_id = ?" + ("" if column is None else f" AND col = {column}")
        chunks = self.connection.execute(
            f"SELECT id, start, end FROM chunks WHERE {where} ORDER BY id", (row_id, self.id)
        ).fetchall()
        self.connection.executemany(
            "UPDATE chunks SET dead = 1 WHERE table_id = ? AND id = ?", ((self.id, id_) for id_, *_ in chunks)
        )
        return chunks

    # --- chunks ---

    def _add_chunks(
        self, row_id: int, column: int, row: Row, reused: Sequence[tuple[int, int, int]] = ()
    ) -> None:
        text, context = row.texts[column], row.contexts[column]
        spans = [(start, end) for _, start, end in reused] or split(text)
        lent = self.lender.vectors(row.hashes[column], spans) if self.lender and not reused else None
        for at, (start, end) in enumerate(spans):
            piece = text[start:end]
            if reused:
                old = reused[at][0]
                is_new = old >= self._old_count  # of a row that was met twice
                self._sources.append(self._sources[old - self._old_count] if is_new else -old - 1)
            else:
                vectors = None if lent is None else [each[at : at + 1] for each in lent]
                whole = f"{context}\n{piece}" if context else piece
                self._sources.append(self._embedding.number(whole, vectors))
            self._new.chunks.append((self.id, self._next, row_id, column, start, end))
            self._new.words.append((self._next, piece, context, row.filter_text))
            self._next += 1

    def _flush(self) -> None:
        """Writes what was gathered; whatever reads the index needs it there."""
        new, self._new = self._new, _Buffer()
        many = self.connection.executemany
        many(
            "INSERT INTO rows(id, table_id, key, hashes, language, digest) VALUES (?, ?, ?, ?, ?, ?)",
            new.rows,
        )
        many("INSERT OR REPLACE INTO mirrored VALUES (?, ?, ?, ?)", new.mirrored)
        many("INSERT INTO chunks(table_id, id, row, col, start, end) VALUES (?, ?, ?, ?, ?, ?)", new.chunks)
        self._add_words(new.words)

    def _add_words(self, chunks: Sequence[tuple[int, str, str, str]]) -> None:
        lexical.add(self.connection, self.id, chunks)
        if self._word_reader is not None:
            self._kinship.add(chunks)

    # --- files ---

    def _finish(self, told: Callable[[], object]) -> None:
        """Writes the vector files of the new generation, without leftovers when there are too many."""
        execute = self.connection.execute
        count = int(self._all(LIVE)[0][0])
        dead = self._next - count
        is_compacting = dead > 0 and (count <= SMALL or dead > DEAD_SHARE * self._next)
        is_compacting |= not self.is_complete  # the words of all chunks are noted with that
        chunks: list[tuple[int, int, int, int, int]] = []
        live = np.arange(self._next, dtype=np.int64)
        if is_compacting:
            chunks = self._all(
                "SELECT id, row, col, start, end FROM chunks WHERE table_id = ? AND NOT dead ORDER BY id"
            )
            live = np.array([chunk[0] for chunk in chunks], dtype=np.int64)
        sources = np.array(self._sources, dtype=np.int64)
        embedded = self._embedding.finish(told)
        questions = approximate.short_texts(self.connection, self.id, self.spec, self.reader, self._next)
        for number, encoder in enumerate(self.encoders):
            old_file = self._old_file(encoder.name)
            old = None if old_file is None else self._old_vectors(old_file, self._old_count)
            made = embedded[number]
            dimensions = made.shape[1] if made is not None else old.shape[1] if old is not None else 1
            blank = np.zeros((0, dimensions), dtype=np.float32)
            old = blank if old is None else old
            fresh = blank if made is None else made
            fresh_ids = sources[live[live >= self._old_count] - self._old_count]
            added = np.empty((len(fresh_ids), dimensions), dtype=np.float32)
            is_new = fresh_ids >= 0
            added[is_new] = fresh[fresh_ids[is_new]]
            added[~is_new] = old[-fresh_ids[~is_new] - 1]
            path = self.folder / f"vectors-{uuid4().hex[:12]}.faiss"
            self.written.append(path)
            kept = old[live[live < self._old_count]] if is_compacting else old
            store.write_vectors(path, dimensions, [kept, added])
            self.written.append(clusters.file_of(path))
            before = None if old_file is None else (old_file, live[live < self._old_count])
            approximate.keep(self.connection, path, len(live), before, encoder, questions)
            execute(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                (self.id, encoder.name, path.name, len(live)),
            )
        if is_compacting:
            self._renumber(chunks)
        self._kinship.finish(self._word_reader, count, self.lender.words if self.lender else {})
        contents.pack(self.connection, self.id)
        language = languages.of_table(self.connection, self.id, self.reader, self.spec)
        execute("UPDATE tables SET language = ? WHERE id = ?", (language, self.id))

    def _old_file(self, embedder: str) -> Path | None:
        row = self.connection.execute(
            "SELECT file FROM vectors WHERE table_id = ? AND embedder = ?", (self.id, embedder)
        ).fetchone()
        return None if row is None else self.folder / str(row[0])

    def _old_vectors(self, file: Path, count: int) -> NDArray[np.float32]:
        self._mapped = store.read_vectors(file, count)
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
        self._kinship.empty()
        for row in read_rows(self.reader, self.spec):
            self._add_words(
                [
                    (at, row.texts[column][start:end], row.contexts[column], row.filter_text)
                    for at, column, start, end in of_row.get(ids.get(row.key, -1), ())
                ]
            )
