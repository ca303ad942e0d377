import dspy
import pytest

from sqlrag_dspy.learn import metrics


@pytest.mark.parametrize(
    ("gold", "found", "ordered", "same"),
    [
        ([(18,)], [(18,)], False, True),
        ([(18,)], [("18",)], False, True),
        ([("2023", 3)], [(2023, 3)], False, True),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], False, True),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], True, False),
        ([("a", 1)], [(1, "a")], False, True),
        ([("a",)], [("a", 1)], False, True),
        ([("a", 1)], [("a",)], False, False),
        ([("a",)], [("a",), ("b",)], False, False),
        ([("a",), ("a",)], [("a",)], False, False),
        ([(0.333333333,)], [(0.33333334,)], False, True),
        ([(33.3,)], [(0.333,)], False, False),
        ([(None, 2)], [(None, 2)], False, True),
        ([], [], False, True),
        ([("x", "y"), ("y", "x")], [("y", "x"), ("x", "y")], False, True),
        ([("x", "y"), ("x", "z")], [("x", "y"), ("z", "x")], False, False),
    ],
)
def test_rows_match_compares_values_not_layout(gold, found, ordered, same):
    assert metrics.rows_match(gold, found, is_ordered=ordered) is same


def test_recall_is_normalised_by_what_k_allows():
    assert metrics.recall_at(list("abcdef"), list("abc"), 3) == 1.0
    assert metrics.recall_at(["a", "b"], ["a", "x"], 5) == 0.5
    assert metrics.recall_at([], [], 5) == 1.0


def test_composite_keys_match_as_lists_and_tuples():
    assert metrics.recall_at([["a", 1]], [("a", 1)], 1) == 1.0
    assert metrics.reciprocal_rank([7], ["7"]) == 1.0


def test_route_metric_is_a_bool_only_while_tracing():
    example = dspy.Example(route="sql", also_ok=["vector"])
    prediction = dspy.Prediction(route="vector", needs_model=False)
    assert metrics.route(example, prediction) == 1.0
    assert metrics.route(example, prediction, trace=[]) is True
    assert metrics.route(example, dspy.Prediction(route="decline", needs_model=False)) == 0.0


def test_an_unanswered_question_is_not_a_right_route():
    assert metrics.route(dspy.Example(route="sql"), dspy.Prediction(route="sql", needs_model=True)) == 0.0
