"""The next statement: built or repaired by a model, checked, its literals looked up, and run.

A statement that was tried before is not tried again. Said again after doubts, it is what the model means; said
again after a refusal, it is asked for once more with that told, and then there is no more to come.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.program.inquiry import Inquiry, whole
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import WRITTEN, bare, describe_links, describe_schema, hint
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.running import check, execute, grounded, mended, ungrounded
from sqlrag_dspy.program.team.asking import ask
from sqlrag_dspy.program.team.attempts import Attempt, Attempts, wrong
from sqlrag_dspy.program.team.linking import Linked
from sqlrag_dspy.program.team.missed import missed
from sqlrag_dspy.program.team.typed import Intent, numbered

if TYPE_CHECKING:
    from sqlrag_dspy.sql.mending.names import Mended

SHOWN = 6
"""Demonstrations retrieved for BuildSql."""
ROOM = 4000
"""Characters of demonstrations, about 1,000 tokens: the compiled ones first, then the most similar."""
VARIED = 0.5
"""Temperature at which a small model is asked a third time."""
TOO_LONG = "the statement has {:,} characters, more than {:,}; write a short one, without long lists or sums"
DOUBTED = "It runs, but may not say what was asked. Keep it as it is where that was meant. "
AGAIN = "You wrote this statement before, and it was refused. Write a different one. "
NOTHING = "nothing was written; write one SELECT statement"


@dataclass
class Work:
    """What is known of one question while statements are tried for it."""

    rag: Parts
    inquiry: Inquiry
    plan: Plan
    attempts: Attempts
    depth: Depth = "call"
    intents: list[Intent] = field(default_factory=list)
    linked: Linked | None = None
    heard: set[str] = field(default_factory=set)
    """Doubts that were sent back once; what still has them is meant so."""
    blamed: Counter[int] = field(default_factory=Counter)
    """How often the critic named each intent since intents were last parsed."""
    is_traced: bool = False
    """Whether intents were parsed again because the critic kept naming one."""
    is_fresh: bool = True
    """Whether the next statement is built rather than repaired."""
    is_over: bool = False
    """Whether no further statement is to be had."""

    def uses(self, part: str) -> bool:
        """Whether that part is not left out (for measuring what it is worth)."""
        return part not in self.rag.without

    @property
    def schema(self) -> str:
        """The schema as the model is told it."""
        only = self.linked.tables if self.linked is not None else None
        catalog, is_brief = self.inquiry.database.catalog, self.rag.engine.is_brief
        likely = self.inquiry.likely_tables
        return describe_schema(catalog, self.inquiry.links, only=only, likely=likely, is_brief=is_brief)

    @property
    def found(self) -> str:
        """What was found in the question: links, and what the team made of it."""
        if self.rag.engine.is_brief:
            return (
                hint(self.inquiry.links) if self.uses("linking") and self.attempts.count != 1 else "nothing"
            )
        told = describe_links(self.inquiry.links)
        if len(self.intents) > 1 or any(each.told() != self.inquiry.question for each in self.intents):
            told += f"\nasked for:\n{numbered(self.intents)}"
        return "\n".join([told, *(self.linked.notes if self.linked is not None else ())])


def next_statement(work: Work) -> Attempt | None:
    """The next attempt; None when there is none to come. One that was tried before is one the model stands by."""
    if work.rag.engine.is_brief:
        return _other_statement(work)
    last = work.attempts.last
    text = _build(work) if last is None or work.is_fresh else _repair(work, last.sql, advice_on(last))
    work.is_fresh = False
    known = None if text is None else work.attempts.same(bare(text))
    if known is not None and not _is_doubted(known):
        text = _repair(work, known.sql, AGAIN + advice_on(known))
        known = None if text is None else work.attempts.same(bare(text))
        if known is not None:
            work.inquiry.warnings.append("note: the model wrote the same refused statement again")
            text = None
    if text is None:
        work.is_over = True
        return None
    if known is not None:
        _run(work, known)
        if known.evidence is not None:  # whatever else running it shows, the model has thought twice
            work.heard.update(wrong(known.evidence), known.evidence.notes)
        return known
    attempt = _try_out(work, bare(text))
    work.attempts.tried.append(attempt)
    return attempt


def _other_statement(work: Work) -> Attempt | None:
    """The next attempt of a small model: asked in another way, since it writes the same or worse when advised."""
    text = _build(work)
    work.is_fresh = False
    if text is None:
        work.is_over = True
        return None
    if (known := work.attempts.same(bare(text))) is not None:
        work.is_over = True  # asked in two ways it says the same
        return known
    attempt = _try_out(work, bare(text))
    work.attempts.tried.append(attempt)
    return attempt


def advice_on(attempt: Attempt) -> str:
    """What whoever repairs the statement is told: the refusal, the critique, or what may be quietly wrong."""
    if attempt.evidence is None:
        return DOUBTED + attempt.advice if attempt.query is not None else attempt.advice
    if attempt.advice:
        return attempt.advice
    return DOUBTED + " ".join([*wrong(attempt.evidence), *attempt.evidence.notes])


def _is_doubted(attempt: Attempt) -> bool:
    """Whether nothing but doubts speaks against the statement."""
    return (attempt.runs or attempt.query is not None) and not attempt.issues


def _try_out(work: Work, sql: str) -> Attempt:
    attempt = Attempt(sql, depth=work.depth)
    if not sql:
        attempt.source, attempt.advice = "build", NOTHING
        return attempt
    work.inquiry.attempts += 1
    if len(sql) > WRITTEN:
        attempt.source, attempt.advice = "check", TOO_LONG.format(len(sql), WRITTEN)
        with work.inquiry.step("check", sql) as step:
            step.output = f"refused: {attempt.advice}"
        return attempt
    try:
        attempt.query = check(work.inquiry, sql)
    except SqlRejected as error:
        if not work.uses("mending") or (fitted := mended(work.inquiry, sql)) is None:
            attempt.source, attempt.advice = "check", str(error)
            return attempt
        _take(work, attempt, fitted)
    if work.uses("grounding") and (fitted := grounded(work.inquiry, attempt.fitted or sql)) is not None:
        _take(work, attempt, fitted)
    is_last = work.attempts.left <= 1 or work.rag.depth == "call"
    if work.uses("grounding") and not is_last and attempt.query is not None:
        near = [said for said in ungrounded(work.inquiry, attempt.query) if said not in work.heard]
        if near:
            work.heard.update(near)
            attempt.advice = " ".join(near)
            return attempt
    _run(work, attempt)
    return attempt


def _take(work: Work, attempt: Attempt, fitted: Mended) -> None:
    """Goes on with the statement as it was made to fit."""
    attempt.fitted = fitted.text
    attempt.changes += fitted.changes
    attempt.query = work.inquiry.database.check(fitted.text)


def _run(work: Work, attempt: Attempt) -> None:
    """Runs what passed the check and was not run yet."""
    if attempt.query is None or attempt.evidence is not None:
        return
    try:
        attempt.evidence = execute(work.inquiry, attempt.query)
        attempt.advice = ""
        attempt.evidence.doubts += [
            f"note: the statement was changed to fit: {each}" for each in attempt.changes
        ]
        if work.rag.engine.is_brief and work.uses("coverage"):
            attempt.evidence.doubts += missed(
                work.inquiry.links, attempt.query, work.inquiry.database.catalog
            )
    except QueryFailed as error:
        attempt.query, attempt.source, attempt.advice = None, "run", str(error)


def _build(work: Work) -> str | None:
    rag, inquiry = work.rag, work.inquiry
    number = work.attempts.count
    varied: dict[str, Any] = (
        {"config": {"temperature": VARIED, "seed": number}} if rag.engine.is_brief and number > 1 else {}
    )
    said = ask(
        rag,
        inquiry,
        "build sql",
        inquiry.question,
        rag.build_sql,
        show=lambda reply: str(reply.sql),
        dialect=inquiry.database.catalog.dialect,
        database_schema=work.schema,
        found_in_question=work.found,
        question=inquiry.question,
        demos=[*rag.build_sql.demos, *(shown(rag, inquiry) if work.uses("demonstrations") else [])],
        **varied,
    )
    return None if said is None else whole(str(said.sql or ""))


def _repair(work: Work, refused: str, advice: str) -> str | None:
    rag, inquiry = work.rag, work.inquiry
    said = ask(
        rag,
        inquiry,
        "repair sql",
        advice,
        rag.repair_sql,
        show=lambda reply: str(reply.sql),
        dialect=inquiry.database.catalog.dialect,
        database_schema=work.schema,
        question=inquiry.question,
        refused_sql=refused[:WRITTEN],
        advice=advice,
    )
    return None if said is None else whole(str(said.sql or ""))


def shown(rag: Parts, inquiry: Inquiry) -> list[dspy.Example]:
    """Demonstrations of the same schema with the most similar masked questions, as far as there is room."""
    catalog = inquiry.database.catalog
    left = ROOM - sum(len(str(value)) for demo in rag.build_sql.demos for value in dict(demo).values())
    found = rag.demonstrations(
        inquiry.masked, rag.router.vocabulary, k=SHOWN, schema=catalog.fingerprint, want="sql"
    )
    kept: list[dspy.Example] = []
    for each in reversed(found):
        left -= len(each.question) + len(each.sql or "")
        if left < 0:
            break
        kept.append(
            dspy.Example(
                dialect=catalog.dialect, database_schema="(as below)", found_in_question="(left out)",
                question=each.question, sql=each.sql,
            )
        )  # fmt: skip
    return kept[::-1]
