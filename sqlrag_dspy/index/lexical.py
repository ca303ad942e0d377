"""Matching by words: names, codes and numbers that meaning blurs. SQLite's FTS5, without a copy of the text.

Text is normalised before it goes in (composed characters, no control characters, CJK characters apart) and
folded by the tokenizer (no accents, English stems). A word of the question that no document has is widened
to the words that may have been meant: split names joined ("Doo ley"), near spellings.
Leaves out: which rows may match (a set of chunk ids is passed in) and ranking against meaning (`fuse`).
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index.language import STOP_WORDS

TOKENIZER = "porter unicode61 remove_diacritics 2"
WEIGHTS = (1.0, 1.0, 1.0)
"""How much a hit counts in the chunk itself, in its row's short texts, in its row's filter values."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_LETTER = re.compile(f"([{_CJK}])")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"[^\W_]+")
_SOFT = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_CONTROL = dict.fromkeys((*range(32), *range(127, 160), ord("_")), " ")
_MOST_TERMS = 64
"""Words of a question that are matched, the rarest first."""
_MANY = 5_000
"""Allowed chunks beyond which it is cheaper to ask of every match whether it is allowed."""
_FUZZY_LENGTH = 4
"""Shorter words have too many neighbours to guess among."""


def normalise(text: str) -> str:
    """Text as the tokenizer should see it; never used for offsets."""
    composed = unicodedata.normalize("NFC", text.translate(_SOFT)).translate(_CONTROL)
    composed = composed.encode("utf-8", "replace").decode("utf-8")
    return _CJK_LETTER.sub(r" \1 ", composed) if _CJK_LETTER.search(composed) else composed


@dataclass(frozen=True)
class Term:
    """A word of the question: what matches it in FTS5, its rarity, and whether it had to be guessed."""

    word: str
    expressions: tuple[str, ...]
    idf: float
    is_known: bool = True
    """Whether the documents have the word as it was written."""


@dataclass(frozen=True)
class Matches:
    """Chunks that hold words of the question: id -> BM25 (positive), beside what the question could score.

    `mass` is the idf of all its words, those that no document has included.
    """

    scores: dict[int, float] = field(default_factory=dict)
    terms: tuple[Term, ...] = ()
    mass: float = 0.0


def create(connection: sqlite3.Connection, table_id: int) -> None:
    """Adds an empty word index for one table."""
    connection.execute(
        f"CREATE VIRTUAL TABLE words_{table_id} "
        f"USING fts5(body, context, filters, content='', tokenize='{TOKENIZER}')"
    )
    connection.execute(f"CREATE VIRTUAL TABLE vocabulary_{table_id} USING fts5vocab(words_{table_id}, 'row')")


def drop(connection: sqlite3.Connection, table_id: int) -> None:
    """Removes the word index of one table."""
    connection.execute(f"DROP TABLE IF EXISTS vocabulary_{table_id}")
    connection.execute(f"DROP TABLE IF EXISTS words_{table_id}")


def empty(connection: sqlite3.Connection, table_id: int) -> None:
    """Forgets all chunks of one table."""
    connection.execute(f"INSERT INTO words_{table_id}(words_{table_id}) VALUES ('delete-all')")


def add(connection: sqlite3.Connection, table_id: int, chunks: Iterable[tuple[int, str, str, str]]) -> None:
    """Adds chunks: (id, text, the row's short texts, the row's filter values)."""
    connection.executemany(
        f"INSERT INTO words_{table_id}(rowid, body, context, filters) VALUES (?, ?, ?, ?)",
        (
            (id_, normalise(body), normalise(context), normalise(values))
            for id_, body, context, values in chunks
        ),
    )


