"""The learning curve of the router on databases that it never saw, drawn to docs/learning_curve.svg.

    python scripts/measure_curve.py          (an hour; --whole: some minutes)

Every training database is left out in turn; the router is fitted on N labels of the others (five seeds) and
scored on all labels of the one left out. Made questions of the others are fitted along, however few labels.
Train labels alone: dev and test databases are not looked at.
Prints the figures as JSON; the band is the 95 % interval over seeds of the mean over databases.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqlrag_dspy.learn import labels
from sqlrag_dspy.learn.asked import asked_questions
from sqlrag_dspy.learn.cases import Case, cases_of, dense_of, linked, scale_of
from sqlrag_dspy.learn.databases import open_trainset
from sqlrag_dspy.learn.fit import MADE_WEIGHT, FitRouter, vocabulary_for
from sqlrag_dspy.learn.linear import logistic, matrix, scores_of
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import ROUTES

SIZES = (64, 128, 256, 512, 1024, 2048)
SEEDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/learning_curve.svg"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument(
        "--whole", action="store_true", help="all labels alone: the last point, and no drawing"
    )
    given = parser.parse_args()
    folders = [path.parent for path in sorted(Path("trainsets").glob("*/train.jsonl"))]
    databases = {f.name: open_trainset(f, Settings()) for f in folders}
    program = SqlRag(databases)
    cases = cases_of(
        program, [labels.example(label) for f in folders for label in labels.read(f / "train.jsonl")]
    )
    labelled = len(cases)
    scale = scale_of(cases)
    cases += linked(program, asked_questions(databases, folders), MADE_WEIGHT)
    dense = dense_of(cases, scale)
    names = np.array([case.database.name for case in cases])
    right: dict[str, dict[int, list[np.ndarray]]] = {"with the encoder": {}, "words alone": {}}
    confusion = {a: dict.fromkeys(ROUTES, 0) for a in ROUTES}
    whole = int(np.mean([labelled - (names[:labelled] == name).sum() for name in databases]))
    for size in (None,) if given.whole else (*SIZES, None):
        for seed in range(given.seeds if size else 1):
            scored: dict[str, list[float]] = {way: [] for way in right}
            for left_out in databases:
                rng = np.random.default_rng([seed, sum(map(ord, left_out))])
                others = np.flatnonzero(names != left_out)
                pool, made = others[others < labelled], others[others >= labelled]
                train = rng.choice(pool, min(size, len(pool)), replace=False) if size else pool
                train = np.concatenate([train, made])
                test = np.flatnonzero(names[:labelled] == left_out)
                for way, block in (("with the encoder", dense), ("words alone", None)):
                    told = predict(cases, block, train.tolist(), test.tolist())
                    scored[way].append(float(np.mean([ok(cases[n], t) for n, t in zip(test, told)])))
                    if size is None and way == "with the encoder":
                        for n, route in zip(test, told):
                            confusion[cases[n].example.route][route] += 1
            for way, values in scored.items():
                right[way].setdefault(size or whole, []).append(np.array(values))
        print(f"{size or whole} labels", file=sys.stderr, flush=True)
    for database in databases.values():
        database.close()
    result = {
        "databases": list(databases),
        "labels": labelled,
        "curves": {
            way: {size: figures(runs) for size, runs in found.items()} for way, found in right.items()
        },
        "by_database": dict(zip(databases, right["with the encoder"][whole][0].round(4).tolist())),
        "confusion": confusion,
    }
    print(json.dumps(result, indent=1))
    if not given.whole:
        draw(result["curves"], given.out)


def predict(cases: Sequence[Case], dense: Any, train: list[int], test: list[int]) -> list[str]:
    """Routes of the test cases by a router fitted on the train cases, as `FitRouter` fits its stages."""
    vocabulary, counted = vocabulary_for([cases[n] for n in train], [cases[n] for n in (*train, *test)])
    weights = np.array([cases[n].weight for n in train])
    routes = [cases[n].example.route for n in train]
    head, block = (
        (logistic(matrix(vocabulary, counted[: len(train)]), routes, FitRouter().strength, weights), None)
        if dense is None
        else (
            FitRouter().stages(vocabulary, counted[: len(train)], dense[train], routes, weights)["full"],
            dense[test],
        )
    )
    scores = scores_of(head, matrix(vocabulary, counted[len(train) :], block))
    return [head.classes[place] for place in scores.argmax(axis=1)]


def ok(case: Case, route: str) -> bool:
    return route == case.example.route or route in case.example.also_ok


def figures(runs: Sequence[np.ndarray]) -> dict[str, Any]:
    """Mean over databases, with the interval over seeds (over databases where there is one run alone)."""
    means = np.array([run.mean() for run in runs])
    random = np.random.default_rng(0)
    spread = means if len(means) > 1 else runs[0]
    drawn = spread[random.integers(0, len(spread), (2000, len(spread)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {
        "accuracy": round(float(means.mean()), 4),
        "interval": [round(float(low), 4), round(float(high), 4)],
    }


def draw(curves: dict[str, dict[int, dict[str, Any]]], out: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sqlrag"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for way, points in curves.items():
        sizes = list(points)
        axes.plot(sizes, [p["accuracy"] for p in points.values()], marker="o", label=way)
        low, high = zip(*(p["interval"] for p in points.values()))
        axes.fill_between(sizes, low, high, alpha=0.15)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xlabel("labels of other databases")
    axes.set_ylabel("route accuracy on the database left out")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
