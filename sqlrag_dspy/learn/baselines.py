"""Plain routers to compare with: TF-IDF with a linear SVM, and the nearest labelled question.

Both read the raw question and are trained on the very labels that the program was compiled from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn import labels
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.program.artifact import CHECKOUT, Card


def training_labels(card: Card, label_files: Sequence[Path]) -> list[Label]:
    """The labels a program was compiled from, where their files are at hand; else the folders' train split."""
    named = [Path(name) for name in card.trainsets]
    found = [next((p for p in (name, CHECKOUT / name) if p.is_file()), None) for name in named]
    files = [path for path in found if path is not None]
    if not files:
        files = [f.parent / "train.jsonl" for f in label_files if (f.parent / "train.jsonl").is_file()]
    try:
        return [label for path in dict.fromkeys(files) for label in labels.read(path)]
    except LabelError:
        return []


def plain_routers(train: Sequence[Label]) -> dict[str, Any]:
    """Both baselines as scikit-learn pipelines from questions to routes, fitted on `train`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    def reader() -> Any:
        return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)

    models = {
        "tfidf_svm": make_pipeline(reader(), LinearSVC()),
        "nearest_neighbour": make_pipeline(reader(), KNeighborsClassifier(1, metric="cosine")),
    }
    for model in models.values():
        model.fit([label.question for label in train], [label.route for label in train])
    return models


def routers(card: Card, wanted: Sequence[Label], label_files: Sequence[Path]) -> dict[str, Any]:
    """Route accuracy of both baselines on `wanted`, with intervals; empty without labels."""
    train = training_labels(card, label_files)
    if not wanted or len({label.route for label in train}) < 2:
        return {}
    out: dict[str, Any] = {"labels": len(train)}
    random = np.random.default_rng(0)
    for name, model in plain_routers(train).items():
        told = model.predict([label.question for label in wanted])
        right = np.array(
            [t == label.route or t in label.also_ok for t, label in zip(told, wanted)], dtype=float
        )
        means = right[random.integers(0, len(right), (1000, len(right)))].mean(axis=1)
        out[name] = {
            "route_accuracy": round(float(right.mean()), 4),
            "interval": [round(float(q), 4) for q in np.quantile(means, [0.025, 0.975])],
        }
    return out
