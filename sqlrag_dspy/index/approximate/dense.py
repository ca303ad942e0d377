"""The chunks nearest in meaning among those that are allowed: exactly, or by clusters where that pays.

Small selections and small tables are always compared whole. Of large ones the cost of either way is estimated, for
each question; the approximate way reaches the recall that was measured when it was built. Leaves out: encoding
the question, and rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sqlrag_dspy.index import store
from sqlrag_dspy.index.approximate.clusters import Clusters, Setting, Vectors
from sqlrag_dspy.index.approximate.tuning import probe
from sqlrag_dspy.index.contents import Ids

if TYPE_CHECKING:
    import faiss

FROM = 100_000
"""Chunks from which a table gets clusters; fewer are compared in some milliseconds."""
SMALL = 4_000
"""Chunks that are always compared one by one: no estimate is cheaper."""

# What a step costs, in nanoseconds (scripts/measure_scale.py measures them).
_IN_ORDER = 0.2
"""A dimension of a vector that is read after its neighbour."""
_SCATTERED = 0.35
"""A dimension of a vector that is read alone."""
_CODE = 0.025
"""A dimension of a vector's code."""
_SELECTED = 16.0
"""An allowed chunk, to find its cluster and set its bit."""
_PASSED_OVER = 8.0
"""A code in a cluster that is looked at, to see whether its chunk is allowed."""
_ANY = 0.2
"""A chunk of the table, for the selector."""
_TAKEN = 150.0
"""A chunk that is taken from the codes to be compared by its vector."""
_ASKED = 100_000.0
"""A question."""
_ON_DISK = 12.0
"""A dimension of a vector when the file does not fit in memory."""
_WORTH = 0.75
"""The approximate way is taken where it costs less than this share of the exact one: being exact is worth some time."""


@dataclass(frozen=True)
class Near:
    """Chunk ids, and those that were looked at to find them (None: all that are allowed)."""

    ids: Ids
    looked_at: Ids | None = None


class Dense:
    """The vectors of one embedder for one table."""

    def __init__(self, flat: faiss.IndexFlatIP, clusters: tuple[Clusters, Setting] | None = None) -> None:
        self.flat = flat
        self.clusters = clusters
        self._is_roomy = 4 * flat.ntotal * flat.d <= _memory() / 2

    @property
    def matrix(self) -> Vectors:
        """The vectors, mapped, shape (chunks, dimensions)."""
        return store.matrix(self.flat)

    def nearest(self, query: Vectors, chunks: Ids, count: int, live: int, *, way: str = "cheaper") -> Near:
        """The `count` chunks of `chunks` nearest to the query, shape (1, dimensions), best first.

        `live`: how many chunks the table has. `way`: "exact" and "approximate" (where it can be) for measuring.
        """
        if count >= len(chunks):
            return Near(chunks)
        is_wanted = way == "approximate"
        if self.clusters is not None and way != "exact" and (is_wanted or len(chunks) > SMALL):
            found = self._approximate(*self.clusters, query, chunks, count, live, is_wanted)
            if found is not None:
                return found
        import faiss

        parameters = faiss.SearchParameters(sel=faiss.IDSelectorArray(chunks))  # type: ignore[call-arg]
        ids: Ids = self.flat.search(query, count, params=parameters)[1][0]
        return Near(ids)

    def summary(self, vector: Vectors, chunks: Ids, first: int) -> tuple[Vectors, float]:
        """The `first` best scores of all the table's `chunks`, descending, and the mean score.

        With clusters the best are those that a search finds, and the mean is that of the vectors once indexed.
        """
        if self.clusters is not None:
            near = self.nearest(vector[None], chunks, min(first, len(chunks)), len(chunks))
            best: Vectors = np.sort(self.matrix[near.ids] @ vector)[::-1]
            return best, float(np.asarray(self.clusters[1].mean) @ vector)
        scores = self.matrix[chunks] @ vector
        return np.sort(scores)[::-1][:first], scores.mean()

    def _approximate(
        self,
        clusters: Clusters,
        setting: Setting,
        query: Vectors,
        chunks: Ids,
        count: int,
        live: int,
        is_wanted: bool,
    ) -> Near | None:
        """The same by clusters; None where that is not measured or would not be faster."""
        measured = setting.of(len(chunks) / live)
        if measured is None:
            if not is_wanted:
                return None
            measured = 1.0, 1
        look, times = measured
        look = max(look, min(1.0, 2 * count / len(chunks)))
        depth = min(times * count, len(chunks))
        worth = _WORTH * self._exact_cost(len(chunks))
        least = _ASKED + self._looking_cost(len(chunks), look * len(chunks), depth)
        if not is_wanted and least > worth:
            return None
        is_all = len(chunks) == clusters.count
        order, passed = probe(clusters, query, None if is_all else chunks, look)
        cost = _ASKED + self._looking_cost(len(chunks), passed, depth)
        if not is_all:
            cost += _PASSED_OVER * float(np.diff(clusters.begins)[order].sum())
        if not is_wanted and cost > worth:
            return None
        mask = None
        if not is_all:
            mask = np.zeros(clusters.count, dtype=bool)
            mask[chunks] = True
        found = clusters.search(query, order, depth, mask)
        if len(found) < count:
            return None
        scores = self.matrix[found] @ query[0]
        best = found[np.argsort(-scores, kind="stable")[:count]]
        if is_all:
            return Near(best, clusters.chunks_in(order))
        is_probed = np.zeros(len(clusters.centres), dtype=bool)
        is_probed[order] = True
        return Near(best, chunks[is_probed[clusters.of_chunk[chunks]]])

    def _exact_cost(self, chunks: int) -> float:
        is_dense = chunks > self.flat.ntotal / 2
        return (
            chunks * self.flat.d * ((_IN_ORDER if is_dense else _SCATTERED) if self._is_roomy else _ON_DISK)
        )

    def _looking_cost(self, chunks: int, passed: float, depth: int) -> float:
        selecting = 0.0 if chunks == self.flat.ntotal else chunks * _SELECTED + self.flat.ntotal * _ANY
        true = self.flat.d * (_SCATTERED if self._is_roomy else _ON_DISK)
        return selecting + passed * self.flat.d * _CODE + depth * (_TAKEN + true)


def _memory() -> int:
    """Bytes of memory of this machine; where it does not say, more than any file."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 60
