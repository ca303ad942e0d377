"""Searches in a large index: time, recall and memory at every selectivity, on made vectors in clusters.

    python scripts/measure_scale.py [--chunks 1000000] [--folder DIR]

Builds an index of rows of four chunks through `sync`, with vectors from a mixture of Gaussians on the sphere (a few
thousand clusters of unequal size, in topics) and made words, and prints two tables: the nearest chunks alone, and
whole searches. Times are processor time of one thread, so that other programs count for little. The same seed
gives the same index. Leaves out real texts: measure_retrieval.py has those.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from zlib import crc32

# Before numpy is there: a second thread that waits for work counts as processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.approximate import dense
from sqlrag_dspy.types import Column, Key, Profile, Table, Value

COLUMNS = ("a", "b", "c", "d")
FILTERS = ("any10", "any100", "any1000", "topic10", "topic100", "topic1000")
QUERIES = 40
BLOCK = 50
WORDS = 20


class World:
    """Vectors and texts of all chunks; a row is four chunks of one cluster."""

    def __init__(self, chunks: int, dimensions: int, clusters: int, seed: int) -> None:
        self.rows, self.seed, self.dimensions = chunks // 4, seed, dimensions
        self._chance = chance = np.random.default_rng(seed)
        topics = max(1, clusters // 10)
        centres = self._directions(topics)[np.sort(chance.integers(0, topics, clusters))]
        centres = centres + self._directions(clusters)
        self._centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        # Texts differ in few ways at once: the noise has some strong directions, others in every cluster.
        spectrum = np.arange(1, dimensions + 1) ** -0.5
        self._spectrum = (0.8 * spectrum / np.linalg.norm(spectrum)).astype(np.float32)
        self._axes = np.stack([chance.permutation(dimensions) for _ in range(clusters)])
        weights = chance.lognormal(0, 1, clusters)
        self._weights = weights / weights.sum()
        self.cluster = chance.choice(clusters, self.rows, p=self._weights)
        self.vectors = np.empty((4 * self.rows, dimensions), dtype=np.float32)
        labels = np.repeat(self.cluster, 4)
        for at in range(0, len(labels), 50_000):
            self.vectors[at : at + 50_000] = self._near(labels[at : at + 50_000])
        place = np.argsort(np.argsort(self.cluster, kind="stable")) / self.rows
        self.filters = {f"any{n}": chance.integers(0, n, self.rows) for n in (10, 100, 1000)}
        self.filters |= {f"topic{n}": (place * n).astype(int) for n in (10, 100, 1000)}
        self.words = np.array([f"w{number:x}" for number in range(30_000)])

    def _directions(self, count: int) -> np.ndarray:
        found = self._chance.standard_normal((count, self.dimensions), dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def _near(self, labels: np.ndarray) -> np.ndarray:
        noise = (
            self._chance.standard_normal((len(labels), self.dimensions), dtype=np.float32) * self._spectrum
        )
        found = self._centres[labels] + np.take_along_axis(noise, self._axes[labels], axis=1)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def questions(self, count: int, seed: int) -> np.ndarray:
        """Vectors near clusters, farther off than chunks are, as short questions are."""
        self._chance = np.random.default_rng((self.seed, seed))
        labels = self._chance.choice(len(self._weights), count, p=self._weights)
        found = self._near(labels) + 0.6 * self._directions(count)
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)

    def embed(self, texts: list[str]) -> np.ndarray:
        """The vector that a text names by its number; for other texts that of a question."""
        numbers = [re.search(r"#(\d+)", text) for text in texts]
        known = np.array([int(found[1]) if found else -1 for found in numbers])
        out = self.vectors[known]
        for at in np.flatnonzero(known < 0):
            out[at] = self.questions(1, crc32(texts[at].encode()))[0]
        return out

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """Rows as a source gives them, the texts made as they are read."""
        wanted = None if keys is None else {key[0] if isinstance(key, tuple) else key for key in keys}
        blocks = range(0, self.rows, BLOCK)
        if wanted is not None:
            blocks = sorted({int(key) // BLOCK * BLOCK for key in wanted})  # type: ignore[assignment, arg-type]
        for begin in blocks:
            chance = np.random.default_rng((self.seed, begin))
            # Few words are common and most are rare.
            numbers = (len(self.words) * chance.random((BLOCK, 4, WORDS)) ** 4).astype(int)
            drawn = self.words[numbers].tolist()
            for row in range(begin, min(begin + BLOCK, self.rows)):
                if wanted is None or row in wanted:
                    texts = (f"{' '.join(w)} #{4 * row + c}" for c, w in enumerate(drawn[row - begin]))
                    values = dict(zip(COLUMNS, texts)) | {n: int(v[row]) for n, v in self.filters.items()}
                    values["id"] = row
                    yield tuple(values[name] for name in columns)


def made_table(rows: int) -> Table:
    def column(name: str) -> Column:
        is_text = name in COLUMNS
        found = "text" if is_text else "integer"
        return Column(name, "", Profile(found, mean_length=900.0 if is_text else 0.0, is_long_text=is_text))

    return Table("made", ("id",), tuple(map(column, ("id", *COLUMNS, *FILTERS))), COLUMNS, FILTERS, rows=rows)


def timed(run: Callable[[], object], repeats: int = 3) -> tuple[float, object]:
    """The least milliseconds of processor time, and the result."""
    best, found = float("inf"), None
    for _ in range(repeats):
        begun = time.process_time()
        found = run()
        best = min(best, 1000 * (time.process_time() - begun))
    return best, found


def resident() -> str:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return ", ".join(
        f"{int(fields[n].split()[0]) // 1024} MB {t}" for n, t in (("RssAnon", "own"), ("RssFile", "mapped"))
    )


def measure_nearest(index: object, world: World, queries: np.ndarray) -> None:
    """Exact and approximate search for the nearest chunks, at every selectivity."""
    table = index._tables["made"]  # type: ignore[attr-defined]
    vectors: dense.Dense = table.vectors["made"]
    live = len(table.contents.live_chunks)
    if vectors.clusters is None:
        print("no clusters: the table is too small")
        return
    setting = vectors.clusters[1]
    print(f"setting {setting.shares}, recall {setting.recall} on held-out questions\n")
    print(
        "| rows allowed | kind | exact ms | approximate ms | chosen | chosen ms | to the better | recall@10 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in ("all", *FILTERS, "one row"):
        times: list[tuple[float, float, float]] = []
        hits, exact_chosen, sizes = [], 0, []
        for at, query in enumerate(queries):
            if name == "all":
                positions = None
            elif name == "one row":
                positions = np.array([at * 7 % world.rows])
            else:
                # Topics around the question and away from it in turn.
                row = (
                    int(np.argmax(world.vectors[:: 4 * 97] @ query)) * 97 if at % 2 else at * 101 % world.rows
                )
                value = world.filters[name][row]
                positions = table.select(None, {name: int(value)}).positions
            chunks = table.contents.chunks_of(positions)
            sizes.append(len(chunks) / live)
            count = min(400, len(chunks))
            found = {}
            for way in ("exact", "approximate", "cheaper"):
                found[way] = timed(partial(vectors.nearest, query[None], chunks, count, live, way=way))
            near = {way: result for way, (_, result) in found.items()}
            times.append(tuple(found[way][0] for way in ("exact", "approximate", "cheaper")))
            exact_chosen += near["cheaper"].looked_at is None
            best = {
                way: np.sort(vectors.matrix[near[way].ids] @ query)[::-1][:10] for way in ("exact", "cheaper")
            }
            hits.append((best["cheaper"] >= best["exact"][-1] - 1e-6).mean())
        exact, approximate, chosen = np.median(np.array(times), axis=0)
        way = "exact" if exact_chosen > len(queries) / 2 else "approximate"
        kind = {"any": "random", "top": "a topic"}.get(name[:3], "")
        ratio = chosen / max(1e-9, min(exact, approximate))
        print(
            f"| {100 * np.mean(sizes):.4g} % | {kind} | {exact:.2f} | {approximate:.2f} | {way} | {chosen:.2f} "
            f"| {ratio:.2f} | {np.mean(hits):.4f} |",
            flush=True,
        )


def measure_searches(store: Path, table: Table, world: World) -> None:
    """Whole searches through Index.search: words, meaning, documents read."""
    functions = {"made": world.embed}
    begun = time.process_time()
    index = open_index(store, [table], ["made"], embed_functions=functions)
    opened = time.process_time()
    index.search("w1f #12", "made", reader=world)
    print(
        f"\nopen {opened - begun:.2f} s, first search {time.process_time() - opened:.2f} s, memory {resident()}"
    )
    vectors = index._tables["made"].vectors["made"]
    clusters = vectors.clusters
    print("\n| search | ms | exactly ms | rows searched of allowed | recall@10 of documents |")
    print("|---|---|---|---|---|")
    many = [int(key) for key in np.random.default_rng(1).permutation(world.rows)[: max(1, world.rows // 2)]]
    asked: dict[str, dict[str, object]] = {"all rows": {}, f"{len(many)} keys": {"allowed": many}}
    asked |= {name: {"filters": {name: 3}} for name in FILTERS}
    asked["one key"] = {"allowed": [world.rows // 2]}
    for name, options in asked.items():
        times, exact_times, hits, told = [], [], [], ""
        for at in range(QUERIES // 2):
            chance = np.random.default_rng(at)
            words = " ".join(world.words[(len(world.words) * chance.random(4) ** 2).astype(int)])
            text = f"about {words} {at}"
            search = partial(index.search, text, "made", reader=world, **options)
            spent, found = timed(search, 2)
            vectors.clusters = None
            exact_spent, exact = timed(search, 2)
            vectors.clusters = clusters
            times.append(spent)
            exact_times.append(exact_spent)
            keys = {document.key for document in exact.documents}  # type: ignore[attr-defined]
            hits.append(len(keys & {d.key for d in found.documents}) / max(1, len(keys)))  # type: ignore[attr-defined]
            told = f"{found.search.rows_searched} of {found.search.rows_allowed}"  # type: ignore[attr-defined]
        print(
            f"| {name} | {np.median(times):.1f} | {np.median(exact_times):.1f} | {told} | {np.mean(hits):.3f} |",
            flush=True,
        )
    index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--clusters", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the index is kept, and found again")
    options = parser.parse_args()
    begun = time.perf_counter()
    world = World(options.chunks, options.dimensions, options.clusters, options.seed)
    print(f"{4 * world.rows} vectors made, {time.perf_counter() - begun:.0f} s", flush=True)
    import faiss

    with tempfile.TemporaryDirectory() as scratch:
        store = options.folder or Path(scratch)
        table = made_table(world.rows)
        if not (store / "index.sqlite").is_file():
            begun, spent = time.perf_counter(), time.process_time()
            sync(store, world, [table], ["made"], embed_functions={"made": world.embed})
            print(
                f"index built: {time.perf_counter() - begun:.0f} s, "
                f"{time.process_time() - spent:.0f} s of processor time"
            )
        for path in sorted(store.iterdir()):
            print(f"  {path.suffix or path.name}: {os.path.getsize(path) / 1e6:.0f} MB")
        faiss.omp_set_num_threads(1)
        index = open_index(store, [table], ["made"], embed_functions={"made": world.embed})
        measure_nearest(index, world, world.questions(QUERIES, 3))
        index.close()
        measure_searches(store, table, world)


if __name__ == "__main__":
    main()
