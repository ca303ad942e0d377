"""Values that a question names beside their column and that are not stored: "vitamin C" where there is none.

They restrict all the same, to nothing: leaving them out would answer for every row. Only what is written as a value
counts: in quotes, like a name or like a code. Leaves out values without their column, and columns of which not all
values are known.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from sqlrag_dspy.link.mentions import is_negated
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.link.text import STOPS, Word, word_texts
from sqlrag_dspy.link.values import ValueColumn, ValueStore
from sqlrag_dspy.link.windows import quoted


@dataclass(frozen=True)
class UnstoredMention:
    """A stretch of folded text that names a value which its column does not hold."""

    start: int
    end: int
    home: ValueColumn
    value: str
    is_negated: bool


_BESIDE = re.compile(r"\s*(?:[:=]|\b(?:is|equals?|called|named|es|llamad[oa]|heet)\b)?\s*['\"]?")
_SHORT = 3
"""Letters of a code at most: where all that is stored is as short, so may be what is asked for."""
_LONGEST = 4


def find_unstored(reading: Reading, values: ValueStore, taken: Container[int]) -> Iterable[UnstoredMention]:
    """Every such value; `taken` are the places in the text that something else is linked to."""
    homes = {(c.table, c.column): c for c in values.columns if c.values and not c.is_partial}
    quotes = quoted(reading.text)
    for span in reading.named:
        named = span.found[0]
        home = homes.get((named.table, named.column))
        if home is None or named.end or named.score < 0.75:
            continue
        number = span.first + span.count
        run = _run(reading, reading.words[number:], home, quotes)
        if not run or not _BESIDE.fullmatch(reading.text[span.end : run[0].start]):
            continue
        if any(word.start in taken for word in run):
            continue
        start, end = span.start, run[-1].end
        value = reading.folded.original[slice(*reading.folded.span(run[0].start, end))]
        if reading.text[end : end + 1] in ("'", '"') and reading.text[run[0].start - 1] == reading.text[end]:
            end += 1
        if word_texts(value) not in [word_texts(stored) for stored, _ in home.values]:
            yield UnstoredMention(start, end, home, value, is_negated(reading.text, span.start))


def _run(
    reading: Reading, following: list[Word], home: ValueColumn, quotes: list[tuple[int, int]]
) -> list[Word]:
    """The words right after a column that are written as a value; empty when none are."""
    if not following:
        return []
    for start, end in quotes:
        if start == following[0].start:
            return [word for word in following if word.end <= end]
    run: list[Word] = []
    for word in following[:_LONGEST]:
        if run and reading.text[run[-1].end : word.start].strip(" -"):
            break
        if not _is_written_as_value(word, home):
            break
        run.append(word)
    return run


def _is_written_as_value(word: Word, home: ValueColumn) -> bool:
    if word.text.isdigit() or (word.text in STOPS and not (word.is_capital and len(word.text) == 1)):
        return False
    is_code = not word.text.isalpha()
    is_short = len(word.text) <= _SHORT and all(len(stored) <= _SHORT for stored, _ in home.values)
    return word.is_capital or is_code or is_short
