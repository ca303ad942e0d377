"""Expressions made of several aggregates: part of a whole, distance between the ends of a column, mean over groups."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.dialect.dates import call, has_time
from sqlrag_dspy.sql.elapsed import days_from
from sqlrag_dspy.sql.kinds import column_kind
from sqlrag_dspy.sql.writing.predicates import moment
from sqlrag_dspy.types import Column


def part_of_whole(whole: exp.Expr, wanted: exp.Expr, *, is_fraction: bool) -> exp.Expr:
    """The part of an aggregate that falls to the rows which satisfy a condition: 0 to 100, or 0 to 1.

    Rows without an amount to add up make a part of nothing, not an unknown one.
    """
    part: exp.Expr = exp.Filter(this=whole.copy(), expression=exp.Where(this=wanted))
    if isinstance(whole, exp.Sum):
        part = exp.Coalesce(this=part, expressions=[literal(0)])
    factor = literal(1.0 if is_fraction else 100.0)
    return exp.Div(
        this=exp.Mul(this=factor, expression=part),
        expression=exp.Nullif(this=whole, expression=literal(0)),
    )


def range_of(node: exp.Expr, column: Column | None) -> exp.Expr:
    """The greatest value less the least; days between the last date and the first for a column of dates."""
    if column is None or not column.is_date:
        return exp.Sub(this=call("max", node), expression=call("min", node.copy()))
    when = moment(node, column)
    is_whole = not has_time(column) and column_kind(column) != "timestamp"
    return days_from(call("min", when), call("max", when.copy()), is_whole=is_whole)


def over_groups(groups: exp.Select, measure: str | None) -> exp.Select:
    """How many groups a query gives, or the mean of the measure that it shows of each."""
    source = exp.Subquery(this=groups, alias=exp.TableAlias(this=exp.to_identifier("groups", quoted=True)))
    shown: exp.Expr = exp.Count(this=exp.Star())
    if measure is not None:
        shown = exp.Avg(this=exp.Column(this=exp.to_identifier(measure, quoted=True)))
    heading = "number of groups" if measure is None else f"average {measure}"
    aliased = exp.Alias(this=shown, alias=exp.to_identifier(heading, quoted=True))
    return exp.Select(expressions=[aliased], from_=exp.From(this=source))
