"""A database URL to a place that can be attached: kind and path, checked before anything is started.

Leaves out opening the database: that happens in the worker.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from sqlrag_dspy.errors import SourceError

SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"
"""At byte 8 of a DuckDB file."""

Kind = Literal["sqlite", "duckdb"]


@dataclass(frozen=True)
class Place:
    """A database file and what kind it is."""

    kind: Kind
    path: Path

    @property
    def stamp(self) -> list[list[int]]:
        """Size and modification time of the file and of its write-ahead log: what tells a changed file."""
        found = []
        log = "-wal" if self.kind == "sqlite" else ".wal"
        for path in (self.path, self.path.with_name(self.path.name + log)):
            if path.is_file():
                status = path.stat()
                found.append([status.st_size, status.st_mtime_ns])
        return found


def locate(url: str) -> Place:
    """The place of `sqlite:///rel.db`, `sqlite:////abs.db`, `duckdb:///x` or a bare file path.

    The kind is told by the file's first bytes. Raises SourceError with one line when there is no such file,
    it is not a database, or its kind is not supported.
    """
    if not url.strip():
        raise SourceError('no source is set; give one, as in source = "sqlite:///articles.db"')
    match = re.match(r"([A-Za-z][A-Za-z0-9+]*)://(.*)", url, re.DOTALL)
    scheme, rest = (match[1].lower().split("+")[0], match[2]) if match else ("", url)
    if scheme in ("postgresql", "postgres", "mysql", "mariadb"):
        raise SourceError(
            f"{scheme}:// sources cannot be opened: this version reads SQLite and DuckDB files; "
            "export the tables to one of those"
        )
    if scheme not in ("", "sqlite", "duckdb", "file"):
        raise SourceError(f"unknown source {scheme}://; use sqlite:///FILE, duckdb:///FILE or a file path")
    if scheme:
        # As in SQLAlchemy: three slashes and a relative path, or four and an absolute one.
        rest = unquote(rest.split("?")[0])
        if scheme != "file":
            rest = rest.removeprefix("/")
    path = Path(rest).expanduser()
    kind = _kind(path, scheme, url)
    return Place(kind, path.absolute())


def _kind(path: Path, scheme: str, url: str) -> Kind:
    try:
        if path.is_dir():
            raise SourceError(f"{path} is a folder; name the database file in it")
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        hint = ""
        if scheme and not path.is_absolute() and Path("/", path).is_file():
            hint = f" (an absolute path takes four slashes: {scheme}:////{path})"
        where = "" if url == str(path) else f" in {url}"
        raise SourceError(f"no file {path}; check the path{where}{hint}") from None
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    if not head:
        raise SourceError(f"{path} is empty; name a SQLite or DuckDB database")
    if head.startswith(SQLITE_MAGIC):
        if len(head) < 100:
            raise SourceError(f"{path} is corrupt: it ends within its header; restore it from a backup")
        return "sqlite"
    if head[8:12] == DUCKDB_MAGIC:
        return "duckdb"
    raise SourceError(f"{path} is not a SQLite or DuckDB database; name a database file")


def scanner_path() -> str:
    """The SQLite scanner that the package duckdb-extension-sqlite-scanner carries, for this DuckDB version."""
    spec = importlib.util.find_spec("duckdb_extension_sqlite_scanner")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        for file in sorted(Path(place).glob("extensions/*/sqlite_scanner.duckdb_extension")):
            return str(file)
    raise SourceError(
        "DuckDB's SQLite reader is missing; run: pip install duckdb-extension-sqlite-scanner==1.5.5"
    )
