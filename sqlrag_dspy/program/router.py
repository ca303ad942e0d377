"""The learned router: a calibrated linear classifier over the delexicalised question.

Two stages, one answer, and for a decline its likeliest reason. The first reads n-grams of the masked
question alone. Only when its confidence stays under `gate` does the second add the multilingual sentence
embedding, which costs milliseconds and a model to load. Fitting is in `learn.fit`; the LM tier is in
`route.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import Floats, Head, Vocabulary, best, terms
from sqlrag_dspy.types import ROUTES

Encode = Callable[[list[str]], Floats]
"""Texts to unit vectors, (n, dimension)."""

EMBEDDING_SCALE = 2.0
"""How much the embedding block weighs beside the unit-length n-gram block."""


class Router(dspy.Module, Parameter):
    """Question to route with a calibrated confidence. State is plain JSON; optimizers leave it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.vocabulary = Vocabulary()
        self.quick = Head()
        self.full = Head()
        self.reasons = Head()
        self.gate = 1.0
        self.seed = 0

    @property
    def is_fitted(self) -> bool:
        return bool(self.quick.classes)

    def forward(
        self, masked: str, readings: Sequence[str] = (), encode: Encode | None = None
    ) -> dspy.Prediction:
        """`masked` is the delexicalised question; `readings` are the texts that the encoder reads of it.

        Without `encode` the first stage alone answers. An unfitted router gives no route.
        """
        if not self.is_fitted:
            return dspy.Prediction(route=None, confidence=0.0, probabilities={}, stage="none", reason=None)
        columns, values = self.vocabulary.vector(terms(masked, self.vocabulary.known))
        probabilities, stage = self.quick.probabilities(columns, values), "quick"
        if encode is not None and self.full.classes and max(probabilities.values()) < self.gate:
            dense = embedding(encode, readings)
            probabilities, stage = self.full.probabilities(columns, values, dense), "full"
        route, confidence = best(probabilities, ROUTES)
        reason = None
        if self.reasons.classes:
            reason, _ = best(self.reasons.probabilities(columns, values))
        return dspy.Prediction(
            route=route, confidence=confidence, probabilities=probabilities, stage=stage, reason=reason
        )

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary.dump(),
            "quick": self.quick.dump(),
            "full": self.full.dump(),
            "reasons": self.reasons.dump(),
            "gate": self.gate,
            "seed": self.seed,
        }

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Router:
        self.vocabulary = Vocabulary.load(state["vocabulary"])
        self.quick = Head.load(state["quick"])
        self.full = Head.load(state["full"])
        self.reasons = Head.load(state["reasons"])
        self.gate = float(state["gate"])
        self.seed = int(state["seed"])
        return self

    def reset(self) -> None:
        """Does nothing: DSPy's optimizers reset prompts, and fitted weights are not theirs to clear."""


def embedding(encode: Encode, readings: Sequence[str]) -> Floats:
    """The dense block of a question: every reading's unit vector, scaled, one after the other."""
    vectors = encode([reading[:1000] or "." for reading in readings])
    return np.concatenate(list(vectors)).astype(np.float32) * np.float32(EMBEDDING_SCALE)
