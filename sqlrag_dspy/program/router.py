"""The learned router: a calibrated linear classifier over the delexicalised question.

Two stages, one answer, and for a decline its likeliest reason. The first reads n-grams of the masked
question alone. Only when its confidence stays under `gate` does the second add the multilingual sentence
embedding, which costs milliseconds and a model to load. Fitting is in `learn.fit`; the LM tier is in
`route.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import Floats, Head, Vocabulary, best, terms
from sqlrag_dspy.types import ROUTES

Dense = Callable[[], Floats]
"""The encoder's block of one question, worked out when it is first needed."""


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

    def forward(self, masked: str, dense: Dense | None = None) -> dspy.Prediction:
        """`masked` is the delexicalised question; `dense` gives the encoder's block of it when asked.

        Without `dense` the first stage alone answers. An unfitted router gives no route.
        """
        if not self.is_fitted:
            return dspy.Prediction(route=None, confidence=0.0, probabilities={}, stage="none", reason=None)
        columns, values = self.vocabulary.vector(terms(masked, self.vocabulary.known))
        probabilities, stage = self.quick.probabilities(columns, values), "quick"
        if dense is not None and self.full.classes and max(probabilities.values()) < self.gate:
            probabilities, stage = self.full.probabilities(columns, values, dense()), "full"
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
