import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.program.features import Head, Vocabulary, abstract, block_of, pack, terms, tokens, unpack


def test_tokens_keep_typed_tokens_whole():
    assert tokens("how many <VALUE> in <DATE:year>?") == ["how", "many", "<VALUE>", "in", "<DATE:year>", "?"]


def test_runs_of_unknown_words_become_one():
    known = frozenset({"articles", "about"})
    assert abstract(["articles", "about", "solar", "roof", "<DATE:year>"], known) == [
        "articles", "about", "~", "<DATE:year>",
    ]  # fmt: skip


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=30))
def test_packing_is_exact(values):
    array = np.array(values, dtype=np.float32)
    assert np.array_equal(unpack(pack(array), len(values)), array)


@given(st.text(max_size=200))
def test_every_block_of_any_text_is_of_unit_length(text):
    counted = terms(text, frozenset())
    names = list(counted)
    vocabulary = Vocabulary({t: n for n, t in enumerate(names)}, np.ones(len(names), np.float32))
    columns, values = vocabulary.vector(counted)
    blocks = np.array([block_of(names[column]) for column in columns])
    assert {0, 2} <= set(blocks.tolist()) <= {0, 1, 2}
    for block in set(blocks.tolist()):
        assert abs(float(np.linalg.norm(values[blocks == block])) - 1) < 1e-4


def test_heads_and_vocabularies_survive_their_state():
    head = Head(("a", "b"), np.array([[1, 0.5], [0, 2]], np.float32), np.array([0.1, -0.1], np.float32), 0.7)
    again = Head.load(head.dump())
    columns, values = np.array([0, 1]), np.array([0.6, 0.8], np.float32)
    assert again.probabilities(columns, values) == head.probabilities(columns, values)
    vocabulary = Vocabulary({"x": 0, "y": 1}, np.array([1, 2], np.float32), frozenset({"x"}))
    assert Vocabulary.load(vocabulary.dump()).index == vocabulary.index


@pytest.mark.parametrize("kept", [(), (3,), (0, 9), tuple(range(10))])
def test_a_head_whose_features_mostly_weigh_nothing_is_written_small_and_read_whole(kept):
    weights = np.zeros((2, 10), np.float32)
    weights[:, list(kept)] = np.arange(2 * len(kept)).reshape(2, -1) + 1
    head = Head(("a", "b"), weights, np.ones(2, np.float32))
    state = head.dump()
    assert ("columns" in state) == (len(kept) < 5)
    assert np.array_equal(Head.load(state).weights, weights)


@pytest.mark.parametrize(("weight", "size"), [(0.5, 2), (-3.140625, 2), (0.1, 4), (1e9, 4)])
def test_weights_take_two_bytes_where_that_loses_nothing(weight, size):
    head = Head(("a", "b"), np.full((2, 3), weight, np.float32), np.ones(2, np.float32))
    state = head.dump()
    assert len(base64.b64decode(state["weights"])) == 6 * size
    assert np.array_equal(Head.load(state).weights, head.weights)
    older = {**state, "weights": pack(head.weights)}
    del older["size"]
    assert np.array_equal(Head.load(older).weights, head.weights)


def test_numbers_of_another_kind_are_refused():
    state = Head(("a",), np.ones((1, 2), np.float32), np.ones(1, np.float32)).dump()
    with pytest.raises(ValueError, match="not as 'O'"):
        Head.load({**state, "size": "O"})


@given(st.permutations([f"c:{letter}" for letter in "abcdefgh"]))
def test_a_vector_does_not_hang_on_the_order_in_which_terms_were_counted(order):
    names = sorted(order)
    vocabulary = Vocabulary({t: n for n, t in enumerate(names)}, np.linspace(1, 2, 8).astype(np.float32))
    columns, values = vocabulary.vector(dict.fromkeys(order, 3))
    first, again = vocabulary.vector(dict.fromkeys(names, 3))
    assert np.array_equal(columns, first)
    assert np.array_equal(values, again)
