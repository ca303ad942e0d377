"""The scores of word lists are those of FTS5's own BM25, and lists are read once."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest

from sqlrag_dspy.index.words import lexical, postings
from sqlrag_dspy.index.words.postings import PostingLists, read_lengths
from sqlrag_dspy.index.words.spelling import Stemmer

WORDS = [
    "chess",
    "games",
    "played",
    "playing",
    "network",
    "网",
    "络",
    "3",
    "naïve",
    "naive",
    "x1",
    "the",
    "and",
    "engine",
    "engines",
]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """A word index of 400 chunks of up to 400 words."""
    connection = sqlite3.connect(":memory:")
    lexical.create(connection, 7)
    rng = random.Random(5)

    def text(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(most)))

    chunks = [(id_, text(rng.choice([5, 40, 400])), text(6), text(3)) for id_ in range(400)]
    lexical.add(connection, 7, chunks)
    yield connection
    connection.close()


def fts5(connection: sqlite3.Connection, *phrases: str) -> dict[int, float]:
    query = "SELECT rowid, -bm25(words_7) FROM words_7 WHERE words_7 MATCH ?"
    return dict(connection.execute(query, (" OR ".join(f'"{phrase}"' for phrase in phrases),)))


@pytest.mark.parametrize(
    "phrases",
    [
        ("chess",),
        ("game", "chess", "3"),
        ("played", "playing"),  # one stem, twice
        ("网 络", "network"),
        ("the engine and", "naïve"),
        ("and and", "nowhere", "x1"),
        ("nowhere",),
    ],
)
def test_scores_are_those_of_fts5(connection: sqlite3.Connection, phrases: tuple[str, ...]) -> None:
    lists = PostingLists(connection, 7, read_lengths(connection, 7))
    tokens = [Stemmer().tokens(phrase) for phrase in phrases]
    expected = fts5(connection, *phrases)

    ids, scores = lists.score(tokens, None)
    assert dict(zip(ids.tolist(), scores.tolist())) == expected
    assert ids.tolist() == sorted(expected)

    for step in (1, 3, 90):
        allowed = np.arange(2, 400, step)
        ids, scores = lists.score(tokens, allowed)
        inside = {id_: score for id_, score in expected.items() if id_ in set(allowed.tolist())}
        assert dict(zip(ids.tolist(), scores.tolist())) == inside


def test_lengths_count_every_column(connection: sqlite3.Connection) -> None:
    of_chunk: dict[int, int] = {}
    connection.execute("CREATE VIRTUAL TABLE temp.i USING fts5vocab('main', 'words_7', 'instance')")
    for (doc,) in connection.execute("SELECT doc FROM i"):
        of_chunk[doc] = of_chunk.get(doc, 0) + 1
    lengths = read_lengths(connection, 7)
    assert len(lengths) == 400
    assert max(lengths) > 127  # two bytes in FTS5
    assert lengths.tolist() == [of_chunk.get(id_, 0) for id_ in range(400)]


def test_an_empty_index_matches_nothing() -> None:
    connection = sqlite3.connect(":memory:")
    lexical.create(connection, 7)
    lists = PostingLists(connection, 7, read_lengths(connection, 7))
    assert not len(lists.score([("chess",), ()], None)[0])
    assert not lists.holds_any(("chess",), np.arange(3))


def test_lists_are_read_once_and_forgotten_when_there_are_many(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    lists = PostingLists(connection, 7, read_lengths(connection, 7))
    first = lists.of(("chess",))
    asked.clear()
    assert lists.of(("chess",)) is first
    assert not asked
    monkeypatch.setattr(postings, "_KEPT", 10)
    lists.of(("network",))
    assert lists.of(("chess",)) is not first
    assert asked
