"""What SQLite makes of values where DuckDB makes something else: types, remainders, the larger of two."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sqlrag_dspy.sql.dialect.dates import call, cast, text
from sqlrag_dspy.sql.kinds import kind_of


def bracketed(node: exp.Expr) -> exp.Expr:
    """A condition beside IS in brackets: without, it would be read with other ones when it is read again."""
    return exp.Paren(this=node) if isinstance(node, exp.Predicate | exp.Not) else node


def storage_class(node: exp.Expr) -> exp.Expr | None:
    """typeof in SQLite's words, None where the kind is not known; a date is what it is kept as, a text."""
    if isinstance(node, exp.Null):
        return text("null")
    kind = kind_of(node)
    name = {"integer": "integer", "boolean": "integer", "number": "real", "text": "text"}.get(kind or "")
    if name is None:
        return None
    return exp.Case(ifs=[exp.If(this=_is_missing(node), true=text("null"))], default=text(name))


def unless_missing(chosen: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr:
    """The greatest or least of some values, NULL where one of them is: DuckDB passes over it."""
    unsure = [each.copy() for each in arguments if not isinstance(each, exp.Literal)]
    if not unsure:
        return chosen
    missing = reduce(lambda one, two: exp.Or(this=one, expression=two), map(_is_missing, unsure))
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=chosen)


def whole_remainder(node: exp.Expr) -> exp.Expr:
    """A remainder of whole numbers: SQLite cuts fractions off first."""
    sides = [
        cast(call("trunc", side), "BIGINT") if kind_of(side) == "number" else side
        for side in (node.this, node.expression)
    ]
    return exp.Mod(this=sides[0], expression=sides[1])


def _is_missing(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=bracketed(node), expression=exp.Null())
