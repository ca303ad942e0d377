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
CREATE TABLE sailors (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO sailors (name) VALUES ('Ada Lund'), ('Bo Marsh'), ('Cy Oak');
CREATE TABLE ports (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ports (name) VALUES ('Oban'), ('Vigo');
CREATE TABLE letters (
  id INTEGER PRIMARY KEY, body TEXT, sent TEXT, sailor_id INTEGER REFERENCES sailors (id)
);
CREATE TABLE diaries (
  id INTEGER PRIMARY KEY, body TEXT, sailor_id INTEGER REFERENCES sailors (id),
  port_id INTEGER REFERENCES ports (id)
);
"""
PROSE = "The harbour was quiet that morning, and {0} of us walked along the frozen quay. " * 4


@pytest.fixture(scope="module")
def asked(small: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The small program over a database with two tables of long texts."""
    folder = tmp_path_factory.mktemp("two texts")
    with closing(sqlite3.connect(folder / "texts.db")) as connection:
        connection.executescript(SCRIPT)
        connection.executemany(
            "INSERT INTO letters (body, sent, sailor_id) VALUES (?, ?, ?)",
            [(PROSE.format(row), f"202{2 + row % 2}-03-0{row + 1}", 1 + row % 3) for row in range(9)],
        )
        connection.executemany(
            "INSERT INTO diaries (body, sailor_id, port_id) VALUES (?, ?, ?)",
            [(PROSE.format(row), 1 + row % 3, 1 + row % 2) for row in range(6)],
        )
        connection.commit()
    settings = Settings(source=f"sqlite:///{folder / 'texts.db'}", store=str(folder / "store"))
    with load(small.program, settings=settings) as rag:
        rag.bound().sync()
        yield rag.ask


def test_all_are_searched_where_none_is_named(asked):
    answer = asked("what is said about the frozen harbour")
    assert answer.route == "vector"
    assert {document.table for document in answer.documents} == {"letters", "diaries"}
    scores = [document.score for document in answer.documents]
    assert scores == sorted(scores, reverse=True)
    assert answer.search.tables == ["letters", "diaries"]
    assert answer.search.rows_allowed == answer.search.rows_searched == 15
    assert answer.explanation == "searched letters, diaries by meaning"
    assert answer.assumptions == []


def test_the_one_whose_rows_are_restricted_is_searched(asked):
    answer = asked("what is said about the frozen harbour in 2023")
    assert answer.route == "hybrid"
    assert {document.table for document in answer.documents} == {"letters"}
    assert answer.search.rows_allowed == 4
    assert answer.search.tables == []
    assert answer.assumptions == []


def test_the_largest_is_searched_where_another_table_restricts_either_and_that_is_told(asked):
    answer = asked("what is said about the frozen harbour by Ada Lund")
    assert answer.route == "hybrid"
    assert {document.table for document in answer.documents} == {"letters"}
    assert answer.search.rows_allowed == 3
    assert answer.assumptions == [
        "letters was searched and not diaries, since the question names none of them"
    ]


def test_a_table_without_text_leads_to_the_one_that_refers_to_it(asked):
    answer = asked("what is said about the frozen harbour in the ports")
    assert answer.route == "vector"
    assert {document.table for document in answer.documents} == {"diaries"}
    assert answer.assumptions == []


def test_one_that_is_named_is_searched_and_nothing_is_assumed(asked):
    answer = asked("what do the diaries say about the frozen harbour")
    assert answer.route == "vector"
    assert {document.table for document in answer.documents} == {"diaries"}
    assert answer.assumptions == []
