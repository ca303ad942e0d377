"""What an agent's hops find, and its answer where that cites it.

Every hop is a question of its own to the program's cheap depths (the sketch, one call, retries) or to the search.
Hops share the trace, the bill, the budget and the four statements of the question they serve. What the agent answers
is checked against the evidence like any answer of a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.program import answer as writing
from sqlrag_dspy.program import gather, respond
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import describe_schema, plain
from sqlrag_dspy.program.team.asking import ask

SHOWN, WIDTH = 8, 400
"""Pieces of evidence that the agent sees of one hop, and characters of each."""
SPENT = "The budget of this question is spent: finish now."
SEEN = "You asked that before; the answer is above. Ask something else, or finish."


@dataclass
class Hops:
    """What one question's agent may use, and what it has found so far."""

    rag: Parts
    inquiry: Inquiry
    pieces: list[writing.Evidence] = field(default_factory=list)
    found: Evidence = field(default_factory=Evidence)
    last: Evidence = field(default_factory=Evidence)
    asked: set[str] = field(default_factory=set)

    def compute(self, question: str) -> str:
        """Rows for a question, as numbered lines."""
        from sqlrag_dspy.program import write_sql  # which may ask the team: a hop is a question of its own

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


def compute(rag: Parts, inquiry: Inquiry) -> Evidence | None:
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
