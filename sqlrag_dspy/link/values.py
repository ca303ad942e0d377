"""The stored values that a question may mention, kept in memory with every form they are recognised by.

Values come from the profile (categorical columns) and from the source (names, titles, codes; up to a limit a
column, beyond which the source itself is asked). Leaves out reading a question (mentions.py) and knowing whether
the source has changed: the caller keeps fingerprint and row counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sqlrag_dspy import private
from sqlrag_dspy.errors import ProgramError
from sqlrag_dspy.link.forms import Form, Kind, forms_of, holds_codes, kind_of
from sqlrag_dspy.link.nearby import Nearby
from sqlrag_dspy.link.text import is_ordinary, word_set, word_texts
from sqlrag_dspy.types import Catalog, Column, Table, Value

MOST_VALUES = 20_000
"""Distinct values of one column kept in memory; a column with more is looked up in the source."""
_VERSION = 1

Distinct = Callable[[str, str, int], list[tuple[Value, int]]]
Matching = Callable[[str, str, str, int], list[Value]]


@dataclass(frozen=True)
class ValueColumn:
    """One column's values with their counts. `is_partial` when it has more than are kept."""

    table: str
    column: str
    kind: Kind
    values: tuple[tuple[str, int], ...]
    is_partial: bool = False
    is_filter: bool = False


class Entry(NamedTuple):
    """A stored value: where it is and how often it occurs."""

    home: ValueColumn
    value: str
    frequency: int


