"""What the program adds to a language model over SQL questions: two plain baselines, its depths, and its parts.

python scripts/measure_team.py --lm gguf:/path/model.gguf --gold FOLDER/gold/spider_dev_part.jsonl \
    --databases FOLDER --out /tmp/team.jsonl

A seeded sample of the strict questions, stratified by database and hardness, is asked in every variant with the
same model and judged by the same scorer. Each result is a line of --out, known by question, variant, model and
code, and a run goes on where it was stopped; replies stand beside it (timed variants never read them). Prints the
table: shares right with the paired difference from each baseline and its 95% bootstrap interval (over gold queries,
since some questions are rephrasings of one), the share of statements that did not run, who answered, and medians of
calls, tokens and seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sqlite3
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replies import Remembering

import sqlrag_dspy
from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.learn.metrics import rows_match
from sqlrag_dspy.lm import connect, explain
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.program.prompt import bare
from sqlrag_dspy.settings import Settings

BASELINES = ("plain", "retry loop")
ATTEMPTS = 4
TASK = "You write {dialect} queries. Answer with one SELECT statement and nothing else.\n\n"
RETRY = (
    "This statement failed: {error}\nWrite it again so that it runs. One SELECT statement and nothing else."
)


PARTS = ("sketch", "mending", "grounding", "coverage", "linking", "demonstrations")
"""Parts of the program as a small model meets it; `--only` takes any part that `SqlRag.without` knows."""
DEPTHS = ("call", "retry", "team")


def configure(rag: Any, variant: str) -> None:
    """Sets the program up for a variant: one depth for every question, or the whole without one of its parts."""
    rag.gate_open = True
    rag.depth = variant if variant in DEPTHS else None
    rag.without = frozenset({variant.removeprefix("without ")} if variant.startswith("without ") else ())


VARIANTS = ("learned tier", "program", *DEPTHS, *(f"without {part}" for part in PARTS))
OTHERS = tuple(f"without {part}" for part in ("intents", "schema", "critic", "explanation"))
"""They change nothing for a model that never reaches the team."""


# --- questions ---------------------------------------------------------------------------------------------


def hardness(query: str) -> str:
    """Spider's four levels, from the number of clauses, aggregates and nested queries of the gold query."""
    words = query.upper().replace("(", " ( ").replace(")", " ) ").split()
    selects = words.count("SELECT") - 1
    clauses = sum(words.count(each) for each in ("WHERE", "GROUP", "ORDER", "LIMIT", "JOIN", "OR", "LIKE"))
    found = sum(words.count(each) for each in ("COUNT", "AVG", "SUM", "MIN", "MAX"))
    others = (found > 1) + (words.count("AND") > 0) + (query.upper().split(" FROM ")[0].count(",") > 0)
    if not selects and clauses <= 1 and others == 0:
        return "easy"
    if not selects and ((others <= 2 and clauses <= 1) or (clauses <= 2 and others < 2)):
        return "medium"
    return "hard" if selects <= 1 and clauses + others <= 3 else "extra"


def sample(cases: list[dict[str, Any]], size: int, seed: int) -> list[dict[str, Any]]:
    """Strict cases, as many of each database and hardness as its share asks; a larger sample holds a smaller."""
    strict = [case for case in cases if case["strict"]]
    strata: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for case in strict:
        strata[case["db_id"], hardness(case["gold_sql"])].append(case)
    ranked = []
    for number, (_, group) in enumerate(sorted(strata.items())):
        random.Random(seed + number).shuffle(group)
        # The n-th of a group of m stands at (n + 1/2) / m of the way, so that every beginning is stratified.
        start = random.Random(f"{seed} {number}").random()
        ranked += [((place + start) / len(group), number, case) for place, case in enumerate(group)]
    return [case for _, _, case in sorted(ranked, key=lambda each: each[:2])[:size]]


def judge(case: Mapping[str, Any], database: Database, text: str) -> dict[str, Any]:
    """Whether a statement passes the check and runs, and has the gold rows (`exact`: and no further column)."""
    found: dict[str, Any] = {"sql": text, "valid": False, "right": False, "exact": False}
    if not text:
        return {**found, "refused": "nothing was written"}
    try:
        rows = database.run(database.check(text))
    except (SqlRejected, QueryFailed) as error:
        return {**found, "refused": str(error)}
    right = rows_match(case["gold_rows"], rows.values, is_ordered=case["ordered"])
    return {**found, "valid": True, "right": right, "exact": right and len(rows.columns) == case["columns"]}


# --- variants ----------------------------------------------------------------------------------------------


def baseline(case: Mapping[str, Any], database: Database, lm: Any, attempts: int) -> dict[str, Any]:
    """The schema as it was declared, the question, and the model's statement; its errors are sent back."""
    told = TASK.format(dialect=database.catalog.dialect) + declared(database)
    turns = [{"role": "system", "content": told}, {"role": "user", "content": case["question"]}]
    found: dict[str, Any] = {}
    for _ in range(attempts):
        said = answered(lm(messages=turns))
        found = judge(case, database, bare(said))
        if found["valid"]:
            break
        turns += [
            {"role": "assistant", "content": said},
            {"role": "user", "content": RETRY.format(error=found["refused"])},
        ]
    return {**found, "by": "model"}


