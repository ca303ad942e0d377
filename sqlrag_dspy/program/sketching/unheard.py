"""What a question says and a query does not: negations, comparisons, words that qualify the rows asked about.

The commonest ways to answer the opposite of what was asked, or something wider. A check of a finished sketch, so it
decides nothing: an answer is flagged, never changed.
"""

from __future__ import annotations

from collections.abc import Container

from sqlrag_dspy.link.negations import negations
from sqlrag_dspy.program.sketching.compared import lumped
from sqlrag_dspy.program.sketching.qualifiers import qualifiers
from sqlrag_dspy.types import Links, Sketch

_NEGATIVE = frozenset({"!=", "not in", "not like", "null"})
_PAIR = frozenset({"neither", "nor", "ni", "noch"})


def negations_of(links: Links) -> int:
    """How many negations the question makes: "neither … nor" makes as many as it has parts."""
    said = negations(links)
    return max(1, sum(word.casefold() in _PAIR for word in said)) if said else 0


def missing_negations(links: Links, sketch: Sketch) -> int:
    """How many negations of the question the sketch has nothing for."""
    return max(0, negations_of(links) - _heard(sketch))


def _heard(sketch: Sketch) -> int:
    apart = sketch.beside.conditions if sketch.beside is not None else ()
    heard = sum(any(p.op in _NEGATIVE for p in group) for group in (*sketch.filters, *sketch.share, *apart))
    heard += sum(1 for group in sketch.filters if len(group) > 1 and {p.op for p in group} == {"<", ">="})
    heard += sum(
        len(p.value) - 1
        for group in sketch.filters
        for p in group
        if p.op == "not in" and isinstance(p.value, tuple)
    )
    return heard + (sketch.without is not None) + sketch.distinct  # "no repeats"


def unheard(links: Links, sketch: Sketch, masked: str = "", idle: Container[str] = ()) -> str | None:
    """What the sketch has nothing for: words that negate, that compare, and that qualify and are not `idle`.

    None when it may well have heard everything. Without the masked question qualifiers are not looked for.
    """
    missed = negations(links) if missing_negations(links, sketch) else []
    missed += lumped(links, sketch)
    if masked:
        missed += [word for word in qualifiers(links, masked) if word not in idle]
    return ", ".join(dict.fromkeys(missed)) or None
