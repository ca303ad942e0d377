"""The first rows, or groups, of each group: a bounded RANK, so that ties are kept."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.dialect.dates import call


def first_of_each(
    query: exp.Select, each: Sequence[exp.Expr], order: Sequence[exp.Expr], limit: int
) -> exp.Select:
    """The query with the first `limit` in `order` of all that agree in `each`, shown group by group."""
    if not order:
        raise SqlRejected("the first of each group need an order; name what makes them first")
    window = exp.Window(
        this=call("rank"),
        partition_by=list(each),
        order=exp.Order(expressions=[node.copy() for node in order]),
        over="OVER",
    )
    query.set("qualify", exp.Qualify(this=exp.LTE(this=window, expression=literal(limit))))
    groups = [exp.Ordered(this=node.copy(), desc=False, nulls_first=False) for node in each]
    query.set("order", exp.Order(expressions=[*groups, *order]))
    return query
