"""Stretches of consecutive words and the signs around them that a stored value is meant.

Quotes, capitals, "by", a table or column named beside it, a preposition of place. Leaves out the values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlrag_dspy.link.text import STOPS, Folded, Word, word_set


@dataclass(frozen=True)
class Window:
    """Consecutive words of the question and the signs around them."""

    words: tuple[Word, ...]
    is_quoted: bool
    is_named: bool
    """Something before or after it says that a person follows: "by", "'s"."""
    is_capital: bool
    is_supported: bool
    """A table or column word stands beside it, or a preposition that places things in categories."""
    is_place: bool
    """ "in", "at" or the like before it: a place rather than a person."""
    is_hyphenated: bool
    """Only a part of a hyphenated word."""

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def end(self) -> int:
        return self.words[-1].end

    @property
    def letters(self) -> str:
        return "".join(w.text for w in self.words)


_BEFORE_PERSON = word_set(
    "by from author authors writer writers journalist reporter named called mr mrs ms dr por autor autora de del "
    "van door auteur schrijver schreef wrote written escribio publico firmado door did does has have"
)
_PLACES = word_set(
    "in en bij under as is are was were be being still status state category section topic type kind son esta "
    "estan staan staat zijn not no niet geen nor ni noch categorie rubriek seccion categoria estado only solo alleen"
)
_OF = word_set("de del of van from about on sobre over the los las el la the het and or y o u en of")
_VIA = word_set("via through por mediante per")
_AT = word_set("in at near en te naar to inside around bij")
_ONES = word_set("one ones only trends trend news stuff things section desk nieuws noticias tendencias")


def look_at(
    folded: Folded, words: list[Word], first: int, count: int, quotes: list[tuple[int, int]], names: set[int]
) -> Window:
    """The window of `count` words from number `first` on; `names` are places of words that name something."""
    run = tuple(words[first : first + count])
    start, end = run[0].start, run[-1].end
    before = words[first - 1].text if first else ""
    after = folded.text[end : end + 2]
    is_named = before in _BEFORE_PERSON or after == "'s"
    is_quoted = any(a <= start and end <= b for a, b in quotes)
    sentence_start = first == 0 or bool(re.search(r"[.?!¿¡:]\s*$", folded.text[max(0, start - 4) : start]))
    is_capital = all(w.is_capital or w.text in STOPS for w in run) and not (count == 1 and sentence_start)
    following = words[first + count].text if first + count < len(words) else ""
    beside = first - 1 in names or first + count in names or following in _ONES
    beside = beside or (before in _OF and first - 2 in names)
    beside = beside or before in _VIA or (before in _OF and first > 1 and words[first - 2].text in _VIA)
    at_place = before in _AT and not is_quoted and not is_named
    hyphenated = folded.text[max(0, start - 1) : start] == "-" or folded.text[end : end + 1] == "-"
    hyphenated = hyphenated and folded.text[max(0, start - 4) : start] != "non-"
    return Window(run, is_quoted, is_named, is_capital, beside or before in _PLACES, at_place, hyphenated)


_QUOTES = re.compile(r"\"([^\"]{2,200})\"|(?<!\w)'((?:[^']|(?<=\w)'(?=\w)){2,200})'(?!\w)")


def quoted(text: str) -> list[tuple[int, int]]:
    """Spans inside quotation marks, blanks at either end left out."""
    spans = []
    for match in _QUOTES.finditer(text):
        inside = match.group(1) or match.group(2)
        start = match.start() + 1 + len(inside) - len(inside.lstrip())
        spans.append((start, start + len(inside.strip())))
    return [(start, end) for start, end in spans if start < end]
