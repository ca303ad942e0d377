"""Two rankings to one: meaning and words, each weighed by the evidence it has for this question.

A score that nearly all rows share tells little, one that sets few rows apart tells much: words count by how far
apart cosines lie, against how far apart word scores lie among the rows allowed. Plain reciprocal rank sees places
alone, and halves recall where question and text share no words. Leaves out: how either score came to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

WORDS = 0.7
"""Weight of a standard deviation of word scores beside one of cosines."""
LEAST, MOST = 0.3, 2.0
"""Bounds of the weight of words beside the cosine: few rows, or one chance match, have no spread to go by."""
ABROAD = 0.3
"""Share of that weight when question and documents are in different languages: only names and numbers match."""
LEADING = 5
"""Rows whose best chunks tell what the question is about, at most."""
LEADING_SHARE = 0.005
"""The same, as a share of the table: among few rows the second is already about something else, so tables of
less than two hundred give none."""
FEEDBACK = 0.5
"""Weight of the leading chunks' mean vector beside the question's own."""
KINSHIP = 0.3
"""Weight of words that mean alike beside the two rankings together."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one question before rows are compared."""

    mass: float
    """Sum of the idf of its words."""
    is_foreign: bool = False
    """Whether its language is not that of the documents."""
    spread: float = 0.0
    """Standard deviation of its cosines with the table's chunks; 0 when not known."""
    words_spread: float = 0.0
    """Standard deviation of BM25 among the rows allowed; 0 when no word matches."""


Fusion = Callable[[Scores, Scores, Evidence], Scores]
"""A rule to merge two rankings; pass another one to `Index.search` to compare them."""


def fuse(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    """Scores of the same rows, best highest, about 0 to 1.

    `cosines`: similarity of the best chunk, -1 to 1. `bm25`: 0 where no word matches. Both of shape (rows,).
    """
    if evidence.mass <= 0 or not len(bm25):
        return cosines
    # BM25 over the question's idf mass is near 1 when every word is there once, however long the question.
    words_spread = evidence.words_spread / evidence.mass
    weight = WORDS * evidence.spread / words_spread if words_spread > 0 else LEAST
    weight = min(max(weight, LEAST), MOST) * (ABROAD if evidence.is_foreign else 1)
    return (cosines + weight * bm25 / evidence.mass) / (1 + weight)


def spread(scores: Sequence[float] | Scores, rows: int) -> float:
    """Standard deviation over `rows` rows, of which those not given score 0."""
    found = np.asarray(scores, dtype=np.float64)
    mean, squares = float(found.sum()) / max(rows, 1), float(found @ found) / max(rows, 1)
    return float(np.sqrt(max(squares - mean * mean, 0.0)))


def leading(rows: int, *, is_foreign: bool) -> int:
    """How many of the first rows of a table to learn from (Rocchio's feedback without a judge); none for a
    question in another language, where the first are less often right."""
    return 0 if is_foreign else min(LEADING, int(LEADING_SHARE * rows))
