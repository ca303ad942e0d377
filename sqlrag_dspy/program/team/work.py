"""The work on one question that a model writes SQL for: which stage comes when, and when it is enough.

The order is fixed: no model decides it. Statements count against one bound whatever depth spends them, and the
best of them is what is left when the bound, the budget or the model is.
"""

from __future__ import annotations

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.program.calling import can_ask
from sqlrag_dspy.program.features import tokens
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.running import assumed, execute
from sqlrag_dspy.program.team import hops
from sqlrag_dspy.program.team.asking import ask
from sqlrag_dspy.program.team.attempts import Attempt, Attempts
from sqlrag_dspy.program.team.depth import DEPTHS, SHORT, features
from sqlrag_dspy.program.team.reviewing import criticise, free_critique, trace_back
from sqlrag_dspy.program.team.statements import Work, next_statement
from sqlrag_dspy.program.team.understanding import intents_of, link, takes_hops

KEPT = 1
"""Statements that retrying leaves to the team, when the question is complex enough for one."""

TORN = 0.25
"""Probability of computing and of searching, each, from which a question may need both."""


def write(rag: Parts, inquiry: Inquiry, plan: Plan, most: Depth | None = None) -> Evidence | None:
    """Rows by the best statement that a model wrote, at the depth that the question needs; None when none runs.

    No deeper than `most`, and with a small model no deeper than retries: what it says of intents, schema and
    critique makes its SQL worse. At the depth "agent", what an agent found in several hops.
    """
    work = Work(rag, inquiry, plan, Attempts(spent=inquiry.attempts), intents=list(plan.intents))
    weighed = features(inquiry.links, inquiry.masked, inquiry.database.catalog, plan.trust)
    chosen = rag.depths(features=weighed)
    with inquiry.step("depth", " ".join(f"{name} {value:.2f}" for name, value in weighed.items())) as step:
        told = rag.depth if most is None and rag.depth != "agent" else None
        work.depth = told or _at_most(chosen.depth, "retry" if rag.engine.is_brief else most)
        step.output = f"{work.depth} (complexity {chosen.complexity:.2f}{', as told' if told else ''})"
    may_reach = not (told or most or rag.engine.is_brief) and rag.depths.reaches("team", chosen.complexity)
    if work.depth == "call" and (short := _call(work)) and not told:
        _escalate(work, "retry", short)
    if work.depth == "retry" and (short := _retry(work, is_last=not may_reach)) and may_reach:
        _escalate(work, "team", short)
    if work.depth == "team" and _team(work) and not told:
        _escalate(work, "agent", "one part is computed, another read in texts")
    if work.depth == "agent" and (found := hops.compute(rag, inquiry)) is not None:
        return found
    return _finish(work)


def _at_most(depth: Depth, most: Depth | None) -> Depth:
    return most if most is not None and DEPTHS.index(depth) > DEPTHS.index(most) else depth


def is_for_agent(rag: Parts, inquiry: Inquiry, plan: Plan) -> bool:
    """Whether the question takes several hops: as told, or as its intents say where the router is torn.

    Torn is between computing and searching: then, for a question long enough to ask two things, a call to parse
    the intents is worth it.
    """
    if plan.route == "decline" or not can_ask(rag, inquiry):
        return False
    is_torn = plan.split >= TORN and len(tokens(inquiry.masked)) > SHORT and not rag.engine.is_brief
    if rag.depth is not None or not is_torn or not inquiry.database.text_tables:
        return rag.depth == "agent"
    plan.intents = intents_of(Work(rag, inquiry, plan, Attempts()))
    return takes_hops(plan.intents)


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


def _team(work: Work) -> bool:
    """Intents, schema, then statements until the critic approves one. Whether it takes several hops instead."""
    work.is_fresh, work.is_over = True, False
    work.intents = work.intents or intents_of(work)
    if not work.rag.depth and takes_hops(work.intents) and work.inquiry.database.text_tables:
        return True
    work.linked = link(work)
    while work.attempts.left:
        attempt = next_statement(work)
        if attempt is None:
            return False
        if attempt.evidence is None or free_critique(work, attempt):
            continue
        verdict = criticise(work, attempt)
        if verdict is None or verdict.approved:
            return False
        if not verdict.severe:
            work.inquiry.fail(
                "critic", "the critic did not approve, and named no fault that would change the answer"
            )
            return False
        trace_back(work, verdict)
    return False


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
    inquiry.assumptions.extend(assumed(inquiry, best.evidence))
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
