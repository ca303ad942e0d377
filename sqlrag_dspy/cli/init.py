"""`sqlrag init`: introspects a source and writes `sqlrag.toml` with what it chose and why."""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.cli import arguments
from sqlrag_dspy.cli.output import Screen, one_line
from sqlrag_dspy.errors import SettingsError, SourceError

if TYPE_CHECKING:
    from sqlrag_dspy.settings import TableSettings
    from sqlrag_dspy.types import Catalog

    Chosen = Mapping[str, TableSettings]

FILE = "sqlrag.toml"


def add(commands: arguments.Commands) -> None:
    """Adds `init`."""
    parser = arguments.add(
        commands,
        "init",
        run,
        does="look at a database and write sqlrag.toml, choosing key, text and filter columns",
        example="sqlrag init sqlite:///articles.db",
    )
    parser.add_argument(
        "url", type=arguments.text, metavar="URL", help="the database: sqlite:///FILE, or a file"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite an existing settings file; the old one is kept as FILE.old",
    )


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Writes the settings file; says what was chosen, and warns of what cannot be used."""
    from sqlrag_dspy.settings import Settings
    from sqlrag_dspy.source import describe, open_source

    path = arguments.settings_path(args) or Path(FILE)
    if path.exists() and not args.force:
        raise SettingsError(f"{path} already exists; --force overwrites it, --config FILE writes another")
    policy = kept_policy(path)
    if not args.url.strip():
        raise SourceError("the URL is empty; name a database, for example sqlite:///articles.db")
    with screen.progress("looking at columns"):
        source = open_source(args.url, limits=Settings().limits, tables={}, cache=None)
        try:
            catalog, chosen = source.catalog, describe(source)
        finally:
            source.close()
    url = relative(args.url, path)
    text = toml(url, catalog, chosen, store=store_beside(path)) + policy
    kept = set_aside(path, text)
    write(path, text)
    warnings = list(cautions(catalog))
    if policy:
        warnings.append(f"the [policy] of the old {path} was kept; check that it still fits")
    if screen.is_json:
        screen.json(report(path, url, catalog, chosen, warnings))
        return 0
    for table in catalog.tables:
        if table.name in chosen:
            columns = (("key", table.key), ("text", table.text_columns), ("filters", table.filter_columns))
            told = ", ".join(f"{role} {' and '.join(names)}" for role, names in columns if names)
            screen.text(f"{table.name}: {table.rows} rows, {told}")
    screen.text(f"wrote {path}")
    if kept is not None:
        screen.note(f"the old settings are in {kept}")
    for warning in warnings:
        screen.warn(warning)
    if any(table.text_columns for table in catalog.tables):
        screen.note("next: 'sqlrag index', then 'sqlrag ask \"…\"'")
    return 0


def report(path: Path, url: str, catalog: Catalog, chosen: Chosen, warnings: Sequence[str]) -> dict[str, Any]:
    """What was chosen, as JSON."""
    tables = [
        {
            "name": table.name,
            "key": list(table.key),
            "text": list(table.text_columns),
            "filters": list(table.filter_columns),
            "rows": table.rows,
        }
        for table in catalog.tables
        if table.name in chosen
    ]
    return {
        "config": str(path),
        "source": url,
        "tables": tables,
        "without_text": [table.name for table in catalog.tables if not table.text_columns],
        "broken": [{"name": name, "reason": one_line(reason)} for name, reason in catalog.broken],
        "warnings": list(warnings),
    }


def cautions(catalog: Catalog) -> Sequence[str]:
    """What a user should know of this database before asking: one line each."""
    found = [f"{name} cannot be read and is left out: {one_line(reason)}" for name, reason in catalog.broken]
    if not catalog.tables:
        return [*found, "the database has no table that can be read; nothing can be asked of it"]
    if not any(table.text_columns for table in catalog.tables):
        found.append(
            "no table has a text column to search by meaning, so only questions that SQL answers will work; "
            "if one should be searched, name it under [tables.NAME] text"
        )
    return [*found, *map(one_line, catalog.warnings)]


def kept_policy(path: Path) -> str:
    """The [policy] of a settings file that is about to be overwritten, as written; "" when it has none.

    Raises SettingsError when there may be one that cannot be told from the rest: it must not get lost unnoticed.
    """
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines, is_policy = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            is_policy = re.match(r"\s*\[\s*policy\s*[.\]]", line) is not None
        if is_policy:
            lines.append(line)
    found = "\n".join(["", *lines, ""]) if lines else ""
    try:
        if tomllib.loads(text).get("policy") == tomllib.loads(found).get("policy"):
            return found
    except tomllib.TOMLDecodeError:
        if "policy" not in text:
            return ""
    raise SettingsError(
        f"{path} seems to hold a [policy] that cannot be carried over; write another file with --config, and copy "
        "the policy into it"
    )


def set_aside(path: Path, text: str) -> Path | None:
    """Copies a settings file that `text` is about to overwrite beside it, and says where; None when nothing gets lost.

    What `init` does not know of (synonyms, limits, columns chosen by hand) is then still to be had.
    """
    if not path.is_file():
        return None
    before = path.read_bytes()
    if before == text.encode():
        return None
    kept = path.with_name(path.name + ".old")
    kept.write_bytes(before)
    return kept


def relative(url: str, settings_file: Path) -> str:
    """The URL as it is written down: a file below this folder by its relative path, so that both can move.

    Settings kept elsewhere name the file absolutely, since relative paths start at the working directory.
    """
    scheme, slashes, rest = url.partition("://")
    prefix, place = (f"{scheme}:///", rest.removeprefix("/")) if slashes else ("", url)
    if slashes and scheme.casefold() not in ("sqlite", "duckdb"):
        return url
    here = Path.cwd().resolve()
    file = Path(place).expanduser()
    if settings_file.resolve().parent != here:
        return prefix + str(file.resolve())
    if file.is_absolute() and file.resolve().is_relative_to(here):
        return prefix + str(file.resolve().relative_to(here))
    return url


def store_beside(settings_file: Path) -> str | None:
    """Where the index of settings kept elsewhere lies: beside them, or two such would share this folder's."""
    folder = settings_file.resolve().parent
    return None if folder == Path.cwd().resolve() else str(folder / ".sqlrag")


