"""Which tables of a large schema a question may need: `SchemaIndex.relevant`, without a language model.

A table is described by its name and its columns' (split into words, abbreviations spelt out, with the glossary's
synonyms in three languages), by stored values, and by its neighbours over foreign keys. Words of the question
count once for a table, the more the fewer tables they speak of; an encoder may add what words do not say. Copies
(archives, staging tables) stand behind their original unless they are asked for. Leaves out choosing columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sqlrag_dspy.link.join_paths import join_paths
from sqlrag_dspy.link.lookalikes import copies, is_asked
from sqlrag_dspy.link.names import Names, name_words
from sqlrag_dspy.link.text import STOPS, fold, phrase_key, stem, words
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.types import Catalog, Table

Encode = Callable[[list[str]], Any]
"""Texts to unit vectors, (n, dimension)."""

_TABLE, _COLUMN, _VALUE, _PREFIX = 1.0, 0.7, 0.8, 0.45
"""What a word is worth that names a table, a column, a stored value, or begins like a word of a name."""
_LENT = 0.5
"""Share of its best neighbour's score that a table has too, over one reference; over two its square, and so on."""
_STEPS = 3
_ALIKE = 0.4
"""Cosine from which a word is taken to mean nearly what a word of a name does."""
_SOFT = 1.0
_MEANING = 2.0
"""What the nearness of a whole text to a whole table is worth beside a word."""
_COPY = 0.15
"""What is left of the score of a copy that is not asked for."""
_LONGEST = 5
_SHOWN = 24
"""Columns of a table that the encoder is told of."""
_SEEDS = 6
"""Best tables whose connecting tables are added."""

Scores = np.ndarray[Any, np.dtype[np.float64]]
"""One number a table, in the order of the catalog."""


