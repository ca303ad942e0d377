"""Dates kept as text that are compared or ordered in another form than they are stored in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, string
from sqlrag_dspy.sql.dialect.dates import ISO_DATE, ISO_PART, sorts_as_text, text_date
from sqlrag_dspy.sql.kinds import function_name
from sqlrag_dspy.sql.linting.moments import dated
from sqlrag_dspy.sql.linting.statement import Statement
from sqlrag_dspy.types import Column

_WIDTHS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%Y-%m": 7, "%Y-%m-%d": 10, "%j": 3}
_MATCH_ALL = re.compile(r"[%_]+")


def date_form(statement: Statement) -> Iterator[str]:
    """Literals, patterns, parts and orders that do not go with how the dates are written."""
    yield from _literals(statement.tree)
    yield from _patterns(statement.tree)
    yield from _parts(statement.tree)
    yield from _orders(statement.tree)


def _literals(tree: exp.Expr) -> Iterator[str]:
    for each in dated(tree):
        column, value = each.column, each.value
        if each.style != "text" or not column.profile.date_formats or text_date(bare(each.node.this)) is None:
            continue
        form = column.profile.date_formats[0]
        told = f"{column.name!r} stores dates as {form}, so comparing it with {value!r} finds nothing useful"
        if each.op == "!=" and not value:
            continue  # it keeps out texts of nothing, and there may be none
        if each.op in ("=", "!="):
            if ISO_PART.fullmatch(value) and not any(_fits(value, f) for f in column.profile.date_formats):
                yield f"{told}; use LIKE {value + '%'!r}" if sorts_as_text(column) else told
            elif not _is_spelt(value, column):
                yield f"{told}; write dates as '2023-04-17'"
        elif sorts_as_text(column):
            if not (ISO_DATE.match(value) or ISO_PART.fullmatch(value)):
                yield f"{told}; write dates as '2023-04-17'"
        else:
            yield f"{told}; write dates as '2023-04-17'"


def _is_spelt(value: str, column: Column) -> bool:
    return bool(ISO_DATE.match(value)) or any(_fits(value, form) for form in column.profile.date_formats)


def _fits(value: str, form: str) -> bool:
    try:
        datetime.strptime(value, form)
    except ValueError:
        return False
    return True


def _patterns(tree: exp.Expr) -> Iterator[str]:
    """LIKE with letters or separators that the stored dates do not have."""
    for node in tree.find_all(exp.Like, exp.ILike):
        column, pattern = text_date(bare(node.this)), string(node.expression)
        if column is None or pattern is None:
            continue
        forms = "".join(column.profile.date_formats)
        marks = re.sub(r"%[A-Za-z]", "", forms) + ("T" if "T%" in forms else "")
        has_letters = any(each in forms for each in ("%b", "%B", "%a", "%A", "%p", "%Z"))
        alien = [
            each
            for each in _MATCH_ALL.sub("", pattern)
            if not each.isdigit() and each not in marks and not (each.isalpha() and has_letters)
        ]
        if alien:
            yield (
                f"{column.name!r} stores dates as {column.profile.date_formats[0]}, so LIKE {pattern!r} "
                "matches none; write LIKE '2023-04%' or compare with dates"
                if sorts_as_text(column)
                else f"{column.name!r} stores dates as {column.profile.date_formats[0]}, so LIKE {pattern!r} "
                "matches none; compare with dates such as '2023-04-17'"
            )


def _parts(tree: exp.Expr) -> Iterator[str]:
    """A part of a date compared with a text of another width: strftime('%m', …) = '4'."""
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        values = node.expressions if isinstance(node, exp.In) else [node.expression]
        width, shown = _width(bare(node.this))
        for each in values:
            value = string(each)
            if width is None or value is None or len(value) == width:
                continue
            # '4' is April as '04'; '20' is no year.
            is_padded = value.isdigit() and len(value) < width <= 2
            example = value.zfill(width) if is_padded else None
            remedy = f"write {example!r}" if example else f"compare it with text of {width} characters"
            yield f"{shown} gives {width} characters and is never {value!r}; {remedy}"


def _width(node: exp.Expr) -> tuple[int | None, str]:
    if function_name(node) == "strftime" and len(node.expressions) == 2:
        form = string(node.expressions[1]) or string(node.expressions[0]) or ""
        return _WIDTHS.get(form), f"strftime({form!r}, …)"
    if isinstance(node, exp.Substring):
        subject, length = node.this, node.args.get("length")
    elif function_name(node) in ("substr", "substring") and len(node.expressions) == 3:
        subject, length = node.expressions[0], node.expressions[2]
    else:
        return None, ""
    column = text_date(bare(subject))
    if column is None or not isinstance(length, exp.Literal) or not str(length.this).isdigit():
        return None, ""
    return int(length.this), f'substr("{column.name}", …)'


def _orders(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.Ordered, exp.Anonymous):
        if isinstance(node, exp.Anonymous):
            if function_name(node) not in ("min", "max") or not node.expressions:
                continue
            subject = node.expressions[0]
        else:
            subject = node.this
        column = text_date(bare(subject))
        if column is not None and not sorts_as_text(column):
            form = column.profile.date_formats[0]
            yield (
                f"{column.name!r} stores dates as {form}, which do not sort as text; "
                f"use strptime(\"{column.name}\", '{form}')"
            )
