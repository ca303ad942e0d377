"""Widens SQLite databases to hundreds of tables, most of them plausible and wrong, and writes one file.

    python scripts/widen_schema.py wide.db shop.db                       # 240 tables, about 4,000 columns
    python scripts/widen_schema.py wide.db spider/*.sqlite --with peps.sqlite til.sqlite --tables 240

The tables of the given files keep names, rows, keys and references. Beside them stand copies of them under another
word (`clients`), the tables of every other database at hand (the trainsets that can be built here, and the files
after --with), then copies as archives (`orders_archive`, `stg_orders`, `orders_2019`, …), of the right tables first,
until there are enough. Neighbours get columns of their kind until the file has as many columns as asked for, and a
few rows each, so that the file stays small. The same input gives the same file. Where two tables have one name, the
later is called after its database (`gear_orders`).
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from sqlrag_dspy.learn.databases import build

FEW = 12
"""Rows of a neighbour."""
COPIES = (
    "{}_archive", "{}_staging", "{}_old", "stg_{}", "{}_2019", "{}_backup", "tmp_{}", "{}_history", "{}_v2",
    "{}_import", "dim_{}", "{}_snapshot", "legacy_{}", "{}_test", "{}_deleted", "rpt_{}", "{}_2018", "{}_audit",
)  # fmt: skip
EXTRA = (
    "created_at", "created_by", "updated_at", "updated_by", "source_system", "batch_id", "load_date", "is_active",
    "valid_from", "valid_to", "row_hash", "version", "owner", "region", "department", "priority", "status_code",
    "external_ref", "remarks", "approved_by", "approved_on", "cost_center", "currency", "language", "channel",
    "segment", "deleted_flag", "import_file", "review_date", "sequence_no",
)  # fmt: skip

TRAINSETS = Path(__file__).resolve().parents[1] / "trainsets"


@dataclass
class Columns:
    """A table on its way into the file: where its rows are, what it is called and which columns it has."""

    source: Path
    stored: str
    name: str
    columns: list[tuple[str, str]]
    """(name, declared type)"""
    added: list[tuple[str, str]] = field(default_factory=list)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def tables_of(path: Path) -> Iterator[Columns]:
    """The ordinary tables of a file, by name."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        listed = connection.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        ).fetchall()
        for (name,) in listed:
            shown = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
            yield Columns(path, name, name, [(row[1], row[2]) for row in shown])


def renamed(name: str) -> str:
    """The same thing by another word of the glossary ("customers" is "clients"); "" when it has none."""
    text = resources.files("sqlrag_dspy.link").joinpath("glossary.toml").read_text(encoding="utf-8")
    concepts = [entry["en"].split(", ") for entry in tomllib.loads(text)["nouns"].values()]
    parts = name.split("_")
    for place in range(len(parts) - 1, -1, -1):
        word = parts[place].lower()
        single = word.removesuffix("s")
        for listed in concepts:
            others = [w for w in listed if w.isalpha() and w not in (word, single)]
            if others and listed[0] in (word, single):
                parts[place] = others[0] + ("s" if word.endswith("s") and not others[0].endswith("s") else "")
                return "_".join(parts)
    return ""


