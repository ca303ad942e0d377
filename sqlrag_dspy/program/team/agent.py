"""An agent over two tools, for questions of several hops, each depending on the last; it decides what to ask next."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

import dspy

from sqlrag_dspy.program.inquiry import Inquiry, whole
from sqlrag_dspy.program.signatures import AnswerInHops

HOPS = 5
"""Tool calls for one question."""


class Serving(Protocol):
    """What answers the agent's tools for one question."""

    inquiry: Inquiry

    def compute(self, question: str) -> str:
        """Rows for a question, as numbered lines."""

    def read(self, question: str) -> str:
        """Passages for a topic, as numbered lines."""


def search_database(question: str) -> str:
    """Compute from the columns of the database: counts, sums, averages, extremes, lists of rows, who or which.

    `question` is one self-contained question in plain words; write out names and dates that earlier steps found.
    It never reads what long texts say.
    """
    return _SERVED.get().compute(question)


def search_documents(question: str) -> str:
    """Read what the long texts of the database say: passages nearest in meaning to a topic.

    `question` is the topic, with names, categories or dates that restrict which rows are read. It never counts
    or compares.
    """
    return _SERVED.get().read(question)


_SERVED: ContextVar[Serving] = ContextVar("hops")


class Agent(dspy.Module):
    """A question to an answer in several hops; the tools serve whatever question is asked around the call."""

    def __init__(self) -> None:
        super().__init__()
        self.react = dspy.ReAct(AnswerInHops, tools=[search_database, search_documents], max_iters=HOPS)

    def forward(self, question: str, schema: str, hops: Serving, **options: Any) -> str:
        """The agent's answer, with the numbers of its evidence."""
        token = _SERVED.set(hops)
        try:
            left = hops.inquiry.database.settings.budget.calls - hops.inquiry.usage().lm_calls - 1
            said = self.react(question=question, database_schema=schema, max_iters=max(1, min(HOPS, left)))
        finally:
            _SERVED.reset(token)
        return whole(str(said.answer or ""))
