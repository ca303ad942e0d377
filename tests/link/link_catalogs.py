"""Catalogs and linkers for the linker's tests, profiled from small SQLite databases without the source room."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path

from sqlrag_dspy.link import Linker, ValueStore
from sqlrag_dspy.types import Catalog, Column, ForeignKey, Profile, Table, Value

TODAY = date(2024, 2, 15)
_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y %H:%M")


def _profile(values: Sequence[Value]) -> Profile:
    filled = [v for v in values if v not in (None, "")]
    counts = Counter(filled)
    nulls = 1 - len(filled) / max(1, len(values))
    if not filled:
        return Profile("empty", nulls)
    whole = [v for v in filled if isinstance(v, int)]
    if len(whole) >= 0.9 * len(filled):
        flags = tuple(counts.most_common()) if set(whole) == {0, 1} else ()
        return Profile("integer", nulls, len(counts), values=flags, minimum=min(whole), maximum=max(whole))
    if all(isinstance(v, (int, float)) for v in filled):
        return Profile("number", nulls, len(counts), minimum=min(filled), maximum=max(filled))  # type: ignore[type-var]
    texts = [str(v) for v in filled]
    for style in _FORMATS:
        try:
            days = [datetime.strptime(t, style) for t in texts]
        except ValueError:
            continue
        found = "datetime" if "%H" in style else "date"
        low, high = (str(d.date()) for d in (min(days), max(days)))
        return Profile(found, nulls, len(counts), minimum=low, maximum=high, date_formats=(style,))  # type: ignore[arg-type]
    mean = sum(map(len, texts)) / len(texts)
    categorical = len(counts) <= max(12, len(texts) // 12) and mean < 40
    return Profile(
        "text",
        nulls,
        len(counts),
        values=tuple(counts.most_common()) if categorical else (),
        samples=tuple(texts[:5]),
        mean_length=mean,
        is_long_text=mean > 200,
    )


def catalog_of(connection: sqlite3.Connection, filters: Iterable[str] = ()) -> Catalog:
    """The catalog of an open SQLite database; `filters` are "table.column"."""
    tables = []
    listed = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
    ).fetchall()
    for (name,) in listed:
        keys: dict[int, list[tuple[str, str, str]]] = {}
        for k in connection.execute(f'PRAGMA foreign_key_list("{name}")'):
            keys.setdefault(k[0], []).append((k[2], k[3], k[4]))
        foreign = tuple(
            ForeignKey(tuple(k[1] for k in ks), ks[0][0], tuple(k[2] for k in ks)) for ks in keys.values()
        )
        info = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        columns = tuple(
            Column(c[1], c[2], _profile([r[0] for r in connection.execute(f'SELECT "{c[1]}" FROM "{name}"')]))
            for c in info
        )
        tables.append(
            Table(
                name,
                tuple(c[1] for c in info if c[5]) or ("rowid",),
                columns,
                tuple(c.name for c in columns if c.profile.is_long_text),
                tuple(c.name for c in columns if f"{name}.{c.name}" in set(filters)),
                foreign,
                connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0],
            )
        )
    return Catalog(tuple(tables))


def distinct_of(connection: sqlite3.Connection) -> Callable[[str, str, int], list[tuple[Value, int]]]:
    """`distinct` as the source room gives it."""

    def distinct(table: str, column: str, limit: int) -> list[tuple[Value, int]]:
        filled = f'FROM "{table}" WHERE "{column}" <> \'\''
        sql = f'SELECT "{column}", count(*) {filled} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?'
        return connection.execute(sql, (limit,)).fetchall()

    return distinct


def linker_of(connection: sqlite3.Connection, catalog: Catalog, **more: object) -> Linker:
    store = ValueStore.build(catalog, distinct_of(connection), lambda *a: [])
    return Linker(catalog, store, today=lambda: TODAY, **more)  # type: ignore[arg-type]


def articles_connection() -> sqlite3.Connection:
    """The sample corpus, from the trainset."""
    folder = Path(__file__).parents[2] / "trainsets" / "articles"
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript((folder / "schema.sql").read_text(encoding="utf-8"))
    for line in (folder / "articles.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        names = ", ".join(f'"{n}"' for n in row)
        connection.execute(
            f"INSERT INTO articles ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values())
        )
    return connection
