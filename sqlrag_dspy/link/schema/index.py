"""Which tables of a large schema a question may need: `SchemaIndex.relevant`, without a language model.

A table is described by its name and its columns' (split into words, abbreviations spelt out, with the glossary's
synonyms in three languages), by stored values, and by its neighbours over foreign keys. Words of the question
count once for a table, the more the fewer tables they speak of; an encoder may add what words do not say. Copies
(archives, staging tables) stand behind their original unless they are asked for. Leaves out choosing columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sqlrag_dspy.link.names import Names, name_words
from sqlrag_dspy.link.schema.join_paths import JoinGraph
from sqlrag_dspy.link.schema.lookalikes import copies, words_for
from sqlrag_dspy.link.schema.words import SchemaWords
from sqlrag_dspy.link.text import STOPS, fold, stem, words
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.types import Catalog, Table

Encode = Callable[[list[str]], Any]
"""Texts to unit vectors, (n, dimension)."""

_LENT = 0.6
"""Share of its best neighbour's score that a table has too, over one reference; over two its square, and so on."""
_STEPS = 3
_ALIKE = 0.4
"""Cosine from which a word is taken to mean nearly what a word of a name does."""
_SOFT = 0.9
_MEANING = 2.0
"""What the nearness of a whole text to a whole table is worth beside a word."""
_TEXTS = 0.5
"""What a table with texts to search has beforehand: what nothing names may stand in them."""
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
        self._place = {table.name: number for number, table in enumerate(catalog.tables)}
        self._original = copies(catalog)
        self._copies = [
            (self._place[copy], self._place[original], words_for(copy, original))
            for copy, original in self._original.items()
        ]
        self._graph = JoinGraph(catalog, self._original)
        self._joined = _joined(catalog, self._original)
        stored = ValueStore.build(catalog, lambda *_: []) if values is None else values
        self._words = SchemaWords(catalog, Names(catalog, synonyms), stored, self._original)
        self._has_texts = np.array([_TEXTS * bool(table.text_columns) for table in catalog.tables])

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
            table for path in self._graph.paths(seeds) if len(path.through) <= 2 for table in path.through
        ]
        needed = [t for t in dict.fromkeys(between) if t not in seeds][: max(0, most // 4)]
        return tuple(dict.fromkeys([*seeds, *order[: most - len(needed)], *needed, *order]))[:most]

    def _scores(self, text: str) -> Scores:
        listed = words(fold(text[:4000]))
        texts = [word.text for word in listed]
        plain = [number for number, word in enumerate(texts) if word not in STOPS]
        worth = self._by_words(texts, plain)
        scores = self._has_texts.copy()
        if self._encode is not None and listed:
            vectors = np.asarray(self._encode([text[:1000], *(texts[number] for number in plain)]))
            worth = np.maximum(worth, self._by_meaning(vectors[1:]))
            near = np.asarray(self._vectors @ vectors[0], dtype=np.float64)
            scores += _MEANING * np.maximum(near - near.mean(), 0.0)
        scores += worth.sum(axis=0)
        said = frozenset(stem(word.text) for word in listed)
        for copy, original, asked in self._copies:
            if said.isdisjoint(asked):
                scores[copy] *= _COPY
            else:
                scores[copy] += scores[original]
        total = scores
        for _ in range(_STEPS):
            lent = np.array([max((w * total[n] for n, w in near), default=0.0) for near in self._joined])
            total = scores + _LENT * lent
        return total

    def _by_words(self, texts: list[str], plain: list[int]) -> Scores:
        """The best that each word says of each table, (words, tables); `plain` are the places of those that count."""
        row = {number: place for place, number in enumerate(plain)}
        best = np.zeros((len(plain), len(self._place)))
        for first in range(len(texts)):
            for count in range(1, min(_LONGEST, len(texts) - first) + 1):
                covered = [row[number] for number in range(first, first + count) if number in row]
                if not covered:
                    continue
                for table, worth in self._words.told(texts[first : first + count]).items():
                    place = self._place[table]
                    for number in covered:
                        best[number, place] = max(best[number, place], worth)
        return best

    def _by_meaning(self, asked: Any) -> Scores:
        """What words, as unit vectors, say of tables by meaning alone, (words, tables)."""
        vectors, worth = self._meanings
        near = np.asarray(asked @ vectors.T, dtype=np.float64)
        near = np.maximum(near - _ALIKE, 0.0) / (1 - _ALIKE)
        out = np.zeros((len(asked), len(self._place)))
        for number, line in enumerate(near):
            found = np.flatnonzero(line)
            if len(found):
                out[number] = _SOFT * (line[found, None] * worth[found]).max(axis=0)
        return out

    @cached_property
    def _meanings(self) -> tuple[Any, Scores]:
        """Unit vectors of the words of names, and what each word is worth to every table, (words, tables)."""
        assert self._encode is not None
        known = self._words.vocabulary()
        worth = np.zeros((len(known), len(self._place)))
        for number, tables in enumerate(known.values()):
            for table, value in tables.items():
                worth[number, self._place[table]] = value
        return np.asarray(self._encode(list(known))) if known else np.zeros((0, 1)), worth

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
