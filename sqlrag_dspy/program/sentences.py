"""Where the sentences of a text begin and end: by marks, capitals and line ends, past abbreviations.

Which abbreviations end no sentence is written down for three languages in abbreviations.toml. Leaves out text without
capitals, whose sentences stay together.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

_END = re.compile(r"(?<=[.!?…])[\"”’»)]*\s+(?=[\"“‘«(¿¡]?[A-ZÀ-Þ0-9])|\n\s*\n|\n(?=\S)")
_LAST_WORD = re.compile(r"(?:[^\W\d_]|°|(?<=\w)\.(?=\w))+\.$")
_NEXT_WORD = re.compile(r"[\"“‘«(¿¡]?(\w+)")
_LETTERS = re.compile(r"[^\W\d_](?:\.[^\W\d_]{1,2})+")
"""Letters with stops between: `U.S`, `p.ej`."""
_REACH = 24
"""Characters before a stop that an abbreviation may have."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open spans of the sentences of `text`, blank ones left out."""
    spans, start = [], 0
    ends = [match for match in _END.finditer(text) if not _is_within(text, match)]
    for match in [*ends, None]:
        end = match.start() if match is not None else len(text)
        # Closing quotes belong to the sentence they close.
        if match is not None:
            end += len(match.group()) - len(match.group().lstrip('"”’»)'))
        piece = text[start:end]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            spans.append((start + lead, start + len(piece.rstrip())))
        start = match.end() if match is not None else end
    return spans


def _is_within(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence goes on: an abbreviation stands before the gap, and nothing that begins one after it."""
    if "\n" in match.group() or not match.group().isspace():
        return False
    found = _LAST_WORD.search(text, max(match.start() - _REACH, 0), match.start())
    if found is None:
        return False
    written, known = found.group()[:-1], _abbreviations()
    word, is_initial = written.casefold(), len(written) == 1 and written.isupper()
    if word in known["before_name"]:
        return True
    if text[match.end()].isdigit():
        return word in known["before_number"] or word in known["anywhere"]
    if not (is_initial or word in known["anywhere"] or _LETTERS.fullmatch(word)):
        return False
    following = _NEXT_WORD.match(text, match.end())
    return following is not None and following.group(1).casefold() not in known["beginning"]


@cache
def _abbreviations() -> dict[str, frozenset[str]]:
    content = resources.files(__package__).joinpath("abbreviations.toml").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in tomllib.loads(content).items()}
