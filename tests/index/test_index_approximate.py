from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from index_fakes import MemoryRows, note, notes, notes_table

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import Index, open_index, sync
from sqlrag_dspy.index.approximate import dense
from sqlrag_dspy.index.fuse import Evidence, Scores
from sqlrag_dspy.types import Hits

CLUSTERS, DIMENSIONS = 60, 16
KIND = [f"kind{n}" for n in range(12)]


class Points:
    """Texts "p7" to the seventh of vectors in clusters of unequal size; other texts to a vector near one."""

    def __init__(self, count: int) -> None:
        chance = np.random.default_rng(0)
        self.centres = chance.normal(size=(CLUSTERS, DIMENSIONS))
        self.label = chance.choice(CLUSTERS, count, p=chance.dirichlet(np.full(CLUSTERS, 2.0)))
        self.vectors = self.centres[self.label] + 0.4 * chance.normal(size=(count, DIMENSIONS))
        self.asked = 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.asked += len(texts)
        return np.array([self.vector(text) for text in texts], dtype=np.float32)

    def vector(self, text: str) -> np.ndarray:
        number = int(text.split()[-1][1:])
        if text.startswith("p"):
            return self.vectors[number]
        chance = np.random.default_rng((7, number))
        return self.centres[number % CLUSTERS] + 0.5 * chance.normal(size=DIMENSIONS)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables count as large from a thousand chunks, selections from a hundred, and vectors are dear to read."""
    monkeypatch.setattr(dense, "FROM", 1000)
    monkeypatch.setattr(dense, "SMALL", 100)
    monkeypatch.setattr(dense, "_IN_ORDER", 600.0)
    monkeypatch.setattr(dense, "_SCATTERED", 600.0)


def only_meaning(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    return cosines


def rows(points: Points, numbers: Iterator[int] | range) -> list[dict[str, object]]:
    return [note(n, f"p{n}", kind=KIND[points.label[n] % 12], stars=n % 10) for n in numbers]  # type: ignore[misc]


def opened(store: Path, points: Points) -> Index:
    return open_index(store, [notes_table()], ["points"], embed_functions={"points": points})


def brought_up(store: Path, reader: MemoryRows, points: Points) -> Index:
    sync(store, reader, [notes_table()], ["points"], embed_functions={"points": points})
    return opened(store, points)


def recall(index: Index, reader: MemoryRows, points: Points, **options: object) -> tuple[float, list[Hits]]:
    """Share of the ten best scores that searches of twenty questions reach, of those that brute force finds."""
    kept = {row["id"]: row for row in reader.tables["notes"]}
    filters = options.get("filters") or {}
    allowed = options.get("allowed")
    ids = [
        id_ for id_, row in kept.items()
        if (allowed is None or id_ in allowed) and all(row[c] == v for c, v in filters.items())  # type: ignore[attr-defined, operator]
    ]  # fmt: skip
    unit = points.vectors[ids] / np.linalg.norm(points.vectors[ids], axis=1, keepdims=True)
    shares, found = [], []
    for at in range(20):
        hits = index.search(f"q{at}", "notes", fusion=only_meaning, reader=reader, **options)  # type: ignore[arg-type]
        query = points.vector(f"q{at}")
        true = np.sort(unit @ query / np.linalg.norm(query))[::-1][:10]
        assert len(hits.documents) == len(true)
        assert {document.key for document in hits.documents} <= set(ids)
        shares.append(np.mean([document.score >= true[-1] - 1e-3 for document in hits.documents]))
        found.append(hits)
    return float(np.mean(shares)), found


@pytest.mark.usefixtures("large")
def test_a_large_table_is_searched_by_clusters_and_says_so(tmp_path: Path) -> None:
    points = Points(20_000)
    reader = notes(*rows(points, range(20_000)))  # type: ignore[arg-type]
    index = brought_up(tmp_path, reader, points)
    share, found = recall(index, reader, points)
    assert share >= 0.99
    told = [hits.search for hits in found]
    assert all(not search.exact and search.rows_allowed == 20_000 for search in told)
    assert all(10 <= search.rows_searched < 20_000 for search in told)
    for options in (
        {"filters": {"kind": "kind3"}},
        {"filters": {"stars": 4}},
        {"allowed": range(0, 20_000, 3)},
        {"allowed": range(50, 250)},
        {"allowed": range(70, 90)},
        {"allowed": [17_001]},
    ):
        share, found = recall(index, reader, points, **options)
        assert share >= 0.99, options
        for hits in found:
            assert hits.search.exact == (hits.search.rows_searched == hits.search.rows_allowed)
    assert all(hits.search.exact for hits in found), "one row is always compared"
    index.close()


@pytest.mark.usefixtures("large")
def test_a_sync_keeps_the_clusters_valid(tmp_path: Path) -> None:
    points = Points(6_000)
    reader = notes(*rows(points, range(4_000)))  # type: ignore[arg-type]
    brought_up(tmp_path, reader, points).close()
    steps = [
        rows(points, range(4_500)),  # added
        rows(points, range(300, 4_500)),  # a few deleted: leftovers stay
        rows(points, range(2_500, 6_000)),  # many: numbered anew
        rows(points, range(2_500, 6_000, 40)),  # too few for clusters
        rows(points, range(6_000)),
    ]
    for step in steps:
        reader.tables["notes"][:] = step  # type: ignore[assignment]
        index = brought_up(tmp_path, reader, points)
        assert recall(index, reader, points)[0] >= 0.99
        assert recall(index, reader, points, filters={"kind": "kind5"})[0] >= 0.99
        hits = index.search(f"p{step[-1]['id']}", "notes", k=1, fusion=only_meaning, reader=reader)
        assert hits.documents[0].key == step[-1]["id"]
        assert hits.search.exact == (len(step) < 1000)
        index.close()
        assert len(list(tmp_path.glob("vectors-*"))) == (1 if len(step) < 1000 else 2)
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE name LIKE 'clusters %'").fetchone() == (1,)


def unturned(dimensions: int, _: int) -> object:
    """In place of a rotation, one that turns nothing."""
    import faiss

    found = faiss.LinearTransform(dimensions, dimensions)
    faiss.copy_array_to_vector(np.eye(dimensions, dtype=np.float32).ravel(), found.A)
    found.is_trained = True
    found.set_is_orthonormal()
    found.init = lambda seed: None  # type: ignore[attr-defined]
    return found


@pytest.mark.usefixtures("large")
def test_an_index_of_an_earlier_version_is_searched_and_then_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import faiss

    points = Points(6_000)
    reader = notes(*rows(points, range(5_000)))  # type: ignore[arg-type]
    with monkeypatch.context() as before:
        before.setattr(faiss, "RandomRotationMatrix", unturned)
        brought_up(tmp_path, reader, points).close()
    file = next(tmp_path.glob("*.ivf"))
    held = faiss.read_index(str(file))
    faiss.write_index(faiss.downcast_index(held.index), str(file))
    for count in (5_000, 5_300):
        reader.tables["notes"][:] = rows(points, range(count))  # type: ignore[assignment]
        index = brought_up(tmp_path, reader, points)
        share, found = recall(index, reader, points)
        assert share >= 0.99
        assert not any(hits.search.exact for hits in found)
        index.close()
        turned = isinstance(faiss.read_index(str(next(tmp_path.glob("*.ivf")))), faiss.IndexPreTransform)
        assert turned == (count > 5_000)


def test_codes_lose_less_of_turned_vectors_that_differ_in_few_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each topic in another one; questions are about as far from every vector of the topics searched."""
    import faiss

    from sqlrag_dspy.index.approximate.clusters import cluster

    chance = np.random.default_rng(1)
    dimensions, count, topics, nearest = 64, 10_000, 100, 10
    topic = np.sort(chance.integers(0, topics, count))
    vectors = 0.02 * chance.normal(size=(count, dimensions))
    vectors[np.arange(count), chance.integers(0, dimensions, topics)[topic]] *= 50
    vectors += chance.normal(size=(topics, dimensions))[topic] / dimensions**0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    allowed = topic < topics // 4
    ids = np.flatnonzero(allowed)
    asked = chance.normal(size=(50, 1, dimensions)).astype(np.float32)

    def found() -> float:
        clusters = cluster(matrix)
        every = np.arange(len(clusters.centres))
        near = [ids[np.argsort(-(matrix[ids] @ query[0]))[:nearest]] for query in asked]
        coded = [clusters.search(query, every, 5 * nearest, allowed) for query in asked]
        return float(np.mean([np.isin(*pair).mean() for pair in zip(near, coded)]))

    turned = found()
    monkeypatch.setattr(faiss, "RandomRotationMatrix", unturned)
    assert turned > found() + 0.04


