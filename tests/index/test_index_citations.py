"""Whatever the table's key and however many columns hold text: every passage is, character for character, what SQLite
itself reads at that key, column and offset."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import TOY, ToyEmbedder

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.settings import Limits, TableSettings
from sqlrag_dspy.source import open_source

TABLES = {
    "numbered": ("CREATE TABLE numbered (id INTEGER PRIMARY KEY, a TEXT, b TEXT)", "id"),
    "named": ("CREATE TABLE named (name TEXT PRIMARY KEY, a TEXT, b TEXT) WITHOUT ROWID", "name"),
    "paired": ("CREATE TABLE paired (x INTEGER, y TEXT, a TEXT, b TEXT, PRIMARY KEY (x, y))", "x, y"),
    "keyless": ("CREATE TABLE keyless (a TEXT, b TEXT)", "rowid"),
    "odd name": ('CREATE TABLE "odd name" ("the key" TEXT UNIQUE, a TEXT, b TEXT)', '"the key"'),
    "shown": ("CREATE VIEW shown AS SELECT id, a, b FROM numbered", "id"),
}
SETTINGS = {
    "numbered": TableSettings(key="id", text=["a", "b"]),
    "named": TableSettings(key="name", text=["a", "b"]),
    "paired": TableSettings(key=["x", "y"], text=["a", "b"]),
    "keyless": TableSettings(key="rowid", text=["a", "b"]),
    "odd name": TableSettings(key="the key", text=["a", "b"]),
    "shown": TableSettings(key="id", text=["a", "b"]),
}
# SQLite's own functions end a text at NUL, which is not what is tested here.
PIECES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40),
    st.sampled_from(
        [
            "kite over the river. ",
            "\r\n\r\n",
            "\u200b\ufeff",
            "e\u0301",
            "日本語。",
            "שלום ",
            "<b>x</b>",
            "\t",
            "🪁" * 5,
        ]
    ),
)
TEXT = st.one_of(st.none(), st.lists(PIECES, max_size=60).map("".join), PIECES.map(lambda piece: piece * 90))
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=ROWS, after=ROWS, asked=st.sampled_from(["kite", "日本語", "x", "river e\u0301"]))
def test_every_passage_is_what_the_source_holds(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str | None, str | None]],
    after: list[tuple[str | None, str | None]],
    asked: str,
) -> None:
    folder = tmp_path_factory.mktemp("citations")
    fill(folder, before)
    look_up(folder, asked)
    fill(folder, after)
    look_up(folder, asked)


def fill(folder: Path, rows: list[tuple[str | None, str | None]]) -> None:
    """The same rows in every table."""
    connection = sqlite3.connect(folder / "source.db")
    for name, (statement, _) in TABLES.items():
        kind = "VIEW" if name == "shown" else "TABLE"
        connection.execute(f'DROP {kind} IF EXISTS "{name}"')
        connection.execute(statement)
    many = connection.executemany
    many("INSERT INTO numbered VALUES (?, ?, ?)", [(n, *row) for n, row in enumerate(rows)])
    many("INSERT INTO named VALUES (?, ?, ?)", [(f"row é {n}", *row) for n, row in enumerate(rows)])
    many("INSERT INTO paired VALUES (?, ?, ?, ?)", [(n % 2, f"it's {n}", *row) for n, row in enumerate(rows)])
    many("INSERT INTO keyless VALUES (?, ?)", rows)
    many('INSERT INTO "odd name" VALUES (?, ?, ?)', [(f"k{n}", *row) for n, row in enumerate(rows)])
    connection.commit()
    connection.close()


def look_up(folder: Path, asked: str) -> None:
    """Syncs, searches every table, and reads what is cited with SQLite itself."""
    functions = {"toy": ToyEmbedder()}
    connection = sqlite3.connect(folder / "source.db")
    with open_source(str(folder / "source.db"), limits=Limits(), tables=SETTINGS) as source:
        tables = [table for table in source.catalog.tables if table.name in SETTINGS]
        assert len(tables) == len(TABLES)
        sync(folder / "store", source, tables, TOY, embed_functions=functions, state=source.state)
        index = open_index(folder / "store", tables, TOY, embed_functions=functions)
        for table in tables:
            hits = index.search(asked, table.name, k=100, reader=source)
            (count,) = connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()
            assert len({document.key for document in hits.documents}) == count
            for document in hits.documents:
                for passage in document.passages:
                    key = document.key if isinstance(document.key, tuple) else (document.key,)
                    where = " AND ".join(f"{name} = ?" for name in TABLES[table.name][1].split(", "))
                    (text,) = connection.execute(
                        f'SELECT "{passage.column}" FROM "{table.name}" WHERE {where}', key
                    ).fetchone()
                    assert text[passage.start : passage.end] == passage.text
                    assert passage.text.strip()
        index.close()
    connection.close()
