"""Averages over a column with missing values: AVG leaves those rows out, SUM / COUNT(*) counts them as zero."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.linting.absence import is_missing
from sqlrag_dspy.sql.linting.statement import Statement, field_with_column, own, said, unwrapped


def null_average(statement: Statement) -> Iterator[str]:
    """AVG, or a sum by a count of all rows, where a value is missing in rows that the query reads."""
    for select in statement.selects():
        for call in select.find_all(exp.Avg):
            column = unwrapped(call.this)
            found = field_with_column(column)
            if found is not None and own(call, select) and is_missing(statement, select, column):
                yield (
                    f"AVG is over the rows that have {said(found)}, and some have none; "
                    f'use AVG(COALESCE("{found.name}", 0)) if those count as zero'
                )
        for node in select.find_all(exp.Div, exp.IntDiv):
            total, count = _aggregate(node.this, exp.Sum), _aggregate(node.expression, exp.Count)
            if total is None or count is None or not own(node, select):
                continue
            column = unwrapped(total.this)
            found = field_with_column(column)
            if not isinstance(count.this, exp.Star) or found is None:
                continue
            if is_missing(statement, select, column):
                yield (
                    f"COUNT(*) counts rows where {said(found)} is missing as well; "
                    f'use AVG("{found.name}") for the mean of what is known'
                )


def _aggregate(node: exp.Expr, kind: type[exp.Expr]) -> exp.Expr | None:
    """The aggregate of a side of a division, through casts, NULLIF and a factor."""
    node = bare(node)
    while True:
        factor = bare(node.expression) if isinstance(node, exp.Mul) else None
        if isinstance(node, exp.Cast | exp.Nullif) or isinstance(factor, exp.Literal):
            node = bare(node.this)
        elif isinstance(node, exp.Mul) and isinstance(bare(node.this), exp.Literal):
            node = bare(node.expression)
        else:
            return node if isinstance(node, kind) else None
