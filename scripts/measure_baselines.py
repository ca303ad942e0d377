"""How routers compare on databases that they never saw: the table of docs/benchmark.md.

    python scripts/measure_baselines.py --split dev
    python scripts/measure_baselines.py --split test
    python scripts/measure_baselines.py --split dev --lm gguf:/path/model.gguf --sample 60

All are fitted on every train label. With --lm, a language model is asked for the routes of a seeded sample (the
others are scored on that sample too): `RouteQuestion` without demonstrations, and with those that the compiled
program finds for it. Intervals: 95 %, bootstrap. Databases that are not here are left out and named.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqlrag_dspy.learn import labels
from sqlrag_dspy.learn.asked import asked_questions
from sqlrag_dspy.learn.baselines import plain_routers
from sqlrag_dspy.learn.databases import missing_variable, open_all
from sqlrag_dspy.learn.fit import FitRouter
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.program import SqlRag, artifact
from sqlrag_dspy.program.demonstrations import Demonstrations
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.settings import Settings

ROOT = Path("trainsets")
Predict = Callable[[Label], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=("dev", "test"), required=True)
    parser.add_argument("--lm", help="language model asked for routes, as sqlrag.toml names it")
    parser.add_argument("--sample", type=int, help="labels drawn, over all databases")
    given = parser.parse_args()
    train_files = sorted(ROOT.glob("*/train.jsonl"))
    known = {f.parent for f in train_files}
    files = [f for f in sorted(ROOT.glob(f"*/{given.split}.jsonl")) if f.parent not in known]
    gone = [f.parent.name for f in files if missing_variable(f.parent)]
    wanted = [label for f in files if f.parent.name not in gone for label in labels.read(f)]
    if given.sample:
        wanted = random.Random(0).sample(wanted, given.sample)
    train = [label for file in train_files for label in labels.read(file)]
    names = dict.fromkeys([*(f.parent.name for f in train_files), *(label.database for label in wanted)])
    databases = open_all([ROOT / name for name in names], Settings())
    program = SqlRag(databases)
    ways: dict[str, Predict] = {}
    commonest = Counter(label.route for label in train).most_common(1)[0][0]
    ways["majority"] = lambda label: commonest
    for name, model in plain_routers(train).items():
        ways[name] = lambda label, model=model: str(model.predict([label.question])[0])
    made = asked_questions(databases, [f.parent for f in train_files])
    fitted = FitRouter(made=made).compile(program, trainset=[labels.example(label) for label in train])
    ways["delexicalised, linear"] = lambda label: learned(fitted, label, is_quick=True)
    ways["the project's router"] = lambda label: learned(fitted, label, is_quick=False)
    if given.lm:
        for name, k in (("without", 0), ("with", None)):
            ways[f"{given.lm.split('/')[-1]}, {name} demonstrations"] = asked(given.lm, databases, k)
    result: dict[str, Any] = {"split": given.split, "train": len(train), "n": len(wanted), "left out": gone}
    for name, predict in ways.items():
        right = {label.id: predict(label) in (label.route, *label.also_ok) for label in wanted}
        groups = {"all": wanted}
        groups |= {
            d: [x for x in wanted if x.database == d] for d in names if any(x.database == d for x in wanted)
        }
        groups |= {lang: [x for x in wanted if x.lang == lang] for lang in ("en", "es", "nl")}
        result[name] = {
            group: share([right[x.id] for x in found]) for group, found in groups.items() if found
        }
        print(f"{name}: {result[name]['all']}", file=sys.stderr, flush=True)
    for database in databases.values():
        database.close()
    print(json.dumps(result, indent=1))


def learned(program: SqlRag, label: Label, *, is_quick: bool) -> str:
    """The route of the learned tier, whatever its confidence."""
    inquiry = Inquiry(label.question, program.bound(label.database))
    sense = None if is_quick else lambda: inquiry.sense
    return str(program.router(masked=inquiry.masked, sense=sense).route)


def asked(lm: str, databases: dict[str, Any], demonstrations: int | None) -> Predict:
    """The route that a model gives, through the compiled program with its gate closed.

    A call that fails gives no route, which counts as wrong: that the learned tier would answer is not its merit.
    """
    from sqlrag_dspy.lm import connect
    from sqlrag_dspy.program.route import decide

    program = SqlRag(databases, lm=connect(lm))
    artifact.restore(program, artifact.find("articles"))
    program.gate_open = False
    if demonstrations == 0:
        program.demonstrations = Demonstrations()

    def ask(label: Label) -> str:
        inquiry = Inquiry(label.question, program.bound(label.database))
        with program.engine.running(), inquiry.meter.running():
            plan = decide(program, inquiry)
        if plan.decided_by != "lm":
            print(f"{label.id}: no route from {lm}: {'; '.join(inquiry.warnings)}", file=sys.stderr)
            return "none"
        return plan.route

    return ask


def share(right: Sequence[bool]) -> str:
    """The share that is right with its interval, and of how many."""
    values = np.array(right, dtype=float)
    means = values[np.random.default_rng(0).integers(0, len(values), (2000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f}-{high:.3f}) of {len(values)}"


if __name__ == "__main__":
    main()
