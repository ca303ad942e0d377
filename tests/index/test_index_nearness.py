"""How near a text is to anything in the index, whichever row that is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from index_fakes import TOY, ToyEmbedder, note, notes, notes_table

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.nearness import FEATURES

TEXTS = ("the harbour froze in winter", "a bakery burned at night", "the school choir sang")


@pytest.fixture
def index(tmp_path: Path):
    toy = {"toy": ToyEmbedder()}
    rows = notes(*(note(number, text) for number, text in enumerate(TEXTS)))
    sync(tmp_path, rows, [notes_table()], TOY, embed_functions=toy)
    opened = open_index(tmp_path, [notes_table()], TOY, embed_functions=toy)
    yield opened
    opened.close()


def test_what_the_texts_hold_is_nearer_than_what_they_do_not(index):
    held, absent = index.nearness("the harbour froze"), index.nearness("quantum tax spreadsheets")
    assert held.shape == absent.shape == (FEATURES,)
    cosine, stands_out, in_best, known, rarest, words = 0, 1, 4, 5, 6, 7
    for feature in (cosine, stands_out, in_best, known, rarest):
        assert held[feature] > absent[feature]
    assert held[known] == pytest.approx(1.0)
    assert absent[in_best] == absent[known] == 0.0
    assert held[words] == 2


def test_encoders_of_a_kind_that_is_not_there_are_unknown(index):
    assert np.isnan(index.nearness("harbour")[[2, 3]]).all()


def test_a_vector_that_is_known_is_not_worked_out_again(index, tmp_path):
    toy = ToyEmbedder()
    again = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": toy})
    vector = index._encoders[0](["a bakery burned"])[0]
    assert np.array_equal(
        again.nearness("a bakery burned", {"toy": vector}), index.nearness("a bakery burned"), equal_nan=True
    )
    assert toy.texts == []
    again.close()


@pytest.mark.parametrize("text", ["", "   ", "\u200b"])
def test_nothing_is_near_to_nothing(index, text):
    found = index.nearness(text)
    assert np.isnan(found[0]) or np.isfinite(found).sum() >= 4


def test_an_empty_table_is_near_to_nothing(tmp_path):
    toy = {"toy": ToyEmbedder()}
    sync(tmp_path, notes(), [notes_table()], TOY, embed_functions=toy)
    opened = open_index(tmp_path, [notes_table()], TOY, embed_functions=toy)
    assert np.isnan(opened.nearness("harbour")).all()
    opened.close()
