"""What the columns of a database are called, as vectors that a question is compared with."""

from __future__ import annotations

import re

import numpy as np

from sqlrag_dspy.program.encoder import multilingual
from sqlrag_dspy.program.features import Floats
from sqlrag_dspy.types import Catalog


def column_vectors(catalog: Catalog) -> Floats:
    """Unit vectors of what the columns are called, alone and with their table, (2 x columns, dimension)."""
    said = [
        name
        for table in catalog.tables
        for column in table.columns
        for name in (plain(column.name), f"{plain(column.name)} of {plain(table.name)}")
    ]
    return multilingual(said) if said else np.zeros((0, 1), np.float32)


def plain(name: str) -> str:
    """A stored name as words: "MinutesDown" and "minutes_down" are "Minutes Down" and "minutes down"."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_]+", " ", spaced).strip()
