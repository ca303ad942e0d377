"""Numbers and comparisons as people write them in English, Spanish and Dutch.

Reads digits with either thousands mark, "1.5 million", "€200k", "a thousand", "vijfentwintig"; comparators before
("at least"), after ("or more", "+") and around ("between 3 and 5"). Leaves out dates, fractions, times and codes;
which column is meant is for the linker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sqlrag_dspy.link.calendar_words import ORDINALS, either
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.text import word_set


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
    """An ordinal or the digits of a hyphenated word ("tier-2"): a number only beside the column it is of."""


@dataclass(frozen=True)
class _Numeral:
    start: int
    end: int
    value: int | float
    could_be_year: bool
    is_money: bool
    has_plus: bool
    is_weak: bool
    """ "one", "a", "un": a number only beside a comparator."""
    is_label: bool = False


_SCALES = {
    **dict.fromkeys(("k", "thousand", "mil", "duizend"), 1_000),
    **dict.fromkeys(("m", "mn", "mln", "million", "millions", "millon", "millones", "miljoen"), 1_000_000),
    **dict.fromkeys(("bn", "billion", "billions", "miljard", "mld"), 1_000_000_000),
    **dict.fromkeys(("hundred", "honderd"), 100),
    **dict.fromkeys(("dozen", "docena", "docenas", "dozijn"), 12),
}
_MONEY = r"eur\b|euros?\b|euro's|usd\b|dollars?\b|dolares\b|gbp\b|pounds?\b|libras?\b|pond\b"
_DIGITS = re.compile(
    r"(?<![\w.,:/-])(?P<cur>[$€£]\s?)?(?P<sign>(?<!\w)-)?(?P<num>\d{1,3}(?:[.,' ]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?:(?P<short>k|m|mn|mln|bn|mld)\b|\s?(?P<scale>thousand|mil|duizend|millions?|millon|millones|miljoen|billions?|"
    r"miljard|hundred|honderd|dozen)\b|(?!\w))(?P<plus>\+)?(?P<cur2>\s?(?:[$€£]|"
    + _MONEY
    + r"))?(?![:/]\d|\.\d)"
)
_RANGE_DIGITS = re.compile(
    r"(?<![\w.,:/-])(?P<cur>[$€£]\s?)?(?P<a>\d+(?:[.,]\d+)*)(?P<short>k?)\s?-\s?[$€£]?(?P<b>\d+(?:[.,]\d+)*)(?P<short2>k?)(?![\w/-]|[.,]\d)"
)


_LABELS = re.compile(
    rf"(?<=[a-z]-)(?P<digits>\d{{1,3}})(?![\w.-])|(?<![\w-])(?P<word>{either(ORDINALS)})(?![\w-])"
)


_ONE_UNIT = re.compile(
    r"(?<!\w)(?:an?|una?|een)(?=\s+(?:hour|hora|uur|minute|minuto|minuut|day|dia|dag|week|semana|met(?:re|er|ro)|kilo|"
    r"kilomet(?:re|er|ro)|litre|liter|litro)\b)"
)


def _listed(text: str, start: int) -> dict[str, int]:
    return {word: number for number, group in enumerate(text.split("/"), start) for word in group.split()}


_UNITS = _listed(
    "one uno una un een/two dos twee/three tres drie/four cuatro vier/five cinco vijf/six seis zes/seven siete zeven/"
    "eight ocho acht/nine nueve negen/ten diez tien/eleven once elf/twelve doce twaalf/thirteen trece dertien/"
    "fourteen catorce veertien/fifteen quince vijftien/sixteen dieciseis zestien/seventeen diecisiete zeventien/"
    "eighteen dieciocho achttien/nineteen diecinueve negentien",
    1,
)
_TENS = {
    word: 10 * number
    for word, number in _listed(
        "twenty veinte twintig/thirty treinta dertig/forty cuarenta veertig/fifty cincuenta vijftig/sixty sesenta zestig/"
        "seventy setenta zeventig/eighty ochenta tachtig/ninety noventa negentig",
        2,
    ).items()
}
_HUNDREDS = {
    word: 100 * number
    for word, number in _listed(
        "cien ciento/doscientos doscientas tweehonderd/trescientos trescientas driehonderd/cuatrocientos cuatrocientas "
        "vierhonderd/quinientos quinientas vijfhonderd/seiscientos seiscientas zeshonderd/setecientos setecientas "
        "zevenhonderd/ochocientos ochocientas achthonderd/novecientos novecientas negenhonderd",
        1,
    ).items()
}


@cache
def _number_words() -> dict[str, int]:
    found = _UNITS | _TENS | _HUNDREDS
    dutch = ["een", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen"]
    for tens_word, tens in _TENS.items():
        if tens_word.endswith("tig"):
            for number, unit in enumerate(dutch, 1):
                found[f"{unit}en{tens_word}"] = tens + number
    spanish = ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"]
    found |= {f"veinti{unit}": 20 + number for number, unit in enumerate(spanish, 1)}
    found |= {f"{unit}duizend": 1000 * number for number, unit in enumerate(dutch, 1) if number > 1}
    found["vijftienhonderd"] = 1500
    return found


@cache
def _words_pattern() -> re.Pattern[str]:
    scales = [s for s in _SCALES if len(s) > 2 and s not in ("mln", "mld")]
    word = rf"(?:{either([*_number_words(), *scales])})"
    return re.compile(
        rf"(?<![\w-])(?:(?:half\s+)?an?\s+)?{word}(?:(?:\s+|-)(?:(?:and|y|en)\s+)?{word})*(?![\w])"
    )


_WEAK = word_set("one uno una un een a an")

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


_OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">"}
_NOTHING = re.compile(
    r"\b(?:nothing|none|never|not|isn't|aren't|nada|ninguno|ninguna|nunca|no|niets|nooit|niet|geen)\s+"
    r"(?:is\s+|are\s+|of\s+|que\s+sea\s+|sea\s+|sean\s+)?$"
)


@cache
def _comparatives() -> re.Pattern[str]:
    """ "longer than", "más largos que", "korter dan", from the adjectives of the glossary."""
    return re.compile(rf"\b({either(load().adjectives)})\s+(?:than|que|de|dan)\s+(?:the\s+|de\s+|los\s+)?$")


def find_numbers(text: str, languages: frozenset[str]) -> list[NumberMention]:
    """Every number of a folded text, in order and not overlapping."""
    numerals = _numerals(text, languages)
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
    return found


def _numerals(text: str, languages: frozenset[str]) -> list[_Numeral]:
    found: list[_Numeral] = []
    for match in _RANGE_DIGITS.finditer(text):
        a, b = (
            _value(match[g], languages, scaled=bool(match[k])) for g, k in (("a", "short"), ("b", "short2"))
        )
        scale_b = 1000 if match["short2"] else 1
        scale_a = 1000 if match["short"] or (match["short2"] and a < b) else 1
        if a * scale_a >= b * scale_b:
            continue
        money = bool(match["cur"])
        year = _looks_like_year(match["a"]) and _looks_like_year(match["b"]) and not money
        found.append(_Numeral(match.start(), match.end("short"), a * scale_a, year, money, False, False))
        found.append(_Numeral(match.start("b"), match.end(), b * scale_b, year, money, False, False))
    for match in _DIGITS.finditer(text):
        if any(match.start() < n.end and n.start < match.end() for n in found):
            continue
        scale = match["short"] or match["scale"]
        value = _value(match["num"], languages, scaled=bool(scale))
        if scale:
            value = _tidy(value * _SCALES[scale])
        money = bool(match["cur"] or match["cur2"])
        end = (
            match.end("plus") if match["plus"] else match.end("scale") if match["scale"] else match.end("num")
        )
        if match["short"]:
            end = max(end, match.end("short"))
        if match["cur2"] and match["cur2"].strip() in "$€£":
            end = match.end("cur2")
        year = not scale and not money and not match["plus"] and _looks_like_year(match["num"])
        found.append(
            _Numeral(
                match.start(),
                end,
                -value if match["sign"] else value,
                year,
                money,
                bool(match["plus"]),
                False,
            )
        )
    for match in _words_pattern().finditer(text):
        if any(match.start() < n.end and n.start < match.end() for n in found):
            continue
        if match.group() == "once" and "es" not in languages:
            continue
        value_of_words = _value_of_words(match.group())
        if value_of_words is not None:
            weak = _WEAK.issuperset(match.group().split())
            found.append(_Numeral(match.start(), match.end(), value_of_words, False, False, False, weak))
    for match in _ONE_UNIT.finditer(text):
        if not any(match.start() < n.end and n.start < match.end() for n in found):
            found.append(_Numeral(match.start(), match.end(), 1, False, False, False, True))
    for match in _LABELS.finditer(text):
        if not any(match.start() < n.end and n.start < match.end() for n in found):
            value = ORDINALS[match["word"]] if match["word"] else int(match["digits"])
            found.append(_Numeral(match.start(), match.end(), value, False, False, False, False, True))
    return sorted(found, key=lambda n: n.start)


def _looks_like_year(digits: str) -> bool:
    return bool(re.fullmatch(r"(?:1\d|2[01])\d\d", digits))


def _tidy(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _value(digits: str, languages: frozenset[str], *, scaled: bool) -> int | float:
    """Digits with marks to a number: a mark before exactly three digits separates thousands, as a rule."""
    marks = [c for c in digits if not c.isdigit()]
    if not marks:
        return int(digits[:300])
    if len(set(marks)) > 1:
        return _tidy(float(re.sub(rf"[^\d{re.escape(marks[-1])}]", "", digits).replace(marks[-1], ".")))
    mark, tail = marks[0], digits.rsplit(marks[0], 1)[1]
    is_thousands = (
        len(marks) > 1 or mark in " '" or (len(tail) == 3 and not scaled and not digits.startswith("0"))
    )
    if is_thousands and len(marks) == 1 and mark == "." and languages == frozenset({"en"}) and tail != "000":
        is_thousands = False
    if is_thousands:
        return int(re.sub(r"\D", "", digits)[:300])
    return _tidy(float(digits.replace(mark, ".")))


def _value_of_words(text: str) -> int | float | None:
    total: float = 0
    current: float = 0
    seen = False
    for word in re.split(r"[\s-]+", text):
        if word == "half":
            current, seen = 0.5, True
        elif word in ("a", "an", "and", "y", "en"):
            continue
        elif word in _SCALES:
            seen = True
            if _SCALES[word] in (100, 12):
                current = (current or 1) * _SCALES[word]
            else:
                total += (current or 1) * _SCALES[word]
                current = 0
        elif word in _number_words():
            seen = True
            current += _number_words()[word]
        else:
            return None
    return _tidy(total + current) if seen else None


def _between(text: str, first: _Numeral, second: _Numeral) -> NumberMention | None:
    gap = text[first.end : second.start]
    link = _AND.fullmatch(gap)
    if link is None or first.value >= second.value:
        return None
    opener = _BETWEEN.search(text[: first.start])
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


def _compared(text: str, numeral: _Numeral, languages: frozenset[str]) -> NumberMention | None:
    before, after = text[: numeral.start], text[numeral.end :]
    if numeral.is_label:
        return NumberMention(
            numeral.start, numeral.end, numeral.start, numeral.end, numeral.value, op="=", is_label=True
        )
    start, op, concept, firm = numeral.start, "", "", not numeral.could_be_year
    for pattern, sign, is_firm in _BEFORE:
        match = pattern.search(before)
        if match is None:
            continue
        if match.group().strip() == "over" and "en" not in languages:
            continue
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        op, firm = sign, firm or is_firm
        break
    if not op and (comparative := _comparatives().search(before)):
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
                if pattern.match(after):
                    op = sign
                    break
    if op in _OPPOSITE and (denied := _NOTHING.search(text[:start])):
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
