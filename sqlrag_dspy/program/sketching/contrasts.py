"""What a question sets beside each other: two links over one column, or the two ends of a range of dates.

"More in 2022 than in 2023" names two periods, "from 2022 to 2023" both in one. Whether anything is compared is the
skeleton's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from sqlrag_dspy.link.dates.intervals import move_months
from sqlrag_dspy.types import Link, Links

_WORD = re.compile(r"[^\W\d_]+")
_PART = re.compile(r"q\d|quarter|trimestre|kwartaal|half|helft|mitad|semestre", re.IGNORECASE)


def contrasted(links: Links, restricting: Iterable[int]) -> tuple[int, ...]:
    """The numbers of the links that are set beside each other: two, one that names both; none where that is unclear."""
    places: dict[tuple[str, str], list[int]] = {}
    for number in sorted(restricting):
        link = links.chosen[number]
        if link.column is not None and link.grain != "average":
            places.setdefault((link.table or "", link.column), []).append(number)
    pairs = [tuple(found) for found in places.values() if len(found) == 2 and _differ(links, *found)]
    if not pairs:
        pairs = [(n,) for found in places.values() for n in found if halves_of(links.chosen[n]) is not None]
    return pairs[0] if len(pairs) == 1 else ()


def _differ(links: Links, first: int, second: int) -> bool:
    """Whether two links over one column say different things of it, as far as they say anything."""
    one, other = links.chosen[first], links.chosen[second]
    said = [(link.kind, link.op, link.value, link.upper) for link in (one, other)]
    return said[0] != said[1] or (one.kind == "column" and one.text.casefold() != other.text.casefold())


def halves_of(link: Link) -> tuple[Link, Link] | None:
    """The first and the last year, or month, of a range of dates; None where it names no two."""
    if link.kind != "date" or link.grain != "range" or _PART.search(link.text):
        return None
    try:
        start, end = date.fromisoformat(str(link.value)), date.fromisoformat(str(link.upper))
    except ValueError:
        return None
    if start.day != 1 or end.day != 1:
        return None
    words = len(_WORD.findall(link.text))
    is_yearly = start.month == end.month == 1 and words <= 2
    if not is_yearly and words < 4:  # "between March and May"
        return None
    months = 12 if is_yearly else 1
    first_ends, last_starts = move_months(start, months), move_months(end, -months)
    if first_ends > last_starts:
        return None
    grain = "year" if is_yearly else "month"
    first = replace(link, upper=first_ends.isoformat(), grain=grain)
    return first, replace(link, value=last_starts.isoformat(), grain=grain)
