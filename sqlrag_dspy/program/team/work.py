"""The work on one question that a model writes SQL for: which stage comes when, and when it is enough.

The order is fixed: no model decides it. Statements count against one bound whatever depth spends them, and the
best of them is what is left when the bound, the budget or the model is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import can_ask, describe_links, describe_schema
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.running import execute
from sqlrag_dspy.program.team import critic
from sqlrag_dspy.program.team.asking import ask
from sqlrag_dspy.program.team.attempts import Attempt, Attempts, wrong
from sqlrag_dspy.program.team.depth import features
from sqlrag_dspy.program.team.linking import Linked, connected
from sqlrag_dspy.program.team.statements import Work, next_statement
from sqlrag_dspy.program.team.typed import Intent, Verdict, numbered

if TYPE_CHECKING:
    from sqlrag_dspy.program.rag import SqlRag

KEPT = 1
"""Statements that retrying leaves to the team, when the question is complex enough for one."""
_BRIEF: dict[Depth, Depth] = {"team": "retry", "agent": "retry"}
"""The deepest that a small model goes: what it says of intents, schema and critique makes its SQL worse."""


def write(rag: SqlRag, inquiry: Inquiry, plan: Plan) -> Evidence | None:
    """Rows by the best statement that a model wrote, at the depth that the question needs; None when none runs."""
    work = Work(rag, inquiry, plan, Attempts(spent=inquiry.attempts))
    weighed = features(inquiry.links, inquiry.masked, inquiry.database.catalog, plan.trust)
    chosen = rag.depths(features=weighed)
    with inquiry.step("depth", " ".join(f"{name} {value:.2f}" for name, value in weighed.items())) as step:
        work.depth = rag.depth or (
            _BRIEF.get(chosen.depth, chosen.depth) if rag.engine.is_brief else chosen.depth
        )
        step.output = f"{work.depth} (complexity {chosen.complexity:.2f}{', as told' if rag.depth else ''})"
    may_reach = not (rag.depth or rag.engine.is_brief) and rag.depths.reaches("team", chosen.complexity)
    if work.depth == "call" and (short := _call(work)) and not rag.depth:
        _escalate(work, "retry", short)
    if work.depth == "retry" and (short := _retry(work, is_last=not may_reach)) and may_reach:
        _escalate(work, "team", short)
    if work.depth == "team":
        _team(work)
    return _finish(work)


def _escalate(work: Work, depth: Depth, reason: str) -> None:
    """Goes on at the next depth, and says so."""
    if (work.is_over and depth != "team") or not (work.attempts.left and can_ask(work.rag, work.inquiry)):
        return
    with work.inquiry.step("depth", reason) as step:
        step.output = f"{depth}, since {work.depth} was not enough"
    work.inquiry.warnings.append(f"note: {work.depth} was not enough ({reason}); went on with {depth}")
    work.depth = depth


def _call(work: Work) -> str:
    """One statement; why it is not enough, "" when it is."""
    return _short_of(next_statement(work))


def _retry(work: Work, *, is_last: bool) -> str:
    """Statements until one runs; one that runs with doubts goes back once. Why none is enough, "" when one is."""
    short = "nothing was written"
    while work.attempts.left > (0 if is_last else KEPT):
        before = work.attempts.last
        attempt = next_statement(work)
        short = _short_of(attempt)
        was_doubted = before is not None and (before.runs or before.query is not None)
        if not short or (was_doubted and not work.rag.engine.is_brief):
            return ""  # the second thought on doubts is the last one
        if attempt is None or work.is_over:
            break
    return short


def _short_of(attempt: Attempt | None) -> str:
    """What an attempt lacks, in a few words; "" for nothing."""
    if attempt is None:
        return "no other statement was written"
    if attempt.source:
        return f"refused by {attempt.source}" if attempt.source != "build" else "nothing was written"
    if not attempt.runs:
        return "a value is stored otherwise"
    return "doubtful" if attempt.severe else ""


# --- the team ---------------------------------------------------------------------------------------


def _team(work: Work) -> None:
    """Intents, schema, then statements until the critic approves one."""
    work.is_fresh, work.is_over = True, False
    work.intents = _intents(work)
    work.linked = _link(work)
    while work.attempts.left:
        attempt = next_statement(work)
        if attempt is None:
            return
        if attempt.evidence is None or _free_critique(work, attempt):
            continue
        verdict = _criticise(work, attempt)
        if verdict is None or verdict.approved:
            return
        if not verdict.severe:
            work.inquiry.fail(
                "critic", "the critic did not approve, and named no fault that would change the answer"
            )
            return
        _trace_back(work, verdict)


def _intents(work: Work, missed: str = "") -> list[Intent]:
    """The intents of the question, parsed again once where they do not cover it."""
    whole = [Intent(description=work.inquiry.question)]
    if not work.uses("intents"):
        return whole
    intents = _parse(work, missed)
    if not intents:
        return work.intents or whole
    gaps = ask(
        work.rag,
        work.inquiry,
        "check intents",
        numbered(intents),
        work.rag.team.coverage,
        instead="the intents stand as they are",
        is_small=True,
        show=lambda found: "; ".join(found) or "all covered",
        question=work.inquiry.question,
        intents=intents,
    )
    return (_parse(work, "; ".join(gaps)) or intents) if gaps else intents


def _parse(work: Work, missed: str) -> list[Intent]:
    inquiry = work.inquiry
    found: list[Intent] | None = ask(
        work.rag,
        inquiry,
        "parse intents",
        inquiry.question + (f"\nmissed before: {missed}" if missed else ""),
        work.rag.team.intents,
        instead="the question is taken as one intent",
        show=numbered,
        question=inquiry.question,
        missed=missed,
    )
    if found == []:
        inquiry.fail("intents", "the model found no intent in the question; it is taken as one")
    return found or []


def _link(work: Work) -> Linked | None:
    """The tables to write over, with notes; None for the schema as far as it fits."""
    inquiry = work.inquiry
    catalog = inquiry.database.catalog
    proposed = propose(work)
    if len(proposed) < 2 or not work.uses("schema"):
        return Linked(proposed)
    linked: Linked | None = ask(
        work.rag,
        inquiry,
        "link schema",
        ", ".join(proposed),
        work.rag.team.schema,
        instead="all proposed tables are shown",
        show=lambda found: "; ".join([", ".join(found.tables), *found.notes]),
        question=inquiry.question,
        intents=work.intents,
        found=describe_links(inquiry.links),
        schema=describe_schema(catalog, inquiry.links, only=proposed),
        catalog=catalog,
        links=inquiry.links,
    )
    if linked is None:
        return Linked(proposed)
    if not linked.tables:
        inquiry.fail("schema", "the model linked no table of the schema; all proposed ones are shown")
        return Linked(proposed)
    return Linked(connected(linked.tables, catalog), linked.notes)


def propose(work: Work) -> tuple[str, ...]:
    """The tables that may be needed: those that the question names, then the rest."""
    catalog = work.inquiry.database.catalog
    named = {link.table for link in work.inquiry.links.chosen}
    return tuple(table.name for table in sorted(catalog.tables, key=lambda table: table.name not in named))


def _free_critique(work: Work, attempt: Attempt) -> bool:
    """Whether something that costs no call speaks against it and was not sent back yet."""
    if attempt.evidence is None:
        return False
    new = {*wrong(attempt.evidence), *attempt.evidence.notes} - work.heard
    work.heard |= new
    return bool(new) and work.attempts.left > 0


def _criticise(work: Work, attempt: Attempt) -> Verdict | None:
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


def _trace_back(work: Work, verdict: Verdict) -> None:
    """Parses the intents again when the critic names one of them for the second time."""
    work.blamed.update({issue.intent for issue in verdict.severe if issue.intent})
    if work.is_traced or not work.uses("intents") or max(work.blamed.values(), default=0) < 2:
        return
    work.is_traced = True
    if not work.attempts.left:
        return
    work.blamed.clear()
    work.intents = _intents(work, critic.advice(verdict, work.intents))
    work.is_fresh = True


# --- the end ----------------------------------------------------------------------------------------


def _finish(work: Work) -> Evidence | None:
    """The best statement's rows, flagged when the critic did not approve; None when none runs."""
    inquiry = work.inquiry
    while (best := work.attempts.best()) is not None and best.evidence is None and best.query is not None:
        try:
            best.evidence = execute(inquiry, best.query)
        except QueryFailed as error:
            best.query, best.source, best.advice = None, "run", str(error)
    tried = sum(1 for each in work.attempts.tried if each.sql)
    if best is None or best.evidence is None:
        if (last := work.attempts.last) is not None:
            told = f"no statement ran in {tried} attempts; the last was refused: {last.advice}"
            inquiry.fail(last.source or "build", told)
        return None
    inquiry.depth = best.depth
    if any(issue.severity == "severe" for issue in best.issues):
        source = "intents" if work.is_traced else "critic"
        inquiry.fail(
            source, f"the critic found fault in every statement ({tried} tried); in this one: {best.advice}"
        )
    if work.depth == "team" and work.uses("explanation"):
        _explain(work, best)
    return best.evidence


def _explain(work: Work, best: Attempt) -> None:
    from sqlrag_dspy import sql as sql_room

    evidence, inquiry = best.evidence, work.inquiry
    if evidence is None or evidence.sql is None:
        return
    does = sql_room.explain(evidence.sql, inquiry.database.catalog)
    told = ask(
        work.rag,
        inquiry,
        "explain sql",
        best.sql,
        work.rag.team.explainer,
        instead="the explanation is read off the statement",
        show=lambda said: "; ".join([said.explanation, *said.assumptions]),
        question=inquiry.question,
        sql=best.sql,
        does=does,
    )
    if told is not None:
        evidence.told = told.explanation
        inquiry.assumptions.extend(told.assumptions)
