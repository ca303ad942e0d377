"""All skeletons of a program at once: how likely each is, from how likely the values of its fields are.

Leaves out how a question's links fill them (`skeleton.fill`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sqlrag_dspy.program.features import Head
from sqlrag_dspy.program.sketching.skeleton import FLOOR, Skeleton

_SEEN = 0.15
"""What the logarithm of how often a skeleton was seen in training weighs."""


class Shapes:
    """Skeletons, as places among the classes of every field's head."""

    def __init__(self, skeletons: Mapping[str, int], fields: Mapping[str, Head]) -> None:
        self.made_of = skeletons, fields
        self._skeletons = [Skeleton.of(text) for text in skeletons]
        self._places: dict[str, np.ndarray] = {}
        for name, head in fields.items():
            place = {value: n for n, value in enumerate(head.classes)}
            # What a head never saw has the place after its classes.
            found = [place.get(getattr(skeleton, name), len(place)) for skeleton in self._skeletons]
            self._places[name] = np.array(found, dtype=np.int64)
        total = sum(skeletons.values()) or 1
        self._prior = np.array([_SEEN * math.log(seen / total) for seen in skeletons.values()])

    def ranked(self, shares: Mapping[str, Mapping[str, float]]) -> list[tuple[float, Skeleton]]:
        """Every skeleton with the logarithm of its likelihood, the likeliest first."""
        likely = np.zeros(len(self._skeletons))
        for name, places in self._places.items():
            logs = np.log(np.array([*shares[name].values(), 0.0]) + FLOOR)
            likely += logs[places]
        likely += self._prior
        order = np.argsort(-likely, kind="stable")
        return [(float(likely[n]), self._skeletons[n]) for n in order]
