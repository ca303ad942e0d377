"""A small database from a SQL script, opened the way an application opens it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from source_pools import LIMIT, SCRIPT

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


@pytest.fixture
def over(tmp_path):
    """`over(workers=2, …)` opens a small source with those limits, its catalog read."""
    path = tmp_path / "data.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCRIPT)
    opened = []

    def build(policy=None, **limits):
        source = open_source(str(path), limits=Limits(**{"seconds": LIMIT, **limits}), policy=policy)
        opened.append(source)
        assert source.catalog.table("n") is not None
        return source

    yield build
    for source in opened:
        source.close()


@pytest.fixture
def background():
    """Runs functions in threads, which end with the test."""
    with ThreadPoolExecutor(16) as threads:
        yield threads.submit
