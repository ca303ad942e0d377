"""Where a question names tables and columns: by phrase, by synonym, by adjective, or misspelt.

Leaves out choosing among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.names import Named, Names
from sqlrag_dspy.link.text import STOPS, Word, is_ordinary, stem, word_set
from sqlrag_dspy.types import Column, Table

Measured = Callable[[Sequence[str]], Iterable[tuple[Table, Column]]]


@dataclass(frozen=True)
class NamedSpan:
    """A stretch of folded text, `count` words from number `first` on, and what it may name, best first."""

    start: int
    end: int
    first: int
    count: int
    text: str
    found: tuple[Named, ...]
    is_compound: bool = False
    """The end of a longer word ("totaalbudget")."""


_REQUESTS = word_set(
    "summarise summarize summarised summarized summarising summarizing resume resumen resumir samenvatten describe"
)
_IMPERATIVES = word_set("show list name count number rate report order state date")
_AFTER_IMPERATIVE = word_set("me all the every us each of")
_MOST_LOOKUPS = 60


def find_named(
    text: str, words: list[Word], names: Names, languages: frozenset[str], measured: Measured
) -> list[NamedSpan]:
    """Every stretch that names something, overlapping ones too."""
    found: list[NamedSpan] = []
    stems = [stem(w.text) for w in words]
    lookups = 0
    for first, word in enumerate(words):
        for count in range(min(names.longest, 5, len(words) - first), 0, -1):
            last = words[first + count - 1]
            if count > 1 and any(c in text[word.start : last.end] for c in ".,;:?!"):
                continue
            if count == 1 and not _may_name(words, first):
                continue
            listed = names.find(" ".join(stems[first : first + count]))
            kept = tuple(
                replace(n, score=n.score * 0.8) if n.language and n.language not in languages else n
                for n in listed
                if not n.is_counted or last.text[-1] in "sn" or _is_counted(words, first)
            )
            if kept:
                found.append(_span(text, words, first, count, kept))
        known = found and found[-1].first == first
        if (
            not known
            and word.text not in _REQUESTS
            and len(word.text) >= 5
            and word.text.isalpha()
            and not is_ordinary(word.text)
        ):
            lookups += 1
            near = names.find_misspelt(stems[first]) if lookups <= _MOST_LOOKUPS else []
            if near:
                found.append(_span(text, words, first, 1, tuple(near)))
            elif "nl" in languages:
                found.extend(_compound(text, word, first, names))
        found.extend(_adjectives(text, words, first, languages, measured))
        found.extend(_first(text, words, first, names, measured))
    return found


_FIRSTS = {"first": "min", "primer": "min", "primera": "min", "eerste": "min", "last": "max"}


def _first(text: str, words: list[Word], place: int, names: Names, measured: Measured) -> Iterable[NamedSpan]:
    """ "The first order" is the one of the earliest date; "the first three", "the first quarter" are not."""
    end = _FIRSTS.get(words[place].text)
    if end is None or place + 1 >= len(words) or stem(words[place + 1].text) not in names.table_nouns:
        return
    meant = {n.table for n in names.find(stem(words[place + 1].text)) if not n.column and n.score >= 0.6}
    found = tuple(
        Named(table.name, column.name, 0.9, "recency", end)
        for table, column in measured(("*date",))
        if table.name in meant
    )
    if found:
        yield _span(text, words, place, 1, found)


_QUANTIFIERS = word_set(
    "many fewer more most least number total cuantos cuantas muchos mas menos hoeveel veel meer minder aantal"
)


def _is_counted(words: list[Word], place: int) -> bool:
    """A number or quantifier stands before it: "30 staff"."""
    return place > 0 and (words[place - 1].text[0].isdigit() or words[place - 1].text in _QUANTIFIERS)


def _compound(text: str, word: Word, first: int, names: Names) -> Iterable[NamedSpan]:
    """Dutch compounds: "totaalbudget" names the budget, "modestukken" the pieces."""
    for cut in range(3, len(word.text) - 4):
        kept = tuple(
            replace(n, score=n.score * 0.85) for n in names.find(stem(word.text[cut:])) if n.score >= 0.75
        )
        if kept:
            yield NamedSpan(
                word.start + cut, word.end, first, 1, text[word.start + cut : word.end], kept, True
            )
            return


def _may_name(words: list[Word], place: int) -> bool:
    """Function words and imperatives ("show me", "list all") name nothing."""
    word = words[place].text
    if word in STOPS or (len(word) < 2):
        return False
    after = words[place + 1].text if place + 1 < len(words) else ""
    return not (
        word in _IMPERATIVES
        and (place == 0 or words[place - 1].text in ("please", "you", "and", "to"))
        and after in _AFTER_IMPERATIVE
    )


def _span(text: str, words: list[Word], first: int, count: int, found: tuple[Named, ...]) -> NamedSpan:
    start, end = words[first].start, words[first + count - 1].end
    return NamedSpan(start, end, first, count, text[start:end], tuple(sorted(found, key=lambda n: -n.score)))


def is_beginning(column: Column) -> bool:
    """Whether a column that tells ages holds when something began (a date, or a year) rather than how old it is."""
    low = column.profile.minimum
    return column.is_date or (isinstance(low, int | float) and low >= 1000)


def _adjectives(
    text: str, words: list[Word], first: int, languages: frozenset[str], measured: Measured
) -> Iterable[NamedSpan]:
    adjectives = load().adjectives
    for count in (3, 2, 1):
        if first + count > len(words):
            continue
        asked = adjectives.get(" ".join(w.text for w in words[first : first + count]))
        if not asked:
            continue
        found = []
        for rank, adjective in enumerate(sorted(asked, key=lambda a: a.concept != "age")):
            weight = 0.9 if adjective.language in languages else 0.65
            for table, column in measured(adjective.columns):
                end = adjective.end
                if adjective.concept == "age" and is_beginning(column):
                    end = "min" if end == "max" else "max"  # the oldest was born first
                found.append(Named(table.name, column.name, weight - 0.03 * rank, adjective.concept, end))
        if found:
            yield _span(text, words, first, count, tuple(found))
            return
