"""Which way a question goes: the learned router when it is sure enough, the LM otherwise.

A small LM is not asked: it routes worse than the learned router where that is not sure (docs/models.md).
"""

from __future__ import annotations

import dspy

from sqlrag_dspy.program import gather
from sqlrag_dspy.program.calling import can_ask, note_failure
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import describe_schema
from sqlrag_dspy.types import ROUTES, Route

SHOWN = 8
"""Demonstrations retrieved for the LM."""


def decide(rag: Parts, inquiry: Inquiry) -> Plan:
    """The plan of a question: its route, and what that route needs."""
    inquiry.links  # noqa: B018 - linked first, so that the trace reads in order
    with inquiry.step("route", inquiry.masked) as step:
        learned = rag.router(masked=inquiry.masked, sense=lambda: inquiry.sense)
        route: Route | None = learned.route
        plan = Plan(route or "vector", learned.confidence, "learned", reason=learned.reason)
        sure = route is not None and (learned.confidence >= rag.thresholds.route or rag.engine.is_brief)
        if can_ask(rag, inquiry) and not (sure and rag.gate_open):
            asked = _ask(rag, inquiry)
            if asked is not None:
                plan = Plan(asked, learned.probabilities.get(asked, 0.5), "lm", reason=learned.reason)
        elif route is None:
            inquiry.fail("route", "the program's router is not fitted; compile it with 'sqlrag compile'")
        likely = learned.probabilities
        is_search = plan.route in ("vector", "hybrid")
        if is_search and not inquiry.database.text_tables and can_ask(rag, inquiry):
            # There is nothing to search: what can be answered at all is computed.
            plan.route, plan.confidence = "sql", likely.get("sql", plan.confidence)
        plan.split = min(likely.get("sql", 0.0), likely.get("vector", 0.0) + likely.get("hybrid", 0.0))
        if learned.is_strange and plan.decided_by == "learned" and plan.route in ("vector", "hybrid"):
            inquiry.flagged = True
            inquiry.warnings.append(
                "no text holds a word of the question; what is quoted may not be about it"
            )
        step.output = f"{plan.route} ({plan.decided_by}, {plan.confidence:.2f})"
    if plan.route != "decline":
        gather.prepare(rag, inquiry, plan)
    return plan


def _ask(rag: Parts, inquiry: Inquiry) -> Route | None:
    """The LM's route, or None when it fails: the learned tier then decides, flagged."""
    demonstrations = rag.demonstrations(inquiry.masked, rag.router.vocabulary, k=SHOWN)
    examples = [
        dspy.Example(database_schema="(another question)", question=d.question, route=d.route)
        for d in demonstrations
    ]
    try:
        answered = rag.route_question(
            database_schema=describe_schema(
                inquiry.database.catalog, inquiry.links, likely=inquiry.likely_tables
            ),
            question=inquiry.question,
            demos=[*rag.route_question.demos, *examples],
        )
    except Exception as error:  # noqa: BLE001 - a model may fail in any way; the learned tier still answers
        note_failure(inquiry, error, "route", "the learned tier decided")
        return None
    if answered.route not in ROUTES:
        inquiry.fail("lm", f"the model named no known route ({answered.route!r}); the learned tier decided")
        return None
    chosen: Route = answered.route
    return chosen
