"""Single dates: "17 April 2023", "Q3", "2023-04", "last month", "the nineties", one pattern and reader each.

Leaves out ranges of two dates, open ends and the year of a date that names none: see dates.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
from sqlrag_dspy.link.dates.readers import (
    DateMention,
    Known,
    Reader,
    near_day,
    read_ago,
    read_century,
    read_day,
    read_days,
    read_decade,
    read_half,
    read_half_of_month,
    read_iso,
    read_iso_month,
    read_last_count,
    read_month,
    read_months_of_year,
    read_named_month,
    read_numeric,
    read_quarter,
    read_season,
    read_week_of_month,
    read_year,
    relative,
)

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


def _compile(entries: Iterable[tuple[str, Reader, float]]) -> list[tuple[re.Pattern[str], Reader, float]]:
    return [(re.compile(rf"(?<![\w]){pattern}"), reader, score) for pattern, reader, score in entries]


_ARTICLE = r"(?:the\s+|el\s+|la\s+|de\s+|het\s+)?"
_WEEK = r"(?:full\s+)?(?:week|semana)\s+(?:of|de|van|in)\s+"
_HALF = r"(?:half|mitad|semestre|helft|halfjaar|half\s+jaar)"

# At one place the longest wins; a score below 1 needs a preposition before it to be believed.
_PATTERNS = _compile(
    [
        (r"(?P<year>[12]\d{3})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:[t ]\d\d:\d\d(?::\d\d)?)?(?!\d)", read_iso, 1),
        (r"(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y>\d{4}|\d{2})(?![\d])", read_numeric, 1),
        (r"(?P<year>(?:1\d|2[01])\d\d)[-/](?P<m>0[1-9]|1[0-2])(?![\d]|[-/]\d)", read_iso_month, 1),
        (r"(?P<m>0?[1-9]|1[0-2])/(?P<year>(?:1\d|2[01])\d\d)(?!\d)", read_iso_month, 1),
        (rf"{_RANGE_PREFIX}{_DAYS}\s*(?:of\s+|de\s+)?{_MONTH}{_MAYBE_YEAR}", read_days, 1),
        (rf"{_RANGE_PREFIX}{_MONTH}\s*{_DAYS}{_MAYBE_YEAR}", read_days, 1),
        (rf"{_DAY}\s*(?:of\s+|de\s+|-)?{_MONTH}-?{_MAYBE_YEAR}", read_day, 1),
        (rf"{_MONTH}\s*(?:the\s+)?{_DAY}(?!\s*(?:of|de|van)\s+(?!\d)){_MAYBE_YEAR}", read_day, 1),
        (rf"{_ORDINAL}\s+{_WEEK}{_MONTH}{_MAYBE_YEAR}", read_week_of_month, 1),
        (rf"{_ORDINAL}\s+{_HALF}\s+(?:of|de|van)\s+{_MONTH}{_MAYBE_YEAR}", read_half_of_month, 1),
        (rf"{_MONTH}{_OF}{_YEAR}", read_month, 1),
        (rf"{_MONTH}", read_month, 0.5),
        (rf"q\s?(?P<q>[1-4])\b{_MAYBE_YEAR}", read_quarter, 1),
        (rf"(?:t|k|kw)\s?(?P<q>[1-4])\b{_OF}{_YEAR}", read_quarter, 1),
        (r"(?P<year>(?:1\d|2[01])\d\d)[\s-]*[qtk](?P<q>[1-4])\b", read_quarter, 1),
        (rf"{_ORDINAL}\s+(?:quarter|trimestre|kwartaal)\b{_MAYBE_YEAR}", read_quarter, 1),
        (rf"{_ORDINAL}\s+{_HALF}\b{_OF}{_YEAR}", read_half, 1),
        (rf"h(?P<h>[12])\b{_OF}{_YEAR}", read_half, 1),
        (rf"(?P<season>{either(SEASONS)}){_OF}{_YEAR}", read_season, 1),
        (r"(?P<full>1\d\d0|20[0-4]0)'?s\b", read_decade, 0.45),
        (r"'?(?P<short>[3-9]0)'?s\b", read_decade, 0.4),
        (rf"(?:anos|jaren|the|los)\s+(?P<word>{either(DECADES)})\b", read_decade, 0.45),
        (r"(?P<n>\d\d)(?:st|nd|rd|th|e|ste)[\s-]+(?:century|eeuw)(?:se)?\b", read_century, 0.8),
        (rf"(?P<word>{either(CENTURIES)})[\s-]+(?:century|eeuw)(?:se)?\b", read_century, 0.8),
        (rf"siglo\s+(?:(?P<n>\d\d)|(?P<word>{either(CENTURIES)}))\b", read_century, 0.8),
        (rf"(?P<edge>first|last|final|primeros|ultimos|eerste|laatste)\s+{_COUNT}\s+{_UNIT}{_OF}{_YEAR}",
         read_months_of_year, 1),
        (rf"{_ARTICLE}{_PAST}\s+{_COUNT}\s+{_UNIT}", read_last_count, 1),
        (rf"{_ARTICLE}{_COUNT}\s+(?:ultimos|ultimas|past|last)\s+{_UNIT}", read_last_count, 1),
        (rf"(?:in|over|during|within)\s+the\s+(?:last|past)\s+{_UNIT}", read_last_count, 1),
        (rf"{_COUNT}\s+{_UNIT}\s+(?:ago|geleden|atras)\b", read_ago, 1),
        (rf"hace\s+{_COUNT}\s+{_UNIT}", read_ago, 1),
        (r"(?:day\s+before\s+yesterday|anteayer|eergisteren)\b", near_day(-2), 1),
        (r"(?:yesterday|ayer|gisteren)\b", near_day(-1), 1),
        (r"(?:today|hoy|vandaag)\b", near_day(0), 0.7),
        (r"(?:tomorrow|(?<!la\s)manana)\b", near_day(1), 0.6),
        (rf"{_THIS}\s+{_UNIT}", relative(0), 1),
        (rf"{_ARTICLE}(?:last|previous|vorige?|afgelopen|(?:el|la)\s+(?:pasado|pasada|ultimo|ultima))\s+{_UNIT}",
         relative(-1), 1),
        (rf"(?:el|la|del)\s+{_UNIT}\s+(?:pasado|pasada|anterior)\b", relative(-1), 1),
        (rf"{_ARTICLE}{_NEXT}\s+{_UNIT}", relative(1), 1),
        (rf"(?:el|la|del)\s+{_UNIT}\s+que\s+viene\b", relative(1), 1),
        (rf"(?:(?P<past>last|vorige|afgelopen|el\s+pasado)|this|este|deze|afgelopen)\s+{_MONTH}"
         rf"(?!\s*(?:\d|{_OF}\d{{4}}))", read_named_month, 1),
        (rf"(?:(?:the\s+year|in\s+the\s+year|el\s+ano|del\s+ano|ano|het\s+jaar|jaar|year)\s+)?{_YEAR}"
         r"(?![.,]\d|\s?%|-?[a-z])", read_year, 0.9),
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


_MOST_ATOMS = 150


def find_atoms(text: str, known: Known, taken: list[tuple[int, int]]) -> list[DateMention]:
    """Every single date in folded text, longest first where they overlap; bare years in `taken` are left out."""
    found: list[DateMention] = []
    for pattern, reader, score in _PATTERNS:
        for match in pattern.finditer(text):
            if (match.start() > 0 and text[match.start() - 1] in "$€£#") or not _stands_alone(text, match):
                continue
            bare_year = reader is read_year
            if bare_year and any(a < match.end() and match.start() < b for a, b in taken):
                continue
            interval = reader(match, known)
            if interval is None:
                continue
            before = text[max(0, match.start() - 40) : match.start()]
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
    found = found[:_MOST_ATOMS]
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
    before = text[max(0, match.start() - 40) : match.start()]
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
