from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.index.fuse import LEADING, LEAST, MOST, Evidence, fuse, leading, spread

ROWS = st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 20)), min_size=1, max_size=20)


@given(
    rows=ROWS,
    mass=st.floats(0.1, 100),
    spreads=st.tuples(st.floats(0, 1), st.floats(0, 20)),
    is_foreign=st.booleans(),
)
def test_more_of_either_evidence_never_ranks_lower(
    rows: list[tuple[float, float]], mass: float, spreads: tuple[float, float], is_foreign: bool
) -> None:
    cosines, bm25 = (np.array(column) for column in zip(*rows))
    scores = fuse(cosines, bm25, Evidence(mass, is_foreign, *spreads))
    for a in range(len(rows)):
        for b in range(len(rows)):
            if cosines[a] >= cosines[b] and bm25[a] >= bm25[b]:
                assert scores[a] >= scores[b] - 1e-12


def weight(evidence: Evidence) -> float:
    """How much a BM25 of the question's whole mass counts beside a cosine of 1."""
    none, full = fuse(np.array([0.0, 0.0]), np.array([0.0, evidence.mass]), evidence)
    return float((full - none) / (1 - (full - none)))


def test_words_count_by_what_they_tell_apart() -> None:
    telling, vague = Evidence(10, spread=0.08, words_spread=0.5), Evidence(10, spread=0.08, words_spread=1.5)
    assert weight(telling) > weight(vague)
    assert weight(Evidence(10, spread=0.08, words_spread=1e-9)) == pytest.approx(MOST)
    assert weight(Evidence(10, spread=0.08, words_spread=9.0)) == pytest.approx(LEAST)
    assert weight(Evidence(10, True, 0.08, 0.5)) < weight(telling)


def test_without_known_words_meaning_decides() -> None:
    cosines = np.array([0.3, 0.1])
    assert fuse(cosines, np.zeros(2), Evidence(0.0)).tolist() == cosines.tolist()


def test_spread_counts_rows_without_a_match() -> None:
    assert spread([2.0, 4.0], 4) == pytest.approx(np.std([2, 4, 0, 0]))
    assert spread([], 0) == 0.0


def test_first_rows_are_learned_from_only_among_many() -> None:
    assert [leading(rows, is_foreign=False) for rows in (1, 199, 200, 10_000)] == [0, 0, 1, LEADING]
    assert leading(10_000, is_foreign=True) == 0
