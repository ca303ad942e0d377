"""What the team makes of a question before it writes SQL: what is asked, and which part of the schema that needs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlrag_dspy.program.prompt import BUDGET, describe_links, describe_schema
from sqlrag_dspy.program.team.asking import ask
from sqlrag_dspy.program.team.linking import Linked, connected
from sqlrag_dspy.program.team.statements import Work
from sqlrag_dspy.program.team.typed import Intent, numbered

MOST = 20
"""Tables that are proposed."""


def takes_hops(intents: Sequence[Intent]) -> bool:
    """Whether some of what is asked is computed from rows and some read in texts."""
    return {intent.source for intent in intents} == {"rows", "texts"}


def intents_of(work: Work, missed: str = "") -> list[Intent]:
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


def link(work: Work) -> Linked | None:
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
        schema=describe_schema(catalog, inquiry.links, only=proposed, is_brief=True, budget=2 * BUDGET),
        catalog=catalog,
        links=inquiry.links,
    )
    if linked is None:
        return Linked(proposed)
    if not linked.tables:
        inquiry.fail("schema", "the model linked no table of the schema; all proposed ones are shown")
        return Linked(proposed)
    return connected(linked, catalog)


def propose(work: Work) -> tuple[str, ...]:
    """At most `MOST` tables that may be needed, the likeliest first."""
    inquiry = work.inquiry
    catalog = inquiry.database.catalog
    named = tuple(dict.fromkeys(link.table for link in inquiry.links.chosen if link.table))
    if len(catalog.tables) > MOST:
        texts = dict.fromkeys([inquiry.question, *(intent.told() for intent in work.intents)])
        return inquiry.database.schema_index.relevant(list(texts), most=MOST)
    return tuple(dict.fromkeys([*named, *(table.name for table in catalog.tables)]))
