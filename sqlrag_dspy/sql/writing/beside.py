"""Two parts of the rows beside each other: the aggregate of each, their difference, the change in percent."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.dialect.dates import call
from sqlrag_dspy.sql.writing.predicates import any_of
from sqlrag_dspy.types import Beside, Predicate


def part_of_rows(whole: exp.Expr, wanted: exp.Expr) -> exp.Expr:
    """An aggregate of the rows that satisfy a condition; a total of none of them is nought."""
    part: exp.Expr = exp.Filter(this=whole, expression=exp.Where(this=wanted))
    return exp.Coalesce(this=part, expressions=[literal(0)]) if isinstance(whole, exp.Sum) else part


def difference(beside: Beside, first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """How much the first is more than the second, or by how many percent the second differs from the first."""
    if beside.how == "gap":
        return call("abs", exp.Sub(this=first, expression=second))
    if beside.how != "change":
        return exp.Sub(this=first, expression=second)
    gap = exp.Paren(this=exp.Sub(this=second, expression=first))
    return exp.Div(
        this=exp.Mul(this=literal(100.0), expression=gap),
        expression=exp.Nullif(this=first.copy(), expression=literal(0)),
    )


def shown_beside(beside: Beside, label: str, first: exp.Expr, second: exp.Expr) -> list[exp.Alias]:
    """The columns that a comparison adds to a result, headed by what each part is of."""
    names = said(beside.first), said(beside.second)
    if beside.how in ("more", "less") or not beside.is_shown:
        return []
    if beside.how == "both":
        return [_headed(part, f"{label}: {name}") for part, name in zip((first, second), names)]
    node = difference(beside, first, second)
    if beside.how == "change":
        return [_headed(node, f"percent change of {label}: {names[0]} to {names[1]}")]
    word = "less" if beside.how == "difference" else "against"
    return [_headed(node, f"{label}: {names[0]} {word} {names[1]}")]


def either(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """That a row belongs to one of the parts."""
    return any_of([exp.Paren(this=first.copy()), exp.Paren(this=second.copy())])


def said(groups: Sequence[Sequence[Predicate]]) -> str:
    """A condition as a heading."""
    return " and ".join(" or ".join(_said(each) for each in group) for group in groups)


def _said(each: Predicate) -> str:
    value = ", ".join(map(str, each.value)) if isinstance(each.value, tuple) else str(each.value)
    if each.op in ("null", "not null"):
        return f"{'without' if each.op == 'null' else 'with'} {each.column}"
    return value if each.op in ("=", "in") else f"{each.op} {value}"


def _headed(node: exp.Expr, heading: str) -> exp.Alias:
    return exp.Alias(this=node, alias=exp.to_identifier(heading, quoted=True))