@pytest.mark.usefixtures("large")
def test_without_clusters_every_search_is_exact(tmp_path: Path) -> None:
    points = Points(2_000)
    reader = notes(*rows(points, range(2_000)))  # type: ignore[arg-type]
    brought_up(tmp_path, reader, points).close()
    file = next(tmp_path.glob("*.ivf"))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(IndexUnusable, match="run 'sqlrag index --rebuild'"):
        opened(tmp_path, points)
    file.unlink()
    share, found = recall(opened(tmp_path, points), reader, points)
    assert share == 1
    assert all(hits.search.exact for hits in found)


@pytest.mark.usefixtures("large")
def test_what_does_not_reach_the_recall_is_searched_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlrag_dspy.index.approximate import tuning

    monkeypatch.setattr(tuning, "RECALL", {10: 1.1, 100: 1.1})
    points = Points(2_000)
    reader = notes(*rows(points, range(2_000)))  # type: ignore[arg-type]
    share, found = recall(brought_up(tmp_path, reader, points), reader, points)
    assert share == 1
    assert all(hits.search.exact for hits in found)


def test_vectors_that_outgrow_memory_are_read_as_little_as_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FROM", 1000)
    points = Points(9_000)
    reader = notes(*rows(points, range(9_000)))  # type: ignore[arg-type]
    index = brought_up(tmp_path, reader, points)
    half = range(0, 9_000, 2)
    assert index.search("q1", "notes", allowed=half, reader=reader).search.exact
    monkeypatch.setattr(dense, "_memory", lambda: 100_000)
    share, found = recall(opened(tmp_path, points), reader, points, allowed=half)
    assert share >= 0.99
    assert not any(hits.search.exact for hits in found)
