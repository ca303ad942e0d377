"""What a language model does with the program's two main prompts: routes, and SQL over the labelled databases.

python scripts/measure_models.py --lm gguf:/path/model.gguf --set trainsets/grants --set trainsets/tickets \
    -n 60 --out /tmp/models.jsonl

A seeded sample of N labels of each set is asked for its route (`RouteQuestion`), and one of N sql labels for a
statement (`BuildSql`, one attempt), with demonstrations and without. Demonstrations are the set's own other train
labels with the most similar masked questions. Nothing is compiled; the learned tier has no say. Each result is
a line of --out, and a run goes on where it was stopped. Only the train split is read unless --split says otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.learn import gold, labels, metrics
from sqlrag_dspy.learn.databases import open_trainset, path_of
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.lm import adapter_of, connect, explain
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.prompt import bare, describe_links, describe_schema
from sqlrag_dspy.program.signatures import BuildSql, RouteQuestion
from sqlrag_dspy.settings import Settings

ADAPTERS = ("own", "chat", "json", "compact")
TASKS = ("route", "sql")


class Examples:
    """Labels of one set, found again by the words that their masked questions share."""

    def __init__(self, wanted: list[Label], database: Database) -> None:
        self.masked = [(label, set(Inquiry(label.question, database).masked.split())) for label in wanted]

    def near(self, label: Label, k: int, *, has_sql: bool) -> list[Label]:
        """The `k` nearest other labels, nearest last."""
        words = next(words for other, words in self.masked if other.id == label.id)
        scored = [
            (len(words & theirs) / max(1, len(words | theirs)), other.id, other)
            for other, theirs in self.masked
            if other.id != label.id and other.question != label.question and (other.sql or not has_sql)
        ]
        return [other for _, _, other in sorted(scored, key=lambda found: found[:2])[-k:]]


def ask(task: str, label: Label, database: Database, examples: Examples | None) -> dict[str, Any]:
    """One call, judged: `right`, and for SQL whether it is `valid` (checked, and run)."""
    inquiry = Inquiry(label.question, database)
    schema = describe_schema(database.catalog, inquiry.links)
    near = examples.near(label, 8 if task == "route" else 6, has_sql=task == "sql") if examples else []
    if task == "route":
        demos = [dspy.Example(database_schema="(as below)", question=d.question, route=d.route) for d in near]
        said = dspy.Predict(RouteQuestion)(database_schema=schema, question=label.question, demos=demos).route
        return {"said": said, "right": said == label.route or said in label.also_ok}
    demos = [
        dspy.Example(
            dialect=database.catalog.dialect,
            database_schema="(as below)",
            found_in_question="(left out)",
            question=d.question,
            sql=d.sql,
        )
        for d in near
    ]
    text = dspy.Predict(BuildSql)(
        dialect=database.catalog.dialect,
        database_schema=schema,
        found_in_question=describe_links(inquiry.links),
        question=label.question,
        demos=demos,
    ).sql
    found: dict[str, Any] = {"said": text, "right": False, "valid": False}
    try:
        rows = database.run(database.check(bare(text)))
    except SqlRagError as error:
        return {**found, "refused": str(error)[:200]}
    ordered = gold.is_ordered(label.sql or "")
    right = metrics.rows_match(gold.rows(label, path_of(database)), rows.values, is_ordered=ordered)
    return {**found, "valid": True, "right": right}


def measure(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every result, those of an earlier run first."""
    done: dict[tuple[Any, ...], dict[str, Any]] = {}
    if arguments.out.is_file():
        for line in arguments.out.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            done[tuple(one["case"])] = one
    lm = connect(arguments.lm, cache=False, threads=arguments.threads, timeout=arguments.timeout)
    for folder in arguments.set:
        database = open_trainset(folder, Settings())
        wanted = list(labels.read(folder / f"{arguments.split}.jsonl"))
        with_demos = Examples(wanted, database) if "with" in arguments.demos else None
        for adapter in arguments.adapter:
            for task in arguments.task:
                fitting = [label for label in wanted if task == "route" or label.route == "sql"]
                random.Random(arguments.seed).shuffle(fitting)  # so that a larger N holds the smaller
                for demos in arguments.demos:
                    for label in fitting[: arguments.n]:
                        case = (arguments.lm, adapter, folder.name, arguments.split, task, demos, label.id)
                        if case not in done:
                            examples = with_demos if demos == "with" else None
                            one = {"case": case, **once(task, label, database, examples, lm, adapter)}
                            done[case] = one
                            with arguments.out.open("a", encoding="utf-8") as file:
                                file.write(json.dumps(one, ensure_ascii=False) + "\n")
                        yield done[case]
        database.close()


