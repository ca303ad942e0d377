"""Single dates: "17 April 2023", "Q3", "2023-04", "last month", "the nineties", one pattern and reader each.

Leaves out ranges of two dates, open ends and the year of a date that names none: see dates.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from sqlrag_dspy.link.calendar_words import (
    CENTURIES,
    COUNTS,
    DECADES,
    LAST,
    MONTHS,
    ORDINALS,
    SEASONS,
    UNITS,
    either,
)
from sqlrag_dspy.link.intervals import Interval, day, months, move_months, week_of, years


@dataclass(frozen=True)
class DateMention:
    """A date in folded text: its span, interval, how sure (0 to 1), and the year that was assumed, if any."""

    start: int
    end: int
    interval: Interval
    score: float = 1.0
    assumed_year: int | None = None
    is_negated: bool = False
    bound: str = ""
    """How an open interval was said: since, after, before or until."""


@dataclass(frozen=True)
class Known:
    """What reading a date needs to know: today, the data's first and last day, and 04/03 read month first."""

    today: date
    earliest: date | None = None
    latest: date | None = None
    month_first: bool = False


_MONTH = rf"(?P<month>{either(MONTHS)})\b\.?"
_OF = r"[\s,]*(?:\b(?:of|de|del|van|in|en|uit|from|the|year|ano|el|het|jaar)\b[\s,]*){0,4}"
_YEAR = r"(?P<year>(?:1\d|2[01])\d\d\b|(?<!\w)'\d\d\b)"
_MAYBE_YEAR = rf"(?:{_OF}{_YEAR})?"
_SUFFIX = r"(?:st|nd|rd|th|er|e|de|ste|o)?"
_DAY = rf"(?P<day>0?[1-9]|[12]\d|3[01]){_SUFFIX}\b"
_DAYS = (
    rf"(?P<day>0?[1-9]|[12]\d|3[01]){_SUFFIX}\s*(?:-|\bto\b|\buntil\b|\btill\b|\bthrough\b|\band\b|\bal?\b|\by\b|"
    rf"\bhasta\b|\btot\s+en\s+met\b|\bt/m\b|\btot\b|\ben\b)\s*(?:(?:the|el|de)\s+)?(?P<day2>0?[1-9]|[12]\d|3[01]){_SUFFIX}\b"
)
_RANGE_PREFIX = r"(?:(?:between|from|entre|desde|del|de|tussen|van|vanaf)\s+(?:(?:the|el|de)\s+)?)?"
_ORDINAL = rf"(?P<ordinal>{either([*ORDINALS, *LAST])})"
_COUNT = rf"(?P<count>\d{{1,3}}|{either(COUNTS)})"
_UNIT = rf"(?P<unit>{either(UNITS)})\b"
_PAST = (
    r"(?:last|past|previous|preceding|ultimos?|ultimas?|pasados?|pasadas?|laatste|afgelopen|voorbije|vorige)"
)
_THIS = r"(?:this|current|the\s+current|este|esta|el\s+presente|dit|deze|huidige|lopende)"
_NEXT = r"(?:next|coming|proximo|proxima|proximos|proximas|volgende?|komende?)"

Reader = Callable[[re.Match[str], Known], Interval | None]


def _year_of(match: re.Match[str], known: Known) -> tuple[int, bool]:
    """(year, missing): a missing year gets a leap year as placeholder."""
    text = match.groupdict().get("year")
    if not text:
        return 2024, True
    if text.startswith("'"):
        short = int(text[1:])
        return (2000 if short <= known.today.year % 100 + 5 else 1900) + short, False
    return int(text), False


def _read_iso(match: re.Match[str], known: Known) -> Interval | None:
    return day(int(match["year"]), int(match["m"]), int(match["d"]))


def _read_numeric(match: re.Match[str], known: Known) -> Interval | None:
    a, b, year = int(match["a"]), int(match["b"]), int(match["y"])
    if len(match["y"]) == 2:
        year += 2000 if year <= known.today.year % 100 + 5 else 1900
    if known.month_first and a <= 12:
        a, b = b, a
    return day(year, b, a) or day(year, a, b)


