"""Vectors in clusters with short codes, for approximate search inside the chunks that are allowed.

A FAISS inverted file: every vector belongs to the cluster of its nearest centre and has a code of two bits a
dimension, a sixteenth of its size. Codes are of vectors turned at random, so that what a code loses is spread over
all directions alike: of vectors as they are, it would be most where they differ most. A search looks at the codes
of allowed chunks in the nearest clusters that hold any, and compares the best of them by their true vectors. Leaves
out: how much to look at (`tuning`), when it pays (`dense`), and dead chunks, which are never among the allowed.
"""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import store
from sqlrag_dspy.index.contents import Ids

if TYPE_CHECKING:
    import faiss

Vectors = NDArray[np.float32]
SUFFIX = ".ivf"
_SEED = 1
_TRAINING = 40
"""Vectors for each cluster that centres are learned from."""
_ROUNDS = 8
_CODE_TRAINING = 50_000
"""Vectors that codes are learned from, at most."""
_BLOCK = 100_000


@dataclass(frozen=True)
class Setting:
    """How much to look at so that the measured recall holds; kept with the generation."""

    shares: tuple[tuple[float, float, int], ...]
    """(Share of all chunks that are allowed; share of those to look at; times as many chunks as are wanted that are
    compared by their true vectors), ascending; nothing below the first."""
    recall: float
    """The least recall that was measured on questions held out."""
    mean: tuple[float, ...]
    """The mean of all vectors."""
    trained_on: int
    """How many vectors there were when the centres were learned."""
    measured_on: int
    """How many there were when the recall was measured."""

    def of(self, allowed: float) -> tuple[float, int] | None:
        """How much to look at and how deep, when so large a share of all chunks is allowed; None: not measured."""
        known = [(look, depth) for at, look, depth in self.shares if at <= allowed * (1 + 1e-9)]
        return known[-1] if known else None


class Clusters:
    """An open inverted file of one vector file; chunk i is vector i."""

    def __init__(
        self,
        index: faiss.IndexIVFPQFastScan,
        rotation: faiss.LinearTransform | None,
        keeps: object = None,
    ) -> None:
        self.index = index
        self.rotation = rotation
        """How vectors are turned before they are coded; None: not, as in an index of an earlier version."""
        self._keeps = keeps  # what it is a part of, or whose centres it uses
        self.dimensions: int = index.d
        self.count: int = index.ntotal

    @property
    def _lists(self) -> Any:
        return self.index.invlists

    @cached_property
    def centres(self) -> Vectors:
        """Of vectors as they are, not turned; shape (clusters, dimensions)."""
        found: Vectors = self.index.quantizer.reconstruct_n(0, self.index.nlist)
        return found if self.rotation is None else self.rotation.reverse_transform(found)

    @cached_property
    def begins(self) -> Ids:
        """Where the chunks of each cluster begin in `members`, and the end; shape (clusters + 1,)."""
        sizes = [self._lists.list_size(at) for at in range(self.index.nlist)]
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def members(self) -> NDArray[np.int32]:
        """Chunk ids, cluster by cluster."""
        import faiss

        found = np.empty(self.count, dtype=np.int32)
        for at, (begin, end) in enumerate(zip(self.begins, self.begins[1:])):
            if end > begin:
                found[begin:end] = faiss.rev_swig_ptr(self._lists.get_ids(at), int(end - begin))
        return found

    @cached_property
    def of_chunk(self) -> NDArray[np.int32]:
        """The cluster of each chunk."""
        found = np.empty(self.count, dtype=np.int32)
        found[self.members] = np.repeat(np.arange(self.index.nlist, dtype=np.int32), np.diff(self.begins))
        return found

    def nearest_first(self, query: Vectors) -> Ids:
        """Clusters by the likeness of their centres to the query, shape (1, dimensions)."""
        return np.argsort(-(self.centres @ query[0]), kind="stable")

    def search(self, query: Vectors, clusters: Ids, count: int, allowed: NDArray[np.bool_] | None) -> Ids:
        """The `count` chunks (fewer when there are no more) whose codes are nearest, of these clusters and the
        allowed chunks (a mask; None: all)."""
        import faiss

        query = np.ascontiguousarray(query, dtype=np.float32)
        if self.rotation is not None:
            query = self.rotation.apply(query)
        lists = np.ascontiguousarray(clusters, dtype=np.int64)
        ignored = np.zeros(len(lists), dtype=np.float32)
        scores, ids = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.int64)
        parameters = faiss.SearchParametersIVF(nprobe=len(lists))  # type: ignore[call-arg]
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
            parameters = faiss.SearchParametersIVF(nprobe=len(lists), sel=selector)  # type: ignore[call-arg]
        pointer = faiss.swig_ptr
        self.index.search_preassigned_c(  # type: ignore[attr-defined]
            1, pointer(query), count, pointer(lists), pointer(ignored), pointer(scores), pointer(ids), False,
            parameters,
        )  # fmt: skip
        return ids[ids >= 0]

    def chunks_in(self, clusters: Ids) -> Ids:
        """The chunk ids of these clusters."""
        parts = [self.members[self.begins[at] : self.begins[at + 1]] for at in clusters]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


