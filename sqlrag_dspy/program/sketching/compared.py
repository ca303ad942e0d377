"""Values or dates of one column that a question compares, and a query that only lumps them together.

"Which category has more articles in April than in May" is no question about April and May as one. A check of a
finished sketch, like `unheard`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlrag_dspy.types import Link, Links, Sketch

_COMPARING = re.compile(
    r"\b(?:than|versus|vs|against|compared\s+(?:with|to)|relative\s+to"
    r"|que|frente\s+a|comparad[oa]s?\s+con|en\s+comparaci[oó]n\s+con"
    r"|dan|tegenover|vergeleken\s+met|ten\s+opzichte\s+van)\b",
    re.IGNORECASE,
)
_APART = 5
"""Words between two things compared, at most: "more in April than there were in May"."""


def lumped(links: Links, sketch: Sketch) -> list[str]:
    """The comparing words between two dates or values of a column that the sketch does not tell apart."""
    told = {
        *((item.table, item.column) for item in (*sketch.group, *sketch.select, *sketch.each)),
        *((p.table, p.column) for group in sketch.share for p in group),
    }
    if sketch.beside is not None:
        told |= {(p.table, p.column) for group in sketch.beside.conditions for p in group}
    if sketch.without is not None:
        told |= {(p.table, p.column) for group in sketch.without.filters for p in group}
    out = []
    for first, second in pairwise(link for link in links.chosen if link.kind in ("date", "value")):
        between = links.question[first.end : second.start]
        if not _of_one_column(first, second) or (first.table, first.column) in told:
            continue
        if len(between.split()) <= _APART and (word := _COMPARING.search(between)):
            out.append(word.group())
    return out


def _of_one_column(first: Link, second: Link) -> bool:
    return (first.kind, first.table, first.column) == (second.kind, second.table, second.column)
