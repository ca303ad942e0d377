"""Labelled queries kept with the program, found again by how alike their masked questions are.

Routing demonstrations fit any database. SQL demonstrations name columns: each remembers the fingerprint of
its schema and is shown only over that schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import Floats, Vocabulary, terms


@dataclass(frozen=True)
class Demonstration:
    """One labelled query: its question, its mask, its route, and its gold SQL or condition."""

    question: str
    masked: str
    route: str
    schema: str
    sql: str | None = None
    condition: str | None = None


class Demonstrations(dspy.Module, Parameter):
    """A bank of demonstrations. State is plain JSON; optimizers leave it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.bank: list[Demonstration] = []
        self._vectors: list[tuple[Any, Floats]] | None = None
        self._vocabulary: Vocabulary | None = None

    def forward(
        self, masked: str, vocabulary: Vocabulary, *, k: int, schema: str | None = None, want: str = ""
    ) -> list[Demonstration]:
        """The `k` demonstrations with the most similar masks, most similar last.

        With `schema`, only those of that schema; `want` ("sql" or "condition") only those that have one.
        """
        if self._vectors is None or self._vocabulary is not vocabulary:
            self._vectors = [vocabulary.vector(terms(d.masked, vocabulary.known)) for d in self.bank]
            self._vocabulary = vocabulary
        width = len(vocabulary.index)
        asked = np.zeros(width, np.float32)
        columns, values = vocabulary.vector(terms(masked, vocabulary.known))
        asked[columns] = values
        scored = [
            (float(asked[columns] @ values), number)
            for number, (columns, values) in enumerate(self._vectors)
            if (schema is None or self.bank[number].schema == schema)
            and (not want or getattr(self.bank[number], want) is not None)
        ]
        nearest = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:k]
        return [self.bank[number] for _, number in reversed(nearest)]

    def fill(self, demonstrations: Sequence[Demonstration]) -> None:
        """Replaces the bank."""
        self.bank = list(demonstrations)
        self._vectors = None

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"bank": [asdict(d) for d in self.bank]}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Demonstrations:
        self.fill([Demonstration(**d) for d in state["bank"]])
        return self

    def reset(self) -> None:
        """Does nothing: the bank is data, not a prompt."""
