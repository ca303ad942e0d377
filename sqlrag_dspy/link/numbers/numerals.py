"""Single numerals: digits with either thousands mark, "1.5 million", "€200k", "a thousand", "vijfentwintig".

Leaves out comparators and ranges: see numbers.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sqlrag_dspy.link.calendar_words import ORDINALS, either
from sqlrag_dspy.link.text import word_set


@dataclass(frozen=True)
class Numeral:
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
    r"(?<![\w.,:/-])(?P<cur>[$€£]\s?)?(?P<sign>(?<!\w)-)?"
    r"(?P<num>\d{1,3}(?:[.,' ]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
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
        "twenty veinte twintig/thirty treinta dertig/forty cuarenta veertig/fifty cincuenta vijftig/"
        "sixty sesenta zestig/"
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


_MOST_NUMERALS = 100


def find_numerals(text: str, languages: frozenset[str]) -> list[Numeral]:
    """Every numeral of a folded text, in order and not overlapping."""
    found: list[Numeral] = []
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
        found.append(Numeral(match.start(), match.end("short"), a * scale_a, year, money, False, False))
        found.append(Numeral(match.start("b"), match.end(), b * scale_b, year, money, False, False))
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
            Numeral(
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
            found.append(Numeral(match.start(), match.end(), value_of_words, False, False, False, weak))
    for match in _ONE_UNIT.finditer(text):
        if not any(match.start() < n.end and n.start < match.end() for n in found):
            found.append(Numeral(match.start(), match.end(), 1, False, False, False, True))
    for match in _LABELS.finditer(text):
        if not any(match.start() < n.end and n.start < match.end() for n in found):
            value = ORDINALS[match["word"]] if match["word"] else int(match["digits"])
            found.append(Numeral(match.start(), match.end(), value, False, False, False, False, True))
    return sorted(found, key=lambda n: n.start)[:_MOST_NUMERALS]


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
