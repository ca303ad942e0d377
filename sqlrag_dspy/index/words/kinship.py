"""Words that mean alike, in whatever language: a vector for every word of a table, and which words each chunk holds.

A passage speaks of a question's word as much as the most alike of its own words does; a passage scores the mean over
the question's words, each weighed by how few passages speak of it. Kept for tables of moderate size, by an encoder
that reads many languages and single words. Leaves out names and numbers as they are written (`lexical`), and what
these scores weigh beside the others (`ranking`).
"""

from __future__ import annotations

import re
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index import store
from sqlrag_dspy.index.embed import Embedder, Vectors
from sqlrag_dspy.index.words.language import STOP_WORDS
from sqlrag_dspy.index.words.lexical import normalise

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

MOST_CHUNKS = 30_000
"""Chunks of a table, at most, for its words to be kept."""
MOST_WORDS = 20_000
"""Words of a table that get a vector: those in most chunks."""
ASKED = 32
"""Words of a question that are compared, at most."""
ALIKE = 0.4
"""Cosine up to which two words have nothing in common."""
_LONGEST = 40
"""Letters of a word."""
_CACHED = 4_000_000
"""Chunks that are kept with how much they speak of words asked for lately: four bytes each."""
_TOGETHER = 512
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> set[str]:
    """The words of a text that may have a meaning of their own."""
    found = {word for word in map(str.casefold, _WORD.findall(normalise(text))) if len(word) <= _LONGEST}
    return {word for word in found - STOP_WORDS if not word.isdigit()}


# --- writing ----------------------------------------------------------------------------------------


class Writer:
    """The words of one table while it is synced."""

    def __init__(self, connection: sqlite3.Connection, table_id: int) -> None:
        self._connection = connection
        self._id = table_id
        self._known: dict[str, int] | None = None
        self._fresh: list[str] = []

    def add(self, chunks: Iterable[tuple[int, str, str, str]]) -> None:
        """Notes the words of chunks: (id, text, the row's short texts, the row's filter values)."""
        chunks = [chunk for chunk in chunks if chunk[0] < MOST_CHUNKS]
        if not chunks:
            return
        if self._known is None:
            found = self._connection.execute("SELECT word, id FROM kinship WHERE table_id = ?", (self._id,))
            self._known = dict(found.fetchall())
            self._next = max(self._known.values(), default=-1) + 1
        self._fresh, lists = [], []
        for id_, *texts in chunks:
            words = words_of("\n".join(texts))
            lists.append((self._id, id_, np.array(sorted(map(self._number, words)), dtype="<u4").tobytes()))
        fresh = [(self._id, self._known[word], word) for word in self._fresh]
        many = self._connection.executemany
        many("INSERT INTO kinship(table_id, id, word) VALUES (?, ?, ?)", fresh)
        many("INSERT INTO chunk_words VALUES (?, ?, ?)", lists)

    def _number(self, word: str) -> int:
        known = self._known if self._known is not None else {}
        if word not in known:
            known[word] = self._next
            self._next += 1
            self._fresh.append(word)
        return known[word]

    def is_complete(self) -> bool:
        """Whether the words of all live chunks are noted, or there are too many chunks for that."""
        lists = "SELECT 1 FROM chunk_words w WHERE w.table_id = c.table_id AND w.chunk = c.id"
        live = "FROM chunks c WHERE table_id = ? AND NOT dead"
        if self._connection.execute(f"SELECT count(*) {live}", (self._id,)).fetchone()[0] > MOST_CHUNKS:
            return True
        missing = f"SELECT 1 {live} AND NOT EXISTS ({lists}) LIMIT 1"
        return self._connection.execute(missing, (self._id,)).fetchone() is None

    def empty(self) -> None:
        """Forgets which words chunks hold; the words themselves stay until `finish`."""
        self._connection.execute("DELETE FROM chunk_words WHERE table_id = ?", (self._id,))

    def finish(self, encoder: Embedder | None, live: int, lent: Mapping[str, bytes]) -> None:
        """Gives words their vectors, and forgets what no live chunk holds; everything when not all of the `live`
        chunks are noted, or without an encoder. `lent`: vectors that another store has."""
        connection, id_ = self._connection, self._id
        lists = []
        if encoder is not None and live <= MOST_CHUNKS:
            lists = connection.execute(
                "SELECT w.words FROM chunk_words w JOIN chunks c ON c.table_id = w.table_id AND c.id = w.chunk "
                "WHERE w.table_id = ? AND NOT c.dead",
                (id_,),
            ).fetchall()
        if encoder is None or not lists or len(lists) < live:
            forget(connection, id_)
            return
        holders = np.bincount(np.frombuffer(b"".join(words for (words,) in lists), dtype="<u4"))
        words = connection.execute(
            "SELECT id, word, vector IS NULL FROM kinship WHERE table_id = ?", (id_,)
        ).fetchall()
        used = [
            (int(holders[n]), word, n, bare) for n, word, bare in words if n < len(holders) and holders[n]
        ]
        used.sort(key=lambda each: (-each[0], each[1]))
        kept = {number for _, _, number, _ in used}
        drop = [(id_, n) for n, _, _ in words if n not in kept]
        connection.executemany("DELETE FROM kinship WHERE table_id = ? AND id = ?", drop)
        rare = [(id_, n) for _, _, n, bare in used[MOST_WORDS:] if not bare]
        connection.executemany("UPDATE kinship SET vector = NULL WHERE table_id = ? AND id = ?", rare)
        blank = [(word, n) for _, word, n, bare in used[:MOST_WORDS] if bare]
        for at in range(0, len(blank), _TOGETHER):
            some = blank[at : at + _TOGETHER]
            unknown = [word for word, _ in some if word not in lent]
            made = dict(zip(unknown, _packed(encoder(unknown)))) if unknown else {}
            connection.executemany(
                "UPDATE kinship SET vector = ? WHERE table_id = ? AND id = ?",
                ((made.get(word) or lent[word], id_, number) for word, number in some),
            )


