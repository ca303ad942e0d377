"""`sqlrag search` over several tables with text."""

from __future__ import annotations

import sqlite3

import pytest


@pytest.fixture
def library(sqlrag, folder, monkeypatch):
    """Letters and notes, indexed by the small embedder."""
    monkeypatch.setenv("SQLRAG_EMBEDDER", "wordllama")
    connection = sqlite3.connect(folder / "library.db")
    connection.execute("CREATE TABLE letters (id INTEGER PRIMARY KEY, sender TEXT, body TEXT)")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, topic TEXT, body TEXT)")
    connection.executemany(
        "INSERT INTO letters VALUES (?, ?, ?)",
        [
            (1, "ada", "The ferry to the island sails again after the long strike of its crews."),
            (2, "ada", "Bees were put on the roof of the town hall, and the neighbours complain."),
            (3, "ben", "Bread rises faster in the mountains, the baker of the village found."),
        ],
    )
    connection.executemany(
        "INSERT INTO notes VALUES (?, ?, ?)",
        [
            (1, "food", "A recipe for sourdough bread that was baked high in the mountains."),
            (2, "work", "The crane at the harbour must be inspected before the winter."),
        ],
    )
    connection.commit()
    connection.close()
    assert sqlrag("init", "library.db").code == 0
    assert sqlrag("index").code == 0
    return folder


def found(outcome):
    assert outcome.code == 0, outcome.err
    return [(document["table"], document["key"]) for document in outcome.json["documents"]]


def test_all_tables_are_searched_in_one_order(sqlrag, library):
    outcome = sqlrag("search", "bread in the mountains", "--json")
    assert set(found(outcome)[:2]) == {("letters", 3), ("notes", 1)}
    assert len(found(outcome)) == 5
    scores = [document["score"] for document in outcome.json["documents"]]
    assert scores == sorted(scores, reverse=True)
    told = outcome.json["search"]
    assert (told["rows_allowed"], told["rows_searched"], told["tables"]) == (5, 5, ["letters", "notes"])
    assert found(sqlrag("search", "harbour crane", "-k", "1", "--json")) == [("notes", 2)]
    text = sqlrag("search", "bread", "-k", "2")
    assert "5 of 5 rows allowed in letters, notes" in text.out + text.err


def test_a_named_table_is_searched_alone(sqlrag, library):
    outcome = sqlrag("search", "bread", "--table", "notes", "--json")
    assert {table for table, _ in found(outcome)} == {"notes"}
    assert "tables" not in outcome.json["search"]


@pytest.mark.parametrize("argv", [["--filter", "topic=food"], ["--where", "topic = 'food'"]])
def test_a_filter_leaves_out_the_tables_that_it_does_not_fit(sqlrag, library, argv):
    outcome = sqlrag("search", "the ferry strike", "--json", *argv)
    assert found(outcome) == [("notes", 1)]
    (warning,) = outcome.json["warnings"]
    assert warning.startswith("letters was not searched: ")
    assert "topic" in warning


def test_a_condition_on_both(sqlrag, library):
    outcome = sqlrag("search", "bread", "--where", "id = 1", "--json")
    assert set(found(outcome)) == {("letters", 1), ("notes", 1)}
    assert outcome.json["search"]["key_sql"].count("SELECT") == 2


def test_a_filter_that_fits_no_table_is_refused(sqlrag, library):
    sqlrag("search", "bread", "--filter", "colour=red").refused(
        "no column 'colour' in letters, notes; there are: id, sender, body, topic"
    )


def test_a_filter_is_compared_with_the_columns_of_every_table(sqlrag, library):
    mistyped = sqlrag("search", "bread", "--filter", "topc=food")
    mistyped.refused("no column 'topc' in letters, notes; did you mean 'topic'?")


def test_nothing_allowed_says_why(sqlrag, library):
    outcome = sqlrag("search", "bread", "--where", "id > 99", "--json")
    assert found(outcome) == []
    assert outcome.json["warnings"]
    assert outcome.json["search"]["rows_allowed"] == 0
