"""Dates as people write them in English, Spanish and Dutch, read as half-open intervals.

Single dates come from atoms.py; here pairs become ranges ("between March and May 2023"), ends open
("since", "before") and missing years are settled. Leaves out times of day, vague parts ("early 2023") and
feasts; which column is meant is for the linker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from rapidfuzz.distance import OSA

from sqlrag_dspy.link.calendar_words import MONTHS
from sqlrag_dspy.link.dates.atoms import find_atoms
from sqlrag_dspy.link.dates.intervals import Interval, move_months
from sqlrag_dspy.link.dates.readers import DateMention, Known
from sqlrag_dspy.link.text import Folded, ends_with, is_ordinary, words

_RANGE_OPEN = re.compile(
    r"\b(between|from|entre|desde|de|del|tussen|van|vanaf|dated|vanaf)\s+(?:the\s+|el\s+|de\s+|la\s+|mid\s+)?$"
)
_RANGE_LINK = re.compile(
    r"\s*(-|to|and|until|till|through|thru|up\s+to|up\s+until|al?|y|e|hasta|tot|tot\s+en\s+met|t/m|tm|en|tot\s+aan)"
    r"\s*(?:the\s+|el\s+|la\s+|de\s+|end\s+of\s+|the\s+end\s+of\s+)?"
)
_LIST_LINK = re.compile(r"\s*(?:,|and|or|y|o|u|en|of|&|versus|vs|against|with|than|\s|in|de)+\s*")

_OPENERS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(rf"(?:{pattern})\s+(?:the\s+|el\s+|la\s+|de\s+|het\s+|del\s+|end\s+of\s+)?$"), kind)
    for pattern, kind in [
        (
            r"\b(?:no\s+later\s+than|not\s+later\s+than|not\s+after|on\s+or\s+before|up\s+to(?:\s+and\s+including)?|"
            r"up\s+until|until|till|thru|through|by|a\s+mas\s+tardar(?:\s+en)?|no\s+despues\s+de|hasta|tot\s+en\s+met|"
            r"t/m|tot|uiterlijk|niet\s+later\s+dan|niet\s+na)",
            "until",
        ),
        (
            r"\b(?:no\s+earlier\s+than|not\s+earlier\s+than|not\s+before|on\s+or\s+after|since|as\s+of|as\s+from|"
            r"starting(?:\s+(?:in|from|on))?|beginning(?:\s+(?:in|from))?|desde|a\s+partir\s+de|a\s+partir\s+del|"
            r"sinds|vanaf|niet\s+eerder\s+dan|niet\s+voor|no\s+antes\s+de)(?:\s+(?:in|on|van))?",
            "since",
        ),
        (
            r"\b(?:before|prior\s+to|earlier\s+than|older\s+than|pre|antes\s+de|antes\s+del|anterior(?:es)?\s+al?|"
            r"previos?\s+al?|mas\s+antigu[oa]s?\s+(?:que|de)|voor|eerder\s+dan|ouder\s+dan|voorafgaand\s+aan)",
            "before",
        ),
        (
            r"\b(?:after|later\s+than|newer\s+than|more\s+recent\s+than|following|posterior(?:es)?\s+al?|despues\s+de|"
            r"despues\s+del|mas\s+recientes?\s+(?:que|de)|tras|pasado|na|later\s+dan|nieuwer\s+dan|recenter\s+dan)",
            "after",
        ),
    ]
]
_FROM = re.compile(r"\b(?:from|van)\s+(?:the\s+)?$")
_CLOSERS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), kind)
    for pattern, kind in [
        (
            r"\s*,?\s*(?:(?:and|or)\s+(?:later|newer|onwards?|(?:after|since)(?=\s*(?:[,.?!;:)]|$)))|onwards?|on(?=\s*(?:[,.?!;:]|$))|forward|upwards?|"
            r"en\s+adelante|o\s+(?:despues|posterior(?:es)?|mas\s+tarde)|(?:en|of)\s+(?:later|daarna)|te\s+rekenen)\b",
            "since",
        ),
        (
            r"\s*,?\s*(?:(?:and|or)\s+(?:earlier|older|before(?=\s*(?:[,.?!;:)]|$)))|o\s+(?:antes(?!\s+d)|anterior(?:es)?(?!\s+a))|(?:en|of)\s+"
            r"(?:eerder|daarvoor|vroeger))\b",
            "until",
        ),
    ]
]
_NOT = re.compile(
    r"\b(?:not|except|excluding|without|no|sin|excepto|salvo|menos|niet|behalve|zonder|outside|outside\s+of|fuera\s+de|"
    r"buiten|other\s+than)\s+(?:in\s+|en\s+|from\s+|de\s+|uit\s+|for\s+|during\s+|van\s+|sean\s+de\s+)?$"
)


def find_dates(folded: Folded, known: Known, taken: Iterable[tuple[int, int]] = ()) -> list[DateMention]:
    """Every date mentioned, in order and not overlapping; bare years inside `taken` spans are left out."""
    mended = _mend_months(folded)  # its places lead to those of the folded text, not of the original
    text = mended.text
    atoms = find_atoms(text, known, list(taken))
    mentions: list[DateMention] = []
    place = 0
    while place < len(atoms):
        first = atoms[place]
        merged = _join_range(text, first, atoms[place + 1]) if place + 1 < len(atoms) else None
        if merged is not None:
            place += 2
            mentions.append(merged)
            continue
        mentions.append(_open_end(text, first))
        place += 1
    mentions = [m for m in _inherit_years(text, mentions) if m.score > 0.3]
    return [replace(_settle(m, known), start=mended.at[m.start], end=mended.at[m.end]) for m in mentions]


def _mend_months(folded: Folded) -> Folded:
    """Misspelt months that stand beside a number are put right ("febuary 2023")."""
    listed = words(folded)
    changes = []
    for place, word in enumerate(listed):
        if len(word.text) < 5 or not word.text.isalpha() or word.text in MONTHS or is_ordinary(word.text):
            continue
        around = [w.text for w in listed[max(0, place - 2) : place] + listed[place + 1 : place + 3]]
        if not any(t[0].isdigit() for t in around):
            continue
        near = [m for m in MONTHS if len(m) >= 5 and OSA.distance(m, word.text, score_cutoff=1) == 1]
        if near:
            changes.append((word.start, word.end, near[0]))
    return Folded(folded.text, folded.text, range(len(folded.text) + 1)).replace(changes)


def _join_range(text: str, first: DateMention, second: DateMention) -> DateMention | None:
    link = _RANGE_LINK.fullmatch(text[first.end : second.start])
    if link is None:
        return None
    opener = ends_with(_RANGE_OPEN, text, first.start)
    how = re.sub(r"\s+", " ", link[1])
    if how in ("and", "y", "e", "en") and (opener is None or opener[1] not in ("between", "entre", "tussen")):
        return None
    a, b = first.interval, second.interval
    if a.needs_year and not b.needs_year and b.start is not None and a.start is not None:
        later = a.start.month > b.start.month
        a = a.in_year(b.start.year - (1 if later else 0))
    elif b.needs_year and not a.needs_year and a.start is not None and b.start is not None:
        b = b.in_year(a.start.year + (1 if b.start.month < a.start.month else 0))
    elif a.needs_year and b.needs_year and a.start is not None and b.start is not None and b.start < a.start:
        a = Interval(move_months(a.start, -12), move_months(a.end or a.start, -12), a.grain, True)
    if a.start is None or b.end is None or a.start >= b.end:
        return None
    start = opener.start(1) if opener else first.start
    negated = bool(ends_with(_NOT, text, start))
    score = max(first.score, second.score, 0.9)
    return DateMention(
        start, second.end, Interval(a.start, b.end, "range", a.needs_year), score, None, negated
    )


def _open_end(text: str, mention: DateMention) -> DateMention:
    """ "since June 2021", "2020 or later": one bound goes."""
    interval = mention.interval
    for pattern, kind in _CLOSERS:
        closer = pattern.match(text, mention.end)
        if closer:
            opener = ends_with(_FROM, text, mention.start) or ends_with(_OPENERS[1][0], text, mention.start)
            start = opener.start() if opener else mention.start
            return replace(
                mention,
                start=start,
                end=closer.end(),
                interval=_one_sided(interval, kind),
                bound=kind,
                score=1.0,
            )
    for pattern, kind in _OPENERS:
        opener = ends_with(pattern, text, mention.start)
        if opener:
            start = opener.start() + len(opener.group()) - len(opener.group().lstrip())
            return replace(
                mention,
                start=start,
                interval=_one_sided(interval, kind),
                bound=kind,
                score=max(mention.score, 0.95),
            )
    return replace(mention, is_negated=bool(ends_with(_NOT, text, mention.start)))


def _one_sided(interval: Interval, kind: str) -> Interval:
    start, end = {
        "since": (interval.start, None),
        "after": (interval.end, None),
        "before": (None, interval.start),
        "until": (None, interval.end),
    }[kind]
    return Interval(start, end, interval.grain, interval.needs_year)


def _inherit_years(text: str, mentions: list[DateMention]) -> list[DateMention]:
    """ "March and May 2023": a date without a year takes that of its neighbour in the list."""
    settled = list(mentions)
    order = [*range(len(settled) - 2, -1, -1), *range(1, len(settled))]
    for place in order:
        mention = settled[place]
        if not mention.interval.needs_year:
            continue
        for other in (place + 1, place - 1):
            if not 0 <= other < len(settled) or settled[other].interval.needs_year:
                continue
            left, right = settled[min(place, other)], settled[max(place, other)]
            between = text[left.end : right.start]
            year = settled[other].interval.start or settled[other].interval.end
            is_list = _LIST_LINK.fullmatch(between)
            if year is not None and (is_list or len(between.split()) <= 6):
                score = max(mention.score, 0.9) if is_list else mention.score
                settled[place] = replace(
                    mention, interval=_with_year(mention.interval, year.year), score=score
                )
                break
    return settled


def _with_year(interval: Interval, year: int) -> Interval:
    """A placeholder interval moved to a year, one-sided ones too."""
    anchor = interval.start or interval.end
    if not interval.needs_year or anchor is None:
        return interval
    shift = 12 * (year - 2024)
    start = move_months(interval.start, shift) if interval.start else None
    end = move_months(interval.end, shift) if interval.end else None
    return Interval(start, end, interval.grain)


def _settle(mention: DateMention, known: Known) -> DateMention:
    """A year for a date that names none: the latest year in which it begins within the data."""
    if not mention.interval.needs_year:
        return mention
    last = known.latest or known.today
    anchor = mention.interval.start or mention.interval.end
    year = last.year
    if anchor is not None:
        try:
            begins = anchor.replace(year=year)
        except ValueError:
            begins = date(year, anchor.month, 28)
        year -= begins > last and (known.earliest is None or known.earliest.year < year)
    return replace(mention, interval=_with_year(mention.interval, year), assumed_year=year)
