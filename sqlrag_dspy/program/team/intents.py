"""What a question asks for, as typed intents; sees no schema, so that none can bend the question to it."""

from __future__ import annotations

from typing import Any

import dspy

from sqlrag_dspy.program.signatures import CheckIntents, ParseIntents
from sqlrag_dspy.program.team.typed import Coverage, Intent, numbered

MOST = 8
"""Intents of one question."""


class IntentParser(dspy.Module):
    """Question to intents; `missed` is what an earlier reading got wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.parse = dspy.Predict(ParseIntents)

    def forward(self, question: str, missed: str = "", **options: Any) -> list[Intent]:
        """The intents that say something, at most `MOST`; [] when the model found none."""
        found = self.parse(question=question, missed_before=missed, **options).intents or []
        return [intent for intent in found if intent.told()][:MOST]


class IntentChecker(dspy.Module):
    """Whether intents cover the question: asked of a model that did not write them."""

    def __init__(self) -> None:
        super().__init__()
        self.check = dspy.Predict(CheckIntents)

    def forward(self, question: str, intents: list[Intent], **options: Any) -> list[str]:
        """What no intent covers, a line each."""
        said: Coverage = self.check(question=question, intents=numbered(intents), **options).coverage
        return [part.strip() for part in said.missing if part.strip()]
