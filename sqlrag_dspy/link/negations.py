"""The words of a question that negate something, in English, Spanish and Dutch.

Leaves out what they negate (values and dates say so of themselves) and negations without a word of their own
("unsigned").
"""

from __future__ import annotations

import re

from sqlrag_dspy.types import Links

_WORDS = re.compile(
    r"\b(?:not|no|without|neither|nor|never|nobody|none|except|excluding|(?:is|are|was|were|do|does|did|have|has)n['’]t"
    r"|sin|nunca|ning[uú]n|ningun[oa]s?|ni|tampoco|excepto|salvo|nadie"
    r"|niet|geen|zonder|nooit|noch|behalve|niemand)\b",
    re.IGNORECASE,
)


def negations(links: Links) -> list[str]:
    """The negating words, in order. One inside a linked number ("no more than 300") or value (a title) is theirs."""
    named = [(link.start, link.end) for link in links.chosen if link.kind in ("number", "value")]
    return [
        match.group()
        for match in _WORDS.finditer(links.question)
        if not any(start <= match.start() < end for start, end in named)
    ]
