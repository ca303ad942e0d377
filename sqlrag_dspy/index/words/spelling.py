"""The words that documents have, and those among them that a misspelt word may have meant.

Inside a selection a word is compared with the words of the allowed chunks alone: a spelling too far off to be
guessed among all documents is plain among a few. Leaves out which words of a question to look for (`lexical`).
"""

from __future__ import annotations

import sqlite3
from functools import cached_property, lru_cache
from math import ceil

from sqlrag_dspy.index.words.postings import Ids, PostingLists

TOKENIZER = "porter unicode61 remove_diacritics 2"
FUZZY_LENGTH = 4
"""Shorter words have too many neighbours to guess among."""
ALIKE_INSIDE = 0.6
"""Likeness (1 less edits by length) that is enough inside a selection: two edits in five letters."""
MARGIN = 0.05
"""How much less alike than the nearest a word may be to be meant too."""
_GUESSES = 5
_LOOKED_AT = 60
"""Near spellings that are looked for in a selection."""


class Stemmer:
    """The tokenizer of the word index, asked what it makes of single words."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.execute(f"CREATE VIRTUAL TABLE w USING fts5(x, tokenize='{TOKENIZER}')")
        self._connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, 'instance')")

    def tokens(self, text: str) -> tuple[str, ...]:
        """The stems of a text, in order."""
        self._connection.execute("DELETE FROM w")
        self._connection.execute("INSERT INTO w VALUES (?)", (text,))
        return tuple(term for (term,) in self._connection.execute("SELECT term FROM v ORDER BY offset"))


class Vocabulary:
    """The stems of one table's chunks. Not for two threads at once."""

    def __init__(self, connection: sqlite3.Connection, table_id: int, postings: PostingLists) -> None:
        self._connection = connection
        self._table_id = table_id
        self._postings = postings
        self.tokens = lru_cache(maxsize=4096)(Stemmer().tokens)
        self.count = lru_cache(maxsize=4096)(self._count)
        self._near = lru_cache(maxsize=1024)(self._extract)

    def stem(self, word: str) -> str:
        """The stem of a word; of one that the tokenizer cuts in several, the word itself in small letters."""
        tokens = self.tokens(word)
        return tokens[0] if len(tokens) == 1 else word.casefold()

    def _count(self, stem: str) -> int:
        """Chunks that hold the stem."""
        row = self._connection.execute(
            f"SELECT doc FROM vocabulary_{self._table_id} WHERE term = ?", (stem,)
        ).fetchone()
        return int(row[0]) if row else 0

    @cached_property
    def _by_length(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for (term,) in self._connection.execute(f"SELECT term FROM vocabulary_{self._table_id}"):
            found.setdefault(len(term), []).append(term)
        return found

    def _extract(self, stem: str, alike: float, limit: int) -> tuple[tuple[str, float], ...]:
        """The stems most like this one, with how much (0 to 1), most alike first."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        # Words of quite another length cannot be that near.
        lengths = range(max(3, ceil(alike * len(stem))), int(len(stem) / alike) + 1)
        near = process.extract(
            stem,
            [term for length in lengths for term in self._by_length.get(length, ())],
            scorer=OSA.normalized_similarity,
            score_cutoff=alike,
            limit=limit,
            processor=None,
        )
        return tuple((term, score) for term, score, _ in near)

    def _can_be_asked(self, stem: str) -> bool:
        """Not so for a stem that the stemmer would cut again."""
        return self.stem(stem) == stem

    def near(self, stem: str, alike: float) -> list[str]:
        """Up to five stems of the documents spelt nearly like this one."""
        if len(stem) < FUZZY_LENGTH or any(map(str.isdigit, stem)):
            return []
        near = self._near(stem, alike, _GUESSES)
        return [t for t, score in near if score >= near[0][1] - MARGIN and self._can_be_asked(t)]

    def near_inside(self, stem: str, alike: float, allowed: Ids) -> tuple[list[str], float]:
        """Up to five stems of the allowed chunks spelt most like this one, and how like the nearest is."""
        if len(stem) < FUZZY_LENGTH or stem.isdigit():
            return [], 0.0
        found: list[str] = []
        best = 0.0
        for term, score in self._near(stem, alike, _LOOKED_AT):
            if len(found) == _GUESSES or score < best - MARGIN:
                break
            if self._can_be_asked(term) and self.is_inside(term, allowed):
                found.append(term)
                best = max(best, score)
        return found, best

    def is_inside(self, stem: str, allowed: Ids) -> bool:
        """Whether any of the allowed chunks holds the stem."""
        return self._postings.holds_any((stem,), allowed)
