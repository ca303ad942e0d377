"""How much of an approximate index must be looked at: measured on questions held out, when it is built.

Questions are vectors of the index itself and, since those lie nearer to their neighbours than what people ask,
short texts cut from its rows. Selections are all chunks, random ones, and those of one region, as a category is.
What does not reach the recall is left out of the setting, and searched exactly. Leaves out when the index pays.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.index.approximate.clusters import Clusters, Setting, Vectors
from sqlrag_dspy.index.contents import Ids

RECALL = {10: 0.99, 100: 0.9}
"""Share that must be found of so many true nearest chunks: of those that are shown, and of those that the ranking
by words is set against."""
_HAIR = {10: 1e-6, 100: 0.01}
"""Cosine by which a chunk may fall short of the last of them: of equal texts any will do."""
_FIRST = min(RECALL)
_AIM = 0.996
"""The share of the first ten to have in the clusters looked at, since their codes lose some too."""
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Shares of the chunks that selections are made of; smaller ones are looked at whole or searched exactly."""
WANTED = 400
"""Chunks that a search asks for, so that a hundred rows are among them."""
QUESTIONS = 100
"""Vectors of a kind to tune on, and as many again to measure on."""
_DEPTHS = (2, 8)
"""Times as many chunks as are wanted that are compared by their true vectors, at first and at most."""
_WIDER = 1.5
_SEED = 2


def tune(clusters: Clusters, matrix: Vectors, questions: Vectors, trained_on: int) -> Setting:
    """The setting that reaches RECALL on vectors like `questions` and on those of the index."""
    chance = np.random.default_rng(_SEED)
    count = len(matrix)
    own = chance.choice(count, min(count, 2 * QUESTIONS), replace=False)
    asked = np.concatenate([matrix[own], questions]).astype(np.float32)
    without = np.concatenate([own, np.full(len(questions), -1)])
    kind = np.concatenate([np.zeros(len(own), dtype=int), np.ones(len(questions), dtype=int)])
    order = chance.permutation(len(asked))
    trial = _Trial(clusters, matrix, asked[order], without[order], kind[order])
    shares: list[tuple[float, float, int]] = []
    worst = 1.0
    for share in SHARES:
        selections: list[Ids | None] = [None]
        if share < 1:
            selections = _selections(clusters, share, chance)
        look, depth, recall = trial.widen(selections)
        if not _is_enough(recall):
            break  # smaller selections are harder
        shares.append((share, look, depth))
        worst = min(worst, recall[_FIRST])
    return Setting(tuple(reversed(shares)), round(worst, 4), _mean(matrix), trained_on, count)


def _is_enough(recall: Mapping[int, float]) -> bool:
    return all(recall[first] >= least for first, least in RECALL.items())


def _selections(clusters: Clusters, share: float, chance: np.random.Generator) -> list[Ids | None]:
    """Chunk ids, ascending: a random share of all, and the share of them around one centre."""
    wanted = max(1, int(share * clusters.count))
    random = np.sort(chance.choice(clusters.count, wanted, replace=False))
    around = clusters.nearest_first(clusters.centres[chance.integers(len(clusters.centres))][None])
    sizes = np.diff(clusters.begins)[around]
    region = np.sort(clusters.chunks_in(around[: int(np.searchsorted(np.cumsum(sizes), wanted)) + 1]))
    return [random, region]


def _mean(matrix: Vectors) -> tuple[float, ...]:
    total = np.zeros(matrix.shape[1])
    for begin in range(0, len(matrix), 100_000):
        total += matrix[begin : begin + 100_000].sum(axis=0, dtype=np.float64)
    return tuple(round(float(value), 7) for value in total / max(1, len(matrix)))


