from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from index_fakes import TOY, MemoryRows, ToyEmbedder, note, notes, notes_table, stored

from sqlrag_dspy.index import store, sync
from sqlrag_dspy.index.syncing import languages
from sqlrag_dspy.index.words.language import detect, majority


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("what articles about children do you have", "en"),
        ("Which technology stories have to do with cars?", "en"),
        ("¿qué artículos hay sobre los niños?", "es"),
        ("textos cortos, de menos de 200 palabras, sobre ferris", "es"),
        ("welke artikelen gaan over kinderen", "nl"),
        ("goedgekeurde plannen rond bijen, motten of andere insecten", "nl"),
        ("welche Artikel gibt es über Kinder", "de"),
        ("quels articles parlent des enfants", "fr"),
        ("子供についての記事はありますか", "ja"),
        ("статьи о детях", "ru"),
        ("", None),
        ("12345 67", None),
        ("XK-17", None),
    ],
)
def test_detect(text: str, language: str | None) -> None:
    assert detect(text) == language


def test_majority_needs_most_of_the_known() -> None:
    assert majority(["en", "en", None, "en", "en", "es"]) == "en"
    assert majority(["en", "es"]) is None
    assert majority([None, None]) is None
    assert majority([]) is None


def run(folder: Path, reader: MemoryRows) -> None:
    sync(folder, reader, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})


def test_of_many_rows_a_sample_tells_the_language_whatever_was_synced_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "FEW", 20)
    english = [note(n, f"what the {n} people of this town have said") for n in range(10)]
    spanish = [note(n, f"lo que dicen los {n} vecinos de este pueblo") for n in range(10, 200)]
    for number, rows in enumerate((english, english + spanish, english, spanish[:15], spanish)):
        reader = notes(*rows)
        run(tmp_path / "synced", reader)
        run(tmp_path / str(number), reader)
        found = stored(tmp_path / "synced")
        assert found == stored(tmp_path / str(number))
        assert found["notes"][1] == ("en" if rows is english else "es")  # type: ignore[index]


def test_words_are_parted_at_every_ascii_character_that_is_no_letter_or_digit(tmp_path: Path) -> None:
    marks = [chr(code) for code in range(128) if not chr(code).isalnum()]
    run(tmp_path, notes(note(1, "".join(f"cat{mark}dog " for mark in marks)), note(2, "catdog")))
    with closing(sqlite3.connect(tmp_path / store.DATABASE)) as connection:
        words = dict(connection.execute("SELECT term, cnt FROM vocabulary_1").fetchall())
    assert words == {"cat": len(marks), "dog": len(marks), "catdog": 1, "a": 2}