def _packed(vectors: Vectors) -> list[bytes]:
    """Vectors as bytes, one a dimension; their lengths are lost."""
    most = np.abs(vectors).max(axis=1, keepdims=True)
    return [row.tobytes() for row in np.round(vectors * (127 / np.where(most > 0, most, 1))).astype(np.int8)]


def forget(connection: sqlite3.Connection, table_id: int) -> None:
    """Removes the words of one table."""
    for name in ("kinship", "chunk_words"):
        connection.execute(f"DELETE FROM {name} WHERE table_id = ?", (table_id,))


def vectors_of(connection: sqlite3.Connection, table_id: int) -> dict[str, bytes]:
    """Words with their vectors as they are stored, to lend."""
    return dict(
        connection.execute(
            "SELECT word, vector FROM kinship WHERE table_id = ? AND vector IS NOT NULL", (table_id,)
        ).fetchall()
    )


# --- reading ----------------------------------------------------------------------------------------


@dataclass
class Kinship:
    """The words of one table, for reading. Not for two threads at once.

    `vectors`: of each word, shape (words, dimensions). `chunks`: which chunks hold each word, its part from `starts`
    on. `live`: ids of the chunks.
    """

    words: dict[str, int]
    vectors: Vectors
    chunks: Ids
    starts: Ids
    live: Ids
    _cache: OrderedDict[str, tuple[NDArray[np.float32], float]] = field(default_factory=OrderedDict)

    def scores(self, words: Sequence[str], chunk_ids: Ids, encoder: Embedder) -> Scores:
        """How much each chunk speaks of the words, 0 to 1, shape (chunks,)."""
        words = list(dict.fromkeys(words))[:ASKED]
        if not words or not len(chunk_ids):
            return np.zeros(len(chunk_ids))
        self._compare([word for word in words if word not in self._cache], encoder)
        total, mass = np.zeros(len(chunk_ids)), 0.0
        for word in words:
            spoken, weight = self._cache[word]
            total += weight * spoken[chunk_ids]
            mass += weight
            self._cache.move_to_end(word)
        while len(self._cache) > max(ASKED, _CACHED // len(self.live)):
            self._cache.popitem(last=False)
        found: Scores = np.round(total / mass, 6)
        return found

    def _compare(self, words: Sequence[str], encoder: Embedder) -> None:
        """Keeps for each word how much every chunk speaks of it, and its weight."""
        if not words:
            return
        unknown = [word for word in words if word not in self.words]
        made = dict(zip(unknown, encoder(unknown))) if unknown else {}
        asked = np.stack([made[w] if w in made else self.vectors[self.words[w]] for w in words])
        cosines = (self.vectors @ asked.T).T  # quicker than the other way round
        for word, own in zip(words, cosines):
            spoken = self._spoken(own)
            count, holders = len(self.live), float(spoken[self.live].sum())
            self._cache[word] = spoken, log(1 + (count - holders + 0.5) / (holders + 0.5))

    def _spoken(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """The most that each chunk's words are like one, from its cosines with all words; by chunk id."""
        alike = np.flatnonzero(cosines > ALIKE)
        lengths = self.starts[alike + 1] - self.starts[alike]
        places = np.arange(lengths.sum()) + np.repeat(
            self.starts[alike] - np.cumsum(lengths) + lengths, lengths
        )
        spoken = np.zeros(int(self.live[-1]) + 1, dtype=np.float32)
        likeness = np.minimum((cosines[alike] - ALIKE) / (1 - ALIKE), 1)
        np.maximum.at(spoken, self.chunks[places], np.repeat(likeness, lengths))
        return spoken


def read(connection: sqlite3.Connection, table_id: int, live: Ids) -> Kinship | None:
    """The words of a table with the live chunks given, ascending; None where they are not kept."""
    if not store.has_table(connection, "chunk_words") or not len(live):
        return None
    stored = connection.execute(
        "SELECT id, word, vector FROM kinship WHERE table_id = ? AND vector IS NOT NULL ORDER BY id",
        (table_id,),
    ).fetchall()
    lists = dict(
        connection.execute("SELECT chunk, words FROM chunk_words WHERE table_id = ?", (table_id,)).fetchall()
    )
    if not stored or not all(id_ in lists for id_ in live.tolist()):
        return None
    raw = np.frombuffer(b"".join(vector for _, _, vector in stored), dtype=np.int8)
    vectors = raw.reshape(len(stored), -1).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    texts = [lists[id_] for id_ in live.tolist()]
    held = np.frombuffer(b"".join(texts), dtype="<u4").astype(np.int64)
    chunks = np.repeat(live, [len(text) // 4 for text in texts])
    # By word; of words without a vector, or newer than the last with one, nothing.
    numbers = np.array([id_ for id_, _, _ in stored], dtype=np.int64)
    place = np.minimum(np.searchsorted(numbers, held), len(numbers) - 1)
    is_kept = numbers[place] == held
    place, chunks = place[is_kept], chunks[is_kept]
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(stored) + 1))
    words = {word: at for at, (_, word, _) in enumerate(stored)}
    return Kinship(words, vectors, chunks[order], starts, live)
