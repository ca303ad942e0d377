"""Numbers and comparisons as people write them in English, Spanish and Dutch.

Comparators before ("at least"), after ("or more", "+") and around ("between 3 and 5") single numerals (numerals.py).
Leaves out dates, fractions, times and codes; which column is meant is for amounts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from sqlrag_dspy.link.calendar_words import either
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.numbers.numerals import Numeral, find_numerals
from sqlrag_dspy.link.text import ends_with, word_set


@dataclass(frozen=True)
class NumberMention:
    """A number in folded text, its comparator included in the span.

    `number_end` is where the digits end (a unit may follow), `number_start` where they begin. `concept` is set by a
    comparative ("longer than"). `is_firm`: nothing about it suggests a year.
    """

    start: int
    end: int
    number_start: int
    number_end: int
    value: int | float
    upper: int | float | None = None
    op: str = ""
    concept: str = ""
    is_money: bool = False
    is_firm: bool = True
    is_label: bool = False
    is_average: bool = False
    """Compared with an average, not a number: `value` says nothing."""
    """An ordinal or the digits of a hyphenated word ("tier-2"): a number only beside the column it is of."""


_BETWEEN = re.compile(r"\b(between|from|entre|desde|de|tussen|van)\s+(?:the\s+|los\s+|las\s+|de\s+)?$")
_AND = re.compile(r"\s*(?:and|to|y|e|a|en|tot|tot\s+en\s+met|up\s+to|hasta|-)\s*")

_BEFORE: list[tuple[re.Pattern[str], str, bool]] = [
    (re.compile(rf"(?:{pattern})\s*(?:the\s+|about\s+|of\s+|de\s+|el\s+|los\s+|las\s+)?$"), op, firm)
    for pattern, op, firm in [
        (
            r"\b(?:at\s+least|(?:no|not)\s+(?:fewer|less)\s+than|(?:with\s+)?a?\s*minimum(?:\s+of)?|min\.?|al\s+menos|"
            r"por\s+lo\s+menos|como\s+minimo|(?:un\s+)?minimo(?:\s+de)?|no\s+menos\s+de|ten\s*minste|op\s+zijn\s+minst|"
            r"minstens|minimaal|minimum|niet\s+minder\s+dan|starting\s+at)|>=|=>|≥",
            ">=",
            True,
        ),
        (r"\b(?:vanaf|a\s+partir\s+de|since)", ">=", False),
        (
            r"\b(?:at\s+most|(?:no|not)\s+(?:more|over|longer|higher|greater)\s+than|(?:a\s+)?maximum(?:\s+of)?|max\.?|"
            r"as\s+much\s+as|not\s+exceeding|como\s+mucho|a\s+lo\s+sumo|como\s+maximo|(?:un\s+)?maximo(?:\s+de)?|"
            r"no\s+mas\s+de|hoogstens|maximaal|hooguit|ten\s+hoogste|niet\s+meer\s+dan|niet\s+langer\s+dan)|<=|=<|≤",
            "<=",
            True,
        ),
        (r"\b(?:up\s+to|until|hasta|tot|tot\s+en\s+met)", "<=", False),
        (
            r"\b(?:more\s+than|greater\s+than|larger\s+than|bigger\s+than|higher\s+than|above|over|exceed(?:s|ing)?|"
            r"upwards\s+of|beyond|(?:run|runs|go|goes)\s+past|in\s+excess\s+of|north\s+of|mas\s+de|mas\s+que|mayor(?:es)?\s+(?:de|que|a)|"
            r"superior(?:es)?\s+a|superan?|superando|por\s+encima\s+de|por\s+arriba\s+de|meer\s+dan|groter\s+dan|hoger\s+dan|boven)"
            r"(?:\s+de)?",
            ">",
            True,
        ),
        (r">", ">", False),
        (
            r"\b(?:less\s+than|fewer\s+than|under|below|smaller\s+than|lower\s+than|beneath|menos\s+de|menos\s+que|"
            r"menor(?:es)?\s+(?:de|que|a)|inferior(?:es)?\s+a|por\s+debajo\s+de|minder\s+dan|kleiner\s+dan|lager\s+dan|"
            r"onder|beneden)(?:\s+de)?",
            "<",
            True,
        ),
        (r"<", "<", False),
        (
            r"\b(?:exactly|precisely|equal\s+to|equals|is\s+exactly|exactamente|igual\s+a|justo|precies|exact|gelijk\s+aan)",
            "=",
            True,
        ),
        (r"(?<![<>])=", "=", False),
    ]
]
_AFTER: list[tuple[re.Pattern[str], str]] = [
    (
        re.compile(
            r"(?:\s+[^\W\d]+){0,2}?\s+(?:(?:or|and)\s+(?:more|over|above|higher|up|longer|greater|upwards)|[oy]\s+mas|"
            r"o\s+superior(?:es)?|en\s+adelante|(?:of|en)\s+(?:meer|hoger|langer|groter)|plus)\b"
        ),
        ">=",
    ),
    (
        re.compile(
            r"(?:\s+[^\W\d]+){0,2}?\s+(?:(?:or|and)\s+(?:less|fewer|under|below|lower|shorter|smaller)|[oy]\s+menos|"
            r"o\s+inferior(?:es)?|(?:of|en)\s+(?:minder|lager|korter|kleiner)|max(?:imum)?|maximo|tops)\b"
        ),
        "<=",
    ),
]


_AVERAGE = re.compile(
    r"(?:(?<=\w)-|(?<=\bde)l\s+|(?<=\ba)l\s+|(?<![\w-]))(?:(?:the|la|el|het)\s+)?(?:(?:overall|general|global|mean)\s+)?"
    r"(?P<said>average|mean|media|promedio|gemiddelden?|gemiddeld)(?!\w)"
)
_AVERAGES = ("average", "mean", "media", "promedio", "gemiddeld")
_COMPOUND_AVERAGE = re.compile(r"(?<!\w)(?P<side>boven|beneden|onder)gemiddelde?(?!\w)")
_BEATING = re.compile(r"\b(?:beat(?:s|ing)?|outdo(?:es)?)\s*$")
_MORE = word_set("more higher greater larger bigger mas mayor meer hoger groter")
_LESS = word_set("fewer less lower smaller menos menor minder lager kleiner")
_OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">"}
_NOTHING = re.compile(
    r"\b(?:nothing|none|never|not|isn't|aren't|nada|ninguno|ninguna|nunca|no|niets|nooit|niet|geen)\s+"
    r"(?:is\s+|are\s+|of\s+|que\s+sea\s+|sea\s+|sean\s+)?$"
)


@cache
def _comparatives() -> re.Pattern[str]:
    """ "longer than", "más largos que", "korter dan", from the adjectives of the glossary."""
    return re.compile(rf"\b({either(load().adjectives)})\s+(?:than|que|de|dan)\s+(?:the\s+|de\s+|los\s+)?$")


@cache
def _apart() -> re.Pattern[str]:
    """ "more words than", "langer zijn dan": what stands between stays a link of its own."""
    words = either({*load().adjectives, *_MORE, *_LESS})
    return re.compile(rf"\b(?P<word>{words})(?:\s+[^\W\d]+){{1,3}}\s+(?P<than>than|que|dan)\s*$")


def find_numbers(text: str, languages: frozenset[str]) -> list[NumberMention]:
    """Every number of a folded text, in order and not overlapping."""
    numerals = find_numerals(text, languages)
    found: list[NumberMention] = []
    place = 0
    while place < len(numerals):
        first = numerals[place]
        second = numerals[place + 1] if place + 1 < len(numerals) else None
        if second is not None and (pair := _between(text, first, second)) is not None:
            found.append(pair)
            place += 2
            continue
        mention = _compared(text, first, languages)
        if mention is not None:
            found.append(mention)
        place += 1
    averages = [
        m for m in _averages(text, languages) if not any(m.start < n.end and n.start < m.end for n in found)
    ]
    return sorted([*found, *averages], key=lambda mention: mention.start)


def _averages(text: str, languages: frozenset[str]) -> Iterable[NumberMention]:
    """Averages that something is compared with: "longer than average", "por encima de la media"."""
    if not any(word in text for word in _AVERAGES):
        return
    for match in _COMPOUND_AVERAGE.finditer(text):
        op = ">" if match["side"] == "boven" else "<"
        yield NumberMention(*match.span(), *match.span(), 0, op=op, is_average=True)
    for match in _AVERAGE.finditer(text):
        if match["said"] == "media" and "es" not in languages:
            continue
        start, end = match.span()
        numeral = Numeral(start, end, 0, False, False, False, False)
        mention = _compared(text, numeral, languages)
        if mention is not None and mention.op:
            yield replace(mention, is_average=True)
        elif _BEATING.search(text, max(0, start - 20), start):
            yield NumberMention(start, end, start, end, 0, op=">", is_average=True)
        elif apart := ends_with(_apart(), text, start):
            word = re.sub(r"\s+", " ", apart["word"])
            measured = [a for a in load().adjectives.get(word, ()) if a.concept != "recency"]
            is_more = measured[0].end == "max" if measured else word in _MORE
            yield NumberMention(
                apart.start("than"),
                end,
                start,
                end,
                0,
                op=">" if is_more else "<",
                concept=measured[0].concept if measured else "",
                is_average=True,
            )


def _between(text: str, first: Numeral, second: Numeral) -> NumberMention | None:
    gap = text[first.end : second.start]
    link = _AND.fullmatch(gap)
    if link is None or first.value >= second.value:
        return None
    opener = ends_with(_BETWEEN, text, first.start)
    how = gap.strip()
    if how in ("and", "y", "e", "en", "a") and opener is None:
        return None
    if (
        how in ("and", "y", "e", "en")
        and opener is not None
        and opener[1] not in ("between", "entre", "tussen")
    ):
        return None
    start = opener.start(1) if opener else first.start
    lower = first.value
    if (
        second.value >= 1000
        and lower < 1000
        and re.search(r"[km]|thousand|million", text[second.start : second.end])
    ):
        scale = 1_000_000 if re.search(r"m", text[second.start : second.end]) else 1000
        lower = lower * scale if second.value / scale > lower else lower
    firm = not (first.could_be_year and second.could_be_year)
    money = first.is_money or second.is_money
    return NumberMention(
        start, second.end, first.start, second.end, lower, second.value, "between", "", money, firm
    )


def _compared(text: str, numeral: Numeral, languages: frozenset[str]) -> NumberMention | None:
    if numeral.is_label:
        return NumberMention(
            numeral.start, numeral.end, numeral.start, numeral.end, numeral.value, op="=", is_label=True
        )
    start, op, concept, firm = numeral.start, "", "", not numeral.could_be_year
    for pattern, sign, is_firm in _BEFORE:
        match = ends_with(pattern, text, numeral.start)
        if match is None:
            continue
        if match.group().strip() == "over" and "en" not in languages:
            continue
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        op, firm = sign, firm or is_firm
        break
    if not op and (comparative := ends_with(_comparatives(), text, numeral.start)):
        adjectives = [
            a for a in load().adjectives[re.sub(r"\s+", " ", comparative[1])] if a.concept != "recency"
        ]
        if adjectives:
            start, op, concept = (
                comparative.start(),
                ">" if adjectives[0].end == "max" else "<",
                adjectives[0].concept,
            )
            firm = firm or adjectives[0].concept != "age"
    if not op:
        if numeral.has_plus:
            op, firm = ">=", True
        else:
            for pattern, sign in _AFTER:
                if pattern.match(text, numeral.end):
                    op = sign
                    break
    if op in _OPPOSITE and (denied := ends_with(_NOTHING, text, start)):
        start, op = denied.start(), _OPPOSITE[op]  # "nothing shorter than 500 words"
    if numeral.is_weak and not op:
        return None
    return NumberMention(
        start,
        numeral.end,
        numeral.start,
        numeral.end,
        numeral.value,
        None,
        op,
        concept,
        numeral.is_money,
        firm,
    )
