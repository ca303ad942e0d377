"""Units of measure that a question and a column may name differently: "over 2 hours" for minutes_down.

Only fixed factors within one family (time, length, weight, bytes); currencies are never converted.
"""

from __future__ import annotations

from collections.abc import Iterable

_FAMILIES: tuple[dict[float, str], ...] = (
    {
        1: "s second seconds secs sec segundo segundos seconde seconden",
        60: "minute minutes min mins minuto minutos minuut minuten",
        3600: "hour hours hrs hora horas uur uren",
        86400: "day days dia dias dag dagen",
        604800: "week weeks semana semanas weken",
    },
    {
        0.1: "mm millimetre millimeter millimetres millimeters milimetro milimetros",
        1: "cm centimetre centimeter centimetres centimeters centimetro centimetros",
        100: "m metre meter metres meters metro metros",
        100_000: "km kilometre kilometer kilometres kilometers kilometro kilometros",
    },
    {
        1: "g gram grams gramo gramos gramme grammes",
        1000: "kg kilogram kilograms kilo kilos kilogramo kilogramos",
        1_000_000: "tonne tonnes tonelada toneladas ton tons",
    },
    {
        1: "b byte bytes",
        1000: "kb kilobyte kilobytes",
        1_000_000: "mb megabyte megabytes",
        1_000_000_000: "gb gigabyte gigabytes",
    },
)
_UNITS: dict[str, tuple[int, float]] = {
    word: (number, factor)
    for number, family in enumerate(_FAMILIES)
    for factor, listed in family.items()
    for word in listed.split()
}


def factor(asked: str, column_words: Iterable[str]) -> float | None:
    """What a number in the asked unit is multiplied by for a column with these words in its name; None if unrelated.

    >>> factor("hours", ["minutes", "down"])
    60.0
    """
    unit = _UNITS.get(asked)
    if unit is None:
        return None
    for word in column_words:
        stored = _UNITS.get(word)
        if stored is not None and stored[0] == unit[0]:
            return unit[1] / stored[1]
    return None
