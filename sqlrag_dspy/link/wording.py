"""Words that a short text must contain: "titles with the word bank", "'strike' in the title", "from site.example".

The column must be named, and the word be quoted or called one; a host name asks for the column that holds addresses.
Leaves out what long texts say, which is searched by meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.types import Column, Table


@dataclass(frozen=True)
class WordMention:
    """A stretch of folded text that asks for rows whose column contains the text [word_start, word_end)."""

    start: int
    end: int
    word_start: int
    word_end: int
    table: Table
    column: Column
    is_negated: bool = False


_CALLED = (
    r"(?:the\s+)?(?:exact\s+)?(?:words?|terms?|phrase|text|string)|la\s+palabra|el\s+termino|las\s+palabras|la\s+expresion|"
    r"(?:het|de)\s+woord(?:en)?|de\s+term|de\s+tekst"
)
_QUOTED = r"[\"'](?P<quoted>[^\"']{2,60})[\"']"
_WORD = rf"(?:(?:{_CALLED})\s+(?:{_QUOTED}|(?P<bare>[^\W_][\w-]*))|{_QUOTED.replace('quoted', 'alone')})"
_SAID = re.compile(rf"[\"']|{_CALLED}")
"""Without one of these there is no word to look for; most questions have none."""
_HOLDING = (
    r"(?:that\s+|which\s+|que\s+|die\s+|waarin\s+|waar\s+)?(?:(?P<no>(?:do(?:es)?\s+not|don't|doesn't|no)\s+)?"
    r"(?:with|contain(?:s|ing)?|mention(?:s|ing)?|includ(?:e|es|ing)|having|have|has|con|contienen?|contengan?|llev[ae]n?|"
    r"incluyen?|incluyan?|mencionan?|mencionen?|tienen?|tengan?|met|bevatten?|noemen|hebben)|(?P<without>without|sin|zonder)|waarin|waar|donde)"
)
_AFTER_COLUMN = re.compile(
    rf"\s+{_HOLDING}\s+(?P<what>{_WORD})(?:\s+(?:in\s+(?:them|it)|erin|in\s+staat|voorkomt|voorkomen)(?!\w))?"
)
_BEFORE_COLUMN = re.compile(
    rf"(?:(?:with|con|met|waar)\s+)?(?P<what>{_WORD})\s+(?:(?:is|are|appears?|voorkomt|aparece|aparezca)\s+)?"
    r"(?:in|en|within)\s+(?:the|its|their|el|la|los|las|su|sus|de|het|hun)?\s*$"
)
_HOST = re.compile(
    r"(?<![\w.@/-])(?:(?:from|on|at|of|de|en|van|op)\s+)?(?:the\s+)?(?:https?://)?(?P<host>(?:[a-z0-9-]+\.)+[a-z]{2,})(?![\w@])(?!\.\w)"
)
_ADDRESS = re.compile(r"\w+://(?P<host>[^/:?#]+)")
_NOUN_REACH = 70


def find_wording(reading: Reading) -> Iterable[WordMention]:
    """Every stretch that asks for a word inside a named column, or for a host inside the column of addresses."""
    text = reading.text
    for span in reading.named if _SAID.search(text) else ():
        home = reading.column_of(span.found[0])
        if (
            home is None
            or home[1].profile.found != "text"
            or home[1].profile.is_long_text
            or span.found[0].end
        ):
            continue
        after = _AFTER_COLUMN.match(text, span.end)
        if after is not None:
            yield _mention(
                after, (after.start() + len(after.group()) - len(after.group().lstrip()), after.end()), home
            )
        before = _BEFORE_COLUMN.search(text, max(0, span.start - _NOUN_REACH), span.start)
        if before is not None:
            yield _mention(before, (before.start(), span.end), home)
    for match in _HOST.finditer(text) if "." in text else ():
        home = _addresses(reading, match["host"].rpartition(".")[2])
        if home is not None:
            yield WordMention(*match.span(), *match.span("host"), *home)


def _mention(match: re.Match[str], span: tuple[int, int], home: tuple[Table, Column]) -> WordMention:
    said = next(name for name in ("quoted", "bare", "alone") if match[name])
    is_negated = "no" in match.re.groupindex and bool(match["no"] or match["without"])
    return WordMention(*span, *match.span(said), *home, is_negated)


def _addresses(reading: Reading, domain: str) -> tuple[Table, Column] | None:
    """The column of web addresses of the first table asked about that has some in this top domain.

    The domain must be one that is stored, since "node.js" is no address.
    """
    for table in reading.tables:
        for column in table.columns:
            shown = [*column.profile.samples, *(value for value, _ in column.profile.values[:50])]
            hosts = [_ADDRESS.match(value) for value in shown if isinstance(value, str)]
            if shown and len(hosts) == len(shown) and all(hosts):
                domains = {each["host"].rpartition(".")[2].lower() for each in hosts if each is not None}
                if domain in domains:
                    return table, column
    return None
