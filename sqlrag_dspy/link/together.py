"""Columns that two neighbouring words name together, each in a synonym: "delivery address", "país de facturación".

Also the two halves of a Dutch compound ("factuuradres"). Leaves out names of one word, and whole names and their
synonyms, which `Names` knows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.named import NamedSpan
from sqlrag_dspy.link.names import Named, Names, name_words
from sqlrag_dspy.link.text import STOPS, Word, is_ordinary, stem, word_set
from sqlrag_dspy.types import Catalog

_BETWEEN = re.compile(r"\s*-?\s*(?:(?:of|de|del|van)\s+)?(?:(?:the|la|el|los|las|het|de)\s+)?")
_PLACES = frozenset(f"nouns.{name}" for name in ("city", "country", "postcode", "region", "province"))
_ADDRESS = "nouns.address"
_KEYS = word_set("id identifier key number code")
_TOTALS = word_set("count number total quantity sum")
"""Words that ask for an aggregate as often as they name a column: "total words"."""
_SHORTEST = 8
"""Letters of a compound."""


class NameParts:
    """The words of all column names of two words or more, by stem and by concept."""

    def __init__(self, catalog: Catalog) -> None:
        self._found: dict[str, dict[tuple[str, str], set[int]]] = defaultdict(lambda: defaultdict(set))
        """What is said to the columns whose names say it, and with which of their words."""
        for table in catalog.tables:
            own = {stem(word) for word in name_words(table.name)}
            for column in table.columns:
                words = name_words(column.name)
                if len(words) < 2 or words[-1] in _KEYS or "per" in words:
                    continue
                for number, word in enumerate(words):
                    key = stem(word)
                    if key in own or word in STOPS or word in _TOTALS:
                        continue
                    for said in _said(key):
                        self._found[said][table.name, column.name].add(number)
                        if said in _PLACES:
                            self._found[_ADDRESS][table.name, column.name].add(number)

    def name(self, one: str, other: str) -> list[tuple[str, str]]:
        """The (table, column) whose names hold both words, each in a place of its own."""
        first = self._homes(one)
        second = self._homes(other) if first else {}
        return sorted(home for home in first.keys() & second.keys() if len(first[home] | second[home]) > 1)

    def _homes(self, word: str) -> dict[tuple[str, str], set[int]]:
        homes: dict[tuple[str, str], set[int]] = defaultdict(set)
        for said in _said(stem(word)):
            for home, numbers in self._found[said].items() if said in self._found else ():
                homes[home] |= numbers
        return homes


def _said(key: str) -> tuple[str, ...]:
    return (key, *(name for name in load().concepts.get(key, ()) if name.startswith("nouns.")))


def find_together(
    text: str, words: Sequence[Word], names: Names, parts: NameParts, languages: frozenset[str]
) -> Iterable[NamedSpan]:
    """Every stretch of two words, or of one compound, that names a column by two words of its name."""
    for number, word in enumerate(words):
        if word.text in STOPS:
            continue
        after = next((n for n in range(number + 1, len(words)) if words[n].text not in STOPS), None)
        if after is not None and _BETWEEN.fullmatch(text[word.end : words[after].start]):
            last = words[after]
            key = " ".join(stem(w.text) for w in words[number : after + 1])
            known = {(n.table, n.column) for n in names.find(key)}
            found = tuple(
                Named(table, column, 0.95, "together")
                for table, column in parts.name(word.text, last.text)
                if (table, column) not in known
            )
            if found:
                count = after - number + 1
                yield NamedSpan(word.start, last.end, number, count, text[word.start : last.end], found)
        if (
            "nl" in languages
            and len(word.text) >= _SHORTEST
            and word.text.isalpha()
            and not is_ordinary(word.text)
        ):
            homes = _halves(word.text, parts) if not names.find(stem(word.text)) else ()
            if homes:
                found = tuple(Named(table, column, 0.9, "together") for table, column in homes)
                yield NamedSpan(word.start, word.end, number, 1, word.text, found)


def _halves(word: str, parts: NameParts) -> Sequence[tuple[str, str]]:
    for cut in range(3, len(word) - 3):
        for half in dict.fromkeys((word[:cut], word[:cut].removesuffix("s"))):
            homes = parts.name(half, word[cut:])
            if homes:
                return homes
    return ()
