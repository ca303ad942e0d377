"""What speaks against a statement that ran: first what costs no call, then the critic, then the intents themselves."""

from __future__ import annotations

from sqlrag_dspy.program.team import critic
from sqlrag_dspy.program.team.asking import ask
from sqlrag_dspy.program.team.attempts import Attempt, wrong
from sqlrag_dspy.program.team.statements import Work
from sqlrag_dspy.program.team.typed import Verdict
from sqlrag_dspy.program.team.understanding import intents_of


def free_critique(work: Work, attempt: Attempt) -> bool:
    """Whether something that costs no call speaks against it and was not sent back yet."""
    if attempt.evidence is None:
        return False
    new = {*wrong(attempt.evidence), *attempt.evidence.notes} - work.heard
    work.heard |= new
    return bool(new) and work.attempts.left > 0


def criticise(work: Work, attempt: Attempt) -> Verdict | None:
    """The critic's verdict, written on the attempt; None when there is no critic or it failed."""
    from sqlrag_dspy import sql as sql_room

    evidence, inquiry = attempt.evidence, work.inquiry
    if not work.uses("critic") or evidence is None or evidence.sql is None or evidence.rows is None:
        return None
    verdict: Verdict | None = ask(
        work.rag,
        inquiry,
        "critique sql",
        attempt.sql,
        work.rag.team.critic,
        instead="the statement was not reviewed",
        is_small=True,
        show=lambda said: "approved" if said.approved else critic.advice(said, work.intents),
        question=inquiry.question,
        intents=work.intents,
        schema=work.schema,
        sql=attempt.sql,
        does=sql_room.explain(evidence.sql, inquiry.database.catalog),
        rows=evidence.rows,
    )
    if verdict is not None:
        attempt.issues, attempt.is_approved = verdict.issues, verdict.approved
        attempt.advice = "" if verdict.approved else critic.advice(verdict, work.intents)
    return verdict


def trace_back(work: Work, verdict: Verdict) -> None:
    """Parses the intents again when the critic names one of them for the second time."""
    work.blamed.update({issue.intent for issue in verdict.severe if issue.intent})
    if work.is_traced or not work.uses("intents") or max(work.blamed.values(), default=0) < 2:
        return
    work.is_traced = True
    if not work.attempts.left:
        return
    work.blamed.clear()
    work.intents = intents_of(work, critic.advice(verdict, work.intents))
    work.is_fresh = True
