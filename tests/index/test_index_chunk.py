from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.index.syncing.chunk import split

TEXT = st.text(st.sampled_from("ab c\n\n.é漢\t\x00\U0001f600"), max_size=400)


@given(TEXT, st.integers(20, 60))
def test_chunks_cover_the_text_within_their_size(text: str, size: int) -> None:
    spans = split(text, size, size // 4)
    covered = set()
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert end - start <= size
        covered.update(range(start, end))
    assert all(at in covered for at, character in enumerate(text) if character.strip())
    assert spans == sorted(spans)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert split(text) == []


def test_neighbours_share_a_sentence() -> None:
    text = " ".join(f"Sentence number {n} says something of its own." for n in range(200))
    spans = split(text)
    assert all(second[0] < first[1] for first, second in pairwise(spans))
    assert all(text[start:end].startswith("Sentence") and text[end - 1] == "." for start, end in spans)


@pytest.mark.parametrize("unit", ["x", "A sentence of some words. ", "漢字かな。"])
def test_five_megabytes_take_seconds(unit: str) -> None:
    text = (unit * (5_000_000 // len(unit) + 1))[:5_000_000]
    begun = time.perf_counter()
    spans = split(text)
    assert time.perf_counter() - begun < 8
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text.rstrip())
    assert all(second[0] <= first[1] + 1 for first, second in pairwise(spans))


def test_lone_surrogates_keep_offsets() -> None:
    text = "word \ud800 more. " * 100
    assert text[slice(*split(text)[0])].startswith("word \ud800 more.")
