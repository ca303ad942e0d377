"""The critic: tries to prove a statement wrong, with fresh eyes, from the question and the result's shape."""

from __future__ import annotations

from typing import Any

import dspy

from sqlrag_dspy.program.answer import show
from sqlrag_dspy.program.prompt import plain
from sqlrag_dspy.program.signatures import CritiqueSql
from sqlrag_dspy.program.team.typed import Intent, Issue, Verdict, numbered
from sqlrag_dspy.types import Rows

ROWS, WIDTH = 5, 60
"""Result rows that the critic sees, and characters of a value."""


class Critic(dspy.Module):
    """A statement with its result to a verdict."""

    def __init__(self) -> None:
        super().__init__()
        self.critique = dspy.Predict(CritiqueSql)

    def forward(
        self,
        question: str,
        intents: list[Intent],
        schema: str,
        sql: str,
        does: str,
        rows: Rows,
        **options: Any,
    ) -> Verdict:
        """The verdict, made consistent: approved means no severe issue."""
        said: Verdict = self.critique(
            database_schema=schema,
            intents=numbered(intents),
            question=question,
            sql=sql,
            does=does,
            result=shape(rows),
            **options,
        ).verdict
        issues = [issue if 0 <= issue.intent <= len(intents) else _of_none(issue) for issue in said.issues]
        is_good = not any(issue.severity == "severe" for issue in issues)
        return Verdict(issues=issues, approved=said.approved and is_good)


def _of_none(issue: Issue) -> Issue:
    return issue.model_copy(update={"intent": 0})


def shape(rows: Rows) -> str:
    """How many rows of which columns, and the first of them: what a critic needs of a result."""
    more = " or more" if rows.truncated else ""
    lines = [f"{len(rows.values)}{more} rows, columns: {', '.join(rows.columns)}"]
    lines += [" | ".join(show(value)[:WIDTH] for value in row) for row in rows.values[:ROWS]]
    return plain("\n".join(lines))


def advice(verdict: Verdict, intents: list[Intent]) -> str:
    """The severe issues as advice for a repair."""
    told = []
    for issue in verdict.severe:
        about = f" (asked: {intents[issue.intent - 1].told()})" if 0 < issue.intent <= len(intents) else ""
        told.append(f"{issue.kind}: {issue.said or 'wrong'}{about}.")
    return "It runs, but does not answer the question. " + " ".join(told)
