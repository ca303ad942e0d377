"""The router's second stage: what it reads of a question, and programs from before it read so much."""

from __future__ import annotations

import numpy as np
import pytest

from sqlrag_dspy.program.column_names import plain
from sqlrag_dspy.program.features import Head, Vocabulary
from sqlrag_dspy.program.nearness import KNOWN, TO_COLUMNS, TO_TEXTS, nearness
from sqlrag_dspy.program.router import FAR_OUT, NEARNESS_SCALE, Router, Scale, Sense
from sqlrag_dspy.types import ROUTES


def sense(near) -> Sense:
    return Sense(np.ones(3, np.float32), np.array(near, np.float32))


def test_nearness_counts_in_deviations_and_no_more_than_so_many():
    scale = Scale.of(np.array([[0.0, 1.0], [2.0, 3.0]], np.float32))
    assert scale.block(sense([1, 2])).tolist() == [1, 1, 1, 0, 0]
    assert scale.block(sense([2, 1]))[3:] == pytest.approx([NEARNESS_SCALE, -NEARNESS_SCALE])
    assert scale.block(sense([99, -99]))[3:] == pytest.approx(
        [NEARNESS_SCALE * FAR_OUT, -NEARNESS_SCALE * FAR_OUT]
    )


def test_what_is_unknown_counts_as_average():
    nothing = np.float32("nan")
    scale = Scale.of(np.array([[0.0, nothing], [2.0, nothing], [nothing, nothing]], np.float32))
    assert np.isfinite([*scale.centre, *scale.spread]).all()
    assert scale.block(sense([nothing, nothing])).tolist() == [1, 1, 1, 0, 0]
    assert scale.block(sense([1, 5]))[3] == 0


def test_a_program_from_before_nearness_reads_the_embedding_alone():
    assert Scale().block(sense([1, 2])).tolist() == [1, 1, 1]
    state = Router().dump_state()
    state.pop("scale")
    assert not len(Router().load_state(state).scale.centre)


def test_the_scale_is_part_of_the_state():
    router = Router()
    router.scale = Scale.of(np.array([[0.0, 1.0], [2.0, 5.0]], np.float32))
    again = Router().load_state(router.dump_state()).scale
    assert np.array_equal(again.centre, router.scale.centre)
    assert np.array_equal(again.spread, router.scale.spread)


def test_a_question_is_near_to_its_columns_and_texts(small_database):
    vectors = np.eye(2, small_database.column_vectors.shape[1], dtype=np.float32)
    found = nearness(small_database, ["how long are they", "word count"], vectors)
    assert found.shape == (2 * (TO_TEXTS + TO_COLUMNS),)
    assert np.isfinite(found[TO_TEXTS : TO_TEXTS + TO_COLUMNS]).all()


@pytest.mark.parametrize(
    ("name", "said"),
    [("minutes_down", "minutes down"), ("MinutesDown", "Minutes Down"), ("Ad ID", "Ad ID"), ("año", "año")],
)
def test_stored_names_are_read_as_words(name, said):
    assert plain(name) == said


def router_of(biases: dict[str, float], known: str = "") -> Router:
    """A router whose stages read nothing, and lean to routes as told."""
    router = Router()
    names = tuple(sorted(ROUTES))
    bias = np.array([biases.get(name, 0.0) for name in names], np.float32)
    router.quick = Head(names, np.zeros((4, 0), np.float32), bias)
    router.full = Head(names, np.zeros((4, 3), np.float32), bias)
    router.vocabulary = Vocabulary(known=frozenset(known.split()))
    router.gate = 0.5
    return router


@pytest.mark.parametrize(
    ("masked", "stage"),
    [
        ("how is zxcv", "quick"),
        ("<TABLE> zxcv", "quick"),
        ("asdf qwer zxcv", "full"),
        ("?!", "full"),
    ],
)
def test_a_question_that_holds_nothing_known_is_never_decided_by_its_ngrams_alone(masked, stage):
    router = router_of({"vector": 5.0}, known="how is")
    told = router(masked=masked, sense=lambda: sense([]))
    assert told.stage == stage
    assert router(masked=masked).stage == "quick"  # where nothing else can be read


@pytest.mark.parametrize(("known", "route", "confidence"), [(0.0, "vector", 0.6), (0.2, "vector", 1.0)])
def test_what_neither_labels_nor_texts_know_is_searched_with_little_confidence(known, route, confidence):
    router = router_of({"vector": 20.0}, known="how is")
    near = np.full(TO_TEXTS, 0.1)
    near[KNOWN] = known
    told = router(masked="asdf qwer zxcv", sense=lambda: sense(near))
    assert (told.route, told.is_strange) == (route, known == 0)
    assert told.confidence == pytest.approx(confidence)
    assert not router(masked="how is zxcv", sense=lambda: sense(near)).is_strange


def test_what_is_strange_and_doubtful_is_declined():
    router = router_of({"vector": 1.0, "decline": 0.5})
    assert router(masked="asdf", sense=lambda: sense(np.full(TO_TEXTS, np.nan))).route == "vector"
    assert router(masked="asdf", sense=lambda: sense(np.zeros(TO_TEXTS))).route == "decline"


def test_a_search_that_is_likely_of_either_kind_wins_over_a_likelier_single_route():
    told = router_of({"sql": 1.0, "vector": 0.6, "hybrid": 0.5})(masked="x")
    assert told.route == "vector"
    assert told.confidence == told.probabilities["vector"] < told.probabilities["sql"]
    assert router_of({"sql": 2.0, "vector": 0.6, "hybrid": 0.5})(masked="x").route == "sql"
    assert router_of({"decline": 2.0, "vector": 0.6, "hybrid": 0.5})(masked="x").route == "decline"
