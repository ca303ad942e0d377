"""The confidences above which the learned tier answers by itself, chosen at compile time."""

from __future__ import annotations

from typing import Any

import dspy
from dspy.predict.parameter import Parameter


class Thresholds(dspy.Module, Parameter):
    """`route`, `sql` and `filters`, each 0 to 1. State is plain JSON; optimizers leave it alone."""

    def __init__(self, route: float = 0.5, sql: float = 0.5, filters: float = 0.5) -> None:
        super().__init__()
        self.lm = None
        self.route = route
        self.sql = sql
        self.filters = filters

    def forward(self) -> dspy.Prediction:
        return dspy.Prediction(route=self.route, sql=self.sql, filters=self.filters)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"route": self.route, "sql": self.sql, "filters": self.filters}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Thresholds:
        self.route, self.sql, self.filters = (
            float(state["route"]),
            float(state["sql"]),
            float(state["filters"]),
        )
        return self

    def reset(self) -> None:
        """Does nothing: thresholds are measured, not prompted."""
