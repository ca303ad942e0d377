"""One table of an open index: which rows are allowed, and in what order they answer a question.

Leaves out: opening the files (`store`), the weights of the two rankings (`fuse`), and texts (`passages`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import contents, store
from sqlrag_dspy.index.approximate.clusters import Vectors
from sqlrag_dspy.index.approximate.dense import Dense, Near
from sqlrag_dspy.index.contents import Contents, Ids
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.index.fuse import FEEDBACK, KINSHIP, Evidence, Fusion, Scores, fuse, leading, spread
from sqlrag_dspy.index.selection import Selection, Selector
from sqlrag_dspy.index.words import kinship
from sqlrag_dspy.index.words.lexical import Term, WordIndex
from sqlrag_dspy.types import Key, Table, Value

CANDIDATES = 100
"""Rows that each ranking puts forward, at least."""
SPOKEN = 3
"""Chunks that a ranked row names, at most."""
SPEAKING = 0.5
"""Score of a chunk beside its row's best, at least, to be named with it."""
HOME_SHARE = 0.5
"""Weight of the multilingual encoder beside another one for an English question to English documents."""
ABROAD_SHARE = 0.75
"""The same for any other question."""
WHOLE = 30_000
"""Chunks of a table, at most, for a search of some of its rows to learn from all of them first."""
LEADERS = 20
"""Rows that each ranking then puts forward."""
SAMPLED = 500
"""Chunks of a table by which the spread of a question's cosines is judged."""
KNOWN_SHARE = 0.5
"""Share of a question's words that documents of its language have, at least."""


@dataclass(frozen=True)
class Ranked:
    """A row in its place; chunks that speak for it as (column number, start, end, score), best first."""

    key: Key
    score: float
    chunks: tuple[tuple[int, int, int, float], ...] = ()


@dataclass(frozen=True)
class Ranking:
    """Rows in their order; how many were compared by meaning, and whether those were all allowed ones."""

    rows: Iterator[Ranked]
    rows_searched: int
    is_exact: bool


@dataclass(frozen=True)
class _Asked:
    """A question made ready: its words, whether it is in a foreign language, the encoders and their weights, and
    what of their vectors is known."""

    text: str
    terms: tuple[Term, ...]
    is_foreign: bool
    weighted: list[tuple[Embedder, float]]
    known: Mapping[str, Vectors]

    def vectors(self) -> list[Vectors]:
        """The question as every encoder sees it."""
        return [
            self.known[encoder.name] if encoder.name in self.known else encoder([self.text])[0]
            for encoder, _ in self.weighted
        ]

    def cosines(self, held: Sequence[Vectors], vectors: Sequence[Vectors]) -> Scores:
        """Of chunks, given as every encoder sees them, with the question's vectors: one score, weighed."""
        each = [
            share * (own @ v).astype(np.float64) for (_, share), own, v in zip(self.weighted, held, vectors)
        ]
        total: Scores = np.sum(each, axis=0)
        return total


@dataclass(frozen=True)
class _Compared:
    """Chunks worth comparing: their ids, rows (and which is whose), vectors by every encoder, BM25."""

    ids: Ids
    rows: Ids
    of_chunk: Ids
    held: list[Vectors]
    bm25: Scores
    evidence: Evidence
    near: list[Near]
    """What each encoder found."""

    def scores(self, cosines: Scores, fusion: Fusion) -> Scores:
        """Of each row, by its best chunks; rounded, so that rows of equal text are equal however their vectors
        lie, and stand in key order."""
        by_meaning, by_words = (np.full(len(self.rows), least) for least in (-1.0, 0.0))
        np.maximum.at(by_meaning, self.of_chunk, cosines)
        np.maximum.at(by_words, self.of_chunk, self.bm25)
        return np.round(fusion(by_meaning, by_words, self.evidence), 6)

    def best(self, of_chunks: Scores) -> Scores:
        """The highest score of each row's chunks, for scores of at least 0."""
        best: Scores = np.zeros(len(self.rows))
        np.maximum.at(best, self.of_chunk, of_chunks)
        return best


