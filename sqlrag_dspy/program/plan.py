"""`Plan`: what will be done for a question, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from sqlrag_dspy.program.team.typed import Intent
from sqlrag_dspy.types import CheckedSql, Predicate, Route, Sketch


@dataclass
class Plan:
    """A route and what it needs.

    `sketch`, `trust` and `assumptions` are the learned tier's reading of an sql question. For a search, `table` is
    searched for `text` among the rows that satisfy `filters` and are `first`: `mirrored` filters are applied inside
    the index, the rest (or `condition`, SQL from a model) become `key_sql`.
    """

    route: Route
    confidence: float
    decided_by: Literal["learned", "lm"]
    reason: str | None = None
    split: float = 0.0
    """The router's probability of computing or of searching, whichever is less: how torn it is between them."""
    intents: list[Intent] = field(default_factory=list)
    sketch: Sketch | None = None
    trust: float = 0.0
    assumptions: tuple[str, ...] = ()
    table: str | None = None
    also: tuple[str, ...] = ()
    """Further tables to search, where the question names none and restricts nothing."""
    text: str = ""
    filters: tuple[tuple[Predicate, ...], ...] = ()
    first: tuple[str, bool, int] | None = None
    """Only the first rows by a column: its name, whether descending, how many."""
    mirrored: dict[str, Any] = field(default_factory=dict)
    condition: str | None = None
    key_sql: CheckedSql | None = None