def write(path: Path, text: str) -> None:
    """Writes the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".sqlrag-", suffix=".toml")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(partial, 0o644)
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def toml(url: str, catalog: Catalog, chosen: Chosen, *, store: str | None = None) -> str:
    """The settings file: the source, the defaults, and a section for every table with text."""
    from sqlrag_dspy.settings import Settings

    usual = Settings()
    lines = [
        "# Settings of sqlrag; the README explains each. Environment variables (SQLRAG_LM, …) override them.",
        f"source = {quoted(url)}",
        f"program = {quoted(usual.program)}  # a folder, or a program that ships with the package",
        f"store = {quoted(store or usual.store)}  # where the index lives; nothing is written into the source",
        f"embedder = {quoted(list(usual.embedder))}",
        f'lm = {quoted(usual.lm)}  # "" = none; "gemini/gemini-2.5-flash" with GEMINI_API_KEY; any name dspy.LM takes',
        f'lm_small = {quoted(usual.lm_small)}  # a cheaper model for checking and criticising; "" = the same one',
        "",
        "# key: identifies a row. text: columns searched by meaning. filters: columns kept beside the index, for",
        "# equality filters without SQL; every other restriction goes through SQL. After a change: 'sqlrag index'.",
    ]
    for name, table in chosen.items():
        lines += ["", *_section(name, table)]
    bare = [table.name for table in catalog.tables if table.name not in chosen]
    if bare:
        lines += ["", "# Nothing to search or to filter by was found in these; SQL questions reach them:"]
        lines += [f"#   {one_line(name)}" for name in bare]
    if catalog.broken:
        lines += ["", "# These cannot be read and are left out:"]
        lines += [f"#   {one_line(name)}: {one_line(reason)}" for name, reason in catalog.broken]
    lines += ["", "[limits]  # what queries may cost"]
    lines += [f"{name} = {quoted(value)}" for name, value in usual.limits.model_dump().items()]
    return "\n".join(lines) + "\n"


def _section(name: str, table: TableSettings) -> list[str]:
    lines = [f"[tables.{_bare_key(name)}]"]
    if table.key == "rowid":
        lines.append("# no column identifies a row: the database's own row number does")
    for setting in ("key", "text", "filters"):
        value = getattr(table, setting)
        lines.append(f"{setting} = {quoted(value)}")
    return lines


def _bare_key(name: str) -> str:
    is_bare = bool(name) and name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else quoted(name)


def quoted(value: Any) -> str:
    """A TOML value: text, number, or a list of them."""
    if isinstance(value, list):
        return "[" + ", ".join(quoted(item) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:g}" if value.is_integer() else repr(value)
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
