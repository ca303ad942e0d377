"""What words say of the tables of a schema: the words of names, synonyms, amounts of money, stored values.

Worth is between 0 and 1 and says how well a stretch of text speaks of a table, times the rarity of what it says:
a word that many tables share tells little. Leaves out meaning and references (`schema_index`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.names import MONEY_CONCEPTS, Names, name_words
from sqlrag_dspy.link.text import STOPS, phrase_key, stem, word_texts
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.types import Catalog

Worth = dict[str, float]
"""By table."""

_TABLE, _COLUMN, _VALUE, _MONEY, _MEASURED, _IN_VALUE, _PREFIX = 1.0, 0.7, 0.8, 0.55, 0.5, 0.4, 0.45
"""What a word is worth that names a table, a column or a stored value, speaks of money, of what a column measures
("cheapest"), stands within a stored value, or begins like a word of a name."""
_MOST_VALUES = 1000
"""Category values that an encoder is told of."""


class SchemaWords:
    """The words of one catalog's tables; `original` maps each copy to the table that it copies."""

    def __init__(
        self, catalog: Catalog, names: Names, values: ValueStore, original: Mapping[str, str]
    ) -> None:
        self._names = names
        self._values = values
        self._original = original
        self._count = len(catalog.tables)
        self._tables = frozenset(table.name for table in catalog.tables)
        self._in_names = _in_names(catalog, original)
        self._in_values = _in_values(values, self._tables)
        self._money = {
            table.name: _MONEY
            for table in catalog.tables
            if any(column.is_number and _is_money(column.name) for column in table.columns)
        }
        self._prefixes: dict[str, set[str]] = defaultdict(set)
        for word, tables in self._in_names.items():
            if len(word) >= 5:
                self._prefixes[word[:5]].update(tables)

    def told(self, span: Sequence[str]) -> Worth:
        """What a stretch of folded words says of tables."""
        key = phrase_key(span)
        worth: Worth = {}

        def add(table: str, value: float) -> None:
            if table in self._tables and value > worth.get(table, 0.0):
                worth[table] = value

        for named in self._names.find(key):
            add(named.table, (_COLUMN if named.column else _TABLE) * named.score)
        for entry, form in self._values.find(key):
            add(entry.home.table, _VALUE * form.score)
        for adjective in load().adjectives.get(" ".join(span), ()):
            for column in adjective.columns:
                for named in self._names.find(phrase_key(word_texts(column))):
                    if named.column:
                        add(named.table, _MEASURED * named.score)
        if key in _money_words():
            for table, value in self._money.items():
                add(table, value)
        if len(span) == 1:
            for table in self._in_values.get(key, ()):
                add(table, _IN_VALUE)
            if not worth and len(span[0]) >= 5:
                for table in self._prefixes.get(span[0][:5], ()):
                    add(table, _PREFIX)
        rarity = self.rarity(worth)
        return {table: value * rarity for table, value in worth.items()}

    def vocabulary(self) -> dict[str, Worth]:
        """Words of names and short category values, with what each is worth to its tables, copies aside."""
        found: dict[str, Worth] = {
            word: {table: value * self.rarity(tables) for table, value in tables.items()}
            for word, tables in self._in_names.items()
            if word.isalpha() and len(word) > 2
        }
        listed: dict[str, set[str]] = defaultdict(set)
        for column in self._values.columns:
            if column.kind == "category" and column.table in self._tables - self._original.keys():
                for value, _ in column.values:
                    said = " ".join(word_texts(value))
                    if 3 <= len(said) <= 30 and not any(letter.isdigit() for letter in said):
                        listed[said].add(column.table)
        for said, tables in list(listed.items())[:_MOST_VALUES]:
            worth = found.setdefault(said, {})
            for table in tables:
                worth[table] = max(worth.get(table, 0.0), _VALUE * self.rarity(tables))
        return found

    def rarity(self, tables: Iterable[str]) -> float:
        """The more, the fewer tables (their copies aside) something speaks of."""
        originals = {self._original.get(table, table) for table in tables}
        return math.log(1 + self._count / max(1, len(originals)))


def _in_names(catalog: Catalog, original: Mapping[str, str]) -> dict[str, Worth]:
    """The words of names with what each is worth to the tables that have it; copies aside."""
    found: dict[str, Worth] = defaultdict(dict)
    for table in catalog.tables:
        if table.name not in original:
            for column in table.columns:
                for word in name_words(column.name):
                    found[word][table.name] = _COLUMN
            for word in name_words(table.name):
                found[word][table.name] = _TABLE
    return dict(found)


def _in_values(values: ValueStore, tables: frozenset[str]) -> dict[str, set[str]]:
    """Stemmed words of stored values, of people aside, with the tables that hold them."""
    found: dict[str, set[str]] = defaultdict(set)
    for column in values.columns:
        if column.kind != "person" and column.table in tables:
            for value, _ in column.values:
                for word in word_texts(value):
                    if len(word) > 3 and word not in STOPS and word.isalpha():
                        found[stem(word)].add(column.table)
    return dict(found)


@cache
def _money_words() -> frozenset[str]:
    """Stemmed phrases for amounts of money: "turnover", "omzet", "gastos"."""
    glossary = load()
    return frozenset(
        member.key
        for concept in MONEY_CONCEPTS
        for member in glossary.members.get(concept, ())
        if not member.is_loose
    )


def _is_money(name: str) -> bool:
    known = _money_words()
    return any(stem(word) in known for word in name_words(name))
