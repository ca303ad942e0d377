"""The first rows of a search put in a better order by a model that reads question and passage together.

Such a model (a cross-encoder) is slower than comparing vectors by three orders, so it sees the first rows alone.
None comes inside a package: it is fetched when first used. Leaves out which rows are among the first (`ranking`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.types import Document

READ = 30
"""Rows that are read again, at least."""
KNOWN = 'fastembed:MODEL, or "" for none'

ScorePassages = Callable[[str, list[str]], Sequence[float]]
"""Question and passages to one score each, highest for the passage that answers best; any scale."""


class Reranker:
    """Orders documents by the best of their passages; the model loads at the first call."""

    def __init__(self, name: str, load: Callable[[], ScorePassages]) -> None:
        self.name = name
        self._load = load
        self._score: ScorePassages | None = None

    def __call__(self, question: str, documents: Sequence[Document]) -> tuple[Document, ...]:
        """The documents, best first, with scores from 0 to 1; those without a passage last, in their order.

        Raises IndexUnusable when the model fails.
        """
        spoken = [(at, p.text) for at, document in enumerate(documents) for p in document.passages]
        best = np.full(len(documents), -np.inf)
        if spoken:
            np.maximum.at(
                best, [at for at, _ in spoken], self._scores(question, [text for _, text in spoken])
            )
        order = np.argsort(-best, kind="stable")
        likely = 1 / (1 + np.exp(-best))
        return tuple(replace(documents[at], score=round(float(likely[at]), 4)) for at in order.tolist())

    def _scores(self, question: str, passages: list[str]) -> Any:
        try:
            if self._score is None:
                self._score = self._load()
            scores = np.nan_to_num(np.asarray(list(self._score(question, passages)), dtype=np.float64))
            return scores.reshape(len(passages))
        except Exception as error:
            raise IndexUnusable(
                f"reranker {self.name} failed ({type(error).__name__}: {' '.join(str(error).split())[:200]}); "
                'check its name and the network, or set rerank = "" under [search] in sqlrag.toml'
            ) from error


def find_reranker(name: str, functions: dict[str, ScorePassages] | None = None) -> Reranker | None:
    """The reranker of that name, None for ""; a function passed under the name wins.

    Raises IndexUnusable for an unknown name, or when its package is missing.
    """
    if not name:
        return None
    if functions and name in functions:
        function = functions[name]
        return Reranker(name, lambda: function)
    kind, _, model = name.partition(":")
    if kind != "fastembed" or not model:
        raise IndexUnusable(f"no reranker named {name!r}; write {KNOWN}")
    if find_spec("fastembed") is None:
        raise IndexUnusable(f"reranker {name} needs the package fastembed; pip install fastembed")
    return Reranker(name, lambda: _load_fastembed(model))


def _load_fastembed(model: str) -> ScorePassages:
    from fastembed.rerank.cross_encoder import (  # type: ignore[import-not-found,unused-ignore]
        TextCrossEncoder,
    )

    encoder = TextCrossEncoder(model)
    return lambda question, passages: list(encoder.rerank(question, passages))
