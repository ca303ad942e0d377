"""Questions of several hops, each depending on the last: an agent over two tools, and what it found.

Every hop is a question of its own to the program's cheap depths (the sketch, one call, retries) or to the search;
the agent only decides what to ask next. Hops share the trace, the bill, the budget and the four statements of the
question they serve. What it answers is checked against the evidence like any answer of a model.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import dspy

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.program import answer as writing
from sqlrag_dspy.program import gather, respond
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry, whole
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import describe_schema, plain
from sqlrag_dspy.program.signatures import AnswerInHops
from sqlrag_dspy.program.team.asking import ask

if TYPE_CHECKING:
    from sqlrag_dspy.program.rag import SqlRag

HOPS = 5
"""Tool calls for one question."""
SHOWN, WIDTH = 8, 400
"""Pieces of evidence that the agent sees of one hop, and characters of each."""
SPENT = "The budget of this question is spent: finish now."
SEEN = "You asked that before; the answer is above. Ask something else, or finish."


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


@dataclass
class Hops:
    """What one question's agent may use, and what it has found so far."""

    rag: SqlRag
    inquiry: Inquiry
    pieces: list[writing.Evidence] = field(default_factory=list)
    found: Evidence = field(default_factory=Evidence)
    last: Evidence = field(default_factory=Evidence)
    asked: set[str] = field(default_factory=set)

    def compute(self, question: str) -> str:
        """Rows for a question, as numbered lines."""
        from sqlrag_dspy.program import write_sql

        def hop(inquiry: Inquiry) -> Evidence:
            plan = Plan("sql", 1.0, "lm")
            gather.prepare(self.rag, inquiry, plan)
            return write_sql.compute(self.rag, inquiry, plan, most="retry")

        return self._serve("search_database", question, hop)

    def read(self, question: str) -> str:
        """Passages for a topic, as numbered lines."""

        def hop(inquiry: Inquiry) -> Evidence:
            plan = Plan("vector", 1.0, "lm")
            gather.prepare(self.rag, inquiry, plan)
            return gather.search(self.rag, inquiry, plan)

        return self._serve("search_documents", question, hop)

    def _serve(self, tool: str, question: str, hop: Any) -> str:
        asked = f"{tool} {' '.join(question.casefold().split())}"
        if self.inquiry.is_overdrawn():
            return SPENT
        if asked in self.asked:
            return SEEN
        self.asked.add(asked)
        with self.inquiry.step(tool, question) as step:
            served = self.inquiry.hop(question)
            try:
                evidence: Evidence = hop(served)
            except SqlRagError as error:
                step.output = f"{error}"
                return str(error)
            finally:
                self.inquiry.join(served)
            step.output = self._keep(evidence)
        return step.output

    def _keep(self, evidence: Evidence) -> str:
        """Adds evidence, and tells it with the numbers that answers cite."""
        if evidence.rows is not None or evidence.documents:
            self.last = evidence
        new = writing.evidence_of(
            evidence.rows, evidence.documents, lambda document: respond.label(self.inquiry, document)
        )[:SHOWN]
        if evidence.rows is not None:
            # Rows are cited by their place in the answer's rows, and those are the last statement's.
            self.pieces = [_of_query(piece) for piece in self.pieces]
            self.found.sql, self.found.rows = evidence.sql, evidence.rows
        if evidence.documents:
            known = {(document.table, document.key) for document in self.found.documents}
            more = [each for each in evidence.documents if (each.table, each.key) not in known]
            self.found.documents = (*self.found.documents, *more)
            self.found.search = evidence.search
        self.found.notes += evidence.notes
        first = len(self.pieces) + 1
        self.pieces += new
        if not new:
            return " ".join(evidence.notes) or "Nothing was found."
        lines = [
            f"[{number}] {plain(' '.join(piece.text.split()))[:WIDTH]}"
            for number, piece in enumerate(new, first)
        ]
        return "\n".join(["<evidence>", *lines, "</evidence>"])


_SERVED: ContextVar[Hops] = ContextVar("hops")


class Agent(dspy.Module):
    """A question to an answer in several hops; the tools serve whatever question is asked around the call."""

    def __init__(self) -> None:
        super().__init__()
        self.react = dspy.ReAct(AnswerInHops, tools=[search_database, search_documents], max_iters=HOPS)

    def forward(self, question: str, schema: str, hops: Hops, **options: Any) -> str:
        """The agent's answer, with the numbers of its evidence."""
        token = _SERVED.set(hops)
        try:
            left = hops.inquiry.database.settings.budget.calls - hops.inquiry.usage().lm_calls - 1
            said = self.react(question=question, database_schema=schema, max_iters=max(1, min(HOPS, left)))
        finally:
            _SERVED.reset(token)
        return whole(str(said.answer or ""))


def compute(rag: SqlRag, inquiry: Inquiry) -> Evidence | None:
    """What the agent found, with its answer where that cites it; None when it found nothing."""
    hops = Hops(rag, inquiry)
    said = ask(
        rag,
        inquiry,
        "agent",
        inquiry.question,
        rag.team.agent,
        instead="what it found last is shown",
        question=inquiry.question,
        schema=describe_schema(inquiry.database.catalog, inquiry.links, likely=inquiry.likely_tables),
        hops=hops,
    )
    found = hops.found
    if found.rows is None and not found.documents:
        return None
    inquiry.depth = "agent"
    written = writing.check_citations(said, hops.pieces) if said is not None else None
    if written is not None and not (written.text and written.citations):
        inquiry.fail("answer", "the agent's answer cited no evidence; what it found last is shown instead")
        written = None
    if written is not None and written.unsupported:
        inquiry.flagged = True
        inquiry.warnings.append(f"{len(written.unsupported)} sentences of the answer cite no evidence")
    found.written = written or _shown(hops)
    return found


def _shown(hops: Hops) -> writing.Written:
    """The evidence of the last hop that found something, as the learned tier shows it."""
    last, database = hops.last, hops.inquiry.database
    if last.rows is not None:
        return writing.render_rows(last.rows, "")
    tables = {table.name: table for table in database.catalog.tables}
    return writing.quote(
        hops.inquiry.question,
        last.documents,
        tables,
        lambda document: respond.label(hops.inquiry, document),
        database.encode,
    )


def _of_query(piece: writing.Evidence) -> writing.Evidence:
    """A row of an earlier statement, cited as its query."""
    if piece.citation.kind != "row":
        return piece
    return replace(piece, citation=piece.citation.model_copy(update={"kind": "query", "key": None}))
