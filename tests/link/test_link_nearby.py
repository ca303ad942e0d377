"""Misspelt words: what is found is near, and one error is always found."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from sqlrag_dspy.link.nearby import Nearby, allowed_errors

WORDS = st.lists(st.text("abcde", min_size=4, max_size=16), min_size=1, max_size=60, unique=True)


@given(WORDS, st.data())
@settings(max_examples=150, deadline=None)
def test_found_words_are_within_their_allowed_errors(entries: list[str], data: st.DataObject) -> None:
    asked = data.draw(st.text("abcde", min_size=4, max_size=16))
    for word, errors in Nearby(entries).find(asked):
        assert word in entries
        assert errors == OSA.distance(asked, word) <= allowed_errors(len(word))


@given(WORDS, st.data())
@settings(max_examples=200, deadline=None)
def test_one_typing_error_is_always_found(entries: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(entries))
    place = data.draw(st.integers(0, len(word) - 2))
    letter = data.draw(st.sampled_from(string.ascii_lowercase))
    slip = data.draw(
        st.sampled_from(
            [
                word[:place] + word[place + 1 :],
                word[:place] + letter + word[place:],
                word[:place] + letter + word[place + 1 :],
                word[:place] + word[place + 1] + word[place] + word[place + 2 :],
            ]
        )
    )
    if allowed_errors(len(word)) and slip != word and len(slip) >= 4:
        assert word in [found for found, _ in Nearby(entries).find(slip)]


def test_short_words_are_never_found_misspelt() -> None:
    assert Nearby(["open", "sam"]).find("opne") == []
