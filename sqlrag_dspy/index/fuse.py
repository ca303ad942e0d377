"""Two rankings to one: meaning and words, each weighed by the evidence it has for this question.

Plain reciprocal rank halves recall where question and text share no words, so words count by the share of
the question's information (idf) that a row really holds. Leaves out: how either score came to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

WORDS = 0.65
"""Weight of word evidence beside the cosine, when question and documents are in one language."""
WORDS_ABROAD = 0.2
"""The same, when they are not: only names and numbers can match."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one question before rows are compared: its words' idf mass, and whether its language
    is not that of the documents."""

    mass: float
    is_foreign: bool = False


Fusion = Callable[[Scores, Scores, Evidence], Scores]
"""A rule to merge two rankings; pass another one to `Index.search` to compare them."""


def fuse(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    """Scores of the same rows, best highest, about 0 to 1.

    `cosines`: similarity of the best chunk, -1 to 1. `bm25`: 0 where no word matches. Both of shape (rows,).
    """
    weight = WORDS_ABROAD if evidence.is_foreign else WORDS
    if evidence.mass <= 0 or not len(bm25):
        return cosines
    # BM25 over the question's idf mass is near 1 when every word is there once, however long the question.
    return (cosines + weight * bm25 / evidence.mass) / (1 + weight)
