"""Places in an order: "second longest", "runner-up", "el segundo más largo", "op een na langste".

An ordinal is one only beside a word for most or least, since "the second report" counts something else. Leaves out
the first place, which is any superlative's, and what is ordered by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sqlrag_dspy.link.calendar_words import ORDINALS, either
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.text import word_set


@dataclass(frozen=True)
class RankMention:
    """A place in an order, 2 for the second, in folded text."""

    start: int
    end: int
    place: int


_MORE_ORDINALS = {
    word: number
    for number, line in enumerate(
        (
            "fifth 5th quinto quinta 5o 5a vijfde 5e 5de",
            "sixth 6th sexto sexta 6o 6a zesde 6e 6de",
            "seventh 7th septimo septima 7o 7a zevende 7e 7de",
            "eighth 8th octavo octava 8o 8a achtste 8e 8ste",
            "ninth 9th noveno novena 9o 9a negende 9e 9de",
            "tenth 10th decimo decima 10o 10a tiende 10e 10de",
        ),
        5,
    )
    for word in line.split()
}
_PLACES = {word: number for word, number in {**ORDINALS, **_MORE_ORDINALS}.items() if number > 1}
_STEPS = {"een": 2, "1": 2, "twee": 3, "2": 3, "drie": 4, "3": 4, "vier": 5, "4": 5}
_EXTREMES = word_set(
    "most least highest lowest largest smallest biggest greatest fewest best worst top "
    "mas menos mayor menor mejor peor "
    "meest minst meeste minste hoogste laagste grootste kleinste beste slechtste"
)
_NO_SUPERLATIVES = word_set(
    "interest request forest guest harvest protest contest manifest invest arrest conquest"
)
_RUNNER_UP = re.compile(r"(?<!\w)(?:the\s+)?runners?[\s-]+up(?!\w)")
_PLACED = re.compile(
    rf"(?<!\w)(?:(?:in|on)\s+)?(?:(?:the|el|de)\s+)?(?P<place>{either(_PLACES)})\s+(?:place|puesto|lugar|plaats|plek)(?!\w)"
)


@cache
def _extreme() -> str:
    """A word for most or least, in any of the languages: those of the glossary's adjectives among them."""
    superlatives = {phrase for phrase in load().adjectives if phrase.endswith(("st", "ste"))}
    return f"{either(superlatives | _EXTREMES)}|(?!{either(_NO_SUPERLATIVES)})[a-z]{{3,}}est|[a-z]{{4,}}ste"


@cache
def _ordinal() -> re.Pattern[str]:
    before = rf"(?<!\w)(?P<place>{either(_PLACES)})[\s-]+(?=(?:de\s+|het\s+)?(?:{_extreme()})(?!\w))"
    # Spanish puts the noun between: "la segunda pieza más cara"
    spanish = r"(?:mas|menos|mejor|peor|con\s+(?:mas|menos|mayor|menor))"
    around = rf"(?<!\w)(?P<place2>{either(_PLACES)})\s+(?=[^\W\d]+\s+{spanish}(?!\w))"
    dutch = rf"(?<!\w)op[\s-]+(?P<steps>{either(_STEPS)})[\s-]+na[\s-]+(?=(?:de\s+|het\s+)?(?:{_extreme()})(?!\w))"
    return re.compile(f"{before}|{around}|{dutch}")


def find_ranks(text: str) -> list[RankMention]:
    """Every place in an order that folded text names, in order and not overlapping."""
    found = [RankMention(*match.span(), 2) for match in _RUNNER_UP.finditer(text)]
    found += [RankMention(*match.span(), _PLACES[match["place"]]) for match in _PLACED.finditer(text)]
    for match in _ordinal().finditer(text):
        place = _STEPS[match["steps"]] if match["steps"] else _PLACES[match["place"] or match["place2"]]
        end = match.start() + len(match.group().rstrip(" -\t\n"))
        if not any(match.start() < each.end and each.start < end for each in found):
            found.append(RankMention(match.start(), end, place))
    return sorted(found, key=lambda each: each.start)