def _read_iso_month(match: re.Match[str], known: Known) -> Interval | None:
    return months(int(match["year"]), int(match["m"]), 1, "month")


def _read_days(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = MONTHS[match["month"]]
    first, last = day(year, month, int(match["day"])), day(year, month, int(match["day2"]))
    if first is None or last is None or first.start is None or last.end is None or first.start >= last.end:
        return None
    return Interval(first.start, last.end, "range", missing)


def _read_day(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    return day(year, MONTHS[match["month"]], int(match["day"]), needs_year=missing)


def _read_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    return months(year, MONTHS[match["month"]], 1, "month", needs_year=missing)


def _number(match: re.Match[str]) -> int | None:
    """The ordinal as 1 to 4; None for "last"."""
    return ORDINALS.get(match["ordinal"])


def _read_week_of_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = months(year, MONTHS[match["month"]], 1, "month")
    if month is None or month.start is None or month.end is None:
        return None
    number = _number(match)
    if number is None:
        return Interval(month.end - timedelta(days=7), month.end, "range", missing)
    start = month.start + timedelta(days=7 * (number - 1))
    return Interval(start, start + timedelta(days=7), "range", missing)


def _read_half_of_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = months(year, MONTHS[match["month"]], 1, "month")
    if month is None or month.start is None or month.end is None:
        return None
    middle = month.start + timedelta(days=15)
    if _number(match) == 1:
        return Interval(month.start, middle, "range", missing)
    return Interval(middle, month.end, "range", missing)


def _read_quarter(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    groups = match.groupdict()
    number = int(groups["q"]) if groups.get("q") else (_number(match) or 4)
    return months(year, 3 * number - 2, 3, "quarter", needs_year=missing)


def _read_half(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    groups = match.groupdict()
    number = int(groups["h"]) if groups.get("h") else (_number(match) or 2)
    return months(year, 1 if number == 1 else 7, 6, "range")


def _read_season(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    return months(year, SEASONS[match["season"]], 3, "range")


def _read_decade(match: re.Match[str], known: Known) -> Interval | None:
    groups = match.groupdict()
    if groups.get("full"):
        return years(int(groups["full"]), 10)
    if groups.get("short"):
        return years(1900 + int(groups["short"]), 10)
    return years(DECADES[match["word"]], 10)


def _read_century(match: re.Match[str], known: Known) -> Interval | None:
    groups = match.groupdict()
    number = int(groups["n"]) if groups.get("n") else CENTURIES[match["word"]]
    return years(100 * number - 99, 100) if 10 < number < 23 else None


def _read_months_of_year(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    count = _count(match)
    if match["unit"] not in ("month", "months", "mes", "meses", "maand", "maanden") or not 1 <= count <= 12:
        return None
    is_last = match["edge"] in LAST or match["edge"].startswith(("ultim", "laatst", "final"))
    return months(year, 13 - count if is_last else 1, count, "range")


def _count(match: re.Match[str]) -> int:
    text = match.groupdict().get("count") or "1"
    return int(text) if text.isdigit() else COUNTS[text]


def _back(today: date, unit: str, count: int) -> date:
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    return move_months(today, -count * {"month": 1, "quarter": 3, "year": 12}[unit])


def _read_last_count(match: re.Match[str], known: Known) -> Interval | None:
    count = _count(match)
    if count > 200:
        return None
    return Interval(_back(known.today, UNITS[match["unit"]], count), known.today + timedelta(days=1), "range")


def _read_ago(match: re.Match[str], known: Known) -> Interval | None:
    count, unit = _count(match), UNITS[match["unit"]]
    if count > 200:
        return None
    return _unit_of(_back(known.today, unit, count), unit, 0)


def _unit_of(moment: date, unit: str, shift: int) -> Interval | None:
    """The calendar day, week, month, quarter or year around a moment, moved by `shift` units."""
    if unit == "day":
        moment += timedelta(days=shift)
        return Interval(moment, moment + timedelta(days=1), "day")
    if unit == "week":
        monday = week_of(moment) + timedelta(days=7 * shift)
        return Interval(monday, monday + timedelta(days=7), "range")
    if unit == "year":
        return years(moment.year + shift)
    size = 3 if unit == "quarter" else 1
    first = move_months(date(moment.year, (moment.month - 1) // size * size + 1, 1), shift * size)
    return months(first.year, first.month, size, unit)


def _relative(shift: int) -> Reader:
    return lambda match, known: _unit_of(known.today, UNITS[match["unit"]], shift)


def _near_day(shift: int) -> Reader:
    return lambda match, known: _unit_of(known.today, "day", shift)


def _read_year(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    return years(year)


def _read_named_month(match: re.Match[str], known: Known) -> Interval | None:
    """ "last March", "this March": the one nearest to today on that side."""
    month = MONTHS[match["month"]]
    year = known.today.year
    if match.groupdict().get("past") and month >= known.today.month:
        year -= 1
    return months(year, month, 1, "month")


def _compile(entries: Iterable[tuple[str, Reader, float]]) -> list[tuple[re.Pattern[str], Reader, float]]:
    return [(re.compile(rf"(?<![\w]){pattern}"), reader, score) for pattern, reader, score in entries]


_ARTICLE = r"(?:the\s+|el\s+|la\s+|de\s+|het\s+)?"
_WEEK = r"(?:full\s+)?(?:week|semana)\s+(?:of|de|van|in)\s+"
_HALF = r"(?:half|mitad|semestre|helft|halfjaar|half\s+jaar)"

# At one place the longest wins; a score below 1 needs a preposition before it to be believed.
_PATTERNS = _compile(
    [
        (r"(?P<year>[12]\d{3})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:[t ]\d\d:\d\d(?::\d\d)?)?(?!\d)", _read_iso, 1),
        (r"(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y>\d{4}|\d{2})(?![\d])", _read_numeric, 1),
        (r"(?P<year>(?:1\d|2[01])\d\d)[-/](?P<m>0[1-9]|1[0-2])(?![\d]|[-/]\d)", _read_iso_month, 1),
        (r"(?P<m>0?[1-9]|1[0-2])/(?P<year>(?:1\d|2[01])\d\d)(?!\d)", _read_iso_month, 1),
        (rf"{_RANGE_PREFIX}{_DAYS}\s*(?:of\s+|de\s+)?{_MONTH}{_MAYBE_YEAR}", _read_days, 1),
        (rf"{_RANGE_PREFIX}{_MONTH}\s*{_DAYS}{_MAYBE_YEAR}", _read_days, 1),
        (rf"{_DAY}\s*(?:of\s+|de\s+|-)?{_MONTH}-?{_MAYBE_YEAR}", _read_day, 1),
        (rf"{_MONTH}\s*(?:the\s+)?{_DAY}(?!\s*(?:of|de|van)\s+(?!\d)){_MAYBE_YEAR}", _read_day, 1),
        (rf"{_ORDINAL}\s+{_WEEK}{_MONTH}{_MAYBE_YEAR}", _read_week_of_month, 1),
        (rf"{_ORDINAL}\s+{_HALF}\s+(?:of|de|van)\s+{_MONTH}{_MAYBE_YEAR}", _read_half_of_month, 1),
        (rf"{_MONTH}{_OF}{_YEAR}", _read_month, 1),
        (rf"{_MONTH}", _read_month, 0.5),
        (rf"q\s?(?P<q>[1-4])\b{_MAYBE_YEAR}", _read_quarter, 1),
        (rf"(?:t|k|kw)\s?(?P<q>[1-4])\b{_OF}{_YEAR}", _read_quarter, 1),
        (r"(?P<year>(?:1\d|2[01])\d\d)[\s-]*[qtk](?P<q>[1-4])\b", _read_quarter, 1),
        (rf"{_ORDINAL}\s+(?:quarter|trimestre|kwartaal)\b{_MAYBE_YEAR}", _read_quarter, 1),
        (rf"{_ORDINAL}\s+{_HALF}\b{_OF}{_YEAR}", _read_half, 1),
        (rf"h(?P<h>[12])\b{_OF}{_YEAR}", _read_half, 1),
        (rf"(?P<season>{either(SEASONS)}){_OF}{_YEAR}", _read_season, 1),
        (r"(?P<full>1\d\d0|20[0-4]0)'?s\b", _read_decade, 0.45),
        (r"'?(?P<short>[3-9]0)'?s\b", _read_decade, 0.4),
        (rf"(?:anos|jaren|the|los)\s+(?P<word>{either(DECADES)})\b", _read_decade, 0.45),
        (r"(?P<n>\d\d)(?:st|nd|rd|th|e|ste)[\s-]+(?:century|eeuw)(?:se)?\b", _read_century, 0.8),
        (rf"(?P<word>{either(CENTURIES)})[\s-]+(?:century|eeuw)(?:se)?\b", _read_century, 0.8),
        (rf"siglo\s+(?:(?P<n>\d\d)|(?P<word>{either(CENTURIES)}))\b", _read_century, 0.8),
        (rf"(?P<edge>first|last|final|primeros|ultimos|eerste|laatste)\s+{_COUNT}\s+{_UNIT}{_OF}{_YEAR}", _read_months_of_year, 1),
        (rf"{_ARTICLE}{_PAST}\s+{_COUNT}\s+{_UNIT}", _read_last_count, 1),
        (rf"{_ARTICLE}{_COUNT}\s+(?:ultimos|ultimas|past|last)\s+{_UNIT}", _read_last_count, 1),
        (rf"(?:in|over|during|within)\s+the\s+(?:last|past)\s+{_UNIT}", _read_last_count, 1),
        (rf"{_COUNT}\s+{_UNIT}\s+(?:ago|geleden|atras)\b", _read_ago, 1),
        (rf"hace\s+{_COUNT}\s+{_UNIT}", _read_ago, 1),
        (r"(?:day\s+before\s+yesterday|anteayer|eergisteren)\b", _near_day(-2), 1),
        (r"(?:yesterday|ayer|gisteren)\b", _near_day(-1), 1),
        (r"(?:today|hoy|vandaag)\b", _near_day(0), 0.7),
        (r"(?:tomorrow|manana)\b", _near_day(1), 0.6),
        (rf"{_THIS}\s+{_UNIT}", _relative(0), 1),
        (rf"{_ARTICLE}(?:last|previous|vorige?|afgelopen|(?:el|la)\s+(?:pasado|pasada|ultimo|ultima))\s+{_UNIT}", _relative(-1), 1),
        (rf"(?:el|la|del)\s+{_UNIT}\s+(?:pasado|pasada|anterior)\b", _relative(-1), 1),
        (rf"{_ARTICLE}{_NEXT}\s+{_UNIT}", _relative(1), 1),
        (rf"(?:el|la|del)\s+{_UNIT}\s+que\s+viene\b", _relative(1), 1),
        (rf"(?:(?P<past>last|vorige|afgelopen|el\s+pasado)|this|este|deze|afgelopen)\s+{_MONTH}(?!\s*(?:\d|{_OF}\d{{4}}))", _read_named_month, 1),
        (rf"(?:(?:the\s+year|in\s+the\s+year|el\s+ano|del\s+ano|ano|het\s+jaar|jaar|year)\s+)?{_YEAR}(?![.,]\d|\s?%|-?[a-z])", _read_year, 0.9),
    ]
)  # fmt: skip

_DATE_PREPOSITION = re.compile(
    r"\b(?:in|on|during|since|before|after|until|till|by|from|of|for|through|between|throughout|en|de|del|desde|"
    r"hasta|durante|entre|para|el|van|uit|sinds|voor|na|tot|vanaf|tussen|over|op|tijdens|begin|eind|mid|early|late|"
    r"dated|each|every|and|y|or|to|al|a)\s+(?:the\s+|el\s+|de\s+|los\s+|las\s+|het\s+)?$"
)
_STRONG_PREPOSITION = re.compile(
    r"\b(?:in|during|since|before|after|until|from|durante|desde|en|hasta|uit|sinds|na|voor|vanaf|tijdens)\s+"
    r"(?:the\s+|los\s+|de\s+)?$"
)


def find_atoms(text: str, known: Known, taken: list[tuple[int, int]]) -> list[DateMention]:
    """Every single date in folded text, longest first where they overlap; bare years in `taken` are left out."""
    found: list[DateMention] = []
    for pattern, reader, score in _PATTERNS:
        for match in pattern.finditer(text):
            if (match.start() > 0 and text[match.start() - 1] in "$€£#") or not _stands_alone(text, match):
                continue
            bare_year = reader is _read_year
            if bare_year and any(a < match.end() and match.start() < b for a, b in taken):
                continue
            interval = reader(match, known)
            if interval is None:
                continue
            before = text[: match.start()]
            believed: float = score
            if score < 0.5:
                believed = 0.9 if _STRONG_PREPOSITION.search(before) else score
            elif score == 0.5:
                believed = _bare_month(text, match)
            elif bare_year:
                believed = _bare_year(before, int(interval.start.year) if interval.start else 0, known)
            if believed:
                found.append(DateMention(match.start(), match.end(), interval, believed))
    found.sort(key=lambda m: (m.start, -(m.end - m.start), -m.score))
    kept: list[DateMention] = []
    for mention in sorted(found, key=lambda m: (-(m.end - m.start), -m.score)):
        if not any(mention.start < k.end and k.start < mention.end for k in kept):
            kept.append(mention)
    return sorted(kept, key=lambda m: m.start)


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Not a piece of a longer number or code ("AX-2023", "1.2023")."""
    before = text[max(0, match.start() - 2) : match.start()]
    if re.search(r"[\w][.\-/]$", before) and match.group()[0].isdigit():
        return bool(re.search(r"\d-$", before)) and bool(re.match(r"(?:1\d|2[01])\d\d$", match.group()))
    after = text[match.end() : match.end() + 2]
    return not re.match(r"[.,/]\d", after) and not re.match(
        r"\w", after[:1] if match.group()[-1].isalnum() else ""
    )


_NOT_ALONE = 0.2
"""A month that counts only as part of a range or list ("march" in "march through may")."""


def _bare_month(text: str, match: re.Match[str]) -> float:
    """How surely a month name without day or year is one: "may", "march", "ago" and short forms need a preposition."""
    before = text[: match.start()]
    word = match["month"]
    prepared = _DATE_PREPOSITION.search(before)
    if word in ("ago", "mar", "set", "jan", "dic", "abr", "mei", "may", "march", "ene", "okt", "sep"):
        strong = re.search(
            r"\b(?:in|during|since|until|before|after|en|durante|desde|sinds|vanaf|tijdens|of|de|to|and|through|entre|"
            r"between|tussen|tot|hasta|voor|from|by|y|or|al?|van|uit)\s+$",
            before,
        )
        if not strong or word in ("ago", "set"):
            return _NOT_ALONE
        return (
            0.8
            if word != "jan" or re.search(r"\b(?:in|since|before|after|until|during)\s+$", before)
            else _NOT_ALONE
        )
    if prepared:
        return 0.95
    return 0.75 if len(word) > 4 else _NOT_ALONE


def _bare_year(before: str, year: int, known: Known) -> float:
    if _DATE_PREPOSITION.search(before) or re.search(r"\b(?:year|ano|jaar)\s*$", before):
        return 1.0
    if known.earliest and known.latest and not known.earliest.year <= year <= known.latest.year:
        return 0.5 if 1900 <= year <= known.today.year + 10 else 0.0
    return 0.9
