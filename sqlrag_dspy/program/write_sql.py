"""Evidence by computing: the learned sketch when it is trusted, the LM with bounded repair otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dspy

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import bare, can_ask, describe_links, describe_schema, note_failure
from sqlrag_dspy.program.unheard import unheard

if TYPE_CHECKING:
    from sqlrag_dspy.program.rag import SqlRag

ATTEMPTS = 4
"""Statements from a model that are tried for one question, however they fail."""


def compute(rag: SqlRag, inquiry: Inquiry, plan: Plan) -> Evidence:
    """Rows for an sql question.

    Without an LM, a sketch that is not sure is answered with a flag, and one that is likelier wrong than right is
    not run at all: `needs_model`.
    """
    evidence = _evidence(rag, inquiry, plan)
    inquiry.warnings.extend(evidence.doubts)
    return evidence


def _evidence(rag: SqlRag, inquiry: Inquiry, plan: Plan) -> Evidence:
    is_sure = plan.sketch is not None and plan.trust >= rag.thresholds.sql
    is_likely = plan.sketch is not None and plan.trust >= rag.thresholds.doubt
    if is_sure and (rag.gate_open or not rag.engine.is_set):
        found = _from_sketch(inquiry, plan)
        if found is not None:
            return found
        is_likely = False  # it was refused or failed, and would again
    if can_ask(rag, inquiry):
        written = _from_model(rag, inquiry)
        if written is not None:
            return written
        inquiry.failure_source = inquiry.failure_source or "build"
    found = _from_sketch(inquiry, plan) if is_likely else None
    if found is not None and not is_sure:
        inquiry.flagged = True
        inquiry.warnings.append(f"not sure that this is what was asked ({plan.trust:.0%}); check the SQL")
    return found or Evidence(needs_model=True)


def _from_sketch(inquiry: Inquiry, plan: Plan) -> Evidence | None:
    """Writes, checks and runs the sketch; None when it cannot be written or run."""
    from sqlrag_dspy import sql as sql_room

    if plan.sketch is None:
        return None
    try:
        found = run(inquiry, sql_room.write(plan.sketch, inquiry.database.catalog))
        if missed := unheard(inquiry.links, plan.sketch):
            inquiry.flagged = True
            found.doubts.append(f"{missed!r} of the question has no counterpart in the SQL; check it")
        return found
    except SqlRejected as error:
        inquiry.fail("check", f"the sketch was refused: {error}")
    except QueryFailed as error:
        inquiry.fail("run", str(error))
    return None


def run(inquiry: Inquiry, text: str) -> Evidence:
    """Checks and runs a statement. Raises SqlRejected or QueryFailed."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    inquiry.attempts += 1
    with inquiry.step("check", text) as step:
        query = database.check(text)
        step.output = query.text
    with inquiry.step("run", query.text) as step:
        rows = database.run(query)
        step.output = f"{len(rows.values)} rows" + (" (cut)" if rows.truncated else "")
    most = database.settings.limits.rows
    doubts = [*query.warnings, *sql_room.lint(query, database.catalog, database.run, limit=most)]
    is_empty = sql_room.is_empty(rows)
    notes = sql_room.explain_empty(query, database.catalog, database.run) if is_empty else []
    return Evidence(sql=query, rows=rows, notes=notes, doubts=doubts)


def _from_model(rag: SqlRag, inquiry: Inquiry) -> Evidence | None:
    """BuildSql, then RepairSql with the advice until it runs; None after the last attempt.

    A statement that runs and may be quietly wrong goes back once: what comes of it is taken when it runs with
    fewer doubts.
    """
    database = inquiry.database
    schema = describe_schema(database.catalog, inquiry.links)
    dialect = database.catalog.dialect
    kept: Evidence | None = None
    advice, text, source = "", "", "build"
    for attempt in range(ATTEMPTS):
        try:
            if attempt == 0:
                with inquiry.step("build sql", inquiry.question) as step:
                    text = rag.build_sql(
                        dialect=dialect,
                        database_schema=schema,
                        found_in_question=describe_links(inquiry.links),
                        question=inquiry.question,
                        demos=[*rag.build_sql.demos, *_shown(rag, inquiry)],
                    ).sql
                    step.output = text
            else:
                with inquiry.step("repair sql", advice) as step:
                    text = rag.repair_sql(
                        dialect=dialect,
                        database_schema=schema,
                        question=inquiry.question,
                        refused_sql=text,
                        advice=advice,
                    ).sql
                    step.output = text
        except Exception as error:  # noqa: BLE001 - a model may fail in any way; the learned tier still answers
            note_failure(inquiry, error, "write SQL")
            return kept
        try:
            found = run(inquiry, bare(text))
        except SqlRejected as error:
            advice, source = str(error), "check"
        except QueryFailed as error:
            advice, source = str(error), "run"
        else:
            if kept is not None:
                return found if len(_wrong(found)) < len(_wrong(kept)) else kept
            if not _wrong(found) or attempt == ATTEMPTS - 1:
                return found
            kept, advice = found, DOUBTED + " ".join(_wrong(found))
            continue
        if kept is not None:  # the second thought was worse than the first
            return kept
    inquiry.fail(source, f"no statement ran in {ATTEMPTS} attempts; the last was refused: {advice}")
    return None


DOUBTED = "It runs, but may not say what was asked. Keep it as it is where that was meant. "


def _wrong(evidence: Evidence) -> list[str]:
    """The doubts that call for another statement; a note only tells a fact."""
    return [said for said in evidence.doubts if not said.startswith("note: ")]


def _shown(rag: SqlRag, inquiry: Inquiry) -> list[dspy.Example]:
    """Demonstrations of the same schema with the most similar masked questions."""
    catalog = inquiry.database.catalog
    found = rag.demonstrations(
        inquiry.masked, rag.router.vocabulary, k=6, schema=catalog.fingerprint, want="sql"
    )
    return [
        dspy.Example(
            dialect=catalog.dialect, database_schema="(as below)", found_in_question="(left out)",
            question=d.question, sql=d.sql,
        )
        for d in found
    ]  # fmt: skip
