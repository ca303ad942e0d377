"""Search by meaning and by words inside exactly the rows that are allowed.

The filter comes first, always: allowed keys and mirrored filters become row ids, those become chunk ids, and
both rankings look at nothing else. A row counts once, however many of its chunks match, and a selection that
is not empty never gives an empty result. Leaves out: dates and ranges (SQL chooses those rows) and the text
itself, which is read from the source when a passage is shown.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import store
from sqlrag_dspy.index.approximate import clusters
from sqlrag_dspy.index.approximate.dense import Dense
from sqlrag_dspy.index.embed import Embedder, EmbedFunction, find_embedder
from sqlrag_dspy.index.fuse import Fusion, fuse
from sqlrag_dspy.index.nearness import FEATURES, Vector, nearness
from sqlrag_dspy.index.passages import read_documents
from sqlrag_dspy.index.ranking import TableIndex
from sqlrag_dspy.index.rerank import READ, Reranker, find_reranker
from sqlrag_dspy.index.selection import alternatives
from sqlrag_dspy.index.words.language import detect
from sqlrag_dspy.types import Hits, Key, RowReader, Search, Table, Value


def open_index(
    store_path: Path,
    tables: Sequence[Table],
    embedders: Sequence[str],
    *,
    embed_functions: Mapping[str, EmbedFunction] | None = None,
    rerank: str = "",
) -> Index:
    """The index in `store_path`, as it is now; later syncs do not change it (open it again).

    `rerank` names a model that puts the first rows in a better order (see `rerank`). Raises IndexUnusable when
    there is no index, when it was built with other embedders, keys or columns, by a newer version, or when a
    file is missing or cut short.
    """
    encoders = [find_embedder(name, embed_functions) for name in dict.fromkeys(embedders)]
    reranker = find_reranker(rerank)
    for attempt in range(3):
        connection = store.open_for_reading(store_path)
        try:
            return Index(connection, store_path, tables, encoders, reranker)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise IndexUnusable(
                f"the index in {store_path} is broken ({error}); run 'sqlrag index --rebuild'"
            ) from error
        except IndexUnusable:
            # A sync may have replaced the files between the snapshot and their opening.
            is_last = attempt == 2 or not _has_moved_on(connection, store_path)
            connection.close()
            if is_last:
                raise
    raise AssertionError("unreachable")


def _has_moved_on(connection: sqlite3.Connection, store_path: Path) -> bool:
    newest = store.open_for_reading(store_path)
    try:
        return bool(store.meta(newest, "generation") != store.meta(connection, "generation"))
    finally:
        newest.close()


class Index:
    """An open index; searches may come from several threads."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        tables: Sequence[Table],
        encoders: Sequence[Embedder],
        reranker: Reranker | None = None,
    ) -> None:
        self._reranker = reranker
        self._connection = connection
        self._lock = threading.Lock()
        self._encoders = encoders
        self.path = path
        self.generation: int = store.meta(connection, "generation") or 0
        known = {
            name: (id_, spec, language)
            for id_, name, spec, language in connection.execute("SELECT id, name, spec, language FROM tables")
        }
        self._tables: dict[str, TableIndex] = {}
        for table in tables:
            if table.name not in known:
                raise IndexUnusable(f"table {table.name} is not in the index in {path}; run 'sqlrag index'")
            id_, dumped, language = known[table.name]
            spec, now = store.Spec.load(dumped), store.spec_of(table)
            # Short texts are found by profile, which follows the data; those of the index serve until a sync.
            if (spec.key, spec.text, spec.filters) != (now.key, now.text, now.filters):
                raise IndexUnusable(
                    f"the index of {table.name} in {path} was built with another key, text or filter column; "
                    "run 'sqlrag index'"
                )
            files = {
                name: (file, count)
                for name, file, count in connection.execute(
                    "SELECT embedder, file, count FROM vectors WHERE table_id = ?", (id_,)
                )
            }
            for encoder in encoders:
                if encoder.name not in files:
                    raise IndexUnusable(
                        f"the index of {table.name} in {path} was built with {', '.join(sorted(files))}, not "
                        f"with {encoder.name}; run 'sqlrag index', or set that embedder in sqlrag.toml"
                    )
            vectors = {
                e.name: Dense(
                    store.read_vectors(path / files[e.name][0], files[e.name][1]),
                    clusters.read(connection, path / files[e.name][0]),
                )
                for e in encoders
            }
            self._tables[table.name] = TableIndex(connection, id_, table, spec, language, vectors)

    def __deepcopy__(self, memo: dict[int, Any]) -> Index:
        """Itself: an open index is not copied with the program that holds it."""
        return self

    def close(self) -> None:
        """Lets go of the files."""
        self._connection.close()

    def search(
        self,
        text: str,
        table: str,
        *,
        k: int = 10,
        allowed: Collection[Key] | None = None,
        filters: Mapping[str, Value | Sequence[Value]] | None = None,
        lang: str | None = None,
        focus: str | None = None,
        fusion: Fusion = fuse,
        known: Mapping[str, Vector] | None = None,
        reader: RowReader,
    ) -> Hits:
        """The `k` rows of `table` nearest to `text` among the allowed ones, best first.

        `allowed`: keys that SQL chose (None: all rows). `filters`: values of mirrored columns, letter case
        aside; several values of one column are alternatives. `lang`: the question's language, else found
        out. `focus`: the question without its filter words; what is searched for when given. `known`: the unit
        vectors of what is searched for, by the embedder's name, where somebody has worked them out. Fewer
        matches than `k`: the remaining allowed rows follow. Raises SqlRagError for a filter column that is not
        mirrored or a value of another type.
        """
        found = self._tables.get(table)
        if found is None:
            raise IndexUnusable(f"table {table} is not in the index in {self.path}; run 'sqlrag index'")
        wanted = focus if focus and focus.strip() else text
        try:
            with self._lock:
                selection = found.select(allowed, filters or {})
                k = min(k, selection.count)
                read = k if self._reranker is None else min(max(k, READ), selection.count)
                language = lang or detect(text)
                ranked = found.rank(wanted, selection, read, self._encoders, language, fusion, known or {})
        except sqlite3.DatabaseError as error:
            raise IndexUnusable(
                f"the index in {self.path} is broken ({error}); run 'sqlrag index --rebuild'"
            ) from error
        documents = read_documents(found, ranked.rows, read, reader)
        if self._reranker is not None:
            documents = self._reranker(wanted, documents)[:k]
        said = tuple(
            (name, value) for name, values in (filters or {}).items() for value in alternatives(values)
        )
        return Hits(documents, Search(selection.count, ranked.rows_searched, ranked.is_exact, said))

    def nearness(self, text: str, known: Mapping[str, Vector] | None = None) -> NDArray[np.float64]:
        """How near a text is to anything in the index, as `nearness.FEATURES` numbers: the most of any table.

        `known`: its unit vectors, by the embedder's name, where somebody has worked them out. NaN where no
        encoder of that kind is there. Raises IndexUnusable when the index is broken.
        """
        language, known = detect(text), known or {}
        vectors = [(e, known[e.name] if e.name in known else e([text])[0]) for e in self._encoders]
        try:
            with self._lock:
                found = [nearness(table, text, vectors, language) for table in self._tables.values()]
        except sqlite3.DatabaseError as error:
            raise IndexUnusable(
                f"the index in {self.path} is broken ({error}); run 'sqlrag index --rebuild'"
            ) from error
        return np.fmax.reduce(found) if found else np.full(FEATURES, np.nan)