class ValueStore:
    """Values of all columns that a question may mention, found by phrase, by joined letters or misspelt.

    Make one with `build` or `load`. `matching` answers for columns that are kept only in part.
    """

    def __init__(self, columns: Sequence[ValueColumn], matching: Matching | None = None) -> None:
        self.columns = tuple(columns)
        self.matching = matching
        self.entries: list[Entry] = []
        self._by_key: dict[str, list[tuple[int, Form]]] = defaultdict(list)
        self._by_token: dict[str, list[int]] = defaultdict(list)
        self._longest: dict[str, int] = defaultdict(int)
        for column in self.columns:
            holds = holds_codes(column.column)
            alone = _alone(column)
            for value, count in column.values:
                self._add(Entry(column, value, count), holds, alone)

    @classmethod
    def build(cls, catalog: Catalog, distinct: Distinct, matching: Matching | None = None) -> ValueStore:
        """Reads the values of a source with `read_values`.

        `matching(table, column, text, limit)` gives stored values that contain a text.
        """
        return cls(read_values(catalog, distinct), matching)

    def save(self, path: Path | str) -> None:
        """Writes the values as JSON."""
        save_values(self.columns, path)

    @classmethod
    def load(cls, path: Path | str, matching: Matching | None = None) -> ValueStore:
        """Reads what `save` wrote. Raises ProgramError when the file is missing, damaged or of another version."""
        try:
            data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise ProgramError(
                    f"values in {path} are of version {data['version']}; run 'sqlrag index' again"
                )
            columns = [
                ValueColumn(
                    c["table"],
                    c["column"],
                    c["kind"],
                    tuple(zip(c["values"], c["counts"], strict=True)),
                    c["partial"],
                    c["filter"],
                )
                for c in data["columns"]
            ]
        except OSError as error:
            raise ProgramError(f"no values at {path} ({error.strerror}); run 'sqlrag index'") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ProgramError(
                f"values in {path} cannot be read ({error}); run 'sqlrag index' again"
            ) from error
        return cls(columns, matching)

    def find(self, key: str) -> list[tuple[Entry, Form]]:
        """Entries of which the stemmed phrase is a form."""
        found = self._by_key.get(key)
        return [(self.entries[n], form) for n, form in found] if found else []

    def longest_from(self, stem: str) -> int:
        """How many words the longest form that begins with this stemmed word has; 0 when none does."""
        return self._longest.get(stem, 0)

    def find_joined(self, letters: str) -> list[tuple[Entry, Form]]:
        """Entries with a form whose words, written together, are these letters."""
        return [found for key in self._joined.get(letters, ()) for found in self.find(key)]

    def find_misspelt(self, letters: str) -> list[tuple[Entry, Form, int]]:
        """Entries with a form within a few typing errors of these joined letters, and how many errors."""
        near = self._nearby.find(letters)
        least = near[0][1] if near else 0
        return [
            (entry, form, errors)
            for joined, errors in near
            if errors == least
            for entry, form in self.find_joined(joined)
        ]

    def containing(self, tokens: Iterable[str], most: int = 40) -> list[Entry]:
        """Long values (titles) that hold many of these stemmed words, best first."""
        scores: dict[int, float] = defaultdict(float)
        for token in set(tokens):
            postings = self._by_token.get(token)
            if postings and len(postings) <= 2000:
                for number in postings:
                    scores[number] += 1 / len(postings) + 0.2
        best = sorted(scores, key=lambda n: (-scores[n], n))[:most]
        return [self.entries[n] for n in best]

    def _add(self, entry: Entry, holds: str, alone: Container[str]) -> None:
        number = len(self.entries)
        self.entries.append(entry)
        for form in forms_of(entry.value, entry.home.kind, holds, alone):
            self._by_key[form.key].append((number, form))
            stems = form.key.split(" ")
            if len(stems) > self._longest[stems[0]]:
                self._longest[stems[0]] = len(stems)
            if len(stems) >= 4 and form.part == "whole":
                for token in set(stems):
                    if len(token) > 3:
                        self._by_token[token].append(number)

    @cached_property
    def _joined(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for key, entries in self._by_key.items():
            if len(key) > 44:
                continue
            for letters in {form.words.replace(" ", "") for _, form in entries}:
                if 4 <= len(letters) <= 40:
                    found[letters].append(key)
        return found

    @cached_property
    def _nearby(self) -> Nearby:
        return Nearby(letters for letters in self._joined if letters.isalpha())


_LISTED = 200
_RARE = 5
"""Letters from which on a word may stand for a value of several words."""


def _alone(column: ValueColumn) -> frozenset[str]:
    """The words that no other value of a short list has, and that mean nothing else: "zloty" of "Polish zloty"."""
    if column.kind != "category" or len(column.values) > _LISTED:
        return frozenset()
    counts = Counter(word for value, _ in column.values for word in set(word_texts(value)))
    return frozenset(w for w, n in counts.items() if n == 1 and len(w) >= _RARE and not is_ordinary(w))


def read_values(catalog: Catalog, distinct: Distinct) -> tuple[ValueColumn, ...]:
    """The values of every column that a question may mention values of.

    `distinct(table, column, limit)` gives up to `limit` (value, count) pairs. Categorical columns do not need it:
    their profile has all values.
    """
    columns: list[ValueColumn] = []
    for table in catalog.tables:
        for column in table.columns:
            read = _values_of(table, column, distinct)
            if read is None:
                continue
            values, is_partial = read
            kind = kind_of(column, [v for v, _ in values])
            if kind == "category" and _names_documents(table, column):
                kind = "title"
            is_filter = column.name in table.filter_columns
            columns.append(ValueColumn(table.name, column.name, kind, tuple(values), is_partial, is_filter))
    return tuple(columns)


def save_values(columns: Sequence[ValueColumn], path: Path | str) -> None:
    """Writes values as JSON, for `ValueStore.load`."""
    data = {
        "version": _VERSION,
        "columns": [
            {
                "table": c.table,
                "column": c.column,
                "kind": c.kind,
                "partial": c.is_partial,
                "filter": c.is_filter,
                "values": [v for v, _ in c.values],
                "counts": [n for _, n in c.values],
            }
            for c in columns
        ],
    }
    private.write_text(Path(path), json.dumps(data, ensure_ascii=False))


_TITLES = word_set("title name headline heading subject titulo nombre asunto titel naam onderwerp kop")


def _names_documents(table: Table, column: Column) -> bool:
    """Titles of documents, each its own: with so few rows the profile takes any short text for a category."""
    is_titled = bool(table.text_columns) and bool(_TITLES.intersection(word_texts(column.name)))
    return is_titled and table.rows > 1 and column.profile.distinct == table.rows


def _values_of(table: Table, column: Column, distinct: Distinct) -> tuple[list[tuple[str, int]], bool] | None:
    """A column's (text, count) pairs and whether there are more; None when nobody would mention its values."""
    profile = column.profile
    if profile.found != "text" or profile.is_long_text or column.name in table.text_columns:
        return None
    if profile.is_categorical:
        return _as_texts(profile.values), False
    wanted = column.name in table.filter_columns or column.name in table.key
    if profile.mean_length > 200 or (not wanted and _looks_technical(profile.samples)):
        return None
    found = distinct(table.name, column.name, MOST_VALUES + 1)
    return _as_texts(found[:MOST_VALUES]), len(found) > MOST_VALUES


def _as_texts(values: Iterable[tuple[Value, int]]) -> list[tuple[str, int]]:
    return [(v, n) for v, n in values if isinstance(v, str) and v.strip() and len(v) <= 400]


_TECHNICAL = re.compile(
    r"\s*(?:https?://|www\.|[\w.+-]+@[\w-]+\.|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{24,}$|[\[{<]|/\w+/)", re.I
)


def _looks_technical(samples: Sequence[Value]) -> bool:
    """Links, mail addresses, identifiers and markup: nobody types them."""
    texts = [s for s in samples if isinstance(s, str)]
    return bool(texts) and sum(bool(_TECHNICAL.match(s)) for s in texts) > len(texts) / 2
