"""Words that mean alike: kept by every sync, and used where question and passage share no word."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from index_fakes import MemoryRows, note, notes, notes_table
from numpy.typing import NDArray

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.store import DATABASE
from sqlrag_dspy.index.words import kinship

READER = ["use-multilingual"]
"""The name under which a function is taken to read single words."""


class Senses:
    """Words of one sense get one direction; a text of several words is the same whatever it says."""

    def __init__(self, *senses: str) -> None:
        self.of = {word: number for number, words in enumerate(senses) for word in words.split()}
        self.words: list[str] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def _vector(self, text: str) -> NDArray[np.float64]:
        if " " in text:
            return np.eye(64)[63]
        self.words.append(text)
        return np.eye(64)[self.of.get(text, 32 + len(text) % 31)]


def synced(store: Path, reader: MemoryRows, function: Senses, *, rebuild: bool = False, **more: Path) -> None:
    functions = {READER[0]: function}
    sync(store, reader, [notes_table()], READER, embed_functions=functions, rebuild=rebuild, **more)  # type: ignore[arg-type]


def found(store: Path, reader: MemoryRows, function: Senses, question: str) -> list[tuple[object, float]]:
    index = open_index(store, [notes_table()], READER, embed_functions={READER[0]: function})
    hits = index.search(question, "notes", reader=reader)
    index.close()
    return [(document.key, document.score) for document in hits.documents]


def lively() -> tuple[MemoryRows, Senses]:
    reader = notes(
        note(1, "a quiet garden behind old walls"),
        note(2, "the stadium gets another title"),
        note(3, "bread and salt on a long table"),
    )
    return reader, Senses("arena stadium", "renamed title", "loaf bread brood", "meal table")


@pytest.mark.parametrize(
    ("question", "first"),
    [("arena renamed", 2), ("welke loaf staat er op de meal", 3), ("brood", 3), ("garden arena", 1)],
)
def test_passages_are_found_by_words_that_mean_the_same(tmp_path: Path, question: str, first: int) -> None:
    reader, senses = lively()
    synced(tmp_path, reader, senses)
    assert found(tmp_path, reader, senses, question)[0][0] == first


def test_english_in_english_goes_without(tmp_path: Path) -> None:
    texts = ("the garden that is behind the wall", "all of the bread was on the table", "it is by the river")
    reader = notes(*(note(at, text) for at, text in enumerate(texts)))
    senses = Senses("garden huerto")
    synced(tmp_path, reader, senses)
    at = len(senses.words)
    scores = found(tmp_path, reader, senses, "what is there about the garden and what about a huerto")
    assert scores[1][1] == scores[2][1]
    assert senses.words[at:] == []
    assert found(tmp_path, reader, senses, "qué se dice sobre el huerto")[0][0] == 0
    assert "huerto" in senses.words[at:]


def test_a_word_that_every_passage_speaks_of_tells_little() -> None:
    # Word 0 is in all four chunks, word 1 in the second, word 2 in the last.
    chunks, starts = np.array([0, 1, 2, 3, 1, 3]), np.array([0, 4, 5, 6])
    known = {"all": 0, "one": 1, "other": 2}
    words = kinship.Kinship(known, np.eye(3, dtype=np.float32), chunks, starts, np.arange(4))
    senses = Senses()
    encoder = Embedder("toy", lambda: senses, is_multilingual=True, reads_words=True)
    scores = words.scores(["all", "one"], np.arange(4), encoder)
    assert scores[1] == 1.0
    assert scores[0] == scores[2] == scores[3] < 0.2
    assert words.scores(["all", "one"], np.array([3, 1]), encoder).tolist() == [scores[3], scores[1]]
    assert words.scores([], np.arange(4), encoder).tolist() == [0, 0, 0, 0]
    assert senses.words == []  # known words are not worked out again


def changed_reader() -> tuple[MemoryRows, MemoryRows]:
    before, _ = lively()
    after, _ = lively()
    after.tables["notes"] = [*after.tables["notes"][1:], note(4, "an arena for bread"), note(5, None)]
    after.tables["notes"][0]["body"] = "the arena keeps its walls"
    return before, after


def test_a_sync_gives_what_a_rebuild_gives(tmp_path: Path) -> None:
    before, after = changed_reader()
    senses = lively()[1]
    synced(tmp_path / "synced", before, senses)
    known = len(senses.words)
    synced(tmp_path / "synced", after, senses)
    assert set(senses.words[known:]) == {"arena", "keeps"}  # the others have their vectors
    synced(tmp_path / "new", after, senses)
    for question in ("stadium", "title of a loaf", "walls"):
        assert found(tmp_path / "synced", after, senses, question) == found(
            tmp_path / "new", after, senses, question
        )
    assert listed(tmp_path / "synced") == listed(tmp_path / "new")


def listed(store: Path) -> list[tuple[str, bytes]]:
    with sqlite3.connect(store / DATABASE) as connection:
        return sorted(connection.execute("SELECT word, vector FROM kinship").fetchall())


def test_an_index_of_an_earlier_version_is_completed_without_embedding_a_text(tmp_path: Path) -> None:
    reader, senses = lively()
    synced(tmp_path, reader, senses)
    whole = found(tmp_path, reader, senses, "arena renamed")
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("DROP TABLE kinship")
        connection.execute("DROP TABLE chunk_words")
    assert len(found(tmp_path, reader, senses, "arena renamed")) == 3  # it serves on, without
    asked: list[str] = []
    embed = Senses._vector

    def counted(self: Senses, text: str) -> NDArray[np.float64]:
        asked.append(text)
        return embed(self, text)

    Senses._vector = counted  # type: ignore[method-assign]
    try:
        synced(tmp_path, reader, senses)
    finally:
        Senses._vector = embed  # type: ignore[method-assign]
    assert asked
    assert not [text for text in asked if " " in text]
    assert found(tmp_path, reader, senses, "arena renamed") == whole


def test_another_store_lends_vectors_of_words(tmp_path: Path) -> None:
    reader, senses = lively()
    synced(tmp_path / "all", reader, senses)
    borrowing = Senses()
    synced(tmp_path / "own", reader, borrowing, lender=tmp_path / "all")
    assert borrowing.words == []
    assert listed(tmp_path / "own") == listed(tmp_path / "all")


def test_large_tables_go_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinship, "MOST_CHUNKS", 2)
    reader, senses = lively()
    synced(tmp_path, reader, senses)
    assert listed(tmp_path) == []
    assert len(found(tmp_path, reader, senses, "arena")) == 3
    reader.tables["notes"].pop()
    synced(tmp_path, reader, senses)
    assert found(tmp_path, reader, senses, "arena")[0][0] == 2


def test_the_words_of_most_chunks_get_a_vector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinship, "MOST_WORDS", 3)
    rows: Sequence[dict[str, object]] = [
        note(at, f"common {'shared' * (at < 3)} only{at}") for at in range(4)
    ]
    reader, senses = notes(*rows), Senses()  # type: ignore[arg-type]
    synced(tmp_path, reader, senses)
    assert [word for word, vector in listed(tmp_path) if vector] == ["a", "common", "shared"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Stadium's 2023 re-opening", {"stadium", "s", "re", "opening"}),
        ("", set()),
        ("12 34", set()),
        ("x" * 41, set()),
        ("東京", {"東", "京"}),
    ],
)
def test_words_with_a_meaning_of_their_own(text: str, words: set[str]) -> None:
    assert kinship.words_of(text) == words
