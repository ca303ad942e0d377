"""The best set of links that do not overlap: weighted interval scheduling. Knows nothing of language."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from sqlrag_dspy.types import Link

_PRIORITY = {"value": 1.06, "date": 1.1, "number": 1.04, "part": 1.08, "column": 1.0, "table": 0.98}


def weigh(link: Link) -> float:
    """What a link is worth: its score times its length, dates and values a little more."""
    return link.score * link.score * (link.end - link.start + 0.5) * _PRIORITY[link.kind]


_THRESHOLD = {"column": 0.6, "table": 0.6}


def cover(links: Sequence[Link], threshold: float = 0.5) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """(chosen, others): chosen reach the threshold, do not overlap, are in order and worth most together.

    Names of tables and columns need a little more, since a wrong one misleads more than a missing one.
    """
    fit = sorted(
        (k for k in links if k.score >= _THRESHOLD.get(k.kind, threshold)),
        key=lambda k: (k.end, k.start, -k.score),
    )
    ends = [k.end for k in fit]
    best: list[float] = [0.0]
    taken: list[bool] = []
    previous: list[int] = []
    for place, link in enumerate(fit):
        before = bisect_right(ends, link.start, 0, place)
        with_it = best[before] + weigh(link)
        taken.append(with_it > best[place])
        previous.append(before)
        best.append(max(with_it, best[place]))
    chosen: list[Link] = []
    place = len(fit)
    while place:
        if taken[place - 1]:
            chosen.append(fit[place - 1])
            place = previous[place - 1]
        else:
            place -= 1
    kept = {id(k) for k in chosen}
    others = sorted((k for k in links if id(k) not in kept), key=lambda k: (-k.score, k.start, k.end))
    return tuple(reversed(chosen)), tuple(others)
