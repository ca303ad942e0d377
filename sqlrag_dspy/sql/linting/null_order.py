"""Missing values that come first in a ranking: the lowest k of a column begins with the rows that have none."""

from __future__ import annotations

from collections.abc import Iterator

from sqlrag_dspy.sql.linting.absence import is_missing
from sqlrag_dspy.sql.linting.statement import Statement, field_with_column, meant, said, unwrapped


def null_order(statement: Statement) -> Iterator[str]:
    """ORDER BY … LIMIT over a column whose NULLs sort before its values."""
    for select in statement.selects():
        order, limit = select.args.get("order"), statement.own_limit(select)
        if order is None or limit is None or not order.expressions:
            continue
        ordered = order.expressions[0]
        if not ordered.args.get("nulls_first") or ordered.args.get("desc"):
            continue
        column = meant(ordered.this, select)
        found = field_with_column(unwrapped(column))
        if found is not None and is_missing(statement, select, column):
            yield (
                f"rows where {said(found)} is missing come first in this order and fill the LIMIT; "
                f'add WHERE "{found.name}" IS NOT NULL'
            )
