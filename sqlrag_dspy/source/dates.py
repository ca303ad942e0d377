"""Which date formats the texts of a column follow, decided by the data; and dates kept as numbers.

Leaves out questions about dates: those are read by the linker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from sqlrag_dspy.source import quoting

_ISO = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%d %H:%M:%S%z",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y-%m-%d %H:%M:%S.%f%z",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m",
)
_FIGURES = (
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%Y",
)
_NAMED = (
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
    "%B %d %Y",
    "%d %B, %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%a, %d %b %Y",
    "%A, %d %B %Y",
    "%A, %B %d, %Y",
)
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
# Of two formats that fit equally many values the earlier wins, so 03/04/2023 alone is March the 4th.
FORMATS: tuple[str, ...] = (
    *_ISO,
    *_FIGURES,
    *_NAMED,
    "%Y%m%d",
    "%Y%m%d%H%M%S",
    "%b %Y",
    "%B %Y",
    "%B, %Y",
    *(
        f"{day} {clock}"
        for day in ("%Y-%m-%d", *_FIGURES, *_NAMED)
        for clock in _CLOCKS
        if f"{day} {clock}" not in _ISO
    ),
    *(f"{day}, {clock}" for day in (*_FIGURES, *_NAMED) for clock in _CLOCKS),
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
    "%m/%d/%y",
    "%d/%m/%y",
)
# strptime takes numbers of any width; without these a plain number would pass for a date.
_SHAPES = {"%Y%m%d": r"\d{8}", "%Y%m%d%H%M%S": r"\d{14}", "%Y-%m": r"\d{4}-\d{1,2}"}
MOST_FORMATS = 6


def parsed(expression: str, form: str) -> str:
    """SQL: the timestamp that a text means under one format, or NULL."""
    stamp = f"CAST(try_strptime({expression}, {quoting.text(form)}) AS TIMESTAMP)"
    tests = [f"year({stamp}) BETWEEN 1000 AND 2200"]
    if form in _SHAPES:
        tests.insert(0, f"regexp_full_match({expression}, {quoting.text(_SHAPES[form])})")
    return f"CASE WHEN {' AND '.join(tests)} THEN {stamp} END"


def any_parsed(expression: str, formats: Iterable[str]) -> str:
    """SQL: the timestamp under the first of the formats that fits, or NULL."""
    return f"COALESCE({', '.join(parsed(expression, form) for form in formats)}, NULL)"


def mask(expression: str, formats: Sequence[str]) -> str:
    """SQL: one character a format, 1 where it fits: few distinct masks describe a whole column."""
    return " || ".join(
        f"CASE WHEN ({parsed(expression, form)}) IS NULL THEN '0' ELSE '1' END" for form in formats
    )


_FIELDS = {
    "Y": r"[12]\d{3}",
    "y": r"\d\d",
    "m": r"\d{1,2}",
    "d": r"\d{1,2}",
    "H": r"\d{1,2}",
    "I": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "f": r"\d{1,9}",
    "p": r"[AaPp][Mm]",
    "z": r"[+-]\d\d(?::?\d\d)?",
    "b": r"[A-Za-z]{3}",
    "B": r"[A-Za-z]{3,9}",
    "a": r"[A-Za-z]{3}",
    "A": r"[A-Za-z]{6,9}",
}


@cache
def _pattern(form: str) -> re.Pattern[str]:
    if form in _SHAPES:
        return re.compile(_SHAPES[form])
    parts = re.split(r"%(.)", form)
    return re.compile(
        "".join(_FIELDS[part] if place % 2 else re.escape(part) for place, part in enumerate(parts))
    )


def candidates(values: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The formats whose shape some value has, and how many values have the shape of any.

    Trying all formats on all values in SQL takes 0.1 s to plan; few columns need it, and then for few formats.
    """
    shapes = [form for form in FORMATS if any(_pattern(form).fullmatch(value.strip()) for value in values)]
    return tuple(shapes), sum(any(_pattern(form).fullmatch(v.strip()) for form in shapes) for v in values)


