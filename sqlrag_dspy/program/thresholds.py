"""The confidences above which the learned tier answers by itself, chosen at compile time."""

from __future__ import annotations

from typing import Any

import dspy
from dspy.predict.parameter import Parameter


class Thresholds(dspy.Module, Parameter):
    """`route`, `sql`, `doubt` and `filters`, each 0 to 1. State is plain JSON; optimizers leave it alone.

    A sketch between `doubt` and `sql` is more likely right than wrong, but not sure: it is handed to the LM, and
    without one it is answered with a flag. Below `doubt` nothing is guessed.
    """

    def __init__(
        self, route: float = 0.5, sql: float = 0.5, doubt: float = 0.5, filters: float = 0.5
    ) -> None:
        super().__init__()
        self.lm = None
        self.route = route
        self.sql = sql
        self.doubt = doubt
        self.filters = filters

    def forward(self) -> dspy.Prediction:
        return dspy.Prediction(route=self.route, sql=self.sql, doubt=self.doubt, filters=self.filters)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"route": self.route, "sql": self.sql, "doubt": self.doubt, "filters": self.filters}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Thresholds:
        for name in ("route", "sql", "doubt", "filters"):
            setattr(self, name, float(state[name]))
        return self

    def reset(self) -> None:
        """Does nothing: thresholds are measured, not prompted."""
