"""Conditions as bounds: what is compared, how, and with which literal. Anything else is not a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number, string, uncased
from sqlrag_dspy.sql.dialect.dates import ISO_DATE, like_span, text_date
from sqlrag_dspy.sql.kinds import Field, function_name
from sqlrag_dspy.sql.linting.moments import moment_text
from sqlrag_dspy.sql.linting.statement import field_with_column, said
from sqlrag_dspy.sql.telling.phrases import condition_text

Scalar = float | str

_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "null": "known",
    "known": "null",
}


@dataclass(frozen=True)
class Bound:
    """`place` is the compared expression as SQL; `values` holds one value, or several for = and != (IN, NOT IN).

    `op`: = != < <= > >=, or null and known. Moments are ISO text with a time, so that they sort. `field` is set
    when a stored column is compared, directly or as a day or moment.
    """

    place: str
    op: str
    values: tuple[Scalar, ...]
    name: str
    field: Field | None = None
    is_day: bool = False

    @property
    def text(self) -> str:
        """The bound for a person."""
        shown = [shown_value(each) for each in self.values]
        if self.op in ("null", "known"):
            return f"{self.name} IS {'NOT ' if self.op == 'known' else ''}NULL"
        if len(shown) > 1:
            return f"{self.name} {'IN' if self.op == '=' else 'NOT IN'} ({', '.join(shown)})"
        return f"{self.name} {self.op} {shown[0]}"


def shown_value(value: object) -> str:
    """A value for a person: whole numbers without a point, days without midnight."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return repr(value.removesuffix(" 00:00:00")) if isinstance(value, str) else str(value)


def bounds(term: exp.Expr) -> list[Bound]:
    """The bounds that a condition without AND or OR states, all of which must hold; [] when it states none."""
    term = bare(term)
    if isinstance(term, exp.Not):
        inner = bounds(term.this)
        return [_negated(inner[0])] if len(inner) == 1 else []
    if isinstance(term, exp.Is) and isinstance(bare(term.expression), exp.Null):
        return _bound("null", term.this, ())
    if isinstance(term, exp.Between):
        lower = _bound(">=", term.this, (term.args["low"],))
        upper = _bound("<=", term.this, (term.args["high"],))
        return [*lower, *upper] if lower and upper else []
    if isinstance(term, exp.In):
        return _bound("=", term.this, tuple(term.expressions)) if term.expressions else []
    if isinstance(term, exp.Like | exp.ILike):
        return _like(term)
    op = _OPS.get(type(term))
    if op is None:
        return []
    return _bound(op, term.this, (term.expression,)) or _bound(
        _TURNED.get(op, op), term.expression, (term.this,)
    )


def _negated(bound: Bound) -> Bound:
    return Bound(bound.place, _NEGATED[bound.op], bound.values, bound.name, bound.field, bound.is_day)


def _like(term: exp.Like | exp.ILike) -> list[Bound]:
    pattern = string(term.expression)
    days = like_span(pattern) if pattern is not None and text_date(bare(term.this)) is not None else None
    if days is None:
        return []
    ends = tuple(exp.Literal.string(each) for each in days)
    return [*_bound(">=", term.this, ends[:1]), *_bound("<", term.this, ends[1:])]


def _bound(op: str, left: exp.Expr, rights: tuple[exp.Expr, ...]) -> list[Bound]:
    subject = uncased(left)
    if isinstance(subject, exp.Literal | exp.Null | exp.Query | exp.Subquery) or not _is_steady(subject):
        return []
    found, is_moment, is_day = _stored(subject)
    values = tuple(_value(each, is_moment) for each in rights)
    known = tuple(each for each in values if each is not None)
    if len(known) != len(values):
        return []
    if uncased(left) is not bare(left):  # both sides are without letter case
        known = tuple(each.casefold() if isinstance(each, str) else each for each in known)
    name = said(found) if found is not None else condition_text(subject)
    return [Bound(subject.sql(), op, known, name, found, is_day)]


def _is_steady(node: exp.Expr) -> bool:
    """Whether the expression has one value in a row, and one that a literal can be compared with."""
    if node.find(exp.Query) is not None or node.find(exp.Column) is None:
        return False
    return all(function_name(each) not in ("random", "uuid", "now") for each in node.find_all(exp.Anonymous))


def _stored(node: exp.Expr) -> tuple[Field | None, bool, bool]:
    """The stored column, whether it is compared as a moment, and whether as a whole day."""
    found = field_with_column(node)
    if found is not None and found.column is not None:
        return found, found.column.is_date, found.column.profile.found == "date"
    inner, is_day = node, False
    if isinstance(inner, exp.Cast) and inner.to.this == exp.DType.DATE:
        inner, is_day = bare(inner.this), True
    if function_name(inner) == "try_strptime":
        inner = bare(inner.expressions[0])
    elif not is_day:
        return None, False, False
    found = field_with_column(inner)
    is_date = found is not None and found.column is not None and found.column.is_date
    return (found, True, is_day) if is_date else (None, False, False)


def _value(node: exp.Expr, is_moment: bool) -> Scalar | None:
    if is_moment:
        text = moment_text(node)
        if text is None or not ISO_DATE.match(text):
            return None
        return moment(text)
    digits = number(node)
    return float(digits) if digits is not None else string(uncased(node))


def moment(text: str) -> str:
    """An ISO date or time, spelt so that all sort as text."""
    return f"{text} 00:00:00" if ISO_DATE.fullmatch(text) else text.replace("T", " ").removesuffix("Z")


def stated(condition: exp.Expr) -> Iterator[Bound]:
    """Every bound anywhere in a condition, whether or not it must hold."""
    for node in condition.find_all(*_OPS, exp.Between, exp.In, exp.Is):
        yield from bounds(node)


def is_less(one: Scalar, two: Scalar) -> bool:
    """Whether one value comes before the other, both numbers or both text."""
    if isinstance(one, float) and isinstance(two, float):
        return one < two
    return str(one) < str(two)
