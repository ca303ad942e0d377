"""The packaged multilingual sentence encoder, as a block of features for the learned heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sqlrag_dspy.program.features import Floats

Encode = Callable[[list[str]], Floats]
"""Texts to unit vectors, (n, dimension)."""

EMBEDDING_SCALE = 2.0
"""How much the embedding block weighs beside the unit-length n-gram block."""


@lru_cache(maxsize=1)
def _encoder() -> Any:
    from sqlrag_dspy.index import find_embedder

    return find_embedder("use-multilingual")


def multilingual(texts: list[str]) -> Floats:
    """Unit vectors of the packaged encoder; it loads at the first call."""
    vectors: Floats = _encoder()(texts)
    return vectors


def embedding(encode: Encode, readings: Sequence[str]) -> Floats:
    """The dense block of a question: every reading's unit vector, scaled, one after the other."""
    vectors = encode([reading[:1000] or "." for reading in readings])
    return np.concatenate(list(vectors)).astype(np.float32) * np.float32(EMBEDDING_SCALE)
