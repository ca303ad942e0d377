"""Which table of several with long texts a question searches, and that it says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from sqlrag_dspy.program import load
from sqlrag_dspy.settings import Settings

SCRIPT = """
CREATE TABLE letters (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE diaries (id INTEGER PRIMARY KEY, body TEXT);
"""
PROSE = "The harbour was quiet that morning, and {0} of us walked along the frozen quay. " * 4


@pytest.fixture(scope="module")
def asked(small: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The small program over a database with two tables of long texts."""
    folder = tmp_path_factory.mktemp("two texts")
    with closing(sqlite3.connect(folder / "texts.db")) as connection:
        connection.executescript(SCRIPT)
        for table, rows in (("letters", 9), ("diaries", 6)):
            connection.executemany(
                f"INSERT INTO {table} (body) VALUES (?)", [(PROSE.format(row),) for row in range(rows)]
            )
        connection.commit()
    settings = Settings(source=f"sqlite:///{folder / 'texts.db'}", store=str(folder / "store"))
    with load(small.program, settings=settings) as rag:
        rag.bound().sync()
        yield rag.ask


def test_the_largest_is_searched_where_none_is_named_and_that_is_told(asked):
    answer = asked("what is said about the frozen harbour")
    assert answer.route == "vector"
    assert {document.table for document in answer.documents} == {"letters"}
    assert answer.assumptions == [
        "letters was searched and not diaries, since the question names none of them"
    ]


def test_one_that_is_named_is_searched_and_nothing_is_assumed(asked):
    answer = asked("what do the diaries say about the frozen harbour")
    assert answer.route == "vector"
    assert {document.table for document in answer.documents} == {"diaries"}
    assert answer.assumptions == []
