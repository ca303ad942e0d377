"""Small catalogs with the DuckDB tables that the source's views would show, for the tests of this room."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb

from sqlrag_dspy.types import Catalog, CheckedSql, Column, ForeignKey, Profile, Rows, Table

VIEW_TYPES = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}


def text(name: str, *values: tuple[str, int], declared: str = "TEXT", nulls: float = 0.0) -> Column:
    return Column(name, declared, Profile("text", values=values, null_share=nulls))


def integer(name: str, nulls: float = 0.0) -> Column:
    return Column(name, "INTEGER", Profile("integer", null_share=nulls))


def real(name: str) -> Column:
    return Column(name, "REAL", Profile("number"))


def day(name: str, *formats: str, nulls: float = 0.0) -> Column:
    found = "datetime" if any("%H" in each for each in formats) else "date"
    return Column(name, "TEXT" if formats else "DATE", Profile(found, null_share=nulls, date_formats=formats))  # type: ignore[arg-type]


ARTICLES: list[tuple[Any, ...]] = [
    ("Bank run", "Ada Lund", "2023-04-17 06:00:00", "business", 300, "718", True),
    ("River", "Bo Marsh, Ada Lund", "2023-03-31 23:30:00", "travel", 700, "00718", False),
    ("Goal", None, "2022-12-31 10:00:00", "sports", 120, "00501", True),
    ("Goal again", "Bo Marsh", "2023-01-01 00:00:00", "sports", 450, None, True),
    ("Old news", "Cy Oak", "1970-01-01 00:00:00", "business", 90, "1", False),
]

TABLES = (
    Table(
        "articles",
        ("title",),
        (
            text("title"),
            text("authors", nulls=0.2),
            day("published_date", "%Y-%m-%d %H:%M:%S"),
            text("article_category", ("business", 2), ("sports", 2), ("travel", 1)),
            integer("word_count"),
            text("zip", nulls=0.2),
            Column("is_open", "BOOLEAN", Profile("boolean")),
            text("full_content"),
        ),
        rows=5000,
    ),
    Table("n", ("rowid",), (integer("x"),), rows=3),
    Table(
        "task",
        ("id",),
        (
            integer("id"),
            day("created_at", "%Y-%m-%d"),
            day("updated_at", "%Y-%m-%d"),
            integer("deleted"),
            text("drop"),
            text("note"),
        ),
        rows=2,
    ),
    Table("orders", ("id",), (integer("id"), text("customer"), real("amount")), rows=3),
    Table(
        "line",
        ("id",),
        (integer("id"), integer("order_id"), text("category", ("paper", 4), ("ink", 1))),
        foreign_keys=(ForeignKey(("order_id",), "orders", ("id",)),),
        rows=5,
    ),
    Table(
        "odd_dates",
        ("id",),
        (integer("id"), day("eu", "%d/%m/%Y"), day("mixed", "%Y-%m-%d", "%d/%m/%Y"), day("native")),
        rows=3,
    ),
    Table(
        "log",
        ("id",),
        (integer("id"), day("seen", "%d %b %Y %H:%M"), day("until", "%d %b %Y %H:%M", nulls=0.3)),
        rows=3,
    ),
    Table(
        "city", ("id",), (integer("id"), Column("name", "TEXT", Profile("text"), ignores_case=True)), rows=3
    ),
    Table(
        "Odd Table",
        ("Full Name",),
        (text("Full Name"), integer("select"), integer("größe"), text('a"b')),
        rows=1,
    ),
)

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "articles": [(*row, "text") for row in ARTICLES],
    "n": [(1,), (2,), (3,)],
    "task": [
        (1, "2024-05-01", "2024-05-02", 0, "north", "please delete; then update me -- now"),
        (2, "2024-06-01", "2024-06-02", 1, "south", "call the plumber"),
    ],
    "orders": [(1, "Ada", 100.0), (2, "Bo", 200.0), (3, "Cy", 50.0)],
    "line": [(1, 1, "paper"), (2, 1, "paper"), (3, 1, "paper"), (4, 2, "paper"), (5, 3, "ink")],
    "odd_dates": [
        (1, "17/04/2023", "2023-04-17", "2023-04-17"),
        (2, "01/05/2023", "01/05/2023", "2023-05-01"),
        (3, "31/12/2022", "2022-12-31", "2022-12-31"),
    ],
    "log": [
        (1, "17 Apr 2023 14:05", "18 Apr 2023 02:05"),
        (2, "02 May 2023 00:00", "09 May 2023 12:00"),
        (3, "31 Dec 2022 23:59", None),
    ],
    "city": [(1, "GENEVA"), (2, "geneva"), (3, "Zürich")],
    "Odd Table": [("Ada Lund", 1, 2, "x")],
}

CATALOG = Catalog(TABLES)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def open_duckdb(
    catalog: Catalog = CATALOG, rows: dict[str, list[tuple[Any, ...]]] = ROWS
) -> duckdb.DuckDBPyConnection:
    """The tables as the source's views show them."""
    con = duckdb.connect()
    for table in catalog.tables:
        shown = []
        for column in table.columns:
            kind = VIEW_TYPES.get(column.profile.found, "VARCHAR")
            if column.is_date and not column.profile.date_formats:
                kind = "DATE"
            shown.append(f"{quoted(column.name)} {kind}")
        has_number = table.key == ("rowid",)
        stored = quoted(f"stored {table.name}" if has_number else table.name)
        con.execute(f"CREATE TABLE {stored} ({', '.join(shown)})")
        for row in rows.get(table.name, []):
            con.execute(f"INSERT INTO {stored} VALUES ({', '.join('?' * len(row))})", row)
        if has_number:
            con.execute(f"CREATE VIEW {quoted(table.name)} AS SELECT *, rowid + 1 AS rowid FROM {stored}")
    return con


def open_sqlite(
    catalog: Catalog = CATALOG, rows: dict[str, list[tuple[Any, ...]]] = ROWS
) -> sqlite3.Connection:
    """The same tables as SQLite would hold them."""
    con = sqlite3.connect(":memory:")
    for table in catalog.tables:
        shown = ", ".join(
            f"{quoted(column.name)} {column.type}{' COLLATE NOCASE' if column.ignores_case else ''}"
            for column in table.columns
        )
        con.execute(f"CREATE TABLE {quoted(table.name)} ({shown})")
        for row in rows.get(table.name, []):
            con.execute(f"INSERT INTO {quoted(table.name)} VALUES ({', '.join('?' * len(row))})", row)
    return con


def runner(con: duckdb.DuckDBPyConnection):  # type: ignore[no-untyped-def]
    """A function that executes checked SQL, as the source room would."""

    def run(query: CheckedSql) -> Rows:
        found = con.execute(query.text)
        names = tuple(each[0] for each in found.description or ())
        return Rows(names, tuple(found.fetchall()))

    return run


def lines(path: Any) -> list[tuple[str, str]]:
    """(statement, reason) of each line of a fixture."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        statement, _, reason = line.rpartition(" -- ")
        if reason:
            found.append((statement, reason))
    return found
