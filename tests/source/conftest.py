"""A small database from a SQL script, opened the way an application opens it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import Source, open_source
from sqlrag_dspy.types import CheckedSql

Make = Callable[..., Source]


def checked(sql: str) -> CheckedSql:
    """A statement as if `sql.check` had passed it; these tests are about what happens after."""
    return CheckedSql(sql, (), ())


@pytest.fixture
def run() -> Callable[[Source, str], list[tuple[Any, ...]]]:
    return lambda source, sql: list(source.execute(checked(sql)).values)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """`make(script, rows={"INSERT …": [...]}, **options)` builds a SQLite file and opens it."""
    opened: list[Source] = []

    def build(
        script: str,
        rows: dict[str, list[tuple[Any, ...]]] | None = None,
        name: str = "data.db",
        **options: Any,
    ) -> Source:
        path = tmp_path / name
        connection = sqlite3.connect(path)
        connection.executescript(script)
        for statement, values in (rows or {}).items():
            connection.executemany(statement, values)
        connection.commit()
        connection.close()
        source = open_source(f"sqlite:///{path}", limits=options.pop("limits", Limits()), **options)
        opened.append(source)
        return source

    yield build
    for source in opened:
        source.close()