def neighbours(right: list[Columns], others: list[Path], most: int) -> list[Columns]:
    """The other tables at hand, then copies, until there are `most`; never a name twice."""
    used = {table.name.casefold() for table in right}
    shapes = {frozenset(name for name, _ in table.columns) for table in right}
    found: list[Columns] = []

    def add(table: Columns, name: str) -> None:
        if name.casefold() not in used and len(found) < most:
            used.add(name.casefold())
            found.append(Columns(table.source, table.stored, name, table.columns))

    strangers = [
        table
        for path in others
        for table in tables_of(path)
        if frozenset(name for name, _ in table.columns) not in shapes
    ]
    for table in right:
        if other := renamed(table.name):
            add(table, other)
    # Half of the room at most, so that copies of the right tables are always among the neighbours.
    for table in strangers[: max(most // 2, most - len(right) * len(COPIES))]:
        add(table, f"{table.source.stem}_{table.stored}" if table.stored.casefold() in used else table.stored)
    for pattern in COPIES:
        for table in right:
            add(table, pattern.format(table.name))
    for pattern in COPIES:
        for table in strangers:
            add(table, pattern.format(table.stored))
    return found


def pad(tables: list[Columns], columns: int, seed: int) -> None:
    """Gives the tables further columns, as evenly as it goes, until they have so many in all.

    Half of a table's further columns are such as any system has, half are those of another table.
    """
    chance = random.Random(seed)
    missing = columns - sum(len(table.columns) for table in tables)
    for number, table in enumerate(tables):
        share = missing // len(tables) + (number < missing % len(tables))
        held = {name.casefold() for name, _ in table.columns}
        plain = [(name, "TEXT") for name in chance.sample(EXTRA, len(EXTRA))]
        borrowed = chance.choice(tables)
        lent = [(f"{borrowed.stored}_{name}"[:60], kind) for name, kind in borrowed.columns]
        for name, kind in [*plain[: share - share // 2], *lent, *plain[share - share // 2 :]]:
            if len(table.added) < share and name.casefold() not in held:
                held.add(name.casefold())
                table.added.append((name, kind))


def write(out: Path, sources: list[Path], right: list[Columns], wrong: list[Columns]) -> None:
    """Writes the file: the right tables as they are, the others with a few rows."""
    out.unlink(missing_ok=True)
    with closing(sqlite3.connect(out)) as connection:
        for path in sources:
            connection.execute("ATTACH ? AS given", (f"{path.absolute().as_uri()}?mode=ro",))
            for kind in ("table", "index"):
                for name, sql in connection.execute(
                    "SELECT name, sql FROM given.sqlite_master WHERE type = ? AND sql IS NOT NULL", (kind,)
                ).fetchall():
                    if name.startswith("sqlite_"):
                        continue
                    connection.execute(sql)
                    if kind == "table":
                        connection.execute(f"INSERT INTO {quoted(name)} SELECT * FROM given.{quoted(name)}")
            connection.commit()
            connection.execute("DETACH given")
        for table in wrong:
            connection.execute("ATTACH ? AS given", (f"{table.source.absolute().as_uri()}?mode=ro",))
            listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in [*table.columns, *table.added])
            connection.execute(f"CREATE TABLE {quoted(table.name)} ({listed})")
            names = ", ".join(quoted(name) for name, _ in table.columns)
            connection.execute(
                f"INSERT INTO {quoted(table.name)} ({names}) "
                f"SELECT {names} FROM given.{quoted(table.stored)} ORDER BY rowid LIMIT {FEW}"
            )
            connection.commit()
            connection.execute("DETACH given")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("sources", nargs="+", type=Path, help="databases whose tables are the right ones")
    parser.add_argument("--with", dest="others", nargs="*", default=[], type=Path, help="more neighbours")
    parser.add_argument("--tables", type=int, default=240)
    parser.add_argument("--columns", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    widen(chosen.out, chosen.sources, chosen.others, chosen.tables, chosen.columns, chosen.seed)


def widen(
    out: Path, sources: list[Path], others: list[Path], tables: int = 240, columns: int = 4000, seed: int = 0
) -> None:
    """Writes `out`: the tables of `sources`, and neighbours up to so many tables and columns."""
    right = [table for path in sources for table in tables_of(path)]
    with tempfile.TemporaryDirectory() as place:
        built = []
        for folder in sorted(path.parent for path in TRAINSETS.glob("*/schema.sql")):
            path = Path(place) / f"{folder.name}.db"
            if folder.name not in {source.stem for source in sources}:
                build(folder, path)
                built.append(path)
        wrong = neighbours(right, [*built, *others], max(0, tables - len(right)))
        if wrong:
            pad(wrong, columns - sum(len(table.columns) for table in right), seed)
        write(out, sources, right, wrong)
    held = sum(len(table.columns) + len(table.added) for table in [*right, *wrong])
    print(f"{out}: {len(right)} right tables, {len(wrong)} others, {held} columns")


if __name__ == "__main__":
    main()
