"""Which chunks hold a word, how often, and what that is worth: the BM25 of FTS5 over arrays.

FTS5 looks up every matching chunk's length again for each question; here the chunks of a word are read once and kept,
and a question costs a few array operations. Scores are those of FTS5's `bm25`, to the last bit. Leaves out what to
look for (`lexical`).
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

_K1, _B = 1.2, 0.75
"""The constants of FTS5."""
_LEAST_IDF = 1e-6
_KEPT = 4_000_000
"""Postings that are kept, over all words: twelve bytes each."""
_CHUNK, _COLUMN = 24, 22
"""A word's place as one number: its chunk from this bit on, its column from this one, its place there below."""


@dataclass(frozen=True)
class Postings:
    """The chunks that hold a phrase, ascending, and how often each holds it. Both of shape (chunks,)."""

    ids: Ids
    counts: NDArray[np.int32]


class PostingLists:
    """The words of one table's chunks, for reading. Not for two threads at once.

    `lengths`: words of each chunk, by id.
    """

    def __init__(
        self, connection: sqlite3.Connection, table_id: int, lengths: NDArray[np.signedinteger]
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self._lengths = lengths
        self._kept: OrderedDict[tuple[str, ...], Postings] = OrderedDict()
        self._size = 0

    def of(self, tokens: tuple[str, ...]) -> Postings:
        """The postings of the tokens one after another, as the tokenizer gives them; of no tokens: none."""
        if tokens in self._kept:
            self._kept.move_to_end(tokens)
            return self._kept[tokens]
        found = self._read(tokens)
        self._kept[tokens] = found
        self._size += len(found.ids)
        while self._size > _KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].ids)
        return found

    def holds_any(self, tokens: tuple[str, ...], allowed: Ids) -> bool:
        """Whether any of the allowed chunks, ascending, holds the tokens."""
        return bool(len(_common(self.of(tokens).ids, allowed)[0]))

    def score(self, phrases: Sequence[tuple[str, ...]], allowed: Ids | None) -> tuple[Ids, Scores]:
        """The chunks that hold any of the phrases, among the allowed ones (ascending; None: all), and their BM25.

        Ids ascend; both of shape (chunks,).
        """
        total = np.zeros(len(self._lengths) if allowed is None else len(allowed))
        for phrase in phrases:
            postings = self.of(phrase)
            ids, counts = postings.ids, postings.counts
            places = ids
            if allowed is not None:
                own, places = _common(ids, allowed)
                ids, counts = ids[own], counts[own]
            total[places] += self._worth(len(postings.ids), ids, counts)
        found = np.flatnonzero(total)
        return (found if allowed is None else allowed[found]), total[found]

    def _worth(self, holders: int, ids: Ids, counts: NDArray[np.int32]) -> Scores:
        """What each chunk's hits are worth: in the order of FTS5's own arithmetic, so that sums are the same."""
        rows = len(self._lengths)
        odds = (rows - holders + 0.5) / (holders + 0.5)
        idf = max(log(odds), 0.0) or _LEAST_IDF
        frequency = counts.astype(np.float64)
        worth: Scores = idf * ((frequency * (_K1 + 1.0)) / (frequency + self._norms[ids]))
        return worth

    @cached_property
    def _norms(self) -> Scores:
        """What the length of each chunk adds to the divisor of BM25."""
        lengths = self._lengths.astype(np.float64)
        mean = float(lengths.sum()) / max(1, len(lengths)) or 1.0
        norms: Scores = _K1 * (1 - _B + _B * lengths / mean)
        return norms

    # --- reading ---

    def _read(self, tokens: tuple[str, ...]) -> Postings:
        if len(tokens) == 1:
            found = self._connection.execute(f"SELECT doc FROM {self._instances} WHERE term = ?", tokens)
            docs = np.fromiter((doc for (doc,) in found), dtype=np.int64)
        else:
            docs = self._sequence(tokens)
        ids, counts = np.unique(docs, return_counts=True)
        is_there = ids < len(self._lengths)
        return Postings(ids[is_there], counts[is_there].astype(np.int32))

    def _sequence(self, tokens: tuple[str, ...]) -> Ids:
        """The chunk of every place where the tokens follow each other."""
        column = (
            f"(doc << {_CHUNK}) + (CASE col WHEN 'body' THEN 0 WHEN 'context' THEN 1 ELSE 2 END << {_COLUMN})"
        )
        query = f'SELECT {column} + "offset" FROM {self._instances} WHERE term = ?'
        starts = np.zeros(0, dtype=np.int64)
        for at, token in enumerate(tokens):
            found = self._connection.execute(query, (token,))
            places = np.fromiter((place for (place,) in found), dtype=np.int64) - at
            starts = np.intersect1d(starts, places) if at else places
        return starts >> _CHUNK

    @cached_property
    def _instances(self) -> str:
        name = f"temp.instances_{self._table_id}"
        self._connection.execute(
            f"CREATE VIRTUAL TABLE {name} USING fts5vocab('main', 'words_{self._table_id}', 'instance')"
        )
        return name


def read_lengths(connection: sqlite3.Connection, table_id: int) -> NDArray[np.int32]:
    """How many words each chunk of a table has, by id, its row's short texts and filter values included."""
    rows = connection.execute(f"SELECT id, sz FROM words_{table_id}_docsize ORDER BY id").fetchall()
    lengths = np.zeros(rows[-1][0] + 1 if rows else 0, dtype=np.int32)
    if not rows:
        return lengths
    # `sz` holds one number a column, big-endian in groups of seven bits; all but the last byte have the high bit.
    content = np.frombuffer(b"".join(size for _, size in rows), dtype=np.uint8)
    ends = np.flatnonzero(content < 128)
    widths = np.diff(ends, prepend=-1)
    numbers = np.zeros(len(ends), dtype=np.int64)
    for at in range(int(widths.max())):
        has = widths > at
        numbers[has] |= (content[ends[has] - at].astype(np.int64) & 127) << (7 * at)
    ids = np.fromiter((id_ for id_, _ in rows), dtype=np.int64, count=len(rows))
    lengths[ids] = numbers.reshape(len(rows), -1).sum(axis=1)
    return lengths


def _common(ids: Ids, allowed: Ids) -> tuple[Ids, Ids]:
    """Where the numbers that both ascending arrays have stand in each."""
    if not len(ids) or not len(allowed):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if len(ids) < len(allowed):
        own, other = _common(allowed, ids)
        return other, own
    places = np.minimum(np.searchsorted(ids, allowed), len(ids) - 1)
    hits = np.flatnonzero(ids[places] == allowed)
    return places[hits], hits
