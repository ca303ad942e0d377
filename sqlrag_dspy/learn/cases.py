"""Labelled queries with what the fitters read of them: links, masked question, its sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import dspy
import numpy as np

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.features import Floats
from sqlrag_dspy.program.inquiry import sense_of
from sqlrag_dspy.program.router import Scale, Sense
from sqlrag_dspy.types import Links


@dataclass
class Case:
    """One labelled query with its links, as the fitters need it."""

    example: dspy.Example
    database: Database
    links: Links
    masked: str
    weight: float = 1.0
    """How much it counts when heads are fitted, against a labelled query."""

    @cached_property
    def sense(self) -> Sense:
        """What the encoder makes of the question."""
        return sense_of(self.links, self.database)


def cases_of(program: SqlRag, examples: Sequence[dspy.Example]) -> list[Case]:
    """Links every example over its own bound database. Raises LabelError when there are none."""
    if not examples:
        raise LabelError("no labelled queries to fit on")
    return linked(program, examples)


def linked(program: SqlRag, examples: Sequence[dspy.Example], weight: float = 1.0) -> list[Case]:
    """The cases of examples, however many, each of that weight."""
    from sqlrag_dspy.link import mask

    out = []
    for example in examples:
        database = program.bound(example.get("database"))
        links = database.link(example.question)
        out.append(Case(example, database, links, mask(links), weight))
    return out


def scale_of(cases: Sequence[Case]) -> Scale:
    """The scale of the cases' nearnesses."""
    return Scale.of(np.stack([case.sense.nearness for case in cases]))


def dense_of(cases: Sequence[Case], scale: Scale) -> Floats:
    """The dense block of every case, (cases, features)."""
    return np.stack([scale.block(case.sense) for case in cases])