def cover(masks: Iterable[tuple[str, int]], formats: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The fewest formats that read most values, most frequent first, and how many values they read.

    Greedy: DD/MM beats MM/DD as soon as one day is over 12, and both stay when each alone reads some value.
    """
    left = dict(masks)
    chosen: list[str] = []
    read = 0
    while left and len(chosen) < MOST_FORMATS:
        gains = [sum(n for bits, n in left.items() if bits[place] == "1") for place in range(len(formats))]
        best = max(range(len(formats)), key=lambda place: gains[place])
        if gains[best] == 0:
            break
        chosen.append(formats[best])
        read += gains[best]
        left = {bits: n for bits, n in left.items() if bits[best] != "1"}
    return tuple(chosen), read


def turned(form: str) -> str | None:
    """The same format with day and month exchanged, when texts under one may be read under the other."""
    if "%m/%d" in form:
        return form.replace("%m/%d", "%d/%m")
    if "%m-%d-" in form:
        return form.replace("%m-%d-", "%d-%m-")
    if "%d/%m" in form:
        return form.replace("%d/%m", "%m/%d")
    return form.replace("%d-%m-", "%m-%d-") if "%d-%m-" in form else None


def days(formats: Iterable[str]) -> list[str]:
    """The formats without their times of day, each once."""
    return list(dict.fromkeys(re.split(r"(?:,? |T)?%[HI]", form)[0] for form in formats))


def has_time(form: str) -> bool:
    return "%H" in form or "%I" in form


# --- dates kept as numbers, in columns declared DATE, DATETIME or TIMESTAMP --------------------------

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def encoding(expression: str) -> str:
    """SQL: how a date is written: compact, julian, seconds, millis, micros, year, text, blank or odd."""
    number = f"TRY_CAST({expression} AS DOUBLE)"
    return f"""CASE
        WHEN {expression} IS NULL THEN NULL
        WHEN trim({expression}) = '' THEN 'blank'
        WHEN NOT regexp_full_match({expression}, '{_NUMBER}') THEN 'text'
        WHEN ({parsed(expression, "%Y%m%d")}) IS NOT NULL THEN 'compact'
        WHEN regexp_full_match({expression}, '[12]\\d{{3}}') THEN 'year'
        WHEN {number} BETWEEN 2100000 AND 2700000 THEN 'julian'
        WHEN {number} BETWEEN 1e14 AND 1e16 THEN 'micros'
        WHEN {number} BETWEEN 1e11 AND 1e14 THEN 'millis'
        WHEN {number} BETWEEN 1e8 AND 1e11 THEN 'seconds'
        ELSE 'odd' END"""


def iso(expression: str) -> str:
    """SQL: the date as ISO text whatever its encoding; texts stay as stored, and odd numbers read as NULL.

    Julian days count from noon; times are rounded to seconds, and left out at midnight.
    """
    number = f"TRY_CAST({expression} AS DOUBLE)"

    def written(seconds: str) -> str:
        stamp = f"make_timestamp(CAST(round({seconds}) AS BIGINT) * 1000000)"
        return f"regexp_replace(strftime({stamp}, '%Y-%m-%d %H:%M:%S'), ' 00:00:00$', '')"

    return f"""CASE {encoding(expression)}
        WHEN 'text' THEN {expression}
        WHEN 'year' THEN {expression}
        WHEN 'compact' THEN strftime(try_strptime({expression}, '%Y%m%d'), '%Y-%m-%d')
        WHEN 'julian' THEN {written(f"({number} - 2440587.5) * 86400")}
        WHEN 'seconds' THEN {written(number)}
        WHEN 'millis' THEN {written(f"{number} / 1e3")}
        WHEN 'micros' THEN {written(f"{number} / 1e6")}
        END"""
