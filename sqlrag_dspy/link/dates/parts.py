"""Date parts asked for by name: "by year", "per month", "welke weekdag", "on a Thursday", "at the weekend".

Leaves out dates themselves (dates.py) and which column is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlrag_dspy.link.calendar_words import WEEKDAYS, either
from sqlrag_dspy.link.text import ends_with, word_set


@dataclass(frozen=True)
class PartMention:
    """A part in folded text. `weekday` 1 (Monday) to 7, `until` the last of a range: days that restrict."""

    start: int
    end: int
    grain: str
    weekday: int | None = None
    until: int | None = None


_GRAINS = {
    "year": "year years yearly annual annually ano anos anual anualmente jaar jaren jaarlijks jaarlijkse",
    "quarter": "quarter quarters quarterly trimestre trimestres trimestral kwartaal kwartalen",
    "month": "month months monthly mes meses mensual mensualmente maand maanden maandelijks maandelijkse",
    "day": "day days daily dia dias diario diaria diariamente dag dagen dagelijks dagelijkse",
}
_GRAIN_OF = {word: grain for grain, listed in _GRAINS.items() for word in listed.split()}
_ALONE = word_set(
    "yearly annual annually anual anualmente jaarlijks jaarlijkse quarterly trimestral monthly mensual mensualmente "
    "maandelijks maandelijkse daily diario diaria diariamente dagelijks dagelijkse"
)
_WEEKDAY = (
    r"day\s+of\s+(?:the\s+)?week|days\s+of\s+the\s+week|weekdays?|dias?\s+de\s+la\s+semana|dag(?:en)?\s+van\s+de\s+week|"
    r"weekdag(?:en)?"
)
_ASKING = (
    r"by|per|each|every|which|what|whose|por|cada|segun|que|cual|cuales|en\s+que|elk|elke|ieder|iedere|welk|welke|wat\s+voor|"
    r"naar|grouped\s+by|broken\s+down\s+by|across|in\s+which|in\s+what|over\s+the|different|distinct|and|y|en|"
    r"busiest|best|worst|peak|top|its|their|the\s+(?:best|busiest|first|last)"
)
_LOOSE = ("and", "y", "en", "over the", "its", "their", "que", "what")
_NAMED = re.compile(
    rf"(?<!\w)(?:(?P<ask>{_ASKING})\s+(?:the\s+|el\s+|la\s+|de\s+|los\s+)?(?:calendar\s+|natural\s+|publication\s+)?)"
    rf"(?P<part>{_WEEKDAY}|{either(_GRAIN_OF)})(?!\w)(?!\s+\d)"
)
_SINGLE = re.compile(rf"(?<!\w)(?P<part>{_WEEKDAY}|{either(_ALONE)})(?!\w)")
_DAY_NAMES = re.compile(rf"(?<!\w)(?P<day>{either(WEEKDAYS)})(?!\w)")
_WEEKEND = re.compile(r"(?<!\w)(?:weekends?|fin(?:es)?\s+de\s+semana|weekenden)(?!\w)")
_WORKDAYS = re.compile(
    r"(?<!\w)(?:working\s+days?|business\s+days?|dias?\s+laborables?|werkdagen|doordeweeks)(?!\w)"
)
_ON = re.compile(
    r"(?:\bon|\ban?|\bop|\blos|\bel|\bun|\been|\bevery|\beach|\bcada|\belke|\ball|\bde|\band|\by|\ben|\bor)\s+(?:een\s+|a\s+)?$"
)
_LEAD = re.compile(r"\b(?:by|per|each|every|por|cada|segun|elk|elke|ieder|iedere|naar)\b")


def find_parts(text: str, dates: Iterable[tuple[int, int]]) -> list[PartMention]:
    """Every date part named in folded text, in order, outside the spans of dates."""
    busy = list(dates)

    def is_free(start: int, end: int) -> bool:
        return not any(start < b and a < end for a, b in busy)

    found: list[PartMention] = []
    led = [m.end() for m in _LEAD.finditer(text)]
    for match in _NAMED.finditer(text):
        ask = re.sub(r"\s+", " ", match["ask"])
        if ask in ("and", "y", "en") and not any(e <= match.start() for e in led):
            continue
        start = match.start("part") if ask in _LOOSE or ask in ("and", "y", "en") else match.start()
        if is_free(match.start("part"), match.end()):
            found.append(PartMention(start, match.end(), _grain(match["part"])))
            busy.append((start, match.end()))
    for match in _SINGLE.finditer(text):
        if is_free(*match.span()):
            found.append(PartMention(match.start(), match.end(), _grain(match["part"])))
            busy.append(match.span())
    for match in _WEEKEND.finditer(text):
        if is_free(*match.span()):
            found.append(PartMention(match.start(), match.end(), "weekday", 6, 7))
            busy.append(match.span())
    for match in _WORKDAYS.finditer(text):
        if is_free(*match.span()):
            found.append(PartMention(match.start(), match.end(), "weekday", 1, 5))
    for match in _DAY_NAMES.finditer(text):
        if is_free(*match.span()) and ends_with(_ON, text, match.start()):
            found.append(PartMention(match.start(), match.end(), "weekday", WEEKDAYS[match["day"]]))
    return sorted(found, key=lambda p: p.start)


def _grain(part: str) -> str:
    return _GRAIN_OF.get(part, "weekday")
