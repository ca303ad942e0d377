"""The databases that labels ask about: built or found through their `source.toml`, opened with an index."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sqlrag_dspy.errors import LabelError, SourceError
from sqlrag_dspy.learn.jsonl import lines
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.settings import Settings

if TYPE_CHECKING:
    from sqlrag_dspy.learn.labels import Label

TODAY = date(2024, 1, 15)
"""What "today" is for labelled queries, so that scores do not change with the calendar."""


def build(folder: Path, out: Path) -> None:
    """Builds a trainset's SQLite database: `schema`, then the JSONL `rows` files, each named for its table.

    With a `script` in source.toml, that Python file makes the database at the path it is given.
    The file appears whole or not at all. Raises LabelError naming file and line.
    """
    spec = _spec(folder)
    parts = _parts(folder, spec)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix="building-") as place:
            partial = Path(place) / out.name
            if "script" in spec:
                _run(parts[0], partial)
            else:
                with closing(sqlite3.connect(partial)) as connection:
                    connection.executescript(parts[0].read_text(encoding="utf-8"))
                    for path in parts[1:]:
                        _insert(connection, path.stem, path)
                    connection.commit()
            os.replace(partial, out)
    except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
        raise LabelError(f"cannot build the database of {folder}: {error}") from error


def _run(script: Path, out: Path) -> None:
    """Runs a trainset's script. Raises LabelError with the last line of what it said."""
    ran = subprocess.run([sys.executable, str(script.resolve()), str(out)], capture_output=True, text=True)
    if ran.returncode or not out.is_file():
        said = (ran.stderr.strip() or "it made no file").splitlines()[-1]
        raise LabelError(f"{script} did not build its database: {said}")


def _insert(connection: sqlite3.Connection, table: str, path: Path) -> None:
    for number, line in lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LabelError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict) or not row:
            raise LabelError(f"{path}, line {number}: not an object of columns and values")
        columns = ", ".join(_quoted(column) for column in row)
        marks = ", ".join("?" for _ in row)
        try:
            connection.execute(
                f"INSERT INTO {_quoted(table)} ({columns}) VALUES ({marks})", list(row.values())
            )
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            raise LabelError(f"{path}, line {number}: {error}; correct that row") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spec(folder: Path) -> dict[str, Any]:
    path = folder / "source.toml"
    if not path.is_file():
        raise LabelError(f"{folder} has no source.toml that says how to open its database")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabelError(f"{path} is not valid TOML: {error}") from error


def _parts(folder: Path, spec: Mapping[str, Any]) -> list[Path]:
    """The files that a database is built from: a script and what it reads, or a schema and its row files.

    Raises LabelError when one is not there.
    """
    first, rest = ("script", "parts") if "script" in spec else ("schema", "rows")
    head, more = spec.get(first), spec.get(rest, [] if first == "script" else None)
    if not isinstance(head, str) or not isinstance(more, list) or not all(isinstance(m, str) for m in more):
        raise LabelError(
            f'{folder}/source.toml names no database: give it source = "sqlite:///…", or schema = "….sql" and '
            'rows = ["….jsonl"], or script = "….py"'
        )
    parts = [folder / head, *(folder / name for name in more)]
    for part in parts:
        if not part.is_file():
            raise LabelError(f"{folder}/source.toml names {part.name}, which is not there")
    return parts


def cache_folder() -> Path:
    """Where built databases and their indexes are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sqlrag_dspy"


def missing_variable(folder: Path) -> str | None:
    """The environment variable that a trainset's source needs and that is not set, if any."""
    template = Template(str(_spec(folder).get("source", "")))
    return next((name for name in template.get_identifiers() if name not in os.environ), None)


def open_trainset(
    folder: Path,
    settings: Settings,
    *,
    is_searched: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Database:
    """The database of a trainset folder, built when it is ours, with a fresh index and stored values.

    Without `is_searched` there is no index: linking and computing need none.
    Raises LabelError or SourceError with the remedy.
    """
    spec = _spec(folder)
    name = folder.resolve().name
    if "source" in spec:
        try:
            url = Template(str(spec["source"])).substitute(os.environ)
        except KeyError as error:
            raise SourceError(
                f"{folder}/source.toml needs the environment variable {error.args[0]}; set it"
            ) from error
        except ValueError as error:
            raise LabelError(f"{folder}/source.toml: source: {error}; write $$ for a dollar sign") from error
        digest = hashlib.sha256(url.encode()).hexdigest()[:12]
        store = cache_folder() / f"{name}-{digest}" / "store"
    else:
        parts = [folder / "source.toml", *_parts(folder, spec)]
        digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:12]
        home = cache_folder() / f"{name}-{digest}"
        path = home / f"{name}.db"
        if not path.is_file():
            build(folder, path)
        url, store = f"sqlite:///{path}", home / "store"
    try:
        chosen = Settings.model_validate(
            {
                **settings.model_dump(exclude={"policy"}),
                "source": url,
                "store": str(store),
                "tables": spec.get("tables", {}),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LabelError(f"{folder}/source.toml: {where}: {first['msg']}") from error
    database = open_database(chosen, name=name, today=lambda: TODAY)
    if progress and is_searched:
        progress(f"indexing {name}")
    try:
        if is_searched:
            database.sync()
        else:
            database.keep_values()
    except BaseException:
        database.close()
        raise
    return database


def open_all(
    folders: Iterable[Path], settings: Settings, *, progress: Callable[[str], None] | None = None
) -> dict[str, Database]:
    """Every database of the given trainset folders, by name. When one fails, those already open are closed."""
    opened: dict[str, Database] = {}
    try:
        for folder in dict.fromkeys(folder.resolve() for folder in folders):
            name = folder.name
            if name in opened:
                raise LabelError(f"two label folders are called {name}; give one another name")
            opened[name] = open_trainset(folder, settings, progress=progress)
    except BaseException:
        for database in opened.values():
            database.close()
        raise
    return opened


def check_databases(labelled: Sequence[Label], databases: Mapping[str, Database]) -> None:
    """Raises LabelError naming the first label whose database or table is not among those opened."""
    for label in labelled:
        if label.database not in databases:
            raise LabelError(
                f"label {label.id}: its database {label.database!r} is not the folder of its file "
                f"({', '.join(databases) or 'none'}); correct the label or move it"
            )
        if label.table is not None and databases[label.database].catalog.table(label.table) is None:
            raise LabelError(
                f"label {label.id}: {label.database} has no table {label.table!r}; correct the label"
            )


def path_of(database: Database) -> Path:
    """The SQLite file of a database, for gold queries. Raises LabelError for other sources."""
    url = database.settings.source
    path = Path(url.removeprefix("sqlite:///"))
    if not path.is_file():
        raise LabelError(f"labels of {database.name} need a SQLite file, and {url} is none")
    return path