def answered(said: Any) -> str:
    """The text of a reply."""
    first = said[0]
    return str(first["text"] if isinstance(first, dict) else first)


def declared(database: Database) -> str:
    """The CREATE TABLE statements of a SQLite file."""
    path = Path(database.settings.source.removeprefix("sqlite:///"))
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    found = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    made = [text for (text,) in found]
    connection.close()
    return "\n".join(made)


def program(case: Mapping[str, Any], database: Database, rag: Any) -> dict[str, Any]:
    """The program's answer. `by` says who wrote the statement: the learned tier, the model, or nobody."""
    answer = rag.ask(case["question"], database=database.name, trace=True)
    found = judge(case, database, answer.sql or "")
    by = "nobody" if not answer.sql else "learned" if answer.depth in (None, "sketch") else "model"
    told = {
        "route": answer.route,
        "by": by,
        "depth": answer.depth,
        "flagged": answer.flagged,
        "failure": answer.failure_source,
    }
    return {**found, **told, "steps": [step.name for step in answer.steps], "warnings": answer.warnings}


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Every result of the chosen variants, those of an earlier run with the same model and code among them."""
    lines = arguments.gold.read_text(encoding="utf-8").splitlines()
    cases = sample([json.loads(line) for line in lines], arguments.limit, arguments.seed)
    lm = connect(arguments.lm, cache=False, threads=arguments.threads, timeout=arguments.timeout)
    model = f"{arguments.lm.rpartition('/')[2]} {lm.kwargs.get('rollout_id', '')}"
    engine = Remembering(lm.engine, arguments.out.with_suffix(".replies.jsonl")) if lm.engine else None
    if engine is not None:
        lm = lm.copy(engine=engine)
    done = {}
    if arguments.out.is_file():
        for line in arguments.out.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            done[one["case"], one["variant"], one["made_by"]] = one
    results = []
    databases: dict[str, Database] = {}
    for variant in arguments.only:
        is_part = variant.startswith("without") or variant in DEPTHS
        limit = arguments.parts if is_part else arguments.limit
        # By database, so that the model has read the schema; rephrasings apart, so that none is told before.
        wanted = sorted(cases[:limit], key=lambda case: case["db_id"])
        version = hashlib.sha256(f"{model} {code(variant)} {arguments.recall}".encode()).hexdigest()[:12]
        missing = [case for case in wanted if (case["id"], variant, version) not in done]
        if engine is not None:
            engine.recalls = is_part or arguments.recall
        ask = ready(variant, lm, arguments, databases, missing) if missing else None
        for case in missing:
            assert ask is not None
            one = {"case": case["id"], "variant": variant, "made_by": version, **asked_once(case, ask, lm)}
            done[case["id"], variant, version] = one
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one, ensure_ascii=False) + "\n")
        for case in wanted:
            kept = {"group": f"{case['db_id']} {case['gold_sql']}", "hardness": hardness(case["gold_sql"])}
            results.append({**done[case["id"], variant, version], **kept})
    for database in databases.values():
        database.close()
    return results


def code(variant: str) -> str:
    """A hash of the code that decides a variant: all of it, or for a baseline the check and the engines."""
    package = Path(sqlrag_dspy.__file__).parent
    rooms = ("sql", "lm", "source") if variant in BASELINES else ("",)
    files = sorted(file for room in rooms for file in (package / room).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def ready(
    variant: str,
    lm: Any,
    arguments: argparse.Namespace,
    databases: dict[str, Database],
    cases: list[dict[str, Any]],
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function from a question to its judged result."""
    for path in sorted({case["db_path"] for case in cases}):
        if Path(path).stem not in databases:
            store = arguments.store / Path(path).stem
            source = f"sqlite:///{(arguments.databases / path).absolute()}"
            database = databases[Path(path).stem] = open_database(Settings(source=source, store=str(store)))
            database.sync()
    if variant in BASELINES:
        attempts = 1 if variant == "plain" else ATTEMPTS
        return lambda case: baseline(case, databases[Path(case["db_path"]).stem], lm, attempts)
    first = next(iter(databases.values()))
    rag = sqlrag_dspy.load(
        arguments.program, settings=first.settings, lm=None if variant == "learned tier" else lm
    )
    rag.close()
    rag.databases.clear()
    for database in databases.values():
        rag.bind(database)
    configure(rag, variant)
    return lambda case: program(case, databases[Path(case["db_path"]).stem], rag)


def asked_once(
    case: dict[str, Any], ask: Callable[[Mapping[str, Any]], dict[str, Any]], lm: Any
) -> dict[str, Any]:
    """One judged question with its bill; a failed call is a wrong answer that names its failure."""
    case["columns"] = len(case["gold_rows"][0])
    before, start = len(lm.history), time.perf_counter()
    try:
        found = ask(case)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is a result
        found = {
            "right": False,
            "valid": False,
            "exact": False,
            "by": "nobody",
            "failed": str(explain(error))[:300],
        }
    bill = [call["usage"] for call in lm.history[before:]]
    return {
        **found,
        "seconds": round(time.perf_counter() - start, 2),
        "calls": len(bill),
        "tokens_in": sum(each.get("prompt_tokens") or 0 for each in bill),
        "tokens_cached": sum(
            (each.get("prompt_tokens_details") or {}).get("cached_tokens") or 0 for each in bill
        ),
        "tokens_out": sum(each.get("completion_tokens") or 0 for each in bill),
    }


