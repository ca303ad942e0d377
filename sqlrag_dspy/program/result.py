"""`Answer`: what a question returns, in Python and as JSON. The shape is the public contract; only add to it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from sqlrag_dspy import types

FailureSource = Literal[
    "route", "intents", "schema", "build", "check", "run", "critic", "answer", "lm", "budget"
]

Depth = Literal["sketch", "call", "retry", "team", "agent"]
"""How much is spent on a question that SQL answers, from nothing to an agent (docs/team.md)."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Passage(_Part):
    """A stretch of a stored text; `start` and `end` are character offsets into that column's value."""

    column: str
    start: int
    end: int
    text: str
    score: float


class Document(_Part):
    """A row, with its best passages; `key` is a list for a composite key."""

    table: str
    key: Any
    score: float
    fields: dict[str, Any] = Field(default_factory=dict)
    passages: list[Passage] = Field(default_factory=list)


class Search(_Part):
    """How the search was restricted: rows allowed and searched, and the SQL that chose them, if any.

    `tables` names the tables searched where there are several.
    """

    rows_allowed: int
    rows_searched: int
    exact: bool
    filters: list[list[Any]] = Field(default_factory=list)
    key_sql: str | None = None
    tables: list[str] = Field(default_factory=list)

    @model_serializer(mode="wrap")
    def _without_empty(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if not self.tables:
            written.pop("tables", None)
        return written


class Citation(_Part):
    """What a stretch of the answer rests on: a passage, a result row, or the whole query."""

    kind: Literal["passage", "row", "query"]
    answer_span: tuple[int, int]
    table: str | None = None
    key: Any = None
    column: str | None = None
    start: int | None = None
    end: int | None = None


class Step(_Part):
    """One step of the trace; `input` and `output` are set only when a trace was asked for."""

    name: str
    input: str | None = None
    output: str | None = None
    error: str | None = None
    seconds: float = 0.0
    lm_calls: int = 0
    cached_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0


class Usage(_Part):
    """What the question cost: calls, tokens, US dollars, seconds."""

    lm_calls: int = 0
    cached_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0


class Answer(_Part):
    """The answer to one question, with everything it rests on."""

    id: Any = None
    question: str
    route: types.Route | None = None
    confidence: float = 0.0
    decided_by: Literal["learned", "lm"] = "learned"
    answer: str = ""
    explanation: str = ""
    needs_model: bool = False
    decline_reason: str | None = None
    sql: str | None = None
    columns: list[str] = Field(default_factory=list)
    rows: list[list[Any]] = Field(default_factory=list)
    truncated: bool = False
    depth: Depth | None = None
    """How the statement was written; None when there is none."""
    documents: list[Document] = Field(default_factory=list)
    search: Search | None = None
    citations: list[Citation] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    attempts: int = 0
    flagged: bool = False
    failure_source: FailureSource | None = None
    error: str | None = None
    steps: list[Step] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)

    @property
    def keys(self) -> list[Any]:
        """Keys of the documents, best first."""
        return [document.key for document in self.documents]


def key_json(key: types.Key) -> Any:
    """A key as JSON: the value itself, or a list for a composite one."""
    return list(key) if isinstance(key, tuple) else key


def document(found: types.Document) -> Document:
    """The edge form of a found document."""
    return Document(
        table=found.table,
        key=key_json(found.key),
        score=round(found.score, 4),
        fields=dict(found.fields),
        passages=[
            Passage(column=p.column, start=p.start, end=p.end, text=p.text, score=round(p.score, 4))
            for p in found.passages
        ],
    )


def search(done: types.Search) -> Search:
    """The edge form of how a search was done."""
    return Search(
        rows_allowed=done.rows_allowed,
        rows_searched=done.rows_searched,
        exact=done.exact,
        filters=[[column, value] for column, value in done.filters],
        key_sql=done.key_sql,
        tables=list(done.tables),
    )