def once(
    task: str, label: Label, database: Database, examples: Examples | None, lm: Any, adapter: str
) -> dict[str, Any]:
    """One judged call with its bill; a failed call is a wrong answer that names its failure."""
    chosen = {
        "own": lambda: adapter_of(lm),
        "chat": dspy.ChatAdapter,
        "json": dspy.JSONAdapter,
        "compact": _compact,
    }[adapter]()
    before, start = len(lm.history), time.perf_counter()
    try:
        with dspy.context(lm=lm, adapter=chosen):
            found = ask(task, label, database, examples)
    except Exception as error:  # noqa: BLE001 - whatever a model does wrong is a result
        found = {"right": False, "valid": False, "failed": str(explain(error))[:300]}
    calls = lm.history[before:]
    used = [call["usage"] for call in calls]
    return {
        **found,
        "seconds": round(time.perf_counter() - start, 2),
        "calls": len(calls),
        "tokens_in": sum(each.get("prompt_tokens") or 0 for each in used),
        "tokens_cached": sum(
            (each.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for each in used
        ),
        "tokens_out": sum(each.get("completion_tokens") or 0 for each in used),
    }


def _compact() -> Any:
    from sqlrag_dspy.lm.compact import CompactAdapter

    return CompactAdapter()


def table(results: list[dict[str, Any]]) -> str:
    """Shares right and valid, failures, and medians, by adapter, task and demonstrations.

    The last column is the seconds of the calls that read most of their prompt anew: the first over a schema.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in results:
        _, adapter, _, _, task, demos, _ = one["case"]
        groups.setdefault((adapter, task, demos), []).append(one)
    lines = [
        "adapter | task | demonstrations | n | right | valid | failed | calls | tokens in (cached) | out | s | "
        "s, prompt not cached"
    ]
    for (adapter, task, demos), group in groups.items():
        middle = {
            name: statistics.median(one[name] for one in group)
            for name in ("calls", "tokens_in", "tokens_cached", "tokens_out", "seconds")
        }
        n = len(group)
        right = sum(one["right"] for one in group) / n
        valid = f"{sum(one.get('valid', False) for one in group) / n:.2f}" if task == "sql" else "–"
        failed = sum("failed" in one for one in group)
        cold = [one["seconds"] for one in group if one["tokens_cached"] < one["tokens_in"] / 2]
        anew = f"{statistics.median(cold):.1f} ({len(cold)})" if cold else "–"
        lines.append(
            f"{adapter} | {task} | {demos} | {n} | {right:.2f} | {valid} | {failed} | {middle['calls']:g} | "
            f"{middle['tokens_in']:g} ({middle['tokens_cached']:g}) | {middle['tokens_out']:g} | "
            f"{middle['seconds']:.1f} | {anew}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lm", required=True)
    parser.add_argument("--set", type=Path, action="append", required=True, help="a trainset's folder")
    parser.add_argument("--split", default="train")
    parser.add_argument("-n", type=int, default=60, help="labels of each set and task")
    parser.add_argument("--task", choices=TASKS, action="append")
    parser.add_argument("--demos", choices=("with", "without"), action="append")
    parser.add_argument("--adapter", choices=ADAPTERS, action="append", help="default: the model's own")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, required=True, help="JSON lines; an existing file is gone on with"
    )
    arguments = parser.parse_args()
    arguments.task = arguments.task or list(TASKS)
    arguments.demos = arguments.demos or ["without", "with"]
    arguments.adapter = arguments.adapter or ["own"]
    print(table(list(measure(arguments))))


if __name__ == "__main__":
    main()
