"""Recognises the many spellings of a date part: strftime, substr, EXTRACT, CAST, concatenation.

Each is reduced to a strftime pattern over one column, and a pattern to a part of a sketch. Slices of text dates
are read through the column's own format, so that substr(d, 7, 4) of '17/04/2023' is the year.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number, string
from sqlrag_dspy.sql.dialect.dates import like_span, span, text_date
from sqlrag_dspy.sql.kinds import field_of, function_name, kind_of
from sqlrag_dspy.types import Column, Part, Table

_WIDTHS = {"%Y": 4, "%m": 2, "%b": 3, "%d": 2, "%H": 2, "%M": 2, "%S": 2}
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
PARTS: dict[str, Part] = {
    "%Y": "year",
    "%m": "month",
    "%Y-%m": "year_month",
    "%Y-%m-%d": "day",
    "%w": "weekday",
    "quarter": "quarter",
}
_FIELDS = {
    "year": "%Y",
    "month": "%m",
    "quarter": "quarter",
    "dow": "%w",
    "dayofweek": "%w",
    "weekday": "%w",
}


@dataclass(frozen=True)
class Dated:
    """A date column seen through a strftime pattern ("%Y"), or "quarter"."""

    table: Table
    column: Column
    pattern: str

    @property
    def part(self) -> Part | None:
        return PARTS.get(self.pattern)


def dated(node: exp.Expr) -> Dated | None:
    """The date column and pattern that the expression spells, None when it spells no date part."""
    node = bare(node)
    if isinstance(node, exp.Cast):
        if node.to.this == exp.DType.DATE:
            return _through(node.this, "%Y-%m-%d")
        return dated(node.this)
    if isinstance(node, exp.Extract):
        pattern = _FIELDS.get(node.this.name.lower())
        return _through(node.expression, pattern) if pattern else None
    if isinstance(node, exp.Substring):
        return _slice([node.this, node.args.get("start"), node.args.get("length")])
    if isinstance(node, exp.DPipe):
        return _joined(node)
    if isinstance(node, exp.Div | exp.IntDiv | exp.Add):
        return _named_month(node) or _quarter(node)
    if isinstance(node, exp.Anonymous):
        return _call(function_name(node), node.expressions)
    return None


def _call(name: str, arguments: list[exp.Expr]) -> Dated | None:
    if name == "strftime" and len(arguments) == 2:
        for pattern, subject in (arguments, arguments[::-1]):
            said = string(pattern)
            if said is not None and "%" in said:
                return _through(subject, said.replace("%F", "%Y-%m-%d"))
    elif name == "date" and len(arguments) == 1:
        return _through(arguments[0], "%Y-%m-%d")
    elif name in _FIELDS and len(arguments) == 1:
        return _through(arguments[0], _FIELDS[name])
    elif name in ("date_part", "datepart") and len(arguments) == 2:
        pattern_name = _FIELDS.get((string(arguments[0]) or "").lower())
        return _through(arguments[1], pattern_name) if pattern_name else None
    elif name in ("printf", "format") and len(arguments) == 2 and string(arguments[0]) in ("%02d", "{:02d}"):
        found = dated(arguments[1])
        return found if found is not None and found.pattern in ("%m", "%d") else None
    elif name in ("substr", "left"):
        if name == "left":
            arguments = [arguments[0], exp.Literal.number(1), *arguments[1:]]
        return _slice(arguments)
    return None


def _through(subject: exp.Expr, pattern: str) -> Dated | None:
    subject = bare(subject)
    if isinstance(subject, exp.Cast) and subject.to.this in (
        exp.DType.DATE,
        exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPNTZ,
    ):
        subject = bare(subject.this)
    elif function_name(subject) in ("date", "try_strptime", "strptime", "datetime"):
        subject = bare(subject.expressions[0])
    found = field_of(subject)
    if found is None or found.column is None or found.table is None or not found.column.is_date:
        return None
    return Dated(found.table, found.column, pattern)


def _slice(arguments: Sequence[exp.Expr | None]) -> Dated | None:
    if len(arguments) != 3 or arguments[0] is None:
        return None
    start, length = (number(each) if each is not None else None for each in arguments[1:])
    if start is None or length is None or not (start.isdigit() and length.isdigit()):
        return None
    column, found = text_date(arguments[0]), field_of(bare(arguments[0]))
    spelt = dated(arguments[0]) if column is None else None
    if spelt is not None:  # a slice of what was itself put together
        cut = slice_pattern(spelt.pattern, int(start), int(length))
        return replace(spelt, pattern=cut) if cut else None
    if column is None or found is None or found.table is None:
        return None
    patterns = {slice_pattern(each, int(start), int(length)) for each in column.profile.date_formats}
    pattern = patterns.pop() if len(patterns) == 1 else None
    return Dated(found.table, column, pattern) if pattern else None


def slice_pattern(form: str, start: int, length: int) -> str | None:
    """What substr(x, start, length) cuts from text of this form, as a pattern; None when it cuts a part in two."""
    at, cut = 1, ""
    for piece in re.findall(r"%.|.", form):
        width = _WIDTHS.get(piece, 1 if len(piece) == 1 else 0)
        if not width:
            break
        if at >= start and at + width <= start + length:
            cut += piece
        elif at < start + length and at + width > start:
            return None
        at += width
        if at >= start + length:
            return cut if "%" in cut else None
    return None


def _joined(node: exp.DPipe) -> Dated | None:
    pieces: list[exp.Expr] = []
    left: exp.Expr = node
    while isinstance(left, exp.DPipe):
        pieces.append(left.expression)
        left = bare(left.this)
    pieces.append(left)
    pattern, first = "", None
    for piece in reversed(pieces):
        said = string(piece)
        if said is not None:
            pattern += said
            continue
        found = dated(piece)
        if found is None or (first is not None and first.column is not found.column):
            return None
        first = first or found
        pattern += found.pattern
    return Dated(first.table, first.column, pattern) if first else None


def _quarter(node: exp.Expr) -> Dated | None:
    """(month + 2) / 3, or (month - 1) / 3 + 1, in whole numbers."""
    if isinstance(node, exp.Add):
        if number(node.expression) != "1":
            return None
        inner, shift = bare(node.this), ("-", "1")
    else:
        inner, shift = node, ("+", "2")
    if not isinstance(inner, exp.Div | exp.IntDiv) or number(inner.expression) != "3":
        return None
    top = bare(inner.this)
    kind = exp.Sub if shift[0] == "-" else exp.Add
    if not isinstance(top, kind) or number(top.expression) != shift[1] or kind_of(top.this) != "integer":
        return None
    month = dated(top.this)
    return Dated(month.table, month.column, "quarter") if month and month.pattern == "%m" else None


def _named_month(node: exp.Expr) -> Dated | None:
    """(instr('JanFebMar…', month name) + 2) / 3, in whole numbers: the month by number."""
    top = bare(node.this) if isinstance(node, exp.Div | exp.IntDiv) else None
    if not isinstance(top, exp.Add) or number(node.expression) != "3" or number(top.expression) != "2":
        return None
    place = bare(top.this)
    if function_name(place) == "instr" and len(place.expressions) == 2:
        listed, name = place.expressions
    elif isinstance(place, exp.StrPosition):
        listed, name = place.this, place.args["substr"]
    else:
        return None
    month = dated(name)
    if (string(listed) or "").lower() != _MONTHS or month is None or month.pattern != "%b":
        return None
    return replace(month, pattern="%m")


def day_of(node: exp.Expr) -> str | None:
    """The ISO date (or date and time) that a literal, DATE '…' or date('…') names."""
    node = bare(node)
    if isinstance(node, exp.Cast) and kind_of(node) in ("date", "timestamp"):
        return string(node.this)
    if function_name(node) in ("date", "datetime") and len(node.expressions) == 1:
        return string(node.expressions[0])
    return string(node)


def interval(pattern: str, value: str) -> tuple[str, str] | None:
    """The half-open ISO interval in which the pattern gives `value`; None when it is no single one."""
    if pattern == "%Y" and re.fullmatch(r"\d{4}", value):
        return span(value)
    if set(re.findall(r"%.", pattern)) == {"%Y", "%m"}:
        try:
            month = datetime.strptime(value, pattern)
        except ValueError:
            return None
        return span(f"{month.year:04d}", f"{month.month:02d}")
    return None


def like_interval(pattern: str, column: Column) -> tuple[str, str] | None:
    """The interval that LIKE '2023-04%' over ISO text, or '% Apr 2023 %' over another form, stands for."""
    forms = column.profile.date_formats
    if forms and all(each.startswith("%Y-%m-%d") for each in forms):
        return like_span(pattern)
    return _slice_interval(pattern, forms[0]) if len(forms) == 1 else None


def _slice_interval(pattern: str, form: str) -> tuple[str, str] | None:
    """The interval of a year, month or day that a LIKE pattern spells as a stretch of this form."""
    said = pattern.strip("%")
    pieces = re.findall(r"%.|.", form)
    if "%" in said or "_" in said or re.search(r"%.%", form):
        return None
    starts = range(len(pieces)) if pattern.startswith("%") else range(1)
    for start in starts:
        ends = range(start + 1, len(pieces) + 1) if pattern.endswith("%") else (len(pieces),)
        for end in ends:
            stretch = "".join(pieces[start:end])
            fields = {"%m" if each in ("%b", "%B") else each for each in re.findall(r"%.", stretch)}
            if fields not in ({"%Y"}, {"%Y", "%m"}, {"%Y", "%m", "%d"}):
                continue
            try:
                found = datetime.strptime(said, stretch)
            except ValueError:
                continue
            month = f"{found.month:02d}" if "%m" in fields else None
            return span(f"{found.year:04d}", month, f"{found.day:02d}" if "%d" in fields else None)
    return None


def is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == 10


def stored(node: exp.Expr) -> exp.Expr:
    """The column inside TRY_STRPTIME(column, …), which `check` and `write` put around text dates."""
    node = bare(node)
    return bare(node.expressions[0]) if function_name(node) == "try_strptime" else node