class TableIndex:
    """One table, for reading. Not for two threads at once: `Index` holds a lock."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        table_id: int,
        table: Table,
        spec: store.Spec,
        language: str | None,
        vectors: Mapping[str, Dense],
    ) -> None:
        self._connection = connection
        self._id = table_id
        self.table = table
        self.spec = spec
        self._language = language
        self.vectors = vectors
        self._sampled: dict[str, Vectors] = {}

    @cached_property
    def contents(self) -> Contents:
        """All rows and chunk offsets, read at the first search."""
        return contents.read(self._connection, self._id)

    @cached_property
    def _selector(self) -> Selector:
        return Selector(self._connection, self._id, self.table, self.spec, self.contents)

    @cached_property
    def _words(self) -> WordIndex:
        ignored = [self.spec.name.casefold(), self.spec.name.casefold().removesuffix("s")]
        chunks = max(1, len(self.contents.live_chunks))
        return WordIndex(self._connection, self._id, chunks, ignored, self.contents.chunk_words)

    @cached_property
    def _kinship(self) -> kinship.Kinship | None:
        return kinship.read(self._connection, self._id, self.contents.live_chunks)

    def select(
        self, allowed: Collection[Key] | None, filters: Mapping[str, Value | Sequence[Value]]
    ) -> Selection:
        """The rows that are among `allowed` and equal every filter."""
        return self._selector.select(allowed, filters)

    def damaged(self) -> IndexUnusable:
        """The error for vectors that are no numbers."""
        return store.damaged(f"the index of {self.spec.name}: a file of its vectors")

    # --- what is asked of all rows ---

    def all_chunks(self) -> Ids:
        """Ids of the chunks of every row."""
        return self.contents.live_chunks

    def words_of(self, text: str, language: str | None) -> tuple[tuple[Term, ...], float, float]:
        """The words of a text, the BM25 of the chunk that holds them best, and their idf mass."""
        terms, _, _ = self._read(text, language)
        matches = self._words.match(terms, None, limit=1)
        return terms, max(matches.scores.values(), default=0.0), matches.mass

    # --- in what order ---

    def rank(
        self,
        text: str,
        selection: Selection,
        k: int,
        encoders: Sequence[Embedder],
        language: str | None,
        fusion: Fusion,
        known: Mapping[str, Vectors],
    ) -> Ranking:
        """Every allowed row: those that something speaks for first, best first; then the others.

        `known`: unit vectors of the text, by the encoder's name, that need not be worked out.
        """
        contents = self.contents
        chunk_ids = self.contents.chunks_of(selection.positions)
        if not len(chunk_ids) or not text.strip():
            return Ranking(self._silent(selection, np.zeros(0, dtype=np.int64)), selection.count, True)
        only = None if selection.positions is None else chunk_ids
        terms, is_foreign, is_home = self._read(text, language, only)
        asked = _Asked(text, terms, is_foreign, self._weigh(encoders, is_home), known)
        rows, scores, spoken, near = self._order(asked, chunk_ids, selection, k, fusion)
        keys = contents.keys_at(rows)
        heard = (
            Ranked(key, score, spoken(row)) for key, row, score in zip(keys, rows.tolist(), scores.tolist())
        )
        searched = self._rows_in(near)
        return Ranking(
            chain(heard, self._silent(selection, rows)),
            selection.count if searched is None else searched,
            all(each.looked_at is None for each in near),
        )

    def _silent(self, selection: Selection, heard: Ids) -> Iterator[Ranked]:
        rows = selection.positions
        if rows is None:
            rows = np.arange(self.contents.row_count)
        rows = np.setdiff1d(rows, heard, assume_unique=True)
        for at in range(0, len(rows), CANDIDATES):
            for key in self.contents.keys_at(rows[at : at + CANDIDATES]):
                yield Ranked(key, 0.0)
        for key in selection.unseen:
            yield Ranked(key, 0.0)

    def _read(
        self, text: str, language: str | None, allowed: Ids | None = None
    ) -> tuple[tuple[Term, ...], bool, bool]:
        """The words to match; whether the question is in another language than the documents; whether it
        surely is in theirs and that is English. Words that no document has make a language doubtful."""
        is_foreign = language is not None and self._language is not None and language != self._language
        terms = self._words.terms(text, is_foreign=is_foreign, allowed=allowed)
        known = sum(term.is_known for term in terms) / max(1, len(terms))
        if language is None and known < KNOWN_SHARE:
            is_foreign = True
        return terms, is_foreign, language == self._language == "en" and known >= KNOWN_SHARE

    def _weigh(self, encoders: Sequence[Embedder], is_home: bool) -> list[tuple[Embedder, float]]:
        """The encoders to ask and how much each counts. Of several, those that read many languages count
        more unless question and documents are English, which the others were made for."""
        many = [encoder for encoder in encoders if encoder.is_multilingual]
        few = [encoder for encoder in encoders if not encoder.is_multilingual]
        if not many or not few:
            return [(encoder, 1 / len(encoders)) for encoder in encoders]
        share = HOME_SHARE if is_home else ABROAD_SHARE
        return [(e, share / len(many)) for e in many] + [(e, (1 - share) / len(few)) for e in few]

    def _order(
        self,
        asked: _Asked,
        chunk_ids: Ids,
        selection: Selection,
        k: int,
        fusion: Fusion,
    ) -> tuple[Ids, Scores, Callable[[int], tuple[tuple[int, int, int, float], ...]], list[Near]]:
        """Row positions, best first, their scores, what tells the chunks of a row (see `Ranked`), and what each
        encoder found."""
        contents = self.contents
        wanted = max(CANDIDATES, 3 * k)
        vectors = asked.vectors()
        compared = None
        is_whole = selection.positions is None
        count = 0 if fusion is not fuse else leading(contents.row_count, is_foreign=asked.is_foreign)
        if count and (is_whole or len(contents.live_chunks) <= WHOLE):
            everything = Selection(None, (), contents.row_count)
            everywhere = self._compare(
                asked, vectors, contents.live_chunks, everything, wanted if is_whole else LEADERS
            )
            compared = everywhere if is_whole else None
            vectors = self._informed(asked, vectors, everywhere, count)
        if compared is None:
            compared = self._compare(asked, vectors, chunk_ids, selection, wanted)
        cosines = asked.cosines(compared.held, vectors)
        evidence, rows, ids = compared.evidence, compared.rows, compared.ids
        scores = compared.scores(cosines, fusion)
        chunk_scores = fusion(cosines, compared.bm25, evidence)
        if fusion is fuse and (akin := self._akin(asked, ids)) is not None:
            scores = np.round((scores + KINSHIP * compared.best(akin)) / (1 + KINSHIP), 6)
            chunk_scores = (chunk_scores + KINSHIP * akin) / (1 + KINSHIP)
        order = np.lexsort((rows, -scores))

        def spoken(row: int) -> tuple[tuple[int, int, int, float], ...]:
            own = np.flatnonzero(contents.chunk_row[ids] == row)
            own = own[np.argsort(-chunk_scores[own], kind="stable")][:SPOKEN]
            is_loud = chunk_scores[own] >= SPEAKING * chunk_scores[own[0]]
            is_loud[0] = True  # a best score below zero is not above half of itself
            own = own[is_loud]
            chunks = zip(ids[own].tolist(), chunk_scores[own].tolist())
            return tuple((*contents.span(id_), round(score, 4)) for id_, score in chunks)

        return rows[order], scores[order], spoken, compared.near

    def _akin(self, asked: _Asked, chunk_ids: Ids) -> Scores | None:
        """How much chunks speak of the question's words in words of their own; None where that is not kept, and for
        English in English, which the rankings tell better."""
        if not asked.is_foreign and self._language in ("en", None):
            return None
        encoder = next((encoder for encoder, _ in asked.weighted if encoder.reads_words), None)
        if encoder is None or self._kinship is None:
            return None
        terms = sorted(asked.terms, key=lambda term: -term.idf)
        words = [term.word.casefold() for term in terms if not term.word.isdigit()]
        return self._kinship.scores(words, chunk_ids, encoder) if words else None

    def _compare(
        self,
        asked: _Asked,
        vectors: Sequence[Vectors],
        chunk_ids: Ids,
        selection: Selection,
        wanted: int,
    ) -> _Compared:
        """The chunks of the best `wanted` rows by every encoder and by words."""
        stored = [self.vectors[encoder.name] for encoder, _ in asked.weighted]
        near = [self._nearest(dense, v[None], chunk_ids, wanted) for dense, v in zip(stored, vectors)]
        words, evidence = self._match(asked, chunk_ids, selection, wanted)
        worded = np.fromiter(words, dtype=np.int64, count=len(words))
        ids = np.unique(np.concatenate([*(each.ids for each in near), worded]))
        bm25 = np.zeros(len(ids))
        bm25[np.searchsorted(ids, worded)] = np.fromiter(words.values(), dtype=np.float64, count=len(words))
        rows, of_chunk = np.unique(self.contents.chunk_row[ids], return_inverse=True)
        held = [np.asarray(dense.matrix[ids]) for dense in stored]
        typical = asked.cosines(self._samples([encoder.name for encoder, _ in asked.weighted]), vectors)
        cosines = asked.cosines(held, vectors)
        # Bytes that are no number: FAISS leaves such chunks out and fills its list with -1.
        is_sound = all((each.ids >= 0).all() for each in near)
        if not is_sound or not np.isfinite(typical).all() or not np.isfinite(cosines).all():
            raise self.damaged()
        evidence = replace(evidence, spread=float(typical.std()))
        return _Compared(ids, rows, of_chunk, held, bm25, evidence, near)

    def _informed(
        self, asked: _Asked, vectors: Sequence[Vectors], compared: _Compared, count: int
    ) -> list[Vectors]:
        """The question's vectors moved towards the best chunks of the first rows of the whole table: these say
        what it is about in words that it does not have, whether or not the rows are allowed."""
        cosines = asked.cosines(compared.held, vectors)
        first = np.lexsort((compared.rows, -compared.scores(cosines, fuse)))[:count]
        best = [np.flatnonzero(compared.of_chunk == row) for row in first.tolist()]
        at = [own[np.argmax(cosines[own])] for own in best]
        moved = [v + FEEDBACK * held[at].mean(axis=0) for v, held in zip(vectors, compared.held)]
        return [v / (np.linalg.norm(v) or 1) for v in moved]

    def _match(
        self, asked: _Asked, chunk_ids: Ids, selection: Selection, wanted: int
    ) -> tuple[dict[int, float], Evidence]:
        """Chunks that hold words of the question (id -> BM25), those of the best `wanted` rows, and what the
        words say of the question."""
        chunk_row = self.contents.chunk_row
        only = None if selection.positions is None else chunk_ids
        matches = self._words.match(asked.terms, only, limit=10 * wanted)
        best = sorted(matches.scores, key=lambda id_: -matches.scores[id_])
        kept: dict[int, float] = {}
        of_row: dict[int, float] = {}
        for id_ in best:
            row = int(chunk_row[id_])
            if row >= 0:
                if row in of_row or len(of_row) < wanted:
                    kept[id_] = matches.scores[id_]
                of_row.setdefault(row, matches.scores[id_])
        words_spread = spread(list(of_row.values()), selection.count)
        return kept, Evidence(matches.mass, asked.is_foreign, words_spread=words_spread)

    def _samples(self, embedders: Sequence[str]) -> list[Vectors]:
        """Vectors of some chunks from all over the table, of each embedder."""
        for name in embedders:
            if name not in self._sampled:
                self._sampled[name] = np.asarray(
                    self.vectors[name].matrix[self.contents.some_chunks(SAMPLED)]
                )
        return [self._sampled[name] for name in embedders]

    def _nearest(self, dense: Dense, query: Vectors, chunk_ids: Ids, wanted: int) -> Near:
        """The nearest allowed chunks, as many as it takes to see `wanted` rows."""
        count = min(len(chunk_ids), 4 * wanted)
        live = len(self.contents.live_chunks)
        while True:
            near = dense.nearest(query, chunk_ids, count, live)
            if count == len(chunk_ids) or len(np.unique(self.contents.chunk_row[near.ids])) >= wanted:
                return near
            count = min(len(chunk_ids), 4 * count)

    def _rows_in(self, near: Sequence[Near]) -> int | None:
        """How many rows were compared by meaning at all; None: all that are allowed."""
        looked_at = [each.looked_at for each in near if each.looked_at is not None]
        if len(looked_at) < len(near):
            return None
        mask = np.zeros(self.contents.row_count, dtype=bool)
        for chunks in looked_at:
            mask[self.contents.chunk_row[chunks]] = True
        return int(mask.sum())
