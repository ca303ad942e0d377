"""Words that qualify the rows asked about and that no link explains: "serious" incidents, delivered "late", in "Porto".

Found by where they stand, whatever they mean. Which of them restrict nothing ("different", "single") is learned from
questions that are answered right. Leaves out words that begin a phrase ("of rare beauty").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlrag_dspy.link.text import STOPS, likely_languages, word_set, word_texts
from sqlrag_dspy.program.features import is_word, tokens
from sqlrag_dspy.types import Link, Links

_BE = word_set(
    "is are was were be been being isn aren wasn weren es son esta estan fue fueron era eran sea sean sigue siguen "
    "zijn waren wordt worden werd werden blijft blijven"
)
_STILL = word_set("still currently now already not never yet aun todavia ya no nog niet al nu momenteel")
_ENDS = word_set("and or but y o pero en of maar $ ? ! . , ; :")
_INTO = word_set(
    "in on at during since before after between en desde antes durante entre op sinds voor na tussen tijdens"
)
_NAME = re.compile(
    r"(?<!\w)(?:in|from|by|at|of|for|with|called|named|de|en|desde|por|para|con|van|uit|door|voor|met|bij)\s+"
    r"(?:(?:the|el|la|los|las|de|het)\s+)?(?P<name>[A-Z]\w{2,})"
)


class _Token(NamedTuple):
    text: str
    link: Link | None = None


def qualifiers(links: Links, masked: str) -> list[str]:
    """The qualifying words of a masked question, folded, in order, then names after prepositions.

    Typed tokens stand in `masked` in the order of the links.
    """
    found = _tokens(links, masked)
    languages = likely_languages([token.text for token in found if token.link is None])
    out: list[str] = []
    for place, token in enumerate(found):
        if _is_content(token) and _qualifies(found, place, languages):
            out.append(token.text)
    return [*out, *_names(links)]


def _names(links: Links) -> list[str]:
    """Words written like names after a preposition: a question in title case has none."""
    if links.question.istitle() or links.question.isupper():
        return []
    found = (match for match in _NAME.finditer(links.question))
    outside = [
        m for m in found if not any(k.start < m.end() and m.start("name") < k.end for k in links.chosen)
    ]
    return [word for match in outside for word in word_texts(match["name"])]


def _tokens(links: Links, masked: str) -> list[_Token]:
    chosen = iter(links.chosen)
    found = [_Token("^")]
    for token in tokens(masked):
        if token.startswith("<"):
            found.append(_Token(token, next(chosen, None)))
        else:
            found.extend(_Token(word) for word in (word_texts(token) if is_word(token) else [token]))
    return [*found, _Token("$"), _Token("$")]


def _is_content(token: _Token) -> bool:
    return token.link is None and token.text.isalpha() and len(token.text) > 2 and token.text not in STOPS


def _qualifies(found: list[_Token], place: int, languages: frozenset[str]) -> bool:
    before, after, next_but_one = found[place - 1], found[place + 1], found[place + 2]
    if languages != {"es"}:
        is_before = _is_table(after) or (_is_content(after) and _is_table(next_but_one))
        # "customers reviewed products": a verb has its subject before it
        if is_before and (
            before.link is None or before.link.kind == "number" or before.link.op in ("max", "min")
        ):
            return True
    is_last = after.text in _ENDS or _is_date(after) or (after.text in _INTO and _is_date(next_but_one))
    if not is_last:
        return False
    if before.text in _BE or (before.text in _STILL and found[place - 2].text in _BE):
        return True
    said = before.link
    if said is not None and said.kind == "value" and said.concept in ("category", "state"):
        return any(token.text in _BE or _is_table(token) for token in found[max(0, place - 4) : place - 1])
    if said is not None and said.kind == "column" and said.grain == "date" and not said.op:
        return found[place - 2].text in _BE
    return languages == {"es"} and _is_table(before)


def _is_table(token: _Token) -> bool:
    return token.link is not None and token.link.kind == "table"


def _is_date(token: _Token) -> bool:
    return token.link is not None and token.link.kind == "date"
