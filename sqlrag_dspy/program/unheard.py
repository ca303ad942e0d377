"""Negations that a question makes and a query does not: the commonest way to answer the opposite of what was asked.

A check of a finished sketch, so it decides nothing: an answer is flagged, never changed. Leaves out what kind of
negation it is, and negations said without a word for it ("unsigned").
"""

from __future__ import annotations

import re

from sqlrag_dspy.types import Links, Sketch

_WORDS = re.compile(
    r"\b(?:not|no|without|neither|nor|never|nobody|none|except|excluding|(?:is|are|was|were|do|does|did|have|has)n['’]t"
    r"|sin|nunca|ning[uú]n|ningun[oa]s?|ni|tampoco|excepto|salvo|nadie"
    r"|niet|geen|zonder|nooit|noch|behalve|niemand)\b",
    re.IGNORECASE,
)
_NEGATIVE = frozenset({"!=", "not in", "not like", "null"})
_PAIR = frozenset({"neither", "nor", "ni", "noch"})


def unheard(links: Links, sketch: Sketch) -> str | None:
    """The negating words of the question that the sketch has nothing for; None when it may well have heard them.

    A word inside a linked number ("no more than 300") or value (a title) is theirs. "Neither … nor" needs as many
    negations as it has parts.
    """
    named = [(link.start, link.end) for link in links.chosen if link.kind in ("number", "value")]
    said = [
        match.group()
        for match in _WORDS.finditer(links.question)
        if not any(start <= match.start() < end for start, end in named)
    ]
    if not said:
        return None
    heard = sum(any(p.op in _NEGATIVE for p in group) for group in (*sketch.filters, *sketch.share))
    heard += sum(1 for group in sketch.filters if len(group) > 1 and {p.op for p in group} == {"<", ">="})
    heard += sum(
        len(p.value) - 1
        for group in sketch.filters
        for p in group
        if p.op == "not in" and isinstance(p.value, tuple)
    )
    heard += (sketch.without is not None) + sketch.distinct  # "no repeats"
    paired = sum(word.casefold() in _PAIR for word in said)
    return ", ".join(said) if heard < max(1, paired) else None
