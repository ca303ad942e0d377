"""One statement checked, looked at and run for a question, as steps of its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.types import CheckedSql

if TYPE_CHECKING:
    from sqlrag_dspy.sql.mending.names import Mended


def check(inquiry: Inquiry, text: str) -> CheckedSql:
    """The statement, checked. Raises SqlRejected."""
    with inquiry.step("check", text) as step:
        query = inquiry.database.check(text)
        step.output = query.text
    return query


def mended(inquiry: Inquiry, text: str) -> Mended | None:
    """A refused statement with its names made to fit, where it then passes the check."""
    from sqlrag_dspy import sql as sql_room

    return _passing(inquiry, "mend", text, sql_room.mend(text, inquiry.database.catalog))


def grounded(inquiry: Inquiry, text: str) -> Mended | None:
    """A statement that passes with its text as it is stored; None when there is nothing to put right."""
    from sqlrag_dspy import sql as sql_room

    return _passing(inquiry, "ground", text, sql_room.ground(text, inquiry.database.catalog, inquiry.links))


def _passing(inquiry: Inquiry, name: str, text: str, found: Mended | None) -> Mended | None:
    if found is None:
        return None
    with inquiry.step(name, text) as step:
        try:
            inquiry.database.check(found.text)
        except SqlRejected as error:
            step.output = f"refused: {error}"
            return None
        step.output = "; ".join(found.changes)
    return found


def execute(inquiry: Inquiry, query: CheckedSql) -> Evidence:
    """Its rows, with what may be quietly wrong and what emptied them. Raises QueryFailed."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    with inquiry.step("run", query.text) as step:
        rows = database.run(query)
        step.output = f"{len(rows.values)} rows" + (" (cut)" if rows.truncated else "")
    most = database.settings.limits.rows
    found = sql_room.remarks(query, rows, database.catalog, database.run, limit=most)
    return Evidence(
        sql=query,
        rows=rows,
        notes=found.reasons,
        doubts=[*query.warnings, *found.advice],
        is_doubtful=found.is_doubtful,
    )


def ungrounded(inquiry: Inquiry, query: CheckedSql) -> list[str]:
    """Advice for literals that no row holds while a near one is stored; looked up before the statement runs."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    return list(sql_room.misspelt(query, database.catalog, database.run))


def assumed(inquiry: Inquiry, evidence: Evidence) -> tuple[str, ...]:
    """What the statement takes for granted, read off it."""
    from sqlrag_dspy import sql as sql_room

    if evidence.sql is None:
        return ()
    limit = inquiry.database.settings.limits.rows
    return sql_room.assumptions(evidence.sql, inquiry.database.catalog, limit=limit)
