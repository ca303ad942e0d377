"""The delexicalised question: every chosen link becomes one typed token, the rest is lower-cased.

Two spellings of one thing: tokens for n-grams, words for a sentence encoder. Both depend on the chosen links
alone, and the tokens stand in the order of the links. Leaves out accents, stemming and stop words.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlrag_dspy.types import Link, Links

_SIGNS = {
    ">": "gt",
    ">=": "ge",
    "<": "lt",
    "<=": "le",
    "=": "eq",
    "!=": "ne",
    "between": "between",
    "nth": "nth",
}
_SIGN_WORDS = {
    ">": "more than number",
    ">=": "at least number",
    "<": "less than number",
    "<=": "at most number",
    "=": "exactly number",
    "!=": "not number",
    "between": "between numbers",
    "nth": "second",
}
_COLUMN_WORDS = {
    "number": "amount",
    "date": "date",
    "text": "attribute",
    "bool": "attribute",
    "days": "duration",
}
_END_WORDS = {
    ("max", "date"): "latest",
    ("min", "date"): "earliest",
    ("max", "number"): "highest",
    ("min", "number"): "lowest",
    ("max", "days"): "longest",
    ("min", "days"): "shortest",
}
_VALUE_WORDS = {"category": "category", "person": "person", "title": "title", "word": "wording"}


def mask(links: Links) -> str:
    """The question with one token for each chosen link: "how many <TABLE> in <VALUE> <DATE:month:from>".

    Tokens: <TABLE>, <WHO>, <NOBODY>, <COL:number|date|text|bool|days[:max|:min]>, <VALUE>, <WORD>,
    <DATE:grain[:from|:to|:not]>,
    <NUM[:gt|ge|lt|le|eq|ne|between|nth]>, <AVG:gt|…>, <PART:grain[:is]>. The rest holds no angle brackets.
    """
    return _rewrite(links, _token)


def mask_words(links: Links) -> str:
    """The question with words for each chosen link: "how many records in category since month"."""
    return _rewrite(links, _words)


def _rewrite(links: Links, spell: Callable[[Link], str]) -> str:
    pieces: list[str] = []
    last = 0
    for link in links.chosen:
        pieces.append(_plain(links.question[last : link.start]))
        pieces.append(f" {spell(link)} ")
        last = link.end
    pieces.append(_plain(links.question[last:]))
    return re.sub(r"\s+", " ", "".join(pieces)).strip()


def _plain(text: str) -> str:
    return text.lower().replace("<", " ").replace(">", " ")


def _token(link: Link) -> str:
    if link.kind == "table":
        return "<TABLE>"
    if link.kind == "column":
        if link.concept in ("who", "nobody"):
            return f"<{link.concept.upper()}>"
        return f"<COL:{link.grain or 'text'}{':' + link.op if link.op else ''}>"
    if link.kind == "value":
        return "<WORD>" if link.concept == "word" else "<VALUE>"
    if link.kind == "date":
        return f"<DATE:{link.grain}{_side(link)}>"
    if link.kind == "number" and link.grain == "average":
        return f"<AVG:{_SIGNS[link.op]}>"
    if link.kind == "number":
        return f"<NUM:{_SIGNS[link.op]}>" if link.op else "<NUM>"
    return f"<PART:{link.grain}{':is' if link.op else ''}>"


def _side(link: Link) -> str:
    if link.op == "!=":
        return ":not"
    return ":to" if link.value is None else ":from" if link.upper is None else ""


def _words(link: Link) -> str:
    if link.kind == "table":
        return "records"
    if link.kind == "column":
        if link.concept in ("who", "nobody"):
            return "who" if link.concept == "who" else "without name"
        word = _COLUMN_WORDS.get(link.grain, "attribute")
        if link.op:
            return (
                f"{_END_WORDS.get((link.op, link.grain), 'highest' if link.op == 'max' else 'lowest')} {word}"
            )
        return word
    if link.kind == "value":
        return _VALUE_WORDS.get(link.concept, "name")
    if link.kind == "date":
        grain = "period" if link.grain == "range" else link.grain
        before = {":not": "not ", ":to": "before ", ":from": "since ", "": ""}[_side(link)]
        return before + grain
    if link.kind == "number":
        said = _SIGN_WORDS.get(link.op, "number")
        return said.replace("number", "average") if link.grain == "average" else said
    return f"on {link.grain}" if link.op else f"by {link.grain}"
