"""One bound database: its source, linker and index, opened once and shared by every question.

What is not here: how a question is answered (rag.py) and how an index is built (the index room).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrag_dspy import private
from sqlrag_dspy.errors import IndexUnusable, SourceError, SqlRagError
from sqlrag_dspy.program import session as sessions
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import Catalog, CheckedSql, Column, Hits, Key, Links, Policy, Rows, Table

if TYPE_CHECKING:
    from sqlrag_dspy.index import Index, SyncReport
    from sqlrag_dspy.link import Linker, SchemaIndex, ValueColumn, ValueStore
    from sqlrag_dspy.source import Source

PATIENCE = 120.0
"""Seconds to wait for another process that makes the index of the same session."""
MANY = 10_000_000
"""More keys than any selection has."""
VALUES, VALUES_STAMP = "values.json", "values.stamp.json"
"""The stored values, and what the source looked like when they were read."""
SYNCED = "synced.json"
"""What the source looked like at the last sync."""
STALE = "the data changed since the index was built; 'sqlrag index' brings it up to date"


class Database:
    """A source with everything that answers need of it. Copies of a program share it."""

    def __init__(
        self,
        name: str,
        source: Source,
        settings: Settings,
        *,
        store: Path,
        today: Callable[[], date] = date.today,
        lender: Path | None = None,
    ) -> None:
        """`lender`: the store of an index over all rows, from which this session's index takes its vectors."""
        self.name = name
        self.source = source
        self.settings = settings
        self.store = store
        self.today = today
        self.lender = lender
        self._lock = threading.RLock()
        self._memo: dict[str, Links] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Database:
        return self

    @property
    def catalog(self) -> Catalog:
        return self.source.catalog

    # --- linking ---------------------------------------------------------------------------------

    @cached_property
    def linker(self) -> Linker:
        """The linker over this database's names and stored values."""
        from sqlrag_dspy.link import Linker

        synonyms = {name: table.synonyms for name, table in self.settings.tables.items() if table.synonyms}
        if self.policy is not None:
            synonyms = {name: self._shown(name, also) for name, also in synonyms.items()}
        return Linker(self.catalog, self.values(), synonyms=synonyms, today=self.today)

    @cached_property
    def schema_index(self) -> SchemaIndex:
        """The tables of this database, to be found by what a question asks."""
        from sqlrag_dspy.link import SchemaIndex
        from sqlrag_dspy.program.encoder import multilingual

        synonyms = {name: self._shown(name, table.synonyms) for name, table in self.settings.tables.items()}
        return SchemaIndex(self.catalog, multilingual, values=self.linker.values, synonyms=synonyms)

    def _shown(self, name: str, synonyms: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Other words for what the session sees of a table: those for the rest are not recognised."""
        table = self.catalog.table(name)
        if table is None:
            return {}
        return {part: also for part, also in synonyms.items() if not part or table.column(part)}

    def values(self) -> ValueStore:
        """The stored values that questions may name, kept in the store until the data change."""
        from sqlrag_dspy.link import ValueStore

        if self._has_values(self._stamp()):
            with suppress(OSError, ValueError, SqlRagError):
                return ValueStore.load(self.store / VALUES, self.source.matching)
            # A cache that cannot be read, or is of another version, is made again.
        return ValueStore(self.keep_values(), self.source.matching)

    def keep_values(self) -> tuple[ValueColumn, ...]:
        """Reads the stored values and keeps them. How they are recognised is worked out when a question is asked."""
        from sqlrag_dspy.link import read_values, save_values

        stamp = self._stamp()
        read = read_values(self.catalog, self.source.distinct)
        try:
            private.make_folder(self.store)
            save_values(read, self.store / VALUES)
            private.write_text(self.store / VALUES_STAMP, json.dumps(stamp))
        except OSError:
            pass  # a read-only folder costs the next start some time, nothing else
        return read

    def _has_values(self, stamp: dict[str, Any]) -> bool:
        """Whether the store keeps the stored values of this state of the source."""
        try:
            kept = json.loads((self.store / VALUES_STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(kept == json.loads(json.dumps(stamp))) and (self.store / VALUES).is_file()

    def _stamp(self) -> dict[str, Any]:
        return {
            "fingerprint": self.catalog.fingerprint,
            "rows": {table.name: table.rows for table in self.catalog.tables},
            "source": self.source.place.stamp,
        }

    def link(self, question: str) -> Links:
        """The question's links; remembered, since training asks again and again."""
        with self._lock:
            if question not in self._memo:
                if len(self._memo) > 4096:
                    self._memo.clear()
                self._memo[question] = self.linker.link(question)
            return self._memo[question]

    def forget_links(self) -> None:
        """Empties the memory of links (for measurements, and when stored values changed)."""
        with self._lock:
            self._memo.clear()

    # --- computing -------------------------------------------------------------------------------

    def check(self, sql: str) -> CheckedSql:
        """The statement, checked against this database. Raises SqlRejected."""
        from sqlrag_dspy import sql as rooms

        return rooms.check(sql, self.catalog, limit=self.settings.limits.rows)

    def check_keys(self, sql: str) -> CheckedSql:
        """A keys query, checked; no row limit, since every key counts. Raises SqlRejected."""
        from sqlrag_dspy import sql as rooms

        return rooms.check(sql, self.catalog, limit=MANY)

    def run(self, query: CheckedSql, *, rows: int | None = None) -> Rows:
        """The result of a checked statement. Raises QueryFailed."""
        return self.source.execute(query, rows=rows)

    # --- searching -------------------------------------------------------------------------------

    @cached_property
    def index(self) -> Index:
        """The search index. Raises IndexUnusable when there is none that fits.

        A session's own is made of the rows that it sees, or brought up to date, when it is first opened.
        """
        from sqlrag_dspy.index import has_index, open_index

        if self.policy is not None and self._is_outdated and self.text_tables:
            if not any(has_index(path) for path in (self.store, self.lender) if path is not None):
                raise IndexUnusable("there is no index yet; build it with 'sqlrag index'")
            self.sync()
        return open_index(
            self.store,
            self.text_tables,
            self.settings.embedder,
            embed_functions=embed_functions(self.settings),
            rerank=self.settings.search.rerank,
        )

    @property
    def policy(self) -> Policy | None:
        """What this session may see; None for everything."""
        return self.source.policy

    @property
    def text_tables(self) -> list[Table]:
        """The tables with a text column searched by meaning."""
        return [table for table in self.catalog.tables if table.text_columns]

    def search(
        self,
        text: str,
        table: str,
        *,
        k: int = 10,
        allowed: list[Key] | None = None,
        filters: Mapping[str, Any] | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> Hits:
        """The rows of `table` nearest in meaning, among those allowed; `known` as `Index.search` takes it."""
        return self.index.search(
            text, table, k=k, allowed=allowed, filters=filters, known=known, reader=self.source
        )

    @cached_property
    def encode(self) -> Callable[[list[str]], Any]:
        """Texts to unit vectors, by the first of the configured embedders."""
        from sqlrag_dspy.index import find_embedder

        return find_embedder(self.settings.embedder[0], embed_functions(self.settings))

    @cached_property
    def column_vectors(self) -> Any:
        """What the columns are called, as unit vectors of the packaged encoder."""
        from sqlrag_dspy.program.column_names import column_vectors

        return column_vectors(self.catalog)

    def sync(
        self, *, rebuild: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> SyncReport:
        """Builds or updates the index and the stored values; what did not change costs nothing."""
        from sqlrag_dspy.index import sync

        # Taken before the rows are read: a change in the middle of the sync then counts as one after it.
        stamp, state = self._stamp(), self.source.state
        report = sync(
            self.store, self.source, self.text_tables, self.settings.embedder,
            rebuild=rebuild, progress=progress, embed_functions=embed_functions(self.settings),
            lender=self.lender, patience=PATIENCE if self.policy is not None else 0.0, state=state,
            origin=self.source.place.path,
        )  # fmt: skip
        if rebuild or not self._has_values(stamp):
            self.keep_values()
        with suppress(OSError):
            private.write_text(self.store / SYNCED, json.dumps(stamp))
        self.__dict__.pop("index", None)
        self.__dict__.pop("linker", None)
        self.__dict__.pop("schema_index", None)
        self.forget_links()
        return report

    @property
    def is_stale(self) -> bool:
        """Whether the source has changed since the last sync: its file, its tables, or their rows.

        Never to a session: that the file changed tells of rows that it does not see, and its index is brought up
        to date when it is opened.
        """
        return self.policy is None and self._is_outdated

    @property
    def _is_outdated(self) -> bool:
        try:
            synced = json.loads((self.store / SYNCED).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return True
        return bool(synced != json.loads(json.dumps(self._stamp())))

    def all_keys(self, query: CheckedSql) -> list[Key]:
        """Every key that a keys query selects, however many."""
        found = self.run(query, rows=MANY)
        return [row[0] if len(row) == 1 else row for row in found.values]

    def display_column(self, table: Table) -> Column:
        """The column a person recognises a row by: a title or name, else the key."""
        return display_column(table)

    def close(self) -> None:
        """Stops the source's worker and lets go of the index."""
        self.source.close()
        if (index := self.__dict__.pop("index", None)) is not None:
            index.close()


_TITLES = frozenset({"title", "name", "headline", "titel", "naam", "titulo", "título", "nombre", "nm"})
_LABELS = frozenset({"subject", "label", "onderwerp", "asunto"})


@lru_cache(maxsize=4096)
def _words(name: str) -> frozenset[str]:
    """The words of a column's name, and the name itself; remembered, as they are asked for with every answer."""
    return frozenset({name.casefold(), *re.split(r"[\W_]+", name.casefold())})


def display_column(table: Table) -> Column:
    """The column a person recognises a row of `table` by.

    A nearly unique column called a title or name, else a text key, else whatever is called a subject or label,
    else the key.
    """
    keys = [column for name in table.key if (column := table.column(name)) is not None]
    short = [c for c in table.columns if c.profile.found == "text" and not c.profile.is_long_text]

    def called(words: frozenset[str], least: float) -> list[Column]:
        return [
            c
            for c in short
            if c.profile.distinct >= least * max(table.rows, 1) and not words.isdisjoint(_words(c.name))
        ]

    text_key = [keys[0]] if len(keys) == 1 and keys[0].profile.found == "text" else []
    pools = (
        called(_TITLES, 0.9),
        text_key,
        called(_TITLES, 0.5),
        called(_LABELS, 0.5),
        called(_TITLES, 0.0),
        keys,
    )
    for pool in pools:
        if pool:
            return pool[0]
    if not table.columns:
        raise SourceError(f"table {table.name} has no columns")
    return table.columns[0]


def embed_functions(settings: Settings) -> dict[str, Callable[[list[str]], Any]]:
    """Embedding functions of embedders that need a service, by embedder name."""
    from sqlrag_dspy import lm

    return {
        name: lm.embed_function(name.partition(":")[2])
        for name in settings.embedder
        if name.startswith("gemini:")
    }


def open_database(
    settings: Settings,
    *,
    name: str | None = None,
    today: Callable[[], date] = date.today,
    store: Path | None = None,
    session: Mapping[str, Any] | None = None,
    is_whole: bool = False,
) -> Database:
    """Opens the source that `settings` name, as their [policy] shows it to a session with these parameters.

    `is_whole` leaves out the policy's row conditions: for building the index that sessions borrow from, not for
    answers. Raises SourceError, or PolicyError when a parameter is missing, with thing, place and remedy.
    """
    from sqlrag_dspy.source import open_source

    if not settings.source:
        raise SourceError("no source is set; write sqlrag.toml with 'sqlrag init URL', or pass source=")
    root = Path(settings.store) if store is None else store
    policy = sessions.bind(settings.policy, session, root, is_whole=is_whole)
    folder = sessions.folder_of(policy, root)
    lender, write = None, None
    if policy is not None and policy.rows:
        from sqlrag_dspy import sql

        shared = sessions.bind(settings.policy, session, root, is_whole=True)
        lender = sessions.folder_of(shared, root)
        write = sql.writer(dict(policy.session))
    source = open_source(
        settings.source,
        limits=settings.limits,
        tables=settings.tables,
        cache=folder / "catalog.json",
        policy=policy,
        write_condition=write,
    )
    stem = name or Path(settings.source.split("://", 1)[-1]).stem or "database"
    return Database(stem, source, settings, store=folder, today=today, lender=lender)