class SchemaIndex:
    """The tables of one catalog, to be found by what is asked. Safe to call from several threads.

    `encode` turns texts into unit vectors, (n, dimension); without it only words count. `values` are the stored
    values (else those of the catalog's categorical columns), `synonyms` as the Linker takes them.
    """

    def __init__(
        self,
        catalog: Catalog,
        encode: Encode | None = None,
        *,
        values: ValueStore | None = None,
        synonyms: Mapping[str, Mapping[str, Sequence[str]]] = {},
    ) -> None:
        self.catalog = catalog
        self._encode = encode
        self._values = ValueStore.build(catalog, lambda *_: []) if values is None else values
        self._names = Names(catalog, synonyms)
        self._place = {table.name: number for number, table in enumerate(catalog.tables)}
        self._original = copies(catalog)
        self._joined = _joined(catalog, self._original)
        self._words = _words(catalog, self._original)
        self._prefixes: dict[str, set[str]] = defaultdict(set)
        for word, tables in self._words.items():
            if len(word) >= 5:
                self._prefixes[word[:5]].update(tables)

    def relevant(self, texts: Sequence[str], most: int = 20) -> tuple[str, ...]:
        """The names of up to `most` tables that the texts may need, the likeliest first.

        `texts` is a question, or several intents of one: what any of them needs counts in full.
        """
        if not texts or most < 1:
            return ()
        scores = np.stack([self._scores(text) for text in texts])
        total = scores.max(axis=0) + 0.25 * scores.mean(axis=0)
        order = [self.catalog.tables[n].name for n in np.argsort(-total, kind="stable")]
        if len(order) <= most:
            return tuple(order)
        return self._connected(order, most)

    def _connected(self, order: list[str], most: int) -> tuple[str, ...]:
        """The first `most` of the order, with room made for tables that connect the best ones."""
        seeds = order[: min(_SEEDS, most)]
        between = [
            table
            for path in join_paths(self.catalog, seeds)
            if len(path.through) <= 2
            for table in path.through
        ]
        needed = [t for t in dict.fromkeys(between) if t not in seeds][: max(0, most // 4)]
        return tuple(dict.fromkeys([*seeds, *order[: most - len(needed)], *needed, *order]))[:most]

    def _scores(self, text: str) -> Scores:
        listed = words(fold(text[:4000]))
        scores = self._by_words([word.text for word in listed])
        if self._encode is not None and listed:
            near = np.asarray(self._vectors @ self._encode([text[:1000]])[0], dtype=np.float64)
            scores += _MEANING * np.maximum(near - near.mean(), 0.0)
        said = frozenset(stem(word.text) for word in listed)
        unasked = []
        for copy, original in self._original.items():
            if is_asked(copy, original, said):
                best = max(scores[self._place[copy]], scores[self._place[original]])
                scores[self._place[copy]] = best + math.log(1 + len(self._place))
            else:
                unasked.append(self._place[copy])
        scores[unasked] *= _COPY
        total = scores
        for _ in range(_STEPS):
            lent = np.array([max((w * total[n] for n, w in near), default=0.0) for near in self._joined])
            total = scores + _LENT * lent
        return total

    def _by_words(self, texts: list[str]) -> Scores:
        """What each table gets for the words of a text: for every word the best that it says of the table."""
        plain = [number for number, word in enumerate(texts) if word not in STOPS]
        row = {number: place for place, number in enumerate(plain)}
        best = np.zeros((len(plain), len(self._place)))
        for first in range(len(texts)):
            for count in range(1, min(_LONGEST, len(texts) - first) + 1):
                covered = [row[number] for number in range(first, first + count) if number in row]
                if not covered:
                    continue
                for table, worth in self._told(texts[first : first + count]).items():
                    place = self._place[table]
                    for number in covered:
                        best[number, place] = max(best[number, place], worth)
        if self._encode is not None and plain:
            best = np.maximum(best, self._softly([texts[number] for number in plain]))
        out: Scores = best.sum(axis=0)
        return out

    def _softly(self, asked: list[str]) -> Scores:
        """What words say of tables by meaning alone, (words, tables)."""
        assert self._encode is not None
        vectors, worth = self._meanings
        near = np.asarray(self._encode(asked) @ vectors.T, dtype=np.float64)
        near = np.maximum(near - _ALIKE, 0.0) / (1 - _ALIKE)
        out = np.zeros((len(asked), len(self._place)))
        for number, line in enumerate(near):
            for found in np.flatnonzero(line):
                out[number] = np.maximum(out[number], _SOFT * line[found] * worth[found])
        return out

    def _told(self, span: Sequence[str]) -> dict[str, float]:
        """What one stretch of a text says of tables: worth by table."""
        key = phrase_key(span)
        worth: dict[str, float] = {}
        for named in self._names.find(key):
            kind = _COLUMN if named.column else _TABLE
            worth[named.table] = max(worth.get(named.table, 0.0), kind * named.score)
        for entry, form in self._values.find(key):
            table = entry.home.table
            if table in self._place:
                worth[table] = max(worth.get(table, 0.0), _VALUE * form.score)
        if not worth and len(span) == 1 and len(span[0]) >= 5:
            worth = dict.fromkeys(self._prefixes.get(span[0][:5], ()), _PREFIX)
        rarity = self._rarity(worth)
        return {table: value * rarity for table, value in worth.items() if table in self._place}

    @cached_property
    def _meanings(self) -> tuple[Any, Scores]:
        """Unit vectors of the words of names, and what each word is worth to every table, (words, tables)."""
        assert self._encode is not None
        known = sorted(word for word in self._words if word.isalpha() and len(word) > 2)
        worth = np.zeros((len(known), len(self._place)))
        for number, word in enumerate(known):
            tables = self._words[word]
            for table, value in tables.items():
                worth[number, self._place[table]] = value * self._rarity(tables)
        return np.asarray(self._encode(known)) if known else np.zeros((0, 1)), worth

    def _rarity(self, tables: Iterable[str]) -> float:
        """The more, the fewer tables (their copies aside) a word speaks of."""
        return math.log(1 + len(self._place) / max(1, len({self._original.get(t, t) for t in tables})))

    @cached_property
    def _vectors(self) -> Any:
        """Unit vectors of the tables' descriptions, (tables, dimension)."""
        assert self._encode is not None
        return np.asarray(self._encode([describe(table) for table in self.catalog.tables]))


def describe(table: Table) -> str:
    """A table in words: its name, then its columns'."""
    told = [" ".join(name_words(column.name)) for column in table.columns[:_SHOWN]]
    return f"{' '.join(name_words(table.name))}: {', '.join(told)}"


def _joined(catalog: Catalog, original: Mapping[str, str]) -> list[tuple[tuple[int, float], ...]]:
    """By table, the numbers of the tables that a reference joins it to, with how much that is to be trusted.

    Copies lend nothing.
    """
    place = {table.name: number for number, table in enumerate(catalog.tables)}
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for table in catalog.tables:
        for key in table.foreign_keys:
            if key.table in place and key.table != table.name:
                trust = 1.0 if key.is_declared else 0.8
                for one, other in ((table.name, key.table), (key.table, table.name)):
                    if other not in original and one not in original:
                        near = found[place[one]]
                        near[place[other]] = max(trust, near.get(place[other], 0.0))
    return [tuple(found[number].items()) for number in range(len(catalog.tables))]


def _words(catalog: Catalog, original: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The words of names, with what each is worth to the tables that have it; copies aside."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for table in catalog.tables:
        if table.name in original:
            continue
        for column in table.columns:
            for word in name_words(column.name):
                found[word][table.name] = _COLUMN
        for word in name_words(table.name):
            found[word][table.name] = _TABLE
    return dict(found)
