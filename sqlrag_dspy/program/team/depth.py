"""How much to spend on a question: from one call to the whole team, by how complex the question looks.

Complexity is a weighted sum of what linking, the schema and the sketch tell before any call is made; depths are
stretches of it. Weights and bounds are fitted at compile time from which depth was enough (`learn.fit_depth`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import dspy
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import tokens
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.types import Catalog, Links

DEPTHS: tuple[Depth, ...] = ("sketch", "call", "retry", "team", "agent")
"""From the cheapest to the dearest."""
WEIGHTS = {"tables": 1.0, "conditions": 0.3, "words": 0.05, "schema": 0.15, "doubt": 0.5}
"""Of the unfitted chooser: a join counts as much as three conditions or twenty words beyond the usual."""
SHORT = 10
"""Words and typed tokens of a question that add nothing to its complexity."""
NEVER = float("inf")


def features(links: Links, masked: str, catalog: Catalog, trust: float) -> dict[str, float]:
    """What complexity is computed from; `trust` is the sketch's calibrated confidence, 0 when there is none.

    `tables`: joins that the linked tables need; `conditions`: linked values, dates and bounds; `words`: tokens of
    the masked question beyond `SHORT`; `schema`: how often the number of tables doubles; `doubt`: 1 − trust.
    """
    named = {link.table for link in links.chosen if link.table}
    return {
        "tables": float(max(0, len(named) - 1)),
        "conditions": float(sum(link.kind in ("value", "date", "number") for link in links.chosen)),
        "words": float(max(0, len(tokens(masked)) - SHORT)),
        "schema": math.log2(max(1, len(catalog.tables))),
        "doubt": 1.0 - trust,
    }


class DepthChooser(dspy.Module, Parameter):
    """Features of a question to the depth to begin with. State is plain JSON; optimizers leave it alone.

    Complexity from `retry` on begins with retries, from `team` on with the team, from `agent` on with the agent;
    below, with one call. A question less complex than `floor` never reaches the team, whatever fails.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.weights: dict[str, float] = dict(WEIGHTS)
        self.retry = 1.0
        self.team = 3.0
        self.agent = NEVER
        self.floor = 1.5

    def forward(self, features: Mapping[str, float]) -> dspy.Prediction:
        """`depth` and the `complexity` that chose it."""
        complexity = sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        depth: Depth = "call"
        for name, bound in (("retry", self.retry), ("team", self.team), ("agent", self.agent)):
            if complexity >= bound:
                depth = name  # type: ignore[assignment]
        return dspy.Prediction(depth=depth, complexity=complexity)

    def reaches(self, depth: Depth, complexity: float) -> bool:
        """Whether a question of that complexity may be escalated to `depth`."""
        return depth in ("call", "retry") or (depth == "team" and complexity >= self.floor)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        bounds = {name: _out(getattr(self, name)) for name in ("retry", "team", "agent", "floor")}
        return {"weights": dict(self.weights), **bounds}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> DepthChooser:
        self.weights = {str(name): float(value) for name, value in state["weights"].items()}
        for name in ("retry", "team", "agent", "floor"):
            setattr(self, name, NEVER if state[name] is None else float(state[name]))
        return self

    def reset(self) -> None:
        """Does nothing: bounds are measured, not prompted."""


def _out(bound: float) -> float | None:
    """A bound as JSON, which has no infinity."""
    return None if math.isinf(bound) else bound
