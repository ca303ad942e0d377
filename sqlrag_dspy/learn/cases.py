"""Labelled queries with what the fitters read of them: links, masked question, the encoder's block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import dspy
import numpy as np

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.encoder import embedding, multilingual
from sqlrag_dspy.program.features import Floats
from sqlrag_dspy.program.inquiry import readings_of
from sqlrag_dspy.types import Links


@dataclass
class Case:
    """One labelled query with its links, as the fitters need it."""

    example: dspy.Example
    database: Database
    links: Links
    masked: str

    @cached_property
    def dense(self) -> Floats:
        """The encoder's block of the question."""
        return embedding(multilingual, readings_of(self.links))


def cases_of(program: SqlRag, examples: Sequence[dspy.Example]) -> list[Case]:
    """Links every example over its own bound database. Raises LabelError when there are none."""
    from sqlrag_dspy.link import mask

    if not examples:
        raise LabelError("no labelled queries to fit on")
    out = []
    for example in examples:
        database = program.bound(example.get("database"))
        links = database.link(example.question)
        out.append(Case(example, database, links, mask(links)))
    return out


def dense_of(cases: Sequence[Case]) -> Floats:
    """The encoder's block of every case, (cases, features)."""
    return np.stack([case.dense for case in cases])
