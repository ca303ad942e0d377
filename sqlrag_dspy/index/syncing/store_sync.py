"""A source's rows to an index: only what changed since the last time is chunked and embedded.

One pass over the rows; a row is known by its key and each text by a hash. All tables of a store change in
one generation, or none does. Leaves out: when to sync, and reading anything but rows through `RowReader`.
"""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import contents, store
from sqlrag_dspy.index.embed import Embedder, EmbedFunction, find_embedder
from sqlrag_dspy.index.syncing.lending import Lender
from sqlrag_dspy.index.syncing.origin import claim
from sqlrag_dspy.index.syncing.table_sync import TableSync, Totals
from sqlrag_dspy.index.words import kinship, lexical
from sqlrag_dspy.types import RowReader, Table

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EFBIG)


@dataclass(frozen=True)
class SyncReport:
    """What a sync did to rows; `chunks` is what the index now holds, `seconds` what it took."""

    rows_seen: int
    added: int
    changed: int
    deleted: int
    chunks: int
    seconds: float
    generation: int


def sync(
    store_path: Path,
    reader: RowReader,
    tables: Sequence[Table],
    embedders: Sequence[str],
    *,
    rebuild: bool = False,
    progress: Callable[[int, int], None] | None = None,
    embed_functions: Mapping[str, EmbedFunction] | None = None,
    lender: Path | None = None,
    patience: float = 0.0,
    state: str | None = None,
    origin: Path | None = None,
) -> SyncReport:
    """Brings the index in `store_path` up to date with the rows of `tables`; other tables leave it.

    `progress` is called with (rows read, rows expected). Texts that the store `lender` holds too are not embedded
    again. `patience`: seconds to wait for another process that is writing. `state` names the
    state of the source: a table that was synced in that state is not read. `origin` is the database file. A changed
    key, text column or embedder rebuilds the table. Raises IndexUnusable when two rows share a key, another process
    is writing, the folder holds the index of another `origin` (not with `rebuild`), or the folder or the index is
    broken; the previous generation then still serves.
    """
    begun = time.perf_counter()
    encoders = [find_embedder(name, embed_functions) for name in dict.fromkeys(embedders)]
    if not encoders:
        raise IndexUnusable('no embedder is set; write embedder = "wordllama" in sqlrag.toml')
    with store.locked(store_path, patience):
        connection = _open(store_path, rebuild)
        written: list[Path] = []
        try:
            is_claimed = origin is not None and claim(
                connection, store_path, origin, tables, is_replaced=rebuild
            )
            totals = _sync_tables(
                connection, store_path, reader, tables, encoders, rebuild, progress, written, lender, state
            )
            generation = store.meta(connection, "generation") or 0
            if totals.is_dirty:
                generation += 1
                store.set_meta(connection, "generation", generation)
            if totals.is_dirty or totals.is_noted or is_claimed or state != store.meta(connection, "state"):
                store.set_meta(connection, "state", state)
                connection.execute("COMMIT")
            else:
                connection.execute("ROLLBACK")
        except BaseException as error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            for path in written:
                path.unlink(missing_ok=True)
            is_disk = isinstance(error, OSError) and error.errno in _DISK_ERRORS
            connection.close()
            if isinstance(error, sqlite3.Error) or is_disk:
                raise IndexUnusable(
                    f"the index in {store_path} could not be written ({error}); the previous one "
                    "still serves; check space and rights of that folder"
                ) from error
            raise
        # The new generation stands; what may fail now is only the removal of leftovers.
        with suppress(sqlite3.Error, OSError):
            _tidy(connection, store_path)
        connection.close()
    return SyncReport(
        totals.seen, totals.added, totals.changed, totals.deleted, totals.chunks,
        round(time.perf_counter() - begun, 3), generation,
    )  # fmt: skip


def _open(folder: Path, rebuild: bool) -> sqlite3.Connection:
    try:
        return store.open_for_writing(folder)
    except IndexUnusable:
        if not rebuild:
            raise
    # Nothing in a broken file, or one of a newer version, can be kept, and its user asked for a new one.
    for name in (store.DATABASE, f"{store.DATABASE}-wal", f"{store.DATABASE}-shm"):
        (folder / name).unlink(missing_ok=True)
    return store.open_for_writing(folder)


def _tidy(connection: sqlite3.Connection, folder: Path) -> None:
    """Removes vector files that no generation names; readers that have them mapped keep them."""
    named = {Path(name).stem for (name,) in connection.execute("SELECT file FROM vectors")}
    for path in folder.glob("vectors-*"):
        if path.stem not in named:
            path.unlink(missing_ok=True)
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _sync_tables(
    connection: sqlite3.Connection,
    folder: Path,
    reader: RowReader,
    tables: Sequence[Table],
    encoders: Sequence[Embedder],
    rebuild: bool,
    progress: Callable[[int, int], None] | None,
    written: list[Path],
    lender: Path | None,
    state: str | None,
) -> Totals:
    totals = Totals()
    is_unchanged = state is not None and state == store.meta(connection, "state")
    names = [encoder.name for encoder in encoders]
    kept = {table.name for table in tables}
    known = {
        name: (id_, spec)
        for id_, name, spec in connection.execute("SELECT id, name, spec FROM tables").fetchall()
    }
    for name, (id_, _) in known.items():
        if name not in kept:
            totals.deleted += _forget(connection, id_)
            totals.is_dirty = True
    expected = sum(table.rows for table in tables)
    for table in tables:
        spec = store.spec_of(table)
        id_, old_spec = known.get(table.name, (None, None))
        if id_ is not None and not rebuild:
            spec = _settled(spec, store.Spec.load(old_spec), table)
        if id_ is not None:
            old_names = [
                e for (e,) in connection.execute("SELECT embedder FROM vectors WHERE table_id = ?", (id_,))
            ]
            if rebuild or old_spec != spec.dump() or set(old_names) != set(names):
                _forget(connection, id_)
                id_ = None
        is_new = id_ is None
        if id_ is None:
            cursor = connection.execute(
                "INSERT INTO tables(name, spec) VALUES (?, ?)", (table.name, spec.dump())
            )
            id_ = int(cursor.lastrowid or 0)
            lexical.create(connection, id_)
            totals.is_dirty = True
        work = TableSync(connection, folder, reader, spec, id_, encoders, written)
        if is_unchanged and not is_new and work.is_complete:
            totals.leave(connection, id_)
            continue
        work.lender = Lender(lender, table.name, names)
        work.run(lambda seen: progress and progress(seen, max(expected, seen)), totals)
    return totals


def _settled(spec: store.Spec, old: store.Spec, table: Table) -> store.Spec:
    """The spec with the short texts that the index already uses, as long as those columns are there.

    They are found by profile, which follows the data: a changed row must not index the whole table anew.
    """
    if all(table.column(name) for name in old.context):
        return replace(spec, context=old.context)
    return spec


def _forget(connection: sqlite3.Connection, table_id: int) -> int:
    """Removes all of one table; says how many rows it had."""
    lexical.drop(connection, table_id)
    connection.execute("DELETE FROM tables WHERE id = ?", (table_id,))
    contents.forget(connection, table_id)
    kinship.forget(connection, table_id)
    for name in ("vectors", "chunks", "mirrored"):
        connection.execute(f"DELETE FROM {name} WHERE table_id = ?", (table_id,))
    return connection.execute("DELETE FROM rows WHERE table_id = ?", (table_id,)).rowcount
