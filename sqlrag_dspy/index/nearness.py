"""How near a text is to anything a table holds: what a router may know before it decides to search.

Leaves out which rows these are; `ranking` says that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.ranking import TableIndex

Vector = NDArray[np.float32]
FEATURES = 8
"""Best cosine and how far the five best stand out, of encoders of one language and of many; share of the text's
idf mass in the best chunk, and in any; idf of its rarest known word; number of its words."""
LEADING = 5


def nearness(
    table: TableIndex, text: str, vectors: Sequence[tuple[Embedder, Vector]], language: str | None
) -> NDArray[np.float64]:
    """The features of one text, given as every encoder sees it, against one table, shape (FEATURES,).

    NaN where no encoder of a kind is there. Raises IndexUnusable when the vectors are damaged.
    """
    out = np.full(FEATURES, np.nan)
    chunks = table.all_chunks()
    if not len(chunks) or not text.strip():
        return out
    for encoder, vector in vectors:
        best, mean = table.vectors[encoder.name].summary(vector, chunks, LEADING)
        place = 2 if encoder.is_multilingual else 0
        found = np.array([best[0], best.mean() - mean])
        if not np.isfinite(found).all():
            raise table.damaged()
        out[place : place + 2] = np.fmax(out[place : place + 2], found)
    terms, best_match, mass = table.words_of(text, language)
    known = [term.idf for term in terms if term.is_known]
    out[4] = best_match / mass if mass else 0.0
    out[5] = sum(known) / mass if mass else 0.0
    out[6] = max(known, default=0.0)
    out[7] = len(terms)
    return out
