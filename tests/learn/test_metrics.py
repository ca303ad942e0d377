import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_many_columns_are_matched_in_no_time():
    gold = [tuple(f"{row}-{column}" for column in range(24)) for row in range(20)]
    found = [tuple(reversed(row)) for row in gold]
    assert metrics.rows_match(gold, found, is_ordered=True)
    crossed = [(row[0], *found[0][1:]) for row in found]
    assert not metrics.rows_match(gold, crossed, is_ordered=False)
    alike = [(1,) * 24 for _ in range(20)]
    assert metrics.rows_match(alike, alike, is_ordered=False)
    assert not metrics.rows_match(
        [("x", *row) for row in alike], [("y", *row) for row in alike], is_ordered=False
    )


def test_the_same_row_found_twice_counts_once():
    assert metrics.recall_at(["a", "b"], ["a", "a"], 2) == 0.5


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.none() | st.text(max_size=1)), max_size=6),
    st.randoms(),
)
def test_shuffled_rows_and_columns_match(rows, random):
    order = random.sample(range(3), 3)
    shuffled = [tuple(row[column] for column in order) for row in random.sample(rows, len(rows))]
    assert metrics.rows_match(rows, shuffled, is_ordered=False)
    assert metrics.rows_match(rows, [(*row, "more") for row in rows], is_ordered=True)
