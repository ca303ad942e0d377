"""One statement checked, looked at and run for a question, as steps of its trace."""

from __future__ import annotations

from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.types import CheckedSql


def check(inquiry: Inquiry, text: str) -> CheckedSql:
    """The statement, checked. Raises SqlRejected."""
    with inquiry.step("check", text) as step:
        query = inquiry.database.check(text)
        step.output = query.text
    return query


def execute(inquiry: Inquiry, query: CheckedSql) -> Evidence:
    """Its rows, with what may be quietly wrong and what emptied them. Raises QueryFailed."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    with inquiry.step("run", query.text) as step:
        rows = database.run(query)
        step.output = f"{len(rows.values)} rows" + (" (cut)" if rows.truncated else "")
    most = database.settings.limits.rows
    doubts = [*query.warnings, *sql_room.lint(query, database.catalog, database.run, limit=most)]
    is_empty = sql_room.is_empty(rows)
    notes = sql_room.explain_empty(query, database.catalog, database.run) if is_empty else []
    return Evidence(sql=query, rows=rows, notes=notes, doubts=doubts)


def ungrounded(inquiry: Inquiry, query: CheckedSql) -> list[str]:
    """Advice for literals that no row holds while a near one is stored; looked up before the statement runs."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    return list(sql_room.misspelt(query, database.catalog, database.run))
