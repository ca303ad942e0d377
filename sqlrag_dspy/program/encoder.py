"""The packaged multilingual sentence encoder, as a block of features for the learned heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sqlrag_dspy.program.features import Floats

Encode = Callable[[list[str]], Floats]
"""Texts to unit vectors, (n, dimension)."""

ENCODER = "use-multilingual"
LONGEST = 1000
"""Characters of a reading that are encoded."""
EMBEDDING_SCALE = 0.7
"""How much the embedding block weighs beside the unit-length n-gram block."""


@lru_cache(maxsize=1)
def _encoder() -> Any:
    from sqlrag_dspy.index import find_embedder

    return find_embedder(ENCODER)


def multilingual(texts: list[str]) -> Floats:
    """Unit vectors of the packaged encoder; it loads at the first call."""
    vectors: Floats = _encoder()(texts)
    return vectors


def encoded(encode: Encode, readings: Sequence[str]) -> Floats:
    """Every reading's unit vector, (readings, dimension); of those that are the same, worked out once."""
    read = [reading[:LONGEST] or "." for reading in readings]
    different = list(dict.fromkeys(read))
    return encode(different)[[different.index(text) for text in read]]


def embedding(vectors: Floats) -> Floats:
    """The dense block of a question: the unit vectors of its readings, scaled, one after the other."""
    return np.concatenate(list(vectors)).astype(np.float32) * np.float32(EMBEDDING_SCALE)
