"""All that is said of a query that ran: what may be quietly wrong with it, and what emptied it; nothing twice.

Leaves out how either is found (`linting`, `emptiness`).
"""

from __future__ import annotations

from typing import NamedTuple

from sqlrag_dspy.sql.linting import lint
from sqlrag_dspy.sql.telling.emptiness import Run, is_empty, reasons
from sqlrag_dspy.types import Catalog, CheckedSql, Rows


class Remarks(NamedTuple):
    """Advice, and why nothing was found (empty for a result that is not), most telling first.

    `is_doubtful`: nothing was found because of a condition that no row passes, or of some that exclude each other.
    """

    advice: list[str]
    reasons: list[str]
    is_doubtful: bool


def remarks(query: CheckedSql, rows: Rows, catalog: Catalog, run: Run, *, limit: int = 1000) -> Remarks:
    """What is to be said of a checked query and its rows.

    A condition that a reason tells of is left out of the advice.
    `run` executes a checked query; `limit` is what `check` was given.
    """
    found = reasons(query, catalog, run) if is_empty(rows) else []
    told = [condition for reason in found for condition in reason.conditions]
    why = list(dict.fromkeys(reason.line for reason in found))
    advice = lint(query, catalog, run, limit=limit, told=told)
    return Remarks([each for each in advice if each not in why], why, any(each.is_doubtful for each in found))
