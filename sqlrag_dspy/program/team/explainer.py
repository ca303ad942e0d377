"""What a statement does and assumes, in a model's words, after what `sql.explain` reads off it."""

from __future__ import annotations

from typing import Any

import dspy

from sqlrag_dspy.program.signatures import ExplainSql
from sqlrag_dspy.program.team.typed import Told


class Explainer(dspy.Module):
    """A statement to words for a person who knows no SQL."""

    def __init__(self) -> None:
        super().__init__()
        self.explain = dspy.Predict(ExplainSql)

    def forward(self, question: str, sql: str, does: str, **options: Any) -> Told:
        """One sentence, and what was assumed."""
        said: Told = self.explain(question=question, sql=sql, does=does, **options).told
        return Told(
            explanation=" ".join(said.explanation.split()).rstrip("."),
            assumptions=[each.strip() for each in said.assumptions if each.strip()][:5],
        )
