"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlrag_dspy.types.values import Key, Value


@dataclass(frozen=True)
class Passage:
    """A stretch of one text column; `start`, `end` are character offsets into the stored text."""

    column: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True)
class Document:
    """A row found by meaning, with its best passages, best first."""

    table: str
    key: Key
    score: float
    fields: dict[str, Value] = field(default_factory=dict)
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Search:
    """What was searched: rows that the filters allow, rows compared, and whether all of them were."""

    rows_allowed: int
    rows_searched: int
    exact: bool
    filters: tuple[tuple[str, Value], ...] = ()
    key_sql: str | None = None
    tables: tuple[str, ...] = ()
    """The tables searched, where there are several."""


@dataclass(frozen=True)
class Hits:
    """The result of one search: documents, best first, and how they were searched."""

    documents: tuple[Document, ...]
    search: Search
