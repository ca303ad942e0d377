"""Evidence by computing: the learned sketch when it is trusted, the team otherwise, as deep as it needs."""

from __future__ import annotations

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.program.calling import can_ask
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.running import check, execute
from sqlrag_dspy.program.sketching.unheard import unheard
from sqlrag_dspy.program.team import work
from sqlrag_dspy.program.team.attempts import wrong
from sqlrag_dspy.program.team.missed import missed


def compute(rag: Parts, inquiry: Inquiry, plan: Plan, most: Depth | None = None) -> Evidence:
    """Rows for an sql question, at a depth of at most `most`.

    With an LM, a sketch that misses something that the question names goes to it, however sure it is. Without
    one, a sketch that is not sure is answered with a flag, and one that is likelier wrong than right is not run
    at all: `needs_model`.
    """
    evidence = _evidence(rag, inquiry, plan, most)
    inquiry.warnings.extend(evidence.doubts)
    inquiry.assumptions.extend(evidence.assumptions)
    inquiry.flagged = inquiry.flagged or evidence.is_doubtful
    return evidence


def _evidence(rag: Parts, inquiry: Inquiry, plan: Plan, most: Depth | None) -> Evidence:
    is_sure = plan.sketch is not None and plan.trust >= rag.thresholds.sql
    is_likely = plan.sketch is not None and plan.trust >= rag.thresholds.doubt
    is_told = rag.depth not in (None, "sketch", "agent") or "sketch" in rag.without
    if is_sure and not (rag.engine.is_set and (is_told or not rag.gate_open)):
        found = _from_sketch(rag, inquiry, plan)
        if found is not None and not (rag.engine.is_set and _misses(inquiry, found)):
            return found
        is_likely = found is not None  # one that was refused or failed would be again
    if rag.depth != "sketch" and can_ask(rag, inquiry):
        written = work.write(rag, inquiry, plan, most)
        if written is not None:
            return _surer(rag, inquiry, plan, written) if is_likely else written
        inquiry.failure_source = inquiry.failure_source or "build"
    found = _from_sketch(rag, inquiry, plan) if is_likely else None
    if found is not None and not is_sure:
        inquiry.flagged = True
        inquiry.warnings.append(f"not sure that this is what was asked ({plan.trust:.0%}); check the SQL")
    return found or Evidence(needs_model=True)


def _misses(inquiry: Inquiry, found: Evidence) -> list[str]:
    """What the question names and the statement does not use."""
    return missed(inquiry.links, found.sql, inquiry.database.catalog) if found.sql is not None else []


def _surer(rag: Parts, inquiry: Inquiry, plan: Plan, written: Evidence) -> Evidence:
    """What a small model wrote, or the sketch where that leaves fewer doubts."""
    doubts = len(wrong(written)) + bool(written.notes)
    if not (doubts and rag.engine.is_brief) or rag.depth is not None or "sketch" in rag.without:
        return written
    depth = inquiry.depth
    found = _from_sketch(rag, inquiry, plan)
    if found is not None and len(wrong(found)) + bool(found.notes) + len(_misses(inquiry, found)) < doubts:
        return found
    inquiry.depth = depth
    return written


def _from_sketch(rag: Parts, inquiry: Inquiry, plan: Plan) -> Evidence | None:
    """Writes, checks and runs the sketch; None when it cannot be written or run.

    One that stands in for statements of a model is not counted among the attempts.
    """
    from sqlrag_dspy import sql as sql_room

    if plan.sketch is None:
        return None
    try:
        written = sql_room.write(plan.sketch, inquiry.database.catalog)
        inquiry.attempts = inquiry.attempts or 1
        found = execute(inquiry, check(inquiry, written))
        found.assumptions = plan.assumptions
        inquiry.depth = "sketch"
        if words := unheard(inquiry.links, plan.sketch, inquiry.masked, rag.sketcher.idle):
            inquiry.flagged = True
            found.doubts.append(f"{words!r} of the question has no counterpart in the SQL; check it")
        return found
    except SqlRejected as error:
        inquiry.fail("check", f"the sketch was refused: {error}")
    except QueryFailed as error:
        inquiry.fail("run", str(error))
    return None
