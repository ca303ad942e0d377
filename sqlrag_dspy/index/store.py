"""The files of an index: one SQLite file, and one FAISS file for every table and embedder.

`index.sqlite` holds rows, chunk offsets, mirrored filter values and the word index; it names the vector
files of the generation it describes. A writer writes and syncs the vector files first and commits the
SQLite transaction last, so a generation is complete or absent whenever the writer dies; a reader keeps the
generation it opened (a SQLite snapshot and the mapped files). Leaves out: what goes in (`sync`) and any
meaning of it (`search`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy import private
from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.types import Key, Table, Value

if TYPE_CHECKING:
    import faiss

FORMAT = 1
DATABASE = "index.sqlite"
_SCHEMA = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tables(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, language TEXT);
CREATE TABLE vectors(table_id INTEGER NOT NULL, embedder TEXT NOT NULL, file TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY (table_id, embedder)) WITHOUT ROWID;
CREATE TABLE rows(id INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, key TEXT NOT NULL, hashes TEXT NOT NULL,
  language TEXT, digest TEXT, UNIQUE (table_id, key));
CREATE TABLE chunks(table_id INTEGER NOT NULL, id INTEGER NOT NULL, row INTEGER NOT NULL,
  col INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, dead INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (table_id, id)) WITHOUT ROWID;
CREATE INDEX chunks_of_row ON chunks(row);
CREATE TABLE mirrored(table_id INTEGER NOT NULL, row INTEGER NOT NULL, col INTEGER NOT NULL, value,
  PRIMARY KEY (table_id, row, col)) WITHOUT ROWID;
CREATE INDEX mirrored_values ON mirrored(table_id, col, value, row);
"""
_LATER = """
CREATE TABLE IF NOT EXISTS arrays(table_id INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL,
  content BLOB NOT NULL, PRIMARY KEY (table_id, name));
CREATE TABLE IF NOT EXISTS kinship(table_id INTEGER NOT NULL, id INTEGER NOT NULL, word TEXT NOT NULL,
  vector BLOB, PRIMARY KEY (table_id, id));
CREATE TABLE IF NOT EXISTS chunk_words(table_id INTEGER NOT NULL, chunk INTEGER NOT NULL, words BLOB NOT NULL,
  PRIMARY KEY (table_id, chunk));
"""
"""Tables that an index written by an earlier version lacks, and can do without."""


@dataclass(frozen=True)
class Spec:
    """What of a table is indexed. `context`: short text columns that say what a row is about (a title)."""

    name: str
    key: tuple[str, ...]
    text: tuple[str, ...]
    filters: tuple[str, ...]
    context: tuple[str, ...]

    @classmethod
    def load(cls, text: str) -> Spec:
        name, *columns = json.loads(text)
        return cls(name, *(tuple(names) for names in columns))

    def dump(self) -> str:
        return json.dumps([self.name, self.key, self.text, self.filters, self.context], ensure_ascii=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns to read, each once, key columns first."""
        return tuple(dict.fromkeys((*self.key, *self.text, *self.filters, *self.context)))


_SHORT = 200
"""Characters that a column has on average, at most, to count as a title."""


def spec_of(table: Table) -> Spec:
    """What to index of a table: key, text and filter columns, and the short texts that introduce a row."""
    context = []
    for column in table.columns:
        profile = column.profile
        is_short = 0 < profile.mean_length <= _SHORT and not profile.is_long_text
        is_address = any(
            str(sample).startswith(("http://", "https://", "/")) for sample in profile.samples[:3]
        )
        is_key_text = column.name in table.key and profile.found == "text"
        if profile.found == "text" and column.name not in table.filter_columns and not is_address:
            if profile.is_categorical and not is_key_text and column.name not in table.text_columns:
                continue
            if is_short or (is_key_text and not profile.is_long_text):
                context.append(column.name)
    return Spec(table.name, table.key, table.text_columns, table.filter_columns, tuple(context))


_SPELLING = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def key_json(key: Key) -> str:
    """A key as the store spells it; equal keys are equal texts (1 and 1.0 are one key)."""
    if isinstance(key, (tuple, list)):
        if len(key) != 1:
            return _SPELLING.encode([_plain(value) for value in key])
        key = key[0]
    return str(key) if type(key) is int else _SPELLING.encode(_plain(key))


def _plain(value: Value) -> Value:
    if isinstance(value, bool):
        return int(value)
    # Beyond 64 bits a float stays one: as a whole number it is more than the database can take.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def key_of(text: str) -> Key:
    """The key that the store spells so."""
    key: Any = json.loads(text)
    return tuple(key) if isinstance(key, list) else key


def folded(value: Value) -> Value:
    """A mirrored value as it is compared: letter case and composition aside; booleans are numbers."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).casefold().encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return int(value) if abs(value) < 2**63 else float(value)
    return value


# --- vector files -----------------------------------------------------------------------------------


def write_vectors(path: Path, dimensions: int, parts: Sequence[NDArray[np.float32]]) -> None:
    """A FAISS inner-product file of the stacked parts, complete under its name or not there at all."""
    import faiss

    index = faiss.IndexFlatIP(dimensions)
    for part in parts:
        if len(part):
            index.add(np.ascontiguousarray(part, dtype=np.float32))
    write_file(path, index)


def write_file(path: Path, index: faiss.Index) -> None:
    """Writes a FAISS index, complete under its name or not there at all. Raises IndexUnusable when it cannot."""
    import faiss

    temporary = path.with_suffix(".tmp")
    try:
        private.make_file(temporary)
        faiss.write_index(index, str(temporary))
    except (RuntimeError, OSError) as error:
        temporary.unlink(missing_ok=True)
        raise IndexUnusable(
            f"the vectors {temporary} could not be written (disk full or folder not writable); "
            "the previous index still serves; check space and rights of that folder"
        ) from error
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)


