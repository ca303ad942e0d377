"""A user's database, opened read-only: its catalog, checked SQL, and rows in bulk.

Opening returns at once: the first worker starts in the background and the catalog is read when first asked for, or
taken from a cache file when neither the database nor the settings changed. Leaves out how SQL is checked.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrag_dspy import private
from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.source import scan as scanning
from sqlrag_dspy.source.attach import locate
from sqlrag_dspy.source.catalog import Built, build, from_json, readings_from_json, schema_json
from sqlrag_dspy.source.execute import refusal
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.types import Catalog, CheckedSql, Key, Policy, Rows, Value, WriteCondition

if TYPE_CHECKING:
    from sqlrag_dspy.settings import Limits, TableSettings

CACHE_FORMAT = 8
"""Raised when profiles or views change meaning, so that older cache files are not used."""

SETTLED = 2.0
"""Seconds after which a file's time of change tells it from a later one; file systems count in steps."""


class Source:
    """An open database. Safe to use from many threads; copies of it are itself.

    `url` is as given. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: Limits,
        tables: Mapping[str, TableSettings],
        cache: Path | None = None,
        policy: Policy | None = None,
        write_condition: WriteCondition | None = None,
    ) -> None:
        self.url = url
        self.limits = limits
        self.place = locate(url)
        self._settings = dict(tables)
        self._cache = cache
        self.policy = policy
        self._write_condition = write_condition
        self._built: Built | None = None
        self._built_from = ""
        self._lock = threading.Lock()
        self._engine = Engine(self.place, limits)
        self._engine.start()

    @property
    def catalog(self) -> Catalog:
        """Tables, keys, columns and their profiles. Raises SourceError when the file cannot be read."""
        return self._ready().catalog

    def execute(self, query: CheckedSql, *, seconds: float | None = None, rows: int | None = None) -> Rows:
        """Run checked SQL within the limits (defaults: those of the settings).

        Values are JSON: dates ISO text, no bytes, no NaN. Raises QueryFailed with one line; its wall is
        "limit" when time or memory ran out, else "connection". Raises SourceBusy when no worker was free in time,
        Cancelled when the `Cancellation` that the calling thread is under says so.
        """
        self._ready()
        reply = self._engine.checked(
            query.text, seconds=seconds or self.limits.seconds, rows=rows or self.limits.rows
        )
        return Rows(tuple(reply["columns"]), tuple(map(tuple, reply["rows"])), reply["truncated"])

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """The columns of every row in stored order, or of the rows with those keys (in no given order).

        Texts are verbatim but for bytes that are not UTF-8, which read as U+FFFD. Raises SourceError.
        """
        return self._read(table, columns, keys)

    def digests(
        self, table: str, columns: Sequence[str], digested: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """What `scan` gives, and behind each row a digest of its columns `digested`, worked out beside the data.

        Equal digests are equal values (but for a chance of one in 2**64). Raises SourceError.
        """
        return self._read(table, columns, keys, digested)

    def _read(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None, digested: Sequence[str] = ()
    ) -> Iterator[tuple[Value, ...]]:
        built = self._ready()
        found = scanning.table_of(built.catalog, table)
        reading = built.reading(found.name)
        return self._translated(scanning.scan(self._engine, found, reading, columns, keys, digested))

    def _translated(self, rows: Iterator[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
        try:
            yield from rows
        except QueryFailed as error:
            raise refusal(self.place, str(error)) from error

    def distinct(self, table: str, column: str, limit: int = 1000) -> list[tuple[Value, int]]:
        """The most frequent values of a column with their counts; NULL and blank left out."""
        return scanning.distinct(self._engine, scanning.table_of(self.catalog, table), column, limit)

    def matching(self, table: str, column: str, text: str, limit: int = 20) -> list[Value]:
        """Distinct values that contain the text, letter case and accents aside; shortest first."""
        return scanning.matching(self._engine, scanning.table_of(self.catalog, table), column, text, limit)

    def close(self) -> None:
        """End the workers, and what runs in them. A closed source raises SourceError when used."""
        self._engine.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return self

    def __copy__(self) -> Source:
        return self

    def __repr__(self) -> str:
        return f"Source({self.url!r})"

    def _ready(self) -> Built:
        with self._lock:
            if self._built is None:
                self._built_from = self._stamp()
                self._built = self._cached()
            if self._built is None:
                # Taken before reading: a change while profiling makes the cache stale, not wrong.
                self._built_from = self._stamp()
                # Profiling keeps a temporary table in the worker that it asks.
                with self._engine.pinned():
                    self._built = build(self._engine, self._settings, self.policy, self._write_condition)
                self._keep(self._built, self._built_from)
            self._engine.prepare = self._built.views
            self._engine.views = tuple(reading.table for reading in self._built.readings)
            return self._built

    @property
    def state(self) -> str | None:
        """What tells the data, and how they are read, from any others: equal states, equal rows.

        None when the file changed since it was profiled, or a moment ago: then another change may follow that its
        time does not tell.
        """
        self._ready()
        newest = max((modified for _, modified in self.place.stamp), default=0)
        is_settled = time.time_ns() - newest >= SETTLED * 1_000_000_000
        return self._built_from if is_settled and self._built_from == self._stamp() else None

    # --- the cache file ---

    def _stamp(self) -> str:
        settings = {name: own.model_dump() for name, own in sorted(self._settings.items())}
        policy = self.policy and self.policy.digest
        shape = [CACHE_FORMAT, _version(), str(self.place.path), self.place.stamp, settings, policy]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()

    def _cached(self) -> Built | None:
        if self._cache is None:
            return None
        try:
            written = json.loads(self._cache.read_text(encoding="utf-8"))
            if written["stamp"] != self._stamp():
                return None
            return Built(from_json(written["catalog"]), readings_from_json(written["readings"]))
        except (OSError, ValueError, KeyError, TypeError):
            # A cache that cannot be read is made anew.
            return None

    def _keep(self, built: Built, stamp: str) -> None:
        if self._cache is None:
            return
        readings = [dataclasses.asdict(reading) for reading in built.readings]
        written = {"stamp": stamp, "catalog": schema_json(built.catalog), "readings": readings}
        try:
            private.make_folder(self._cache.parent)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=self._cache.parent, prefix=self._cache.name, delete=False
            ) as file:
                json.dump(written, file, ensure_ascii=False)
            os.replace(file.name, self._cache)
        except OSError:
            # Without a cache the next opening is slower, and nothing else.
            return


def _version() -> str:
    try:
        return importlib.metadata.version("sqlrag-dspy")
    except importlib.metadata.PackageNotFoundError:
        # Run from a source tree: CACHE_FORMAT alone tells versions apart.
        return ""


def open_source(
    url: str,
    *,
    limits: Limits,
    tables: Mapping[str, TableSettings] | None = None,
    cache: Path | None = None,
    policy: Policy | None = None,
    write_condition: WriteCondition | None = None,
) -> Source:
    """Open `sqlite:///rel.db`, `sqlite:////abs.db`, `duckdb:///x` or a bare path, read-only.

    `cache` is a JSON file that keeps the catalog between runs. With a `policy` everything that the source gives
    is what it shows; `write_condition` writes its row conditions (`sql.writer`). Raises SourceError at once when
    there is no such file or it is not a database; a corrupt or locked file raises when first read.
    """
    return Source(
        url,
        limits=limits,
        tables=tables or {},
        cache=cache,
        policy=policy,
        write_condition=write_condition,
    )


def describe(source: Source) -> dict[str, TableSettings]:
    """The settings that `sqlrag init` writes: key, texts and filters of each table that has texts or filters."""
    from sqlrag_dspy.settings import TableSettings

    found = {}
    for table in source.catalog.tables:
        if table.text_columns or table.filter_columns:
            key = table.key[0] if len(table.key) == 1 else list(table.key)
            found[table.name] = TableSettings(
                key=key, text=list(table.text_columns), filters=list(table.filter_columns)
            )
    return found
