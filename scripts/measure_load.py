"""Many threads over one database: good, bad and slow statements mixed; every reply must be an answer or a refusal.

python scripts/measure_load.py SOURCE [--seconds 60] [--threads 32] [--workers 3] [--json]

SOURCE is a SQLite or DuckDB file, or a trainset folder (trainsets/articles), whose database is then built; the
statements are made from its catalog. Prints a table: by kind of statement how many there were, how they ended, and
the median, 95th percentile and worst time to its reply. A good statement may run into the time limit of 1 s: that
is an answer, too. Then short statements, one after another, with the default time limit, first alone and then while
eight threads ask slow ones without a pause: what slow queries cost others. Exits 1 on any outcome that is neither
rows nor a refusal.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlrag_dspy import Cancellation
from sqlrag_dspy.errors import QueryFailed, SourceBusy, SqlRejected
from sqlrag_dspy.learn.databases import build
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.settings import Limits, Settings

SLOW = (
    "SELECT count(*) FROM range(90000) a, range(90000) b, range(90000) c "
    "WHERE a.range % 2 = b.range % 2 AND b.range % 2 = c.range % 2"
)
BAD = (
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT 1; DROP TABLE t",
    "SELECT no_such_column FROM {table}",
    "SELECT * FROM no_such_table",
    "DELETE FROM {table}",
    "SELECT CAST('x' AS DATE) FROM {table}",
    "SELECT",
)
GOOD = (
    "SELECT count(*) FROM {table}",
    "SELECT * FROM {table} LIMIT 20",
    "SELECT {column}, count(*) AS n FROM {table} GROUP BY {column} ORDER BY n DESC LIMIT 5",
    "SELECT max({column}), min({column}) FROM {table}",
    "SELECT count(DISTINCT {column}) FROM {table} WHERE {column} IS NOT NULL",
)
SHORT = "SELECT * FROM {table} LIMIT 5"
SHARES = {"good": 0.8, "bad": 0.17, "slow": 0.03}
SLOW_THREADS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--workers", type=int, default=Limits().workers)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = found_at(asked.source, Path(folder))
        with closing(opened(source, Path(folder), seconds=1, workers=asked.workers)) as database:
            found = load(database, seconds=asked.seconds, threads=asked.threads)
        with closing(opened(source, Path(folder), workers=asked.workers)) as database:
            found["short"] = starvation(database, seconds=max(2.0, asked.seconds / 6))
    print(json.dumps(found, indent=1) if asked.json else table(found))
    sys.exit(bool(found["faults"]))


def found_at(source: str, folder: Path) -> str:
    """The database file: the one named, or that of a trainset, built."""
    if not Path(source).is_dir():
        return source
    build(Path(source), folder / "built.db")
    return str(folder / "built.db")


def opened(source: str, folder: Path, *, seconds: float = Limits().seconds, workers: int) -> Database:
    """The database with a time limit for each statement."""
    limits = Limits(seconds=seconds, workers=workers)
    return open_database(Settings(source=source, store=str(folder / "store"), limits=limits))


def load(database: Database, *, seconds: float, threads: int) -> dict[str, Any]:
    """Outcomes and times by kind, of `threads` that ask for `seconds`; and faults, which should be none."""
    tables = [(table.name, column.name) for table in database.catalog.tables for column in table.columns]
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in SHARES}
    times: dict[str, list[float]] = {kind: [] for kind in SHARES}
    faults: list[str] = []
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def ask(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
            pattern = SLOW if kind == "slow" else chance.choice(GOOD if kind == "good" else BAD)
            table, column = (f'"{name}"' for name in chance.choice(tables))
            statement = pattern.format(table=table, column=column)
            start = time.perf_counter()
            outcome = answered(database, statement)
            spent = time.perf_counter() - start
            with lock:
                times[kind].append(spent)
                outcomes[kind][outcome.partition("!")[0]] += 1
                is_fault = "!" in outcome or (kind == "good" and outcome not in ("rows", "limit", "busy"))
                is_fault = is_fault or (kind != "good" and outcome == "rows" and "CAST" not in statement)
                if is_fault:
                    faults.append(f"{outcome} on {statement}")

    crowd = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    return {
        "threads": threads,
        "seconds": seconds,
        "kinds": {
            kind: {**summary(times[kind]), "outcomes": dict(sorted(outcomes[kind].items()))}
            for kind in SHARES
        },
        "faults": faults[:10],
    }


def starvation(database: Database, *, seconds: float) -> dict[str, dict[str, float]]:
    """Times of short statements asked one after another, alone and beside threads that only ask slow ones."""
    statement = SHORT.format(table=f'"{database.catalog.tables[0].name}"')
    alone = repeated(database, statement, seconds)
    is_over = threading.Event()
    cancellation = Cancellation()

    def ask() -> None:
        with cancellation:
            while not is_over.is_set():
                answered(database, SLOW)

    crowd = [threading.Thread(target=ask) for _ in range(SLOW_THREADS)]
    for each in crowd:
        each.start()
    # Until all slow ones have been found to be slow: what counts is how it goes on.
    time.sleep(min(5.0, seconds))
    beside = repeated(database, statement, seconds)
    is_over.set()
    cancellation.cancel()
    for each in crowd:
        each.join()
    return {"alone": summary(alone), "beside slow ones": summary(beside)}


def repeated(database: Database, statement: str, seconds: float) -> list[float]:
    """Seconds that each of a row of statements took. Raises what it raises."""
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        database.run(database.check(statement))
        times.append(time.perf_counter() - start)
        time.sleep(0.02)
    return times


def answered(database: Database, statement: str) -> str:
    """ "rows", "busy", or the wall that stopped the statement; with "!" when it ended as nothing should."""
    try:
        database.run(database.check(statement))
    except SourceBusy:
        return "busy"
    except (SqlRejected, QueryFailed) as error:
        return str(error.wall)
    except Exception as error:  # noqa: BLE001 (whatever else comes out is what is looked for)
        return f"fault! {type(error).__name__}: {error}"
    return "rows"


def summary(times: list[float]) -> dict[str, float]:
    """How many, and median, 95th percentile and worst in milliseconds."""
    ordered = sorted(times)
    if not ordered:
        return {"n": 0}
    at = {"median": len(ordered) // 2, "p95": 95 * len(ordered) // 100, "worst": len(ordered) - 1}
    return {"n": len(ordered)} | {name: round(1000 * ordered[place], 1) for name, place in at.items()}


def table(found: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{found['threads']} threads, {found['seconds']:g} s, time limit 1 s", head()]
    for kind, told in found["kinds"].items():
        ends = ", ".join(f"{count} {outcome}" for outcome, count in told["outcomes"].items())
        lines.append(row(kind, told) + f"  {ends}")
    lines += [
        "",
        f"short statements, one after another; {SLOW_THREADS} threads ask slow ones; time limit 10 s",
        head(),
    ]
    lines += [row(name, told) for name, told in found["short"].items()]
    lines += ["", *(found["faults"] or ["no outcome but rows and refusals"])]
    return "\n".join(lines)


def head() -> str:
    return f"{'':18}{'n':>8}{'median ms':>12}{'p95 ms':>12}{'worst ms':>12}"


def row(name: str, told: dict[str, float]) -> str:
    figures = "".join(f"{told.get(each, float('nan')):>12.1f}" for each in ("median", "p95", "worst"))
    return f"{name:18}{told['n']:>8}{figures}"


if __name__ == "__main__":
    main()
