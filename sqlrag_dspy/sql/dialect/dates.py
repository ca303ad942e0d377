"""Dates kept as text: parsed by the column's own formats, and SQLite's date functions in DuckDB's words.

A format list whose every entry begins with the ISO date sorts as text as it sorts in time, so such a column is
compared as it stands, the way SQLite does; any other is parsed first.
"""

from __future__ import annotations

import re
from datetime import datetime

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.kinds import field_of, function_name, kind_of
from sqlrag_dspy.types import Column

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?")
ISO_PART = re.compile(r"\d{4}(-\d\d?)?-?")

_COMMON_FORMATS = (
    "%Y/%m/%d",
    "%d %B %Y",
    "%d %b %Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%B %d %Y",
    "%d-%b-%Y",
    "%Y%m%d",
)


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def cast(node: exp.Expr, to: str) -> exp.Cast:
    return exp.Cast(this=node, to=exp.DataType.build(to))


def try_cast(node: exp.Expr, to: str) -> exp.TryCast:
    return exp.TryCast(this=node, to=exp.DataType.build(to))


def text_date(node: exp.Expr) -> Column | None:
    """The column, when the expression is a text column that holds dates."""
    found = field_of(node)
    if found is None or found.column is None or found.kind != "text" or not found.column.profile.date_formats:
        return None
    return found.column if found.column.is_date else None


def sorts_as_text(column: Column) -> bool:
    """Whether the stored dates sort as text as they do in time."""
    return all(each.startswith("%Y-%m-%d") or each in ("%Y", "%Y-%m") for each in column.profile.date_formats)


def has_time(column: Column) -> bool:
    return any("%H" in each or "%I" in each for each in column.profile.date_formats)


def parsed(node: exp.Expr, column: Column) -> exp.Expr:
    """The stored text as a TIMESTAMP; NULL where no format of the column fits."""
    formats = [text(each) for each in column.profile.date_formats]
    return call(
        "try_strptime", node, formats[0] if len(formats) == 1 else exp.Array(expressions=list(formats))
    )


def parsed_day(node: exp.Expr, column: Column) -> exp.Expr:
    return cast(parsed(node, column), "DATE")


def iso_literal(value: str) -> exp.Expr | None:
    """A literal DATE or TIMESTAMP of ISO text, None when it is not ISO."""
    if ISO_DATE.fullmatch(value):
        return cast(text(value), "DATE")
    return cast(text(value), "TIMESTAMP") if ISO_TIME.fullmatch(value) else None


def read_date(value: str, formats: tuple[str, ...] = ()) -> datetime | None:
    """The moment a text names, in one of `formats` or an unambiguous common form."""
    for each in (*formats, *_COMMON_FORMATS):
        try:
            return datetime.strptime(value.strip(), each)
        except ValueError:
            continue
    match = re.fullmatch(r"(\d\d?)([/.-])(\d\d?)\2(\d{4})", value.strip())
    if match:
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if (first > 12) != (second > 12) and max(first, second) <= 31:
            day, month = (first, second) if first > 12 else (second, first)
            try:
                return datetime(year, month, day)
            except ValueError:
                return None
    return None


def moment_literal(moment: datetime) -> exp.Expr:
    if moment.hour == moment.minute == moment.second == 0:
        return cast(text(moment.date().isoformat()), "DATE")
    return cast(text(moment.isoformat(sep=" ")), "TIMESTAMP")


def seconds(moment: exp.Expr) -> exp.Expr:
    """Whole seconds since 1970."""
    return cast(call("trunc", call("epoch", moment)), "BIGINT")


def now() -> exp.Expr:
    return cast(call("now"), "TIMESTAMP")


def as_moment(node: exp.Expr) -> exp.Expr:
    """The expression as a date or timestamp, whatever it is stored as; NULL where it is none."""
    column = text_date(node)
    if column is not None:
        return parsed(node, column)
    kind = kind_of(node)
    if kind in ("date", "timestamp"):
        return node
    if isinstance(node, exp.Literal) and node.is_string:
        if node.this.lower() == "now":
            return now()
        literal = iso_literal(node.this)
        if literal is not None:
            return literal
        moment = read_date(node.this)
        if moment is None:
            raise SqlRejected(f"{node.this!r} is not a date; write dates as '2023-04-17'")
        return moment_literal(moment)
    found = field_of(node)
    if kind in ("integer", "number") and found is not None:
        raise SqlRejected(f"{found.name!r} holds numbers, not dates; compare it with numbers")
    return node if kind == "interval" else try_cast(node, "TIMESTAMP")


