"""Time that passes between two dates of a row: "how many days from opening to closing", "tardó más de 25 días".

A table has such a span when it has two date columns of which one comes first. Leaves out spans between rows, and
amounts of time that a number column holds ("minutes down").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlrag_dspy.link.names import main_date, name_words
from sqlrag_dspy.link.numbers.units import factor
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.types import Column, Table


@dataclass(frozen=True)
class SpanMention:
    """A word for elapsed time in folded text; `op` is "max" or "min" for a superlative ("slowest")."""

    start: int
    end: int
    op: str = ""


_NOUNS = (
    r"(?:how\s+many|number\s+of|how\s+much|count\s+of)\s+days|days(?=\s+(?:to|between|from|until|till|open|it\s+took|taken)\b)|"
    r"(?<=mean\s)days|(?<=average\s)days|(?<=media\sde\s)dias|(?<=promedio\sde\s)dias|in\s+days|days\s+elapsed|how\s+long(?!\s+(?:is|are|ago))|turn-?around(?:\s+times?)?|lead\s+times?|durations?|"
    r"(?:delivery|shipping|processing|handling|resolution|response|completion|waiting|throughput)\s+times?|time\s+to(?=\s+\w)|elapsed\s+time|"
    r"(?:cuantos|numero\s+de|cantidad\s+de)\s+dias|en\s+dias|dias(?=\s+(?:hasta|entre|desde|que\s+pasan)\b)|cuanto\s+(?:tiempo|tard\w+|dur\w+)|"
    r"duracion(?:es)?|tiempos?(?=\s+(?:(?:medio|promedio|maximo|minimo)\s+)?de\s+(?:entrega|envio|resolucion|tramitacion|respuesta|espera|proceso|gestion|cierre)\b)|"
    r"(?:hoeveel|aantal)\s+dagen|in\s+dagen|dagen(?=\s+(?:tussen|tot|van|vanaf)\b)|hoe\s+lang|doorlooptijd(?:en)?|looptijd(?:en)?|"
    r"(?:lever|verzend|behandel|afhandel|verwerkings|wacht|oplos|reactie)tijd(?:en)?|tijdsduur|duur"
)
_NOUN = re.compile(rf"(?<!\w)(?:{_NOUNS})(?!\w)")
_TAKING = (
    r"takes?|took|taken|taking|lasts?|lasted|lasting|drag(?:s|ged)?(?:\s+on)?|stayed\s+open|was\s+open|were\s+open|"
    r"tardo|tardaron|tarda|tardan|tardaban|tardado|tardar|duro|duraron|dura|duran|duraban|durado|"
    r"duurde|duurden|duurt|duren|geduurd|deed|deden|bleef|bleven"
)
_TAKE = re.compile(rf"(?<!\w)(?:{_TAKING})(?!\w)")
_FROM_TO = re.compile(
    r"(?<!\w)(?:from|between|desde|entre|van|tussen)\s+(?:its\s+|the\s+|la\s+|el\s+|de\s+|het\s+)?(?P<one>[^\W\d]+)\s+"
    r"(?:to|until|and|hasta|a|y|tot|en)\s+(?:its\s+|the\s+|la\s+|el\s+|de\s+|het\s+|su\s+)?(?P<other>[^\W\d]+)"
)
_EVENT_TIME = re.compile(
    r"(?<!\w)(?:(?P<event>[a-z]{4,})\s+times?|tiempos?\s+(?:(?:medio|promedio)\s+)?de\s+(?P<evento>[a-z]{4,}))(?!\w)"
)
_SLOW = re.compile(
    r"(?<!\w)(?:(?P<max>longest[\s-](?:lived|running|lasting)|slowest|most\s+drawn[\s-]out|mas\s+lent[oa]s?|traagste|"
    r"langzaamste|langstlopende|langstdurende)|"
    r"(?P<min>shortest[\s-](?:lived|running)|fastest|quickest|swiftest|mas\s+rapid[oa]s?|snelste|kortstlopende))(?!\w)"
)
_LONG = re.compile(
    r"(?<!\w)(?:(?P<max>(?:the\s+)?longest|(?:the\s+)?most\s+(?:days|time)|(?:el\s+|la\s+|lo\s+)?mas\s+larg[oa]s?|mas\s+(?:tiempo|dias)|"
    r"(?:het\s+|de\s+)?langste?|(?:de\s+)?meeste\s+(?:dagen|tijd))|"
    r"(?P<min>(?:the\s+)?shortest|(?:the\s+)?(?:least\s+time|fewest\s+days)|(?:el\s+|la\s+|lo\s+)?mas\s+cort[oa]s?|mas\s+breves?|"
    r"menos\s+(?:tiempo|dias)|(?:het\s+|de\s+)?kortste?|(?:de\s+)?minste\s+(?:dagen|tijd)))(?!\w)"
)
_UNITS = {
    **dict.fromkeys(("hour", "hours", "hora", "horas", "uur", "uren"), 1 / 24),
    **dict.fromkeys(("day", "days", "dia", "dias", "dag", "dagen"), 1),
    **dict.fromkeys(("week", "weeks", "semana", "semanas", "weken"), 7),
}
_UNIT = re.compile(r"\s*(?P<unit>[a-z]+)(?!\s+(?:ago|old|geleden|oud|atras|later))(?!\w)")


def span_columns(table: Table) -> tuple[Column, Column] | None:
    """The two date columns of a table between which time passes, the earlier one first; None without exactly two."""
    dates = [column for column in table.columns if column.is_date]
    if len(dates) != 2:
        return None
    start, end = sorted(dates, key=lambda c: (str(c.profile.minimum or ""), str(c.profile.maximum or "")))
    # what is still open has a start and no end, and may well be the latest of all
    if str(start.profile.maximum or "") > str(end.profile.maximum or "") and not end.profile.null_share:
        return None
    return start, end


def find_spans(reading: Reading) -> tuple[Table, Column, Column] | None:
    """The table whose two dates the question names ("from order to delivery"), else the first that has a span."""
    ends = _FROM_TO.search(reading.text)
    said = _between(reading, ends["one"], ends["other"]) if ends else None
    if said is not None:
        return said
    event = _EVENT_TIME.search(reading.text)
    for named in reading.names.find_event(event["event"] or event["evento"]) if event else ():
        table = reading.catalog.table(named.table)
        start, end = (main_date(table), table.column(named.column)) if table is not None else (None, None)
        if table is not None and start is not None and end is not None and start is not end:
            return table, start, end
    for table in reading.tables:
        found = span_columns(table)
        if found is not None:
            return table, *found
    return None


def _between(reading: Reading, one: str, other: str) -> tuple[Table, Column, Column] | None:
    """The two date columns of one table that the words for two events name."""
    starts = [at for n in reading.names.find_event(one) if (at := reading.column_of(n))]
    ends = [at for n in reading.names.find_event(other) if (at := reading.column_of(n))]
    for table, start in starts:
        for other_table, end in ends:
            if other_table is table and start is not end:
                return table, start, end
    return None


def is_measured(table: Table) -> bool:
    """Does a number column of the table hold an amount of time ("minutes down"), which "how long" rather means?"""
    return any(c.is_number and factor("days", name_words(c.name)) is not None for c in table.columns)


def has_both_ends(text: str) -> bool:
    """Does folded text name both ends of a span ("from start to resolution")?"""
    return bool(_FROM_TO.search(text))


def is_elapsing(text: str) -> bool:
    """Does folded text speak of time that something takes?"""
    return bool(_TAKE.search(text) or _NOUN.search(text) or _SLOW.search(text))


def find_mentions_of_time(text: str) -> Iterable[SpanMention]:
    """Words for elapsed time, superlatives too when something is said to take or last."""
    for match in _NOUN.finditer(text):
        if not re.search(r"\bon\s+$", text[max(0, match.start() - 4) : match.start()]):
            yield SpanMention(match.start(), match.start() + len(match.group().rstrip()))
    for match in _SLOW.finditer(text):
        yield SpanMention(*match.span(), "max" if match["max"] else "min")
    if _TAKE.search(text) or _NOUN.search(text) or _FROM_TO.search(text):
        for match in _LONG.finditer(text):
            yield SpanMention(*match.span(), "max" if match["max"] else "min")


def unit_at(text: str, place: int) -> tuple[float, int] | None:
    """The days in the unit of time that follows a place, and where it ends; None for any other word."""
    unit = _UNIT.match(text, place)
    times = _UNITS.get(unit["unit"]) if unit else None
    return None if unit is None or times is None else (times, unit.end())
