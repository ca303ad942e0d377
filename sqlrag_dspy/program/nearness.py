"""How near a question is to what the database holds: its texts, by meaning and words, and its columns, by name.

Tells "nothing here is about that" from "a text may say so", whichever the database. Features alone; what they
weigh is the router's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.encoder import ENCODER
from sqlrag_dspy.program.features import Floats

TO_TEXTS = 8
"""Features of one reading against the texts, as `index.nearness` orders them."""
KNOWN = 5
"""The one of them that says how much of the reading any text holds."""
TO_COLUMNS = 3
"""Cosine of the nearest column's name, the mean of the three nearest, and how far the nearest stands out."""


def nearness(database: Database, readings: Sequence[str], vectors: Floats) -> Floats:
    """Both kinds of features of every reading, one reading after the other; NaN where there is no index.

    `vectors` are the readings' unit vectors by the packaged encoder, (readings, dimension).
    """
    parts: list[Floats] = []
    for reading, vector in zip(readings, vectors, strict=True):
        try:
            texts = database.index.nearness(reading, {ENCODER: vector}).astype(np.float32)
        except IndexUnusable:  # a search would say so; a route can be found without
            texts = np.full(TO_TEXTS, np.nan, np.float32)
        near = np.sort(database.column_vectors @ vector)[::-1]
        named = [near[0], near[:3].mean(), near[0] - near.mean()] if len(near) else [np.nan] * TO_COLUMNS
        parts += [texts, np.array(named, np.float32)]
    return np.concatenate(parts)
