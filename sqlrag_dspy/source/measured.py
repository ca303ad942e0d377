"""One column as measured: what profiling hands on to choosing and reading."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrag_dspy.source.introspect import RawColumn
from sqlrag_dspy.types import Profile


@dataclass(frozen=True)
class Measured:
    """A column's profile, the SQL expression that reads it, and what to warn of.

    `is_unique`: no two rows share a value, and none is NULL or blank. `words` is the mean of a value.
    `max_length` is in characters.
    """

    raw: RawColumn
    profile: Profile
    reading: str
    warnings: tuple[str, ...] = ()
    is_unique: bool = False
    words: float = 0.0
    max_length: int = 0