class _Trial:
    """Questions with their true neighbours: half to tune on, half to measure on."""

    def __init__(
        self, clusters: Clusters, matrix: Vectors, asked: Vectors, without: Ids, kind: NDArray[np.int64]
    ) -> None:
        self._clusters, self._matrix, self._asked = clusters, matrix, asked
        self._without, self._kind = without, kind
        self._half = len(asked) // 2
        self._orders = np.argsort(-(asked @ clusters.centres.T), axis=1, kind="stable")

    def widen(self, selections: list[Ids | None]) -> tuple[float, int, dict[int, float]]:
        """The share of allowed chunks to look at, the depth, and the recall measured with both."""
        known = [(ids, self._neighbours(ids)) for ids in selections]
        look, depth = max(self._needed(ids, near) for ids, near in known), _DEPTHS[0]
        while True:
            measured = [self._recall(ids, near, look, depth) for ids, near in known]
            recall = {first: min(found[first] for found, _ in measured) for first in RECALL}
            if _is_enough(recall) or (look >= 1 and depth >= _DEPTHS[-1]):
                return look, depth, recall
            is_in_reach = min(reached for _, reached in measured) >= RECALL[_FIRST]
            if look < 1 and (not is_in_reach or depth >= _DEPTHS[-1]):
                look = min(1.0, look * _WIDER)
            else:
                depth *= 2

    def _neighbours(self, ids: Ids | None) -> Ids:
        """The true nearest chunks of every question among `ids`, without itself; -1 where there are fewer."""
        import faiss

        matrix = self._matrix if ids is None else np.ascontiguousarray(self._matrix[ids])
        wanted = min(max(RECALL) + 1, len(matrix))
        found = faiss.knn(self._asked, matrix, wanted, metric=faiss.METRIC_INNER_PRODUCT)[1]
        near = found if ids is None else ids[found]
        # The question itself goes to the end, whose last place is then left out.
        last = np.argsort(near == self._without[:, None], axis=1, kind="stable")
        near = np.take_along_axis(near, last, axis=1)
        return near[:, : max(1, wanted - 1)]

    def _needed(self, ids: Ids | None, near: Ids) -> float:
        """The share of the chunks to look at, cluster after cluster, to come upon enough neighbours."""
        clusters = self._clusters
        sizes = np.diff(clusters.begins) if ids is None else np.bincount(
            clusters.of_chunk[ids], minlength=len(clusters.centres)
        )  # fmt: skip
        places: dict[int, list[float]] = {}
        for at in range(self._half):
            order = self._orders[at]
            seen = np.empty(len(order))
            seen[order] = np.cumsum(sizes[order])
            first = clusters.of_chunk[near[at, :_FIRST]]
            places.setdefault(int(self._kind[at]), []).extend((seen[first] / sizes.sum()).tolist())
        return max(float(np.quantile(each, _AIM)) for each in places.values())

    def _recall(self, ids: Ids | None, near: Ids, look: float, depth: int) -> tuple[dict[int, float], float]:
        """The recall, and the share of the first ten in the clusters looked at: of the worse kind of question."""
        clusters, matrix = self._clusters, self._matrix
        mask = None
        if ids is not None:
            mask = np.zeros(clusters.count, dtype=bool)
            mask[ids] = True
        found: dict[tuple[int, int], list[float]] = {}
        for at in range(self._half, len(self._asked)):
            query = self._asked[at : at + 1]
            probed = probe(clusters, query, ids, look)[0]
            chunks = clusters.search(query, probed, depth * WANTED, mask)
            chunks = chunks[chunks != self._without[at]]
            scores = np.sort(matrix[chunks] @ query[0])[::-1]
            kind = int(self._kind[at])
            for first in RECALL:
                true = matrix[near[at, :first]] @ query[0]
                hits = (scores[: len(true)] >= true.min() - _HAIR[first]).sum()
                found.setdefault((kind, first), []).append(float(hits) / len(true))
            reached = np.isin(clusters.of_chunk[near[at, :_FIRST]], probed)
            found.setdefault((kind, 0), []).append(float(reached.mean()))
        means = {place: float(np.mean(shares)) for place, shares in found.items()}
        least = {first: min(mean for (_, f), mean in means.items() if f == first) for first in (0, *RECALL)}
        return least, least[0]


def probe(clusters: Clusters, query: Vectors, ids: Ids | None, look: float) -> tuple[Ids, int]:
    """The nearest clusters that hold allowed chunks, until `look` of those are in them (1: all clusters that hold
    any); and the number of chunks in them, allowed or not."""
    sizes = np.diff(clusters.begins)
    allowed = sizes if ids is None else np.bincount(clusters.of_chunk[ids], minlength=len(sizes))
    order = clusters.nearest_first(query)
    order = order[allowed[order] > 0]
    seen = np.cumsum(allowed[order])
    if look < 1 and len(order):
        order = order[: int(np.searchsorted(seen, look * seen[-1])) + 1]
    return order, int(sizes[order].sum())