def modified(arguments: list[exp.Expr]) -> exp.Expr:
    """SQLite's time value and modifiers ('now', '-6 months', 'start of month') as a TIMESTAMP expression."""
    if not arguments:
        return now()
    first, rest = arguments[0], arguments[1:]
    words = [
        each.this.strip().lower() if isinstance(each, exp.Literal) and each.is_string else None
        for each in rest
    ]
    if "unixepoch" in words:
        micros = exp.Mul(this=cast(first, "BIGINT"), expression=exp.Literal.number(1_000_000))
        moment: exp.Expr = call("make_timestamp", micros)
    else:
        moment = as_moment(first)
    for word in words:
        if word is None:
            raise SqlRejected("a date modifier must be literal text, as in date('now', '-6 months')")
        if word in ("unixepoch", "localtime", "utc", "auto", "subsec", "subsecond"):
            continue
        moment = _shifted(moment, word)
    return moment


def _shifted(moment: exp.Expr, word: str) -> exp.Expr:
    start = re.fullmatch(r"start of (day|month|year)", word)
    if start:
        return call("date_trunc", text(start[1]), moment)
    weekday = re.fullmatch(r"weekday ([0-6])(?:\.0*)?", word)
    if weekday:
        return _next_weekday(moment, int(weekday[1]))
    step = re.fullmatch(r"([+-]?)\s*(\d+)(?:\.\d+)?\s+(day|month|year|hour|minute|second)s?", word)
    if not step:
        raise SqlRejected(
            f"date modifier {word!r} is not supported; use one such as '-6 months' or 'start of year'"
        )
    interval = exp.Interval(this=text(step[2]), unit=exp.var(step[3].upper()))
    node = exp.Sub if step[1] == "-" else exp.Add
    return node(this=moment, expression=interval)


def _next_weekday(moment: exp.Expr, wanted: int) -> exp.Expr:
    """The same moment on the next such day, 0 being Sunday; on the day itself when it is one."""
    ahead = exp.Sub(this=exp.Literal.number(wanted + 7), expression=call("dayofweek", moment.copy()))
    days = exp.Mod(this=exp.Paren(this=ahead), expression=exp.Literal.number(7))
    one_day = exp.Interval(this=text("1"), unit=exp.var("DAY"))
    step = exp.Mul(this=one_day, expression=exp.Paren(this=days))
    return exp.Paren(this=exp.Add(this=moment, expression=exp.Paren(this=step)))


def rewrite_strftime(arguments: list[exp.Expr]) -> exp.Expr:
    """strftime with its arguments in either dialect's order, over text dates too."""
    if not arguments:
        raise SqlRejected("strftime needs a date and a format, as in strftime('%Y', created)")
    first = arguments[0]
    is_sqlite = isinstance(first, exp.Literal) and (
        len(arguments) != 2 or "%" in first.this or not _is_format(arguments[1])
    )
    if not is_sqlite:
        if len(arguments) != 2:
            raise SqlRejected("strftime needs a date and a format, as in strftime('%Y', created)")
        return call("strftime", as_moment(first), arguments[1])
    pattern = (
        str(first.this)
        .replace("%f", "%S.%g")
        .replace("%R", "%H:%M")
        .replace("%T", "%H:%M:%S")
        .replace("%F", "%Y-%m-%d")
    )
    moment = modified(arguments[1:])
    if pattern == "%s":
        return cast(seconds(moment), "VARCHAR")
    return call("strftime", moment, text(pattern))


def _is_format(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and "%" in str(node.this)


def like_span(pattern: str) -> tuple[str, str] | None:
    """The half-open ISO interval that a pattern such as '2023%', '2023-04%' or '2023-04-17%' stands for."""
    match = re.fullmatch(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?-?[ T_]?%+", pattern)
    if not match:
        return None
    return span(match[1], match[2], match[3])


def span(year: str, month: str | None = None, day: str | None = None) -> tuple[str, str] | None:
    """[first day, day after the last) of a year, a month or a day, as ISO dates; None when there is no such."""
    try:
        if day:
            start = datetime(int(year), int(month or 1), int(day))
            end = datetime.fromordinal(start.toordinal() + 1)
        elif month:
            start = datetime(int(year), int(month), 1)
            end = datetime(start.year + (start.month == 12), start.month % 12 + 1, 1)
        else:
            start, end = datetime(int(year), 1, 1), datetime(int(year) + 1, 1, 1)
    except (ValueError, OverflowError):
        return None
    return start.date().isoformat(), end.date().isoformat()


def is_moment_call(node: exp.Expr) -> bool:
    return function_name(node) == "try_strptime"