# --- the table ---------------------------------------------------------------------------------------------


def difference(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], what: str = "right", draws: int = 2000
) -> tuple[float, float, float]:
    """The mean of ours minus theirs on the same questions, with the 95% interval over whole gold queries."""
    other = {one["case"]: one[what] for one in theirs}
    groups: dict[str, list[float]] = defaultdict(list)
    for one in ours:
        if one["case"] in other:
            groups[one["group"]].append(float(one[what]) - float(other[one["case"]]))
    sums = [(sum(group), len(group)) for group in groups.values()]
    chance = random.Random(0)
    means = []
    for _ in range(draws):
        drawn = chance.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    mean = sum(total for total, _ in sums) / sum(count for _, count in sums)
    return mean, means[int(0.025 * draws)], means[int(0.975 * draws) - 1]


def table(results: list[dict[str, Any]]) -> str:
    """A line a variant, and a line each for the four levels of hardness and the learned tier's own answers."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in results:
        groups[one["variant"]].append(one)
    lines = ["variant | n | right (exact columns) | minus plain | minus retry loop | invalid | by learned: n, right | "
             "calls | tokens in (cached) | out | s"]  # fmt: skip
    for variant, group in groups.items():
        middle = {name: statistics.median(one[name] for one in group)
                  for name in ("calls", "tokens_in", "tokens_cached", "tokens_out", "seconds")}  # fmt: skip
        own = [one for one in group if one["by"] == "learned"]
        against = [versus(group, groups.get(each, []), each == variant) for each in BASELINES]
        learned = f"{len(own)}, {sum(one['right'] for one in own) / len(own):.2f}" if own else "0"
        lines.append(
            f"{variant} | {len(group)} | {mean(group, 'right'):.2f} ({mean(group, 'exact'):.2f}) | "
            f"{against[0]} | {against[1]} | {1 - mean(group, 'valid'):.2f} | {learned} | "
            f"{middle['calls']:g} | {middle['tokens_in']:g} ({middle['tokens_cached']:g}) | "
            f"{middle['tokens_out']:g} | {middle['seconds']:.1f}"
        )
    if whole := groups.get("program"):
        lines += ["", "part left out | n | right | of the whole program | the part's gain"]
        for variant, group in groups.items():
            if variant.startswith("without"):
                same = [one for one in whole if one["case"] in {each["case"] for each in group}]
                gain = versus(same, group, False)
                lines.append(f"{variant.removeprefix('without ')} | {len(group)} | {mean(group, 'right'):.2f} | "
                             f"{mean(same, 'right'):.2f} | {gain}")  # fmt: skip
    levels = ("easy", "medium", "hard", "extra")
    lines += ["", "right by hardness | " + " | ".join(levels)]
    for variant, group in groups.items():
        parts = [[one for one in group if one["hardness"] == level] for level in levels]
        lines.append(
            f"{variant} | " + " | ".join(f"{mean(p, 'right'):.2f} of {len(p)}" if p else "–" for p in parts)
        )
    if whole:
        lines += ["", "the program by depth | n | right | calls"]
        for depth in sorted({str(one.get("depth")) for one in whole}):
            own = [one for one in whole if str(one.get("depth")) == depth]
            lines.append(
                f"{depth} | {len(own)} | {mean(own, 'right'):.2f} | {statistics.mean(one['calls'] for one in own):.1f}"
            )
    return "\n".join(lines)


def mean(group: list[dict[str, Any]], what: str) -> float:
    return sum(one[what] for one in group) / len(group)


def versus(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], is_same: bool) -> str:
    if is_same or not theirs:
        return "–"
    middle, low, high = difference(ours, theirs)
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lm", required=True)
    parser.add_argument(
        "--gold", type=Path, required=True, help="JSON lines of questions with gold SQL and rows"
    )
    parser.add_argument(
        "--databases", type=Path, required=True, help="the folder that their db_path is relative to"
    )
    parser.add_argument("--program", default="articles")
    parser.add_argument("--store", type=Path, required=True, help="where indexes of the databases are kept")
    parser.add_argument("--limit", type=int, default=100, help="questions")
    parser.add_argument(
        "--parts", type=int, default=40, help="questions on which depths are forced and parts left out"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=(*BASELINES, *VARIANTS, *OTHERS),
        help="a variant; default: all but those of the team's stages",
    )
    parser.add_argument(
        "--recall", action="store_true", help="take known replies for all; times then mean nothing"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, required=True, help="JSON lines; an existing file is gone on with"
    )
    arguments = parser.parse_args()
    arguments.only = arguments.only or [*BASELINES, *VARIANTS]
    print(table(measure(arguments)))


if __name__ == "__main__":
    main()
