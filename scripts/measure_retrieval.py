"""How well search finds the right rows: by meaning alone, by words alone, and by both.

    python scripts/measure_retrieval.py gold DATA_FOLDER     # gold/filtered_recall_part.jsonl over its databases
    python scripts/measure_retrieval.py trainset trainsets/articles

Prints recall and nDCG for every way of ranking, with the rows that SQL allows and without; for a trainset,
by language of the question (its train split alone).
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import statistics
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from build_database import build

from sqlrag_dspy.index import Index, open_index, sync
from sqlrag_dspy.index.fuse import Evidence, Fusion, Scores, fuse
from sqlrag_dspy.types import Column, Key, Profile, Table, Value

EMBEDDERS = ("wordllama", "use-multilingual")


def reciprocal_rank(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    """Plain reciprocal rank fusion (k = 60), the usual choice."""

    def places(scores: Scores) -> Scores:
        return np.argsort(np.argsort(-scores, kind="stable"), kind="stable").astype(np.float64)

    return 1 / (61 + places(cosines)) + np.where(bm25 > 0, 1 / (61 + places(bm25)), 0)


WAYS: dict[str, Fusion] = {
    "meaning": lambda cosines, bm25, evidence: cosines,
    "words": lambda cosines, bm25, evidence: bm25 + 1e-9 * cosines,
    "reciprocal rank": reciprocal_rank,
    "fused": fuse,
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class SqliteRows:
    """Rows of a SQLite file, enough of `RowReader` to measure with."""

    def __init__(self, path: Path, tables: Sequence[Table]) -> None:
        self.connection = sqlite3.connect(path)
        self._keys = {table.name: table.key for table in tables}

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        query = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"
        if keys is None:
            yield from self.connection.execute(query)
            return
        where = " AND ".join(f"{quoted(name)} IS ?" for name in self._keys[table])
        for key in keys:
            yield from self.connection.execute(
                f"{query} WHERE {where}", key if isinstance(key, tuple) else (key,)
            )


def read_table(
    path: Path,
    name: str,
    key: Sequence[str],
    text: Sequence[str],
    filters: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> Table:
    """A table with as much of a profile as the index looks at."""
    connection = sqlite3.connect(path)
    columns = []
    for _, column, declared, *_ in connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall():
        if column in hidden:
            continue
        found = [
            v
            for (v,) in connection.execute(f"SELECT {quoted(column)} FROM {quoted(name)}")
            if v not in (None, "")
        ]
        length = statistics.fmean(len(str(v)) for v in found) if found else 0.0
        distinct = set(found)
        kind = "text"
        if found and all(isinstance(v, (int, float)) for v in found):
            kind = "number"
        elif found and all(re.match(r"\d{4}-\d\d|\d\d[/.]\d\d[/.]\d{4}", str(v)) for v in found):
            kind = "date"
        values = tuple((v, 1) for v in distinct) if len(distinct) <= min(60, 0.2 * len(found)) else ()
        profile = Profile(
            kind,
            distinct=len(distinct),
            mean_length=length,
            is_long_text=length > 200,
            samples=tuple(found[:3]),
            values=values,
        )
        columns.append(Column(column, declared, profile))
    rows = connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
    return Table(name, tuple(key), tuple(columns), tuple(text), tuple(filters), rows=rows)


def recall(found: Sequence[Key], gold: set[Key], k: int) -> float:
    """Share of the gold rows among the first `k`, of those that fit in `k`."""
    return len(gold & set(found[:k])) / min(len(gold), k)


def ndcg(found: Sequence[Key], gold: set[Key], k: int) -> float:
    gained = sum(1 / math.log2(at + 2) for at, key in enumerate(found[:k]) if key in gold)
    return gained / sum(1 / math.log2(at + 2) for at in range(min(len(gold), k)))


def print_table(title: str, heads: Sequence[str], scores: dict[str, dict[str, list[float]]]) -> None:
    print(f"\n{title}\n{'':18}" + "".join(f"{head:>22}" for head in heads))
    for way, columns in scores.items():
        print(
            f"{way:18}"
            + "".join(f"{statistics.fmean(columns[head]):22.3f}" for head in heads if columns[head])
        )


def measure_gold(folder: Path) -> None:
    """Recall@20 and nDCG@10 over the databases of filtered_recall_part.jsonl."""
    lines = (folder / "gold" / "filtered_recall_part.jsonl").read_text(encoding="utf-8").splitlines()
    by_set: dict[str, list[dict[str, object]]] = defaultdict(list)
    for line in lines:
        query = json.loads(line)
        by_set[query["set"]].append(query)
    for name, queries in by_set.items():
        first = queries[0]
        path = folder / str(first["db"])
        hidden = first.get("hide_cols") or []
        table = read_table(path, first["table"], [first["id_col"]], first["text_cols"], hidden=hidden)  # type: ignore[arg-type]
        reader = SqliteRows(path, [table])
        with tempfile.TemporaryDirectory() as store:
            report = sync(Path(store), reader, [table], EMBEDDERS)
            index = open_index(Path(store), [table], EMBEDDERS)
            scores: dict[str, dict[str, list[float]]] = {way: defaultdict(list) for way in WAYS}
            for query in queries:
                allowed = None
                kind = "all"
                if query["where"]:
                    kind = "filtered"
                    sql = f"SELECT {quoted(table.key[0])} FROM {quoted(table.name)} WHERE {query['where']}"
                    allowed = [key for (key,) in reader.connection.execute(sql)]
                gold = set(query["gold_ids"])  # type: ignore[call-overload]
                for way, fusion in WAYS.items():
                    hits = index.search(
                        str(query["query"]), table.name, k=20, allowed=allowed, fusion=fusion, reader=reader
                    )
                    found = [document.key for document in hits.documents]
                    scores[way][f"{kind} recall@20"].append(recall(found, gold, 20))
                    scores[way][f"{kind} nDCG@10"].append(ndcg(found, gold, 10))
            heads = ["all recall@20", "all nDCG@10", "filtered recall@20", "filtered nDCG@10"]
            heads = [head for head in heads if scores["fused"][head]]
            print_table(
                f"{name}: {len(queries)} queries, {report.chunks} chunks in {report.seconds} s", heads, scores
            )
            index.close()


def measure_trainset(folder: Path) -> None:
    """Recall@5 and nDCG@10 of the vector and hybrid labels of a trainset, inside the rows of their filter."""
    spec = tomllib.loads((folder / "source.toml").read_text(encoding="utf-8"))
    labels = [json.loads(line) for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = [label for label in labels if label["route"] in ("vector", "hybrid") and label["keys"]]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / spec["database"]
        build(folder, path)
        tables = [
            read_table(
                path,
                name,
                [t["key"]] if isinstance(t["key"], str) else t["key"],
                t["text"],
                t.get("filters", ()),
            )
            for name, t in spec["tables"].items()
        ]
        keys = {table.name: table.key for table in tables}
        reader = SqliteRows(path, tables)
        report = sync(Path(scratch) / "store", reader, tables, EMBEDDERS)
        index = open_index(Path(scratch) / "store", tables, EMBEDDERS)
        scores: dict[str, dict[str, list[float]]] = {way: defaultdict(list) for way in WAYS}
        for label in labels:
            gold = {tuple(key) if isinstance(key, list) else key for key in label["keys"]}
            allowed = allowed_keys(reader, label, keys[label["table"]])
            for way, fusion in WAYS.items():
                hits = index.search(
                    label["question"], label["table"], k=10, allowed=allowed, fusion=fusion, reader=reader
                )
                found = [document.key for document in hits.documents]
                kind = "en" if label["lang"] == "en" else "es+nl"
                # A selection of five rows or fewer is found whole, whatever the ranking.
                hard = "" if allowed is not None and len(allowed) <= 5 else " hard"
                for group in {kind, kind + hard}:
                    scores[way][f"{group} recall@5"].append(recall(found, gold, 5))
                    scores[way][f"{group} nDCG@10"].append(ndcg(found, gold, 10))
        heads = [
            f"{kind} {name}"
            for kind in ("en", "en hard", "es+nl", "es+nl hard")
            for name in ("recall@5", "nDCG@10")
        ]
        heads = [head for head in heads if scores["fused"][head]]
        print_table(
            f"{folder.name}: {len(labels)} labels, {report.chunks} chunks in {report.seconds} s",
            heads,
            scores,
        )
        measure_speed(index, labels, reader)
        index.close()


def allowed_keys(reader: SqliteRows, label: dict[str, object], key: Sequence[str]) -> list[Key] | None:
    if not label["filter_sql"]:
        return None
    columns = ", ".join(map(quoted, key))
    rows = reader.connection.execute(
        f"SELECT {columns} FROM {quoted(str(label['table']))} WHERE {label['filter_sql']}"
    )
    return [row if len(row) > 1 else row[0] for row in rows]


def measure_speed(index: Index, labels: Sequence[dict[str, object]], reader: SqliteRows) -> None:
    for kind in ("en", "other"):
        times = []
        for label in labels:
            if (label["lang"] == "en") == (kind == "en"):
                begun = time.perf_counter()
                index.search(str(label["question"]), str(label["table"]), reader=reader)
                times.append(1000 * (time.perf_counter() - begun))
        if times:
            times.sort()
            print(
                f"{kind}: {statistics.median(times):.2f} ms a search (p95 {times[int(0.95 * len(times))]:.2f})"
            )


if __name__ == "__main__":
    {"gold": measure_gold, "trainset": measure_trainset}[sys.argv[1]](Path(sys.argv[2]))