# --- making them ------------------------------------------------------------------------------------


def cluster(matrix: Vectors) -> Clusters:
    """Vectors in newly learned clusters, about twice the root of their number."""
    import faiss

    count, dimensions = matrix.shape
    number = max(1, int(2 * count**0.5))
    chance = np.random.default_rng(_SEED)
    sample = np.sort(chance.choice(count, min(count, _TRAINING * number), replace=False))
    rotation = faiss.RandomRotationMatrix(dimensions, dimensions)
    rotation.init(_SEED)
    turned = rotation.apply(np.ascontiguousarray(matrix[sample]))
    means = faiss.Kmeans(
        dimensions, number, niter=_ROUNDS, spherical=True, seed=_SEED, min_points_per_centroid=1
    )
    means.train(turned)
    quantizer = faiss.IndexFlatIP(dimensions)
    quantizer.add(means.centroids)
    # Two dimensions a code where they pair up: coarser codes lose neighbours that no re-ranking brings back.
    parts = dimensions // 2 if dimensions % 2 == 0 else dimensions
    index = faiss.IndexIVFPQ(quantizer, dimensions, number, parts, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = False
    index.train(np.ascontiguousarray(turned[:: max(1, len(sample) // _CODE_TRAINING)]))
    return _fill(index, rotation, matrix, np.full(count, -1))


def extend(old: Clusters, matrix: Vectors, kept: Ids) -> Clusters:
    """The same clusters and codes for other vectors: the first are `kept` of the old ones, the others new."""
    import faiss

    known = np.full(len(matrix), -1)
    known[: len(kept)] = old.of_chunk[kept]
    index = faiss.IndexIVFPQ(
        old.index.quantizer, old.dimensions, old.index.nlist, old.index.pq.M, 4, faiss.METRIC_INNER_PRODUCT
    )
    index.by_residual = False
    index.pq = old.index.pq
    index.is_trained = True
    return _fill(index, old.rotation, matrix, known)


def _fill(
    index: faiss.IndexIVFPQ, rotation: faiss.LinearTransform | None, matrix: Vectors, known: Ids
) -> Clusters:
    """Adds the vectors; `known`: the cluster of each, -1 where it is to be found."""
    import faiss

    for begin in range(0, len(matrix), _BLOCK):
        block = np.ascontiguousarray(matrix[begin : begin + _BLOCK])
        if rotation is not None:
            block = rotation.apply(block)
        clusters = np.ascontiguousarray(known[begin : begin + _BLOCK], dtype=np.int64)
        new = np.flatnonzero(clusters < 0)
        if len(new):
            clusters[new] = index.quantizer.search(np.ascontiguousarray(block[new]), 1)[1][:, 0]
        # A vector that is not a number has no nearest centre.
        clusters[clusters < 0] = 0
        ids = np.arange(begin, begin + len(block), dtype=np.int64)
        pointer = faiss.swig_ptr
        index.add_core(len(block), pointer(block), pointer(ids), pointer(clusters))
    return Clusters(faiss.IndexIVFPQFastScan(index), rotation, index)


# --- keeping them -----------------------------------------------------------------------------------


def file_of(vectors: Path) -> Path:
    """The inverted file beside a vector file."""
    return vectors.with_suffix(SUFFIX)


def write(connection: sqlite3.Connection, path: Path, clusters: Clusters, setting: Setting) -> None:
    """Writes the inverted file of the vector file `path`, and notes its setting."""
    import faiss

    index, rotation = clusters.index, clusters.rotation
    store.write_file(file_of(path), index if rotation is None else faiss.IndexPreTransform(rotation, index))
    store.set_meta(connection, f"clusters {path.name}", asdict(setting))


def read(connection: sqlite3.Connection, path: Path) -> tuple[Clusters, Setting] | None:
    """The clusters of the vector file `path` with their setting; None when it has none.

    Raises IndexUnusable when the file is cut short.
    """
    import faiss

    noted = store.meta(connection, f"clusters {path.name}")
    file = file_of(path)
    # Without it every search is exact, which is slower and nothing else.
    if noted is None or not file.is_file():
        return None
    try:
        index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
    except (RuntimeError, OSError) as error:
        raise IndexUnusable(f"{file} cannot be read (cut short); run 'sqlrag index --rebuild'") from error
    shares = tuple((float(at), float(look), int(depth)) for at, look, depth in noted.pop("shares"))
    setting = Setting(shares=shares, mean=tuple(noted.pop("mean")), **noted)
    if not isinstance(index, faiss.IndexPreTransform):
        return Clusters(index, None), setting  # type: ignore[arg-type]
    rotation = faiss.downcast_VectorTransform(index.chain.at(0))  # type: ignore[attr-defined]
    return Clusters(faiss.downcast_index(index.index), rotation, index), setting  # type: ignore[arg-type]


def forget(connection: sqlite3.Connection, vectors: str) -> None:
    """Drops the note of a vector file that is named no more."""
    connection.execute("DELETE FROM meta WHERE name = ?", (f"clusters {vectors}",))
