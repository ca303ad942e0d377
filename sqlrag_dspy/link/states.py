"""States that are told by whether something is there: "still open", "unsold", "orders that have no employee".

A stored value that is called so comes first, and so does a date that the word leads to ("closed in May"). A column of
0 and 1 is told so by the words for its opposite ("in the range" of discontinued). Leaves out those that name it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from sqlrag_dspy.link.glossary import State, load
from sqlrag_dspy.link.named import NamedSpan
from sqlrag_dspy.link.reading import Reading, is_flag, is_table
from sqlrag_dspy.link.text import fold, word_set
from sqlrag_dspy.types import Column, Table


@dataclass(frozen=True)
class StateMention:
    """A stretch of folded text that asks for rows in which a column holds something, or nothing."""

    start: int
    end: int
    table: Table
    column: Column
    is_there: bool


_BEFORE = word_set(
    "is are was were be been being have has had not never still currently now already yet get got getting remain "
    "remains remained stay stays that which and or but fully "
    "es son esta estan estaba estaban fue fueron sea sean sido ha han siguen sigue quedan queda aun todavia ya no "
    "nunca que y o zijn waren wordt worden werd werden geweest nog niet nooit al blijven blijft staan staat en of die "
    "momenteel"
)
_NOT = re.compile(
    r"(?:(?:\b(?:nog|still|todavia|aun)\s+)?\b(?:not|never|no|nunca|jamas|niet|nooit)|n't)"
    r"(?:\s+(?:yet|been|being|be|have|has|had|ever|even|se|ha|han|sido|aun|todavia|ya|esta|estan|nog|zijn|is|are|was|were|"
    r"got|get|gotten|worden|geweest))*\s*$"
)
_WHEN = re.compile(
    r"\b(?:when|date|dates|recently|last|first|latest|earliest|next|soon|by|per|how\s+long|how\s+fast|how\s+quickly|"
    r"cuando|fecha|fechas|ultim[oa]s?|primer[oa]?s?|recientemente|por|cada|"
    r"wanneer|datum|data|laatst\w*|eerst\w*|onlangs|recent)\s+(?:\w+\s+){0,3}$"
)
_WHEN_AFTER = re.compile(
    r"\s+(?:date|dates|on|at|by|in|since|before|after|during|between|most\s+recently|last|first|today|yesterday|this|"
    r"with|up|because|con|met|"
    r"en|el|desde|antes|despues|entre|op|sinds|voor|na|tussen|tijdens|and\s+when|y\s+cuando|en\s+wanneer)\b"
)
_TO = re.compile(
    r"\b(?:from|between|desde|entre|van|tussen)\s+\w+\s+(?:to|and|until|till|hasta|y|a|tot|en)\s*$"
)
_LONGEST = 4


def find_states(
    reading: Reading, dated: Container[tuple[str, str]], taken: Container[int]
) -> Iterable[StateMention]:
    """Every state of a row of a table asked about.

    `dated` are the columns that dates of the question speak of, `taken` the places in the text where a stored value
    is mentioned.
    """
    states = load().states
    for first, word in enumerate(reading.words):
        for count in range(min(_LONGEST, len(reading.words) - first), 0, -1):
            last = reading.words[first + count - 1]
            said = states.get(" ".join(w.text for w in reading.words[first : first + count]))
            if said is None or word.start in taken or not _is_state(reading, first, count):
                continue
            for state in said:
                home = _told_by(reading, state)
                if home is not None and (home[0].name, home[1].name) not in dated:
                    negated = _NOT.search(reading.text, max(0, word.start - 60), word.start)
                    start = word.start if negated is None else negated.start()
                    yield StateMention(start, last.end, *home, state.is_there == (negated is None))
                    break
            break


def _told_by(reading: Reading, state: State) -> tuple[Table, Column] | None:
    """The column that tells a state of the first table asked about that has one.

    A date that is now and then empty, or where the words say the opposite of its name, a column of 0 and 1.
    """
    measured = {table.name: column for table, column in reading.measured(state.columns)}
    for table in reading.tables:
        column = measured.get(table.name)
        is_told = column is not None and column.is_date and column.profile.null_share > 0
        if column is not None and (is_told or (is_flag(column) and not state.is_there)):
            return table, column
    return None


def _is_state(reading: Reading, first: int, count: int) -> bool:
    """Whether words are said of rows: after "are" or "still", or beside the noun; and not of when it happened."""
    words, text = reading.words, reading.text
    start, end = words[first].start, words[first + count - 1].end
    before = words[first - 1].text if first else ""
    beside = any(
        0 <= start - span.end <= 1 or 0 <= span.start - end <= 1
        for span in reading.named
        if is_table(span) and span.found[0].score >= 0.6
    )
    if not (before in _BEFORE or beside):
        return False
    earlier = text[max(0, start - 50) : start]
    return not (_WHEN.search(earlier) or _TO.search(earlier) or _WHEN_AFTER.match(text, end))


_YES = word_set("yes y si ja true")
_MOST_ANSWERS = 4


def find_yes(reading: Reading) -> Iterable[tuple[NamedSpan, Table, Column, str]]:
    """ "Remote jobs", "packages that are essential": where a text column answers yes or no, its yes as it is stored."""
    for span in reading.named:
        home = reading.column_of(span.found[0])
        if home is None or span.found[0].score < 0.75 or span.found[0].end:
            continue
        stored = [value for value, _ in home[1].profile.values]
        answer = next((v for v in stored if isinstance(v, str) and fold(v).text in _YES), None)
        if answer is None or len(stored) > _MOST_ANSWERS or home[1].profile.found != "text":
            continue
        before = reading.words[span.first - 1].text if span.first else ""
        is_beside = any(0 <= other.start - span.end <= 1 and is_table(other) for other in reading.named)
        if (is_beside and before not in _ASKING) or before in _BEING:
            yield span, *home, answer


_ASKING = word_set("which what by per each every whose que cual cuales por cada welk welke elk elke")
_BEING = word_set("is are was were be being son es esta estan zijn was waren")
_LACKING = re.compile(
    r"\s*(?:that|which|who|with|que|die|met|con)?\s*(?:(?:do|does|did)\s+not\s+|don't\s+|doesn't\s+)?"
    r"(?:have|has|had|with|having|are|is|tienen?|tengan?|hebben|heeft|zijn)?\s*"
    r"(?:no|without|lack|lacks|lacking|missing|any|sin|ningun[oa]?|zonder|geen)\s+"
    r"(?:(?:an?|any|assigned|known|recorded|un[ao]?|ningun[oa]?|een|enkele?)\s+)*"
)


def find_lacking(reading: Reading) -> Iterable[StateMention]:
    """ "Orders that have no employee": rows whose own key to another table is empty, not rows of that other table."""
    named = [span for span in reading.named if is_table(span) and span.found[0].score >= 0.6]
    for one in named:
        for other in named:
            if not 0 < other.start - one.end <= 40 or not _LACKING.fullmatch(
                reading.text[one.end : other.start]
            ):
                continue
            table, absent = (reading.catalog.table(span.found[0].table) for span in (one, other))
            if table is None or absent is None or any(k.table == table.name for k in absent.foreign_keys):
                continue
            key = next(
                (k for k in table.foreign_keys if k.table == absent.name and len(k.columns) == 1), None
            )
            column = table.column(key.columns[0]) if key is not None else None
            if column is not None:
                yield StateMention(other.start, other.end, table, column, False)