class _Stemmer:
    """The tokenizer of the word index, asked what it makes of single words."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.execute(f"CREATE VIRTUAL TABLE w USING fts5(x, tokenize='{TOKENIZER}')")
        self._connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, 'instance')")

    def __call__(self, word: str) -> str:
        self._connection.execute("DELETE FROM w")
        self._connection.execute("INSERT INTO w VALUES (?)", (word,))
        rows: list[tuple[str]] = self._connection.execute("SELECT term FROM v ORDER BY offset").fetchall()
        return rows[0][0] if len(rows) == 1 else word.casefold()


class WordIndex:
    """The word index of one table, for reading. Not for two threads at once: `Index` holds a lock."""

    def __init__(
        self, connection: sqlite3.Connection, table_id: int, chunks: int, ignored: Sequence[str]
    ) -> None:
        self._connection = connection
        self._table_id = table_id
        self._chunks = chunks
        self._ignored = frozenset(ignored)
        self._vocabulary: dict[int, list[str]] | None = None
        self._stemmer = _Stemmer()
        self._stem = lru_cache(maxsize=4096)(self._stemmer)
        self._count = lru_cache(maxsize=4096)(self._look_up)

    def _look_up(self, stem: str) -> int:
        """Chunks that hold the stem."""
        row = self._connection.execute(
            f"SELECT doc FROM vocabulary_{self._table_id} WHERE term = ?", (stem,)
        ).fetchone()
        return int(row[0]) if row else 0

    def _idf(self, count: int) -> float:
        return log(1 + (self._chunks - count + 0.5) / (count + 0.5))

    def terms(self, text: str, *, is_foreign: bool = False) -> tuple[Term, ...]:
        """The words of a question that may tell documents apart, each with what to match for it.

        In a foreign question only names can be meant, so nothing but a very near spelling is guessed.
        """
        alike = 0.87 if is_foreign else 0.75
        clean = unicodedata.normalize("NFC", text.translate(_SOFT)).translate(_CONTROL)
        found: list[Term] = []
        for run in _CJK_RUN.findall(clean):
            pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
            idf = self._idf(0) / 2
            found += [Term(pair, (f'"{" ".join(pair)}"',), idf) for pair in dict.fromkeys(pairs)]
        words = _WORD.findall(_CJK_RUN.sub(" ", clean))
        useful = [
            word
            for word in words
            if word.casefold() not in STOP_WORDS and word.casefold() not in self._ignored
        ]
        kept = set(useful or words)
        guessed: set[int] = set()
        for at in range(len(words) - 1):
            joined = words[at] + words[at + 1]
            stem = self._stem(joined)
            unknown = [n for n in (at, at + 1) if words[n] in kept and not self._count(self._stem(words[n]))]
            if not unknown or joined.isdigit():
                continue
            is_name = words[at][0].isupper() or not is_foreign
            near = [stem] if self._count(stem) else self._near(stem, 0.87) if is_name else []
            if near:
                found.append(self._guess(f"{words[at]} {words[at + 1]}", near))
                guessed.update(unknown)
        seen: set[str] = set()
        for at, word in enumerate(words):
            stem = self._stem(word)
            if word not in kept or stem in seen or at in guessed:
                continue
            seen.add(stem)
            count = self._count(stem)
            near = [] if count else self._near(stem, alike)
            if near:
                found.append(self._guess(word, near))
            elif not count and (halves := self._halves(word)):
                found.append(Term(word, (f'"{" ".join(halves)}"',), 0.8 * self._idf(0), is_known=False))
            else:
                found.append(Term(word, (f'"{word}"',), self._idf(count), count > 0))
        return tuple(found)

    def _guess(self, word: str, stems: list[str]) -> Term:
        """A term for the stems that may have been meant; as rare as the rarest, at a discount."""
        idf = max(self._idf(self._count(stem)) for stem in stems)
        return Term(word, tuple(f'"{stem}"' for stem in stems), 0.8 * idf, is_known=False)

    def _halves(self, word: str) -> tuple[str, str] | None:
        """Two known words that the word is written together from ("nightshift")."""
        for at in range(3, len(word) - 2):
            if self._count(self._stem(word[:at])) and self._count(self._stem(word[at:])):
                return word[:at], word[at:]
        return None

    def _near(self, stem: str, alike: float) -> list[str]:
        """Up to five stems of the documents spelt nearly like this one."""
        if len(stem) < _FUZZY_LENGTH or any(map(str.isdigit, stem)):
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if self._vocabulary is None:
            rows = self._connection.execute(f"SELECT term FROM vocabulary_{self._table_id}")
            self._vocabulary = {}
            for (term,) in rows:
                self._vocabulary.setdefault(len(term), []).append(term)
        # Words of quite another length cannot be that near.
        lengths = range(max(3, ceil(alike * len(stem))), int(len(stem) / alike) + 1)
        near = process.extract(
            stem,
            [term for length in lengths for term in self._vocabulary.get(length, ())],
            scorer=OSA.normalized_similarity,
            score_cutoff=alike,
            limit=5,
            processor=None,
        )
        best = near[0][1] if near else 0.0
        # A stem that the stemmer would cut again cannot be asked for.
        return [term for term, score, _ in near if score >= best - 0.05 and self._stem(term) == term]

    @cached_property
    def _is_allowed(self) -> NDArray[np.uint8]:
        """One for every chunk id that may match, which SQL asks for as `is_allowed_N(rowid)`.

        Indexing bytes is the cheapest test that SQLite can call: no table of ids is filled.
        """
        found = self._connection.execute(f"SELECT max(id) FROM words_{self._table_id}_docsize").fetchone()[0]
        flags = bytearray(0 if found is None else int(found) + 1)
        self._connection.create_function(f"is_allowed_{self._table_id}", 1, flags.__getitem__)
        return np.frombuffer(flags, dtype=np.uint8)

    def match(
        self, terms: Sequence[Term], allowed: NDArray[np.int64] | None, limit: int | None = None
    ) -> Matches:
        """Chunks that hold any of the terms, of the allowed ids (all when None), by BM25 over the whole table.

        With `limit`, of all or of many allowed chunks only the best `limit`.
        """
        terms = sorted(terms, key=lambda term: -term.idf)[:_MOST_TERMS]
        mass = sum(term.idf for term in terms)
        expressions = dict.fromkeys(expression for term in terms for expression in term.expressions)
        if not expressions or (allowed is not None and not len(allowed)):
            return Matches({}, tuple(terms), mass)
        name = f"words_{self._table_id}"
        weights = ", ".join(map(str, WEIGHTS))
        query = f"SELECT rowid, -bm25({name}, {weights}) FROM {name} WHERE {name} MATCH ?"
        is_broad = allowed is None or len(allowed) > _MANY
        if allowed is not None and is_broad:
            flags = self._is_allowed
            flags[:] = 0
            flags[allowed[allowed < len(flags)]] = 1
            query += f" AND is_allowed_{self._table_id}(rowid)"
        elif allowed is not None:
            self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS allowed(id INTEGER PRIMARY KEY)")
            self._connection.execute("DELETE FROM temp.allowed")
            self._connection.executemany(
                "INSERT INTO temp.allowed VALUES (?)", ((id_,) for id_ in allowed.tolist())
            )
            # The plus keeps SQLite from running the match once for every allowed id.
            query += " AND +rowid IN (SELECT id FROM temp.allowed)"
        if is_broad and limit is not None:
            query += f" ORDER BY bm25({name}, {weights}) LIMIT {int(limit)}"
        rows = self._connection.execute(query, (" OR ".join(expressions),))
        return Matches({id_: float(score) for id_, score in rows}, tuple(terms), mass)
