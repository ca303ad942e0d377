"""Comparisons of date columns with literal moments, as the date lints read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, string
from sqlrag_dspy.sql.dialect.dates import ISO_DATE, has_time, text_date
from sqlrag_dspy.sql.kinds import field_of, function_name
from sqlrag_dspy.sql.linting.statement import field_with_column
from sqlrag_dspy.types import Column

Style = Literal["text", "moment", "day"]

_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Dated:
    """One bound on a date column: `value` is the literal text.

    `style`: text against text, whole moments, or days (the time is cut off before comparing).
    """

    node: exp.Expr
    place: str
    column: Column
    style: Style
    op: str
    value: str

    @property
    def has_times(self) -> bool:
        """Whether stored values have a time of day that the comparison can see."""
        if self.style == "day":
            return False
        if self.style == "text":
            return has_time(self.column)
        profile = self.column.profile
        shown = [str(each) for each in (*profile.samples, profile.minimum, profile.maximum) if each]
        return profile.found == "datetime" and not (shown and all(_is_midnight(each) for each in shown))


def _is_midnight(value: str) -> bool:
    return bool(ISO_DATE.fullmatch(value)) or value[10:].strip("T ").startswith("00:00:00")


def dated(tree: exp.Expr) -> Iterator[Dated]:
    """Every bound on a date column under `tree`; BETWEEN is two, and each value of IN is an equality."""
    for node in tree.find_all(*_OPS, exp.Between, exp.In):
        if isinstance(node, exp.Between):
            parts = [(">=", node.this, node.args["low"]), ("<=", node.this, node.args["high"])]
        elif isinstance(node, exp.In):
            parts = [("=", node.this, each) for each in node.expressions]
        else:
            op = _OPS[type(node)]
            parts = [(op, node.this, node.expression), (_TURNED.get(op, op), node.expression, node.this)]
        for op, left, right in parts:
            subject, value = _subject(left), moment_text(right)
            if subject is not None and value is not None:
                yield Dated(node, bare(left).sql(), subject[0], subject[1], op, value)


def moment_text(node: exp.Expr) -> str | None:
    """The text of a literal date, with or without the cast that `check` puts around it."""
    node = bare(node)
    return string(node.this) if isinstance(node, exp.Cast) else string(node)


def _subject(node: exp.Expr) -> tuple[Column, Style] | None:
    """The date column that is compared, and how."""
    node = bare(node)
    found = field_with_column(node)
    if found is not None and found.column is not None and found.column.is_date:
        return found.column, "text" if text_date(node) is not None else "moment"
    style: Style = "moment"
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        node, style = bare(node.this), "day"
    elif function_name(node) == "strftime":  # how `check` compares with a part of a date
        form = string(node.expressions[1]) if len(node.expressions) > 1 else None
        return _inner(node.expressions[0], "text") if form == "%Y-%m-%d" else None
    if style == "moment" and function_name(node) != "try_strptime":
        return None
    return _inner(node, style)


def _inner(node: exp.Expr, style: Style) -> tuple[Column, Style] | None:
    node = bare(node)
    if function_name(node) == "try_strptime":
        node = bare(node.expressions[0])
    found = field_of(node)
    column = found.column if found is not None else None
    return (column, style) if column is not None and column.is_date else None
