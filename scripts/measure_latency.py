"""Time of `ask` by the learned tier, warm: median and 95th percentile over a label file's questions.

python scripts/measure_latency.py trainsets/articles/test.jsonl --program compiled/articles
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from sqlrag_dspy.learn import labels
from sqlrag_dspy.learn.databases import open_trainset
from sqlrag_dspy.program import SqlRag, artifact
from sqlrag_dspy.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("--program", default="articles")
    arguments = parser.parse_args()
    database = open_trainset(arguments.labels.parent, Settings())
    rag = SqlRag({database.name: database})
    artifact.restore(rag, artifact.find(arguments.program))
    wanted = labels.read(arguments.labels)
    for label in wanted[:20]:
        rag.ask(label.question)
    seconds: dict[str, list[float]] = {"all": []}
    for label in wanted:
        database.forget_links()  # a remembered link would flatter the figure
        start = time.perf_counter()
        answer = rag.ask(label.question)
        spent = time.perf_counter() - start
        seconds["all"].append(spent)
        for name in (answer.route or "none", label.lang):
            seconds.setdefault(name, []).append(spent)
    rag.close()
    figures = {
        name: {
            "n": len(values),
            "median_ms": round(1000 * float(np.median(values)), 2),
            "p95_ms": round(1000 * float(np.quantile(values, 0.95)), 2),
        }
        for name, values in seconds.items()
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
