"""From which depth was enough, on labelled queries, to how complex a question must look to begin there.

Chooses two bounds on the complexity of the unfitted chooser; its weights stay as they are, since a comparison costs
a dozen calls and some dozens of them are all there is. A depth that does not pay is never chosen.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
import numpy as np
from dspy.teleprompt import Teleprompter

from sqlrag_dspy.learn.cases import cases_of
from sqlrag_dspy.learn.optimize import right
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.team.depth import DEPTHS, NEVER, features

COMPARED: tuple[Depth, ...] = ("retry", "team")
"""What is compared: one call is where retries begin, and the agent answers other questions than SQL alone does."""
PRICE = 0.005
"""What a call costs, in right answers: ten more calls a question must bring five more of a hundred right."""
SURE = 1.0
"""Standard errors that a gain must exceed to count."""


@dataclass(frozen=True)
class Record:
    """One question: its features, and by depth whether it was answered right and in how many calls."""

    features: Mapping[str, float]
    right: Mapping[Depth, bool]
    calls: Mapping[Depth, int] = field(default_factory=lambda: {"retry": 1, "team": 7})

    @classmethod
    def of(cls, features: Mapping[str, float], enough: Depth | None) -> Record:
        """The record of a question for which a depth was enough, and so every deeper one; None for none."""
        least = len(DEPTHS) if enough is None else DEPTHS.index(enough)
        return cls(features, {depth: DEPTHS.index(depth) >= least for depth in COMPARED})


class FitDepth(Teleprompter):
    """Sets the bounds of `student.depths` from records; leaves its weights, and everything else."""

    def __init__(self, records: Sequence[Record], price: float = PRICE) -> None:
        super().__init__()
        self.records = list(records)
        self.price = price

    def compile(
        self,
        student: SqlRag,
        *,
        trainset: Sequence[dspy.Example] = (),
        teacher: Any = None,
        valset: Any = None,
    ) -> SqlRag:
        """The student with its bounds set; as it was when there are no records."""
        if not self.records:
            return student
        depths = student.depths
        complexity = np.array([depths(features=record.features).complexity for record in self.records])
        gain = np.array(
            [self._worth(record, "team") - self._worth(record, "retry") for record in self.records]
        )
        depths.team = bound(complexity, gain)
        depths.retry = min(depths.retry, depths.team)
        failed = np.array([not record.right["retry"] for record in self.records])
        depths.floor = bound(complexity[failed], gain[failed])
        return student

    def _worth(self, record: Record, depth: Depth) -> float:
        return float(record.right[depth]) - self.price * record.calls[depth]


def bound(complexity: np.ndarray[Any, Any], gain: np.ndarray[Any, Any]) -> float:
    """The complexity from which on `gain` is largest in all, where that is beyond noise; else infinity."""
    best, found = 0.0, NEVER
    for least in np.unique(complexity)[::-1]:
        above = gain[complexity >= least]
        error = float(above.std(ddof=1)) * math.sqrt(len(above)) if len(above) > 1 else math.inf
        total = float(above.sum())
        if total > best and total > SURE * error:
            best, found = total, float(least)
    return found


def observe(
    program: SqlRag, examples: Sequence[dspy.Example], lm: Any, *, most: int, seed: int = 0
) -> list[Record]:
    """Records of at most `most` sql examples, drawn with `seed`: each is asked of `lm` at every compared depth.

    The sketch does not answer, but its trust is a feature; on the labels that it was fitted to it is too high, so
    complexities are a little low. The program is left as it was.
    """
    asked = [example for example in examples if example.route == "sql"]
    random.Random(seed).shuffle(asked)
    metric, was = right(program), (program.engine.lm, program.depth)
    records = []
    try:
        program.engine.lm = lm
        for case in cases_of(program, asked[:most]) if asked and most else []:
            catalog = case.database.catalog
            trust = program.sketcher(links=case.links, masked=case.masked, catalog=catalog).confidence
            answered: dict[Depth, bool] = {}
            calls: dict[Depth, int] = {}
            for depth in COMPARED:
                program.depth = depth
                given = program(question=case.example.question, database=case.example.database)
                answered[depth] = metric(case.example, given) == 1.0
                calls[depth] = given.usage["lm_calls"] + given.usage["cached_calls"]
            records.append(Record(features(case.links, case.masked, catalog, trust), answered, calls))
    finally:
        program.engine.lm, program.depth = was
    return records
