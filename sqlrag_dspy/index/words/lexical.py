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
from itertools import chain
from math import log

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index.words.language import STOP_WORDS
from sqlrag_dspy.index.words.postings import Ids, PostingLists, Scores
from sqlrag_dspy.index.words.spelling import ALIKE_INSIDE, TOKENIZER, Vocabulary

WEIGHTS = (1.0, 1.0, 1.0)
"""How much a hit counts in the chunk itself, in its row's short texts, in its row's filter values."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_LETTER = re.compile(f"([{_CJK}])")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"[^\W_]+")
_SOFT = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_CONTROL = dict.fromkeys((*range(32), *range(127, 160), ord("_")), " ")
_GATHERED = 16 << 20
"""Bytes of words that FTS5 gathers before it writes them: the fewer parts, the fewer it has to merge."""
_MOST_TERMS = 64
"""Words of a question that are matched, the rarest first."""
_MANY = 5_000
"""Allowed chunks beyond which it is cheaper to ask of every match whether it is allowed."""
_LONGEST = 60
"""Letters of a word that may be two, at most: every place to cut it is looked at."""
ALIKE = 0.75
"""Likeness (1 less edits by length) of a spelling that may be meant, among all documents."""
ALIKE_ABROAD = 0.87
"""The same where only a slip can be meant: of a name in a foreign question, or of a word that there is."""
RARE = 3
"""Ids that hold a word, at most, for its absence from a selection to look like a slip."""


def normalise(text: str) -> str:
    """Text as the tokenizer should see it; never used for offsets."""
    if text.isascii():
        return text  # the tokenizer parts words at every character that is no letter or digit
    composed = unicodedata.normalize("NFC", text.translate(_SOFT)).translate(_CONTROL)
    composed = composed.encode("utf-8", "replace").decode("utf-8")
    return _CJK_LETTER.sub(r" \1 ", composed) if _CJK_LETTER.search(composed) else composed


@dataclass(frozen=True)
class Term:
    """A word of the question: what matches it, its rarity, and whether it had to be guessed."""

    word: str
    expressions: tuple[str, ...]
    idf: float
    is_known: bool = True
    """Whether the documents have the word as it was written."""
    weight: float = 1.0
    """Of its matches, 0 to 1: how sure the guess is."""


@dataclass(frozen=True)
class Matches:
    """Ids that hold words of the question: id -> BM25 (positive), beside what the question could score.

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
    connection.execute(
        f"INSERT INTO words_{table_id}(words_{table_id}, rank) VALUES ('hashsize', {_GATHERED})"
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


class WordIndex:
    """The word index of one table, for reading. Not for two threads at once: `Index` holds a lock."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        table_id: int,
        chunks: int,
        ignored: Sequence[str],
        lengths: NDArray[np.signedinteger],
    ) -> None:
        """`chunks`: how many are live; `lengths`: words of each chunk, by id."""
        self._chunks = chunks
        self._ignored = frozenset(ignored)
        self._postings = PostingLists(connection, table_id, lengths)
        self._vocabulary = Vocabulary(connection, table_id, self._postings)
        self._stem = self._vocabulary.stem
        self._count = self._vocabulary.count

    def _idf(self, count: int) -> float:
        return log(1 + (self._chunks - count + 0.5) / (count + 0.5))

    def terms(self, text: str, *, is_foreign: bool = False, allowed: Ids | None = None) -> tuple[Term, ...]:
        """The words of a question that may tell documents apart, each with what to match for it.

        A word that `allowed` chunks lack (when they are few enough to ask) is widened to what they have instead.
        In a foreign question only names can be meant, so nothing but a very near spelling is guessed.
        """
        if allowed is not None and len(allowed) > _MANY:
            allowed = None
        alike = ALIKE_ABROAD if is_foreign else ALIKE
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
            halves = [n for n in (at, at + 1) if words[n] in kept and n not in guessed]
            if joined.isdigit() or not halves:
                continue
            is_name = words[at][0].isupper() or not is_foreign
            near, likeness, missing = self._joined(self._stem(joined), words, halves, is_name, allowed)
            if near and missing:
                found.append(self._guess(f"{words[at]} {words[at + 1]}", near, likeness))
                guessed.update(missing)
        seen: set[str] = set()
        for at, word in enumerate(words):
            stem = self._stem(word)
            if word not in kept or stem in seen or at in guessed:
                continue
            seen.add(stem)
            found.append(self._term(word, stem, alike, allowed))
        return tuple(found)

    def _joined(
        self, stem: str, words: Sequence[str], halves: Sequence[int], is_name: bool, allowed: Ids | None
    ) -> tuple[list[str], float, list[int]]:
        """What two neighbouring words may be that were split from one: stems, how like the nearest is, and
        which of the halves have no meaning of their own."""
        unknown = [n for n in halves if not self._count(self._stem(words[n]))]
        if allowed is not None:
            if self._count(stem) and self._vocabulary.is_inside(stem, allowed):
                absent = [n for n in halves if not self._vocabulary.is_inside(self._stem(words[n]), allowed)]
                if absent:
                    return [stem], 1.0, absent
            if unknown and is_name:
                inside, likeness = self._vocabulary.near_inside(stem, ALIKE, allowed)
                apart = max(self._likeness_inside(self._stem(words[n]), allowed) for n in unknown)
                if inside and likeness > apart:
                    return inside, likeness, unknown
        if not unknown:
            return [], 0.0, []
        near = [stem] if self._count(stem) else self._vocabulary.near(stem, ALIKE_ABROAD) if is_name else []
        return near, 1.0, unknown

    def _likeness_inside(self, stem: str, allowed: Ids) -> float:
        return self._vocabulary.near_inside(stem, ALIKE_INSIDE, allowed)[1]

    def _term(self, word: str, stem: str, alike: float, allowed: Ids | None) -> Term:
        """What to match for one word: itself, or what it may have meant."""
        count = self._count(stem)
        if allowed is not None and count <= RARE:
            # In a foreign question, or for a word that others have, only a very near spelling can be meant.
            least = ALIKE_INSIDE if alike == ALIKE and not count else ALIKE_ABROAD
            if not count or not self._vocabulary.is_inside(stem, allowed):
                near, likeness = self._vocabulary.near_inside(stem, least, allowed)
                if near:
                    return self._guess(word, near, likeness, is_known=count > 0)
        if count:
            return Term(word, (f'"{word}"',), self._idf(count))
        if guesses := self._vocabulary.near(stem, alike):
            return self._guess(word, guesses)
        if halves := self._halves(word):
            return Term(word, (f'"{" ".join(halves)}"',), 0.8 * self._idf(0), is_known=False)
        return Term(word, (f'"{word}"',), self._idf(0), is_known=False)

    def _guess(self, word: str, stems: list[str], likeness: float = 1.0, *, is_known: bool = False) -> Term:
        """A term for the stems that may have been meant; as rare as the rarest, at a discount."""
        idf = max(self._idf(self._count(stem)) for stem in stems)
        expressions = tuple(f'"{stem}"' for stem in stems)
        return Term(word, expressions, 0.8 * idf, is_known, round(likeness * likeness, 1))

    def _halves(self, word: str) -> tuple[str, str] | None:
        """Two known words that the word is written together from ("nightshift")."""
        if len(word) > _LONGEST:
            return None
        for at in range(3, len(word) - 2):
            if self._count(self._stem(word[:at])) and self._count(self._stem(word[at:])):
                return word[:at], word[at:]
        return None

    def match(self, terms: Sequence[Term], allowed: Ids | None, limit: int | None = None) -> Matches:
        """Ids that hold any of the terms, of the allowed ids, ascending (all when None), by BM25 over the whole
        table.

        With `limit`, of all or of many allowed chunks only the best `limit`.
        """
        terms = sorted(terms, key=lambda term: -term.idf)[:_MOST_TERMS]
        mass = sum(term.idf for term in terms)
        scores: dict[int, float] = {}
        for weight in dict.fromkeys(term.weight for term in terms):
            alike = (term.expressions for term in terms if term.weight == weight)
            phrases = map(self._vocabulary.tokens, dict.fromkeys(chain.from_iterable(alike)))
            ids, found = self._postings.score(list(phrases), allowed)
            if limit is not None and (allowed is None or len(allowed) > _MANY):
                ids, found = _best(ids, found, limit)
            for id_, score in zip(ids.tolist(), found.tolist()):
                scores[id_] = scores.get(id_, 0.0) + weight * score
        return Matches(scores, tuple(terms), mass)


def _best(ids: Ids, scores: Scores, count: int) -> tuple[Ids, Scores]:
    """The `count` best, best first; of equal ones the lower ids."""
    if len(ids) > count:
        is_near = scores >= np.partition(scores, -count)[-count]
        ids, scores = ids[is_near], scores[is_near]
    order = np.lexsort((ids, -scores))[:count]
    return ids[order], scores[order]
