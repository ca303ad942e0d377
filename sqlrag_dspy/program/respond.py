"""From plan and evidence to the Answer."""

from __future__ import annotations

from typing import Any

from sqlrag_dspy.program import answer as writing
from sqlrag_dspy.program import gather, result
from sqlrag_dspy.program.calling import can_ask, note_failure
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry, whole
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import number_evidence
from sqlrag_dspy.program.result import Answer
from sqlrag_dspy.types import Document

DECLINED = {
    "no-column": "This database does not store that.",
    "other-domain": "This database does not cover that.",
    "future": "The database holds what has happened; it cannot tell the future.",
    "opinion": "That asks for an opinion; the database can only tell what it holds.",
    "write": "Nothing can be changed or sent from here; questions are read-only.",
    "smalltalk": "Ask something about the data.",
    "injection": "That is not a question about the data.",
    "too-vague": "Please say what you would like to know about the data.",
}
NEEDS_MODEL = (
    "This question needs a language model to be turned into SQL, and none is set (lm in sqlrag.toml). "
    "Nothing was guessed."
)

LOST_MODEL = (
    "This question needs a language model to be turned into SQL, and the one that is set did not answer. "
    "Nothing was guessed."
)


def unanswered(rag: Parts, inquiry: Inquiry) -> str:
    """Why an sql question has no answer."""
    if not rag.engine.is_set:
        return NEEDS_MODEL
    return LOST_MODEL if inquiry.has_lost_model else "No statement could be written that runs."


def write(rag: Parts, inquiry: Inquiry, plan: Plan, evidence: Evidence) -> Answer:
    """The finished Answer, with citations, warnings, trace and bill."""
    answer = Answer(
        question=inquiry.question,
        route=plan.route,
        confidence=round(plan.confidence, 4),
        decided_by=plan.decided_by,
        needs_model=evidence.needs_model,
    )
    if plan.route == "decline":
        answer.decline_reason = plan.reason or "other-domain"
        answer.answer = DECLINED.get(answer.decline_reason, DECLINED["other-domain"])
        answer.explanation = "Nothing was computed or searched."
    elif evidence.needs_model:
        answer.answer = unanswered(rag, inquiry)
        answer.explanation = "Nothing was computed."
        answer.flagged = rag.engine.is_set
    elif evidence.written is not None:
        _hopped(inquiry, evidence, evidence.written, answer)
    elif plan.route == "sql":
        _computed(inquiry, evidence, answer)
    else:
        _searched(rag, inquiry, plan, evidence, answer)
    answer.assumptions = list(dict.fromkeys(inquiry.assumptions))
    answer.warnings = list(dict.fromkeys([*answer.warnings, *inquiry.warnings, *evidence.notes]))
    answer.attempts, answer.depth = inquiry.attempts, inquiry.depth
    answer.flagged = answer.flagged or inquiry.flagged
    answer.failure_source = inquiry.failure_source  # type: ignore[assignment]
    answer.steps = inquiry.steps
    answer.usage = inquiry.usage()
    return answer


def _hopped(inquiry: Inquiry, evidence: Evidence, written: writing.Written, answer: Answer) -> None:
    """What an agent answered, with the last statement and every document it found."""
    from sqlrag_dspy import sql as sql_room

    if evidence.sql is not None and evidence.rows is not None:
        answer.sql = evidence.sql.text
        answer.columns = list(evidence.rows.columns)
        answer.rows = [list(row) for row in evidence.rows.values]
        answer.truncated = evidence.rows.truncated
        answer.explanation = sql_room.explain(evidence.sql, inquiry.database.catalog)
    if evidence.search is not None:
        answer.documents = [result.document(document) for document in evidence.documents]
        answer.search = result.search(evidence.search)
        answer.explanation += ("; then " if answer.explanation else "") + "searched texts by meaning"
    answer.answer, answer.citations = written.text, written.citations


def _computed(inquiry: Inquiry, evidence: Evidence, answer: Answer) -> None:
    from sqlrag_dspy import sql as sql_room

    if evidence.sql is None or evidence.rows is None:
        return
    rows = evidence.rows
    answer.sql = evidence.sql.text
    answer.explanation = sql_room.explain(evidence.sql, inquiry.database.catalog)
    if evidence.told:
        answer.explanation = f"{answer.explanation}. {evidence.told}" if answer.explanation else evidence.told
    answer.columns = list(rows.columns)
    answer.rows = [list(row) for row in rows.values]
    answer.truncated = rows.truncated
    with inquiry.step("answer", f"{len(rows.values)} rows") as step:
        written = writing.render_rows(rows, answer.explanation)
        answer.answer, answer.citations = written.text, written.citations
        step.output = written.text[:400]


def _searched(rag: Parts, inquiry: Inquiry, plan: Plan, evidence: Evidence, answer: Answer) -> None:
    restricted = plan.condition or gather.describe_filters(plan)
    tables = ", ".join(name for name in (plan.table, *plan.also) if name)
    answer.explanation = f"searched {tables} by meaning" + (
        f", only rows where {restricted}" if restricted else ""
    )
    answer.documents = [result.document(document) for document in evidence.documents]
    answer.search = result.search(evidence.search) if evidence.search is not None else None
    if not evidence.documents:
        answer.answer = "No row satisfies the restrictions." if restricted else "There is nothing to search."
        return
    with inquiry.step("answer", f"{len(evidence.documents)} documents") as step:
        written = _from_model(rag, inquiry, evidence) if can_ask(rag, inquiry) else None
        if written is None:
            database = inquiry.database
            written = writing.quote(
                plan.text,
                evidence.documents,
                {table.name: table for table in database.catalog.tables},
                lambda document: label(inquiry, document),
                database.encode,
            )
        answer.answer, answer.citations = written.text, written.citations
        step.output = written.text[:400]


def _from_model(rag: Parts, inquiry: Inquiry, evidence: Evidence) -> writing.Written | None:
    """What the LM writes from numbered evidence; None when it fails or cites nothing that exists."""
    pieces = writing.evidence_of(evidence.rows, evidence.documents, lambda document: label(inquiry, document))
    evidence_text, shown = number_evidence([piece.text for piece in pieces])
    try:
        told = rag.write_answer(question=inquiry.question, evidence=evidence_text).answer
        written = writing.check_citations(whole(str(told or "")), pieces[:shown])
    except Exception as error:  # noqa: BLE001 - a model may fail in any way; quotations still answer
        note_failure(inquiry, error, "answer", "passages are quoted")
        return None
    if not written.text or not written.citations:
        inquiry.fail("answer", "the model's answer cited no evidence; passages are quoted instead")
        return None
    if written.unsupported:
        inquiry.flagged = True
        inquiry.warnings.append(f"{len(written.unsupported)} sentences of the answer cite no evidence")
    return written


def label(inquiry: Inquiry, document: Document) -> str:
    """What a person would call the row."""
    table = inquiry.database.catalog.table(document.table)
    name: Any = None
    if table is not None:
        name = document.fields.get(inquiry.database.display_column(table).name)
    return str(name if name is not None else document.key)
