"""How much better both rankings together find the right rows than plain reciprocal rank does, with intervals.

    python scripts/measure_relevance.py gold DATA_FOLDER [STORE]     # gold/filtered_recall_part.jsonl
    python scripts/measure_relevance.py trainsets [trainsets/NAME …] # train labels, inside their gold filters

gold: recall@20 and nDCG@10 of each component and of each fusion *of the same two rankings*, filtered and unfiltered
queries apart, then the paired gain over plain reciprocal rank with a 95 % bootstrap interval, over all and for each
database; filtering afterwards is shown beside it; DATA_FOLDER may also be what `convert_collections.py` wrote.
trainsets: recall@5, recall@20, MRR and nDCG@10 by language of
the question, and the share of English recall that Spanish and Dutch questions over English documents reach.
STORE keeps the indexes for another run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure_retrieval import SqliteRows, ndcg, quoted, read_table, recall, reciprocal_rank
from numpy.typing import NDArray

from sqlrag_dspy.index import Index, open_index, sync
from sqlrag_dspy.index.fuse import Evidence, Fusion, Scores, fuse
from sqlrag_dspy.index.words.language import detect, majority
from sqlrag_dspy.types import Key, Table

EMBEDDERS = ("wordllama", "use-multilingual")
RESAMPLES = 5_000
SEED = 11


def meaning(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    return cosines


def words(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    return bm25 + 1e-9 * cosines


def fixed(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    """A constant weight for words: what the weight by spread is better than."""
    weight = 0.2 if evidence.is_foreign else 0.65
    return cosines + weight * bm25 / evidence.mass if evidence.mass > 0 else cosines


def spread_alone(cosines: Scores, bm25: Scores, evidence: Evidence) -> Scores:
    """The fusion without feedback and without words that mean alike, which only `fuse` itself gets."""
    return fuse(cosines, bm25, evidence)


WAYS: dict[str, tuple[Sequence[str], Fusion]] = {
    "wordllama": (EMBEDDERS[:1], meaning),
    "use-multilingual": (EMBEDDERS[1:], meaning),
    "both encoders": (EMBEDDERS, meaning),
    "words (BM25)": (EMBEDDERS, words),
    "reciprocal rank": (EMBEDDERS, reciprocal_rank),
    "fixed weight": (EMBEDDERS, fixed),
    "weight by spread": (EMBEDDERS, spread_alone),
    "as shipped": (EMBEDDERS, fuse),
}
USUAL, OURS = "reciprocal rank", "as shipped"
AFTER = (20, 100)


def interval(values: NDArray[np.float64]) -> str:
    """Mean and 95 % bootstrap interval."""
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    means = values[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def measure_gold(folder: Path, stores: Path) -> None:
    lines = (folder / "gold" / "filtered_recall_part.jsonl").read_text(encoding="utf-8").splitlines()
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        query = json.loads(line)
        by_set[query["set"]].append(query)
    scores: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for name, queries in by_set.items():
        first = queries[0]
        path = folder / str(first["db"])
        hidden = first.get("hide_cols") or []
        table = read_table(path, first["table"], [first["id_col"]], first["text_cols"], hidden=hidden)
        reader = SqliteRows(path, [table])
        report = sync(stores / name, reader, [table], EMBEDDERS)
        print(f"{name}: {len(queries)} queries, {report.rows_seen} rows, {report.chunks} passages")
        opened = {each: open_index(stores / name, [table], each) for each in {e for e, _ in WAYS.values()}}
        for query in queries:
            allowed = None
            if query["where"]:
                sql = f"SELECT {quoted(table.key[0])} FROM {quoted(table.name)} WHERE {query['where']}"
                allowed = [key for (key,) in reader.connection.execute(sql)]
            gold = set(query["gold_ids"])
            own = scores[name, "filtered" if query["where"] else "unfiltered"]
            for way, (embedders, fusion) in WAYS.items():
                found = search(opened[embedders], query["query"], table, allowed, fusion, reader, 20)
                own[way].append((recall(found, gold, 20), ndcg(found, gold, 10)))
            if allowed is not None:
                inside = set(allowed)
                everywhere = search(opened[EMBEDDERS], query["query"], table, None, fuse, reader, max(AFTER))
                for most in AFTER:
                    found = [key for key in everywhere[:most] if key in inside]
                    own[f"after the top {most}"].append((recall(found, gold, 20), ndcg(found, gold, 10)))
    for kind in ("filtered", "unfiltered"):
        groups = {name: scores[name, kind] for name in by_set if scores[name, kind]}
        if not groups:
            continue
        everything: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for group in groups.values():
            for way, values in group.items():
                everything[way] += values
        groups["all"] = everything
        heads = [f"{name} ({len(group[OURS])})" for name, group in groups.items()]
        print(f"\n{kind}: recall@20, nDCG@10\n{'':20}" + "".join(f"{head:>22}" for head in heads))
        for way in everything:
            means = [np.mean(group[way], axis=0) for group in groups.values()]
            print(f"{way:20}" + "".join(f"{f'{r:.3f}  {n:.3f}':>22}" for r, n in means))
        print(f"gain over {USUAL}, paired, 95 % interval")
        for head, group in zip(heads, groups.values()):
            for way in ("fixed weight", "weight by spread", OURS):
                gains = np.array(group[way]) - np.array(group[USUAL])
                print(
                    f"  {head:20}{way:18} recall@20 {interval(gains[:, 0])}  nDCG@10 {interval(gains[:, 1])}"
                )


def search(
    index: Index,
    text: str,
    table: Table,
    allowed: list[Key] | None,
    fusion: Fusion,
    reader: SqliteRows,
    k: int,
) -> list[Key]:
    hits = index.search(text, table.name, k=k, allowed=allowed, fusion=fusion, reader=reader)
    return [document.key for document in hits.documents]


def measure_trainsets(folders: Sequence[Path]) -> None:
    """Of the topic that the shipped program would search for, inside the rows that the gold filter allows."""
    from sqlrag_dspy.learn import gold, labels, metrics
    from sqlrag_dspy.learn.databases import open_all, path_of
    from sqlrag_dspy.program import SqlRag, artifact
    from sqlrag_dspy.program.gather import prepare
    from sqlrag_dspy.program.inquiry import Inquiry
    from sqlrag_dspy.program.plan import Plan
    from sqlrag_dspy.settings import Settings

    rag = SqlRag()
    artifact.restore(rag, artifact.find("articles"))
    databases = open_all(folders, Settings())
    fusions: dict[str, Fusion] = {way: f for way, (e, f) in WAYS.items() if e == EMBEDDERS}
    scores: dict[str, dict[str, list[tuple[float, ...]]]] = {way: defaultdict(list) for way in fusions}
    for folder in folders:
        database = databases[folder.name]
        languages: dict[str, str | None] = {}
        for label in labels.read(folder / "train.jsonl"):
            table = database.catalog.table(label.table or "")
            if label.route not in ("vector", "hybrid") or not label.keys or table is None:
                continue
            plan = Plan(label.route, 1.0, "learned")
            prepare(rag, Inquiry(label.question, database), plan)
            allowed = list(gold.allowed(label, path_of(database), table.key)) if label.filter_sql else None
            if allowed is not None and len(allowed) <= 5:
                continue  # found whole, whatever the ranking
            if table.name not in languages:
                texts = database.source.scan(table.name, table.text_columns[:1])
                languages[table.name] = majority(detect(str(text)) for (text,) in texts if text)
            is_english = languages[table.name] == "en"
            group = f"{label.lang} over en" if is_english else "over es, nl"
            for way, fusion in fusions.items():
                hits = database.index.search(
                    plan.text, table.name, k=20, allowed=allowed, fusion=fusion, reader=database.source
                )
                found = [document.key for document in hits.documents]
                wanted = {tuple(k) if isinstance(k, list) else k for k in label.keys}
                scored = (
                    metrics.recall_at(label.keys, found, 5),
                    metrics.recall_at(label.keys, found, 20),
                    metrics.reciprocal_rank(label.keys, found),
                    ndcg(found, wanted, 10),
                )
                scores[way][group].append(scored)
                scores[way]["all"].append(scored)
                if folder.name == "articles" and label.lang == "en":
                    scores[way]["articles, en"].append(scored)
    groups = sorted(scores[OURS])
    heads = [f"{group} ({len(scores[OURS][group])})" for group in groups]
    print(
        f"\nrecall@5, MRR, nDCG@10, of selections of more than 5 rows\n{'':20}"
        + "".join(f"{h:>24}" for h in heads)
    )
    for way, own in scores.items():
        means = [np.mean(own[group], axis=0) for group in groups]
        print(f"{way:20}" + "".join(f"{f'{m[0]:.3f}  {m[2]:.3f}  {m[3]:.3f}':>24}" for m in means))
    print("recall@20           " + "".join(f"{np.mean(scores[OURS][g], axis=0)[1]:24.3f}" for g in groups))
    english = np.array(scores[OURS]["en over en"])[:, 0]
    for lang in ("es", "nl"):
        print(
            f"{lang}: {ratio(np.array(scores[OURS][f'{lang} over en'])[:, 0], english)} of English recall@5"
        )
    gains = np.array(scores[OURS]["all"]) - np.array(scores[USUAL]["all"])
    print(f"gain over {USUAL}: recall@5 {interval(gains[:, 0])}  nDCG@10 {interval(gains[:, 3])}")
    for database in databases.values():
        database.close()


def ratio(own: NDArray[np.float64], other: NDArray[np.float64]) -> str:
    """Ratio of two means with a 95 % bootstrap interval; both drawn anew."""
    chance = np.random.default_rng(SEED)
    drawn = [v[chance.integers(0, len(v), (RESAMPLES, len(v)))].mean(axis=1) for v in (own, other)]
    low, high = np.quantile(drawn[0] / drawn[1], [0.025, 0.975])
    return f"{own.mean() / other.mean():.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    if sys.argv[1] == "trainsets":
        named = [Path(name) for name in sys.argv[2:]]
        measure_trainsets(named or sorted(p.parent for p in Path("trainsets").glob("*/train.jsonl")))
    elif len(sys.argv) > 3:
        measure_gold(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            measure_gold(Path(sys.argv[2]), Path(scratch))
