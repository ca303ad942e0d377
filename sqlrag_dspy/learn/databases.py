"""The databases that labels ask about: built or found through their `source.toml`, opened with an index."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from string import Template
from typing import Any

from sqlrag_dspy.errors import LabelError, SourceError
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.settings import Settings

TODAY = date(2024, 1, 15)
"""What "today" is for labelled queries, so that scores do not change with the calendar."""


def build(folder: Path, out: Path) -> None:
    """Builds a trainset's SQLite database: `schema`, then the JSONL `rows` files, each named for its table.

    The file appears whole or not at all. Raises LabelError naming file and line.
    """
    spec = _spec(folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=out.parent, suffix=".partial")
    os.close(handle)
    os.unlink(partial)
    connection = sqlite3.connect(partial)
    try:
        connection.executescript((folder / spec["schema"]).read_text(encoding="utf-8"))
        for name in spec["rows"]:
            _insert(connection, Path(name).stem, folder / name)
        connection.commit()
    except (OSError, sqlite3.Error, KeyError) as error:
        raise LabelError(f"cannot build the database of {folder}: {error}") from error
    finally:
        connection.close()
    os.replace(partial, out)


def _insert(connection: sqlite3.Connection, table: str, path: Path) -> None:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise LabelError(f"{path}, line {number}: not JSON ({error})") from error
        columns = ", ".join(_quoted(column) for column in row)
        marks = ", ".join("?" for _ in row)
        connection.execute(f"INSERT INTO {_quoted(table)} ({columns}) VALUES ({marks})", list(row.values()))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spec(folder: Path) -> dict[str, Any]:
    path = folder / "source.toml"
    if not path.is_file():
        raise LabelError(f"{folder} has no source.toml that says how to open its database")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LabelError(f"{path} is not valid TOML: {error}") from error


def cache_folder() -> Path:
    """Where built databases and their indexes are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sqlrag_dspy"


def open_trainset(
    folder: Path, settings: Settings, *, progress: Callable[[str], None] | None = None
) -> Database:
    """The database of a trainset folder, built when it is ours, with a fresh index and stored values.

    Raises LabelError or SourceError with the remedy.
    """
    spec = _spec(folder)
    name = folder.resolve().name
    if "source" in spec:
        try:
            url = Template(spec["source"]).substitute(os.environ)
        except KeyError as error:
            raise SourceError(
                f"{folder}/source.toml needs the environment variable {error.args[0]}"
            ) from error
        digest = hashlib.sha256(url.encode()).hexdigest()[:12]
        store = cache_folder() / f"{name}-{digest}" / "store"
    else:
        parts = [folder / "source.toml", folder / spec["schema"], *(folder / row for row in spec["rows"])]
        digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:12]
        home = cache_folder() / f"{name}-{digest}"
        path = home / f"{name}.db"
        if not path.is_file():
            build(folder, path)
        url, store = f"sqlite:///{path}", home / "store"
    chosen = Settings.model_validate(
        {**settings.model_dump(), "source": url, "store": str(store), "tables": spec.get("tables", {})}
    )
    database = open_database(chosen, name=name, today=lambda: TODAY)
    if progress:
        progress(f"indexing {name}")
    database.sync()
    return database


def open_all(
    folders: Iterable[Path], settings: Settings, *, progress: Callable[[str], None] | None = None
) -> dict[str, Database]:
    """Every database of the given trainset folders, by name."""
    return {folder.resolve().name: open_trainset(folder, settings, progress=progress) for folder in folders}


def path_of(database: Database) -> Path:
    """The SQLite file of a database, for gold queries. Raises LabelError for other sources."""
    url = database.settings.source
    path = Path(url.removeprefix("sqlite:///"))
    if not path.is_file():
        raise LabelError(f"labels of {database.name} need a SQLite file, and {url} is none")
    return path
