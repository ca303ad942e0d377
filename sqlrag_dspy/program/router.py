"""The learned router: a calibrated linear classifier over the delexicalised question.

Two stages, one answer, and for a decline its likeliest reason. The first reads n-grams of the masked question
alone. Only when its confidence stays under `gate`, or when the question holds nothing
that it knows, does the second add the multilingual sentence embedding and
how near the question is to what the database holds, which costs milliseconds and a model to load. Fitting is in
`learn.fit`; the LM tier is in `route.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import Floats, Head, Vocabulary, best, pack, terms, tokens, unpack
from sqlrag_dspy.program.nearness import KNOWN

NEARNESS_SCALE = 0.3
"""How much a nearness, in standard deviations, weighs beside the unit-length n-gram block."""
FAR_OUT = 3.0
"""Standard deviations beyond which a nearness counts no more."""
STRANGE = 0.4
"""How likely it is that nothing is asked of this database, where it knows no word of the question.

No more than that: a topic in another language than the texts looks the same.
"""


class Sense(NamedTuple):
    """What the second stage reads of one question: its embedding, and its nearnesses (NaN where unknown)."""

    embedding: Floats
    nearness: Floats


@dataclass
class Scale:
    """Means and standard deviations of the nearnesses of the labelled questions."""

    centre: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    spread: Floats = field(default_factory=lambda: np.zeros(0, np.float32))

    @classmethod
    def of(cls, nearnesses: Floats) -> Scale:
        """The scale of many questions, (questions, features); a feature that none has counts as average."""
        seen = np.where(np.isnan(nearnesses).all(axis=0), 0.0, nearnesses)
        centre, spread = np.nanmean(seen, axis=0), np.nanstd(seen, axis=0)
        return cls(centre.astype(np.float32), np.maximum(spread, 1e-6).astype(np.float32))

    def block(self, sense: Sense) -> Floats:
        """The dense features of a question; what is unknown of its nearness counts as average.

        A program from before nearness was read has no scale, and its weights no place for it.
        """
        if not len(self.centre):
            return sense.embedding
        deviations = np.nan_to_num((sense.nearness - self.centre) / self.spread, nan=0.0)
        near = NEARNESS_SCALE * np.clip(deviations, -FAR_OUT, FAR_OUT)
        return np.concatenate([sense.embedding, near]).astype(np.float32)


class Router(dspy.Module, Parameter):
    """Question to route with a calibrated confidence. State is plain JSON; optimizers leave it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.vocabulary = Vocabulary()
        self.quick = Head()
        self.full = Head()
        self.scale = Scale()
        self.reasons = Head()
        self.gate = 1.0
        self.seed = 0

    @property
    def is_fitted(self) -> bool:
        return bool(self.quick.classes)

    def forward(self, masked: str, sense: Callable[[], Sense] | None = None) -> dspy.Prediction:
        """`masked` is the delexicalised question; `sense` works out the rest when it is needed.

        Without `sense` the first stage alone answers. An unfitted router gives no route. `is_strange` says that
        neither a label nor a link nor a text knows anything of the question.
        """
        if not self.is_fitted:
            return dspy.Prediction(
                route=None, confidence=0.0, probabilities={}, stage="none", reason=None, is_strange=False
            )
        columns, values = self.vocabulary.vector(terms(masked, self.vocabulary.known))
        probabilities, stage = self.quick.probabilities(columns, values), "quick"
        knows, is_strange = self._knows(masked), False
        is_sure = max(probabilities.values()) >= self.gate and knows
        if sense is not None and self.full.classes and not is_sure:
            sensed = sense()
            block = self.scale.block(sensed)
            probabilities, stage = self.full.probabilities(columns, values, block), "full"
            is_strange = not knows and len(sensed.nearness) > KNOWN and sensed.nearness[KNOWN] == 0
        if is_strange:
            probabilities = {
                name: (1 - STRANGE) * share + STRANGE * (name == "decline")
                for name, share in probabilities.items()
            }
        route, confidence = best(probabilities, _likeliest(probabilities))
        reason = None
        if self.reasons.classes:
            reason, _ = best(self.reasons.probabilities(columns, values))
        return dspy.Prediction(
            route=route,
            confidence=confidence,
            probabilities=probabilities,
            stage=stage,
            reason=reason,
            is_strange=bool(is_strange),
        )

    def _knows(self, masked: str) -> bool:
        """Whether the question holds a link or a word that labelled queries share; else n-grams tell nothing."""
        return any(token[0] == "<" or token in self.vocabulary.known for token in tokens(masked))

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary.dump(),
            "quick": self.quick.dump(),
            "full": self.full.dump(),
            "scale": [pack(self.scale.centre), pack(self.scale.spread)],
            "reasons": self.reasons.dump(),
            "gate": self.gate,
            "seed": self.seed,
        }

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Router:
        self.vocabulary = Vocabulary.load(state["vocabulary"])
        self.quick = Head.load(state["quick"])
        self.full = Head.load(state["full"])
        self.scale = Scale(*(unpack(part, -1) for part in state.get("scale", ())))
        self.reasons = Head.load(state["reasons"])
        self.gate = float(state["gate"])
        self.seed = int(state["seed"])
        return self

    def reset(self) -> None:
        """Does nothing: DSPy's optimizers reset prompts, and fitted weights are not theirs to clear."""


def _likeliest(probabilities: Mapping[str, float]) -> tuple[str, ...]:
    """The routes among which the likeliest is taken: both searches where a search is likelier than all else.

    Which of the two it is, the filters decide.
    """
    searched = probabilities.get("vector", 0.0) + probabilities.get("hybrid", 0.0)
    other = max(probabilities.get("sql", 0.0), probabilities.get("decline", 0.0))
    return ("vector", "hybrid") if searched > other else ("sql", "decline")
