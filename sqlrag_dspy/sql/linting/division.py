"""Whole numbers divided by whole numbers, as SQLite does it: the fraction is cut off."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.dialect.grouping import is_aggregate
from sqlrag_dspy.sql.kinds import function_name, type_kind
from sqlrag_dspy.sql.linting.statement import Statement

_ADVICE = "whole numbers are divided and the fraction is cut off; multiply by 1.0 first if it is wanted"


def division(statement: Statement) -> Iterator[str]:
    """Divisions that cut something off; not those that are meant to, such as year / 10 * 10."""
    for node in statement.tree.find_all(exp.IntDiv):
        if _loses(node) and not _is_meant(node):
            yield _ADVICE


def _loses(node: exp.IntDiv) -> bool:
    """Whether the fraction says something: of a share or a mean, not of a column in steps of a fixed size."""
    divisor = bare(node.expression)
    if not isinstance(divisor, exp.Literal):
        return not _is_whole(node.this, divisor)
    if divisor.this == "1":
        return False
    dividend = bare(node.this)
    if any(is_aggregate(each) for each in dividend.walk()):
        return True
    if not isinstance(dividend, exp.Add):
        return False
    return all(side.find(exp.Column) is not None for side in (dividend.this, dividend.expression))


def _is_whole(dividend: exp.Expr, divisor: exp.Expr) -> bool:
    """(a - a % b) / b, and a * b / b, leave nothing over."""
    whole = bare(dividend)
    wanted = _divided_by(divisor)
    if isinstance(whole, exp.Mul):
        return wanted in (bare(whole.this).sql(), bare(whole.expression).sql())
    if isinstance(whole, exp.Sub):
        rest = bare(whole.expression)
        return isinstance(rest, exp.Mod) and bare(rest.expression).sql() == wanted
    return False


def _divided_by(divisor: exp.Expr) -> str:
    inner = bare(divisor.this) if isinstance(divisor, exp.Nullif) else divisor
    return inner.sql()


def _is_meant(node: exp.IntDiv) -> bool:
    """Whether the quotient is made whole anyway, or multiplied by the divisor again."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        return type_kind(parent.to) == "integer"
    if isinstance(parent, exp.Mul):
        other = bare(parent.expression if bare(parent.this) is node else parent.this)
        return other.sql() == _divided_by(bare(node.expression))
    return function_name(parent) in ("floor", "trunc", "ceil") if parent is not None else False