def read_vectors(path: Path, count: int) -> faiss.IndexFlatIP:
    """The FAISS index of that file, mapped. Raises IndexUnusable when it is missing or cut short."""
    import faiss

    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except (RuntimeError, OSError) as error:
        raise IndexUnusable(
            f"the vectors in {path} cannot be read (file missing or cut short); run 'sqlrag index --rebuild'"
        ) from error
    if index.ntotal != count:
        raise IndexUnusable(
            f"{path} holds {index.ntotal} vectors, {count} were written; run 'sqlrag index --rebuild'"
        )
    return index  # type: ignore[return-value]


def matrix(index: faiss.IndexFlatIP) -> NDArray[np.float32]:
    """The vectors of an index as a view, shape (count, dimensions); valid while the index lives."""
    import faiss

    if not index.ntotal:
        return np.zeros((0, index.d), dtype=np.float32)
    view: NDArray[np.float32] = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d).reshape(
        -1, index.d
    )
    return view


# --- the SQLite file --------------------------------------------------------------------------------


def open_for_reading(store: Path) -> sqlite3.Connection:
    """A connection that holds one snapshot until closed. Raises IndexUnusable when there is no index."""
    path = store / DATABASE
    if not path.is_file():
        raise IndexUnusable(f"no index in {store}; build it with 'sqlrag index'")
    try:
        return _snapshot(path, "ro")
    except sqlite3.OperationalError as unopened:
        # A folder that cannot be written (a container image) has no place for SQLite's shared memory file;
        # nobody else writes there either.
        if os.access(path.parent, os.W_OK):
            raise _broken(path, unopened) from unopened
        try:
            return _snapshot(path, "ro&immutable=1")
        except sqlite3.DatabaseError as error:
            raise _broken(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _broken(path, error) from error


def _snapshot(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None, timeout=10)
    try:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN")
        check_format(connection, path.parent)
    except BaseException:
        connection.close()
        raise
    return connection


def _broken(path: Path, error: Exception) -> IndexUnusable:
    return IndexUnusable(f"the index {path} is broken ({error}); run 'sqlrag index --rebuild'")


def damaged(what: str) -> IndexUnusable:
    """The error for content that is not what was written."""
    return IndexUnusable(f"{what} is damaged; run 'sqlrag index --rebuild'")


def open_for_writing(store: Path) -> sqlite3.Connection:
    """A connection inside an open write transaction; made where there is none. Call under `locked`."""
    path = store / DATABASE
    private.make_file(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            set_meta(connection, "format", FORMAT)
        else:
            check_format(connection, store)
            if "digest" not in {name for _, name, *_ in connection.execute("PRAGMA table_info(rows)")}:
                connection.execute("ALTER TABLE rows ADD COLUMN digest TEXT")
        for statement in _LATER.split(";"):
            connection.execute(statement)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _broken(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def check_format(connection: sqlite3.Connection, store: Path) -> None:
    """Raises IndexUnusable when a newer version wrote the index."""
    found = meta(connection, "format")
    if not isinstance(found, int):
        raise sqlite3.DatabaseError("it names no format")
    if found > FORMAT:
        raise IndexUnusable(
            f"the index in {store} has format {found}, this version reads {FORMAT}; "
            "upgrade sqlrag-dspy, or run 'sqlrag index --rebuild'"
        )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the index has such a table; later versions have more of them."""
    found = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
    )
    return bool(found.fetchone()[0])


def meta(connection: sqlite3.Connection, name: str) -> Any:
    """A fact about the whole index; None when it is not there."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return json.loads(row[0]) if row else None


def set_meta(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Notes a fact about the whole index."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))


@contextmanager
def locked(store: Path, patience: float = 0.0) -> Iterator[None]:
    """Holds the one writer's lock of a store, for which it waits `patience` seconds.

    Raises IndexUnusable naming the process that has it. The operating system frees the lock of a process that
    died, so a stale one is simply taken over.
    """
    try:
        private.make_folder(store)
        descriptor = os.open(store / "lock", os.O_RDWR | os.O_CREAT, private.FILE)
    except OSError as error:
        raise IndexUnusable(
            f"the index folder {store} cannot be written ({error.strerror}); "
            "set 'store' in sqlrag.toml to another"
        ) from error
    try:
        try:
            import fcntl
        except ImportError:  # Windows: SQLite's own write lock is then the only one
            fcntl = None  # type: ignore[assignment]
        if fcntl is not None:
            until = time.monotonic() + patience
            try:
                while True:
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if time.monotonic() >= until:
                            raise
                        time.sleep(0.05)
            except OSError as error:
                holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
                raise IndexUnusable(
                    f"process {holder} is writing the index in {store}; wait for it to end, then try again"
                ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
