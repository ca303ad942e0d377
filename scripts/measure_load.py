"""Many threads over one database: good, bad and slow statements mixed; every reply must be an answer or a refusal.

python scripts/measure_load.py FILE [--seconds 60] [--threads 32]

FILE is a SQLite or DuckDB file; the statements are made from its catalog. Prints how many ended how, percentiles
of the waiting time by kind, and anything that was neither rows nor SqlRejected nor QueryFailed; exits 1 on those.
A good statement may run into the time limit of 1 s: that is an answer, too.
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
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import QueryFailed, SqlRejected
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
SHARES = {"good": 0.8, "bad": 0.17, "slow": 0.03}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=32)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        limits = Limits(seconds=1)
        database = open_database(Settings(source=asked.file, store=str(Path(store) / "store"), limits=limits))
        found = load(database, seconds=asked.seconds, threads=asked.threads)
        database.close()
    print(json.dumps(found, indent=1))
    sys.exit(bool(found["faults"]))


def load(database: Database, *, seconds: float, threads: int) -> dict[str, Any]:
    """Counts of outcomes, percentiles of waiting time in milliseconds by kind, and faults, which should be none."""
    tables = [(table.name, column.name) for table in database.catalog.tables for column in table.columns]
    outcomes: Counter[str] = Counter()
    waits: dict[str, list[float]] = {kind: [] for kind in SHARES}
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
                waits[kind].append(spent)
                outcomes[f"{kind}: {outcome.partition('!')[0]}"] += 1
                is_fault = "!" in outcome or (kind == "good" and outcome not in ("rows", "limit"))
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
        "statements": sum(outcomes.values()),
        "outcomes": dict(sorted(outcomes.items())),
        "wait_ms": {kind: percentiles(values) for kind, values in waits.items()},
        "faults": faults[:10],
    }


def answered(database: Database, statement: str) -> str:
    """ "rows", or the wall that stopped the statement; with "!" when it ended as nothing should."""
    try:
        database.run(database.check(statement))
    except (SqlRejected, QueryFailed) as error:
        return str(error.wall)
    except Exception as error:  # noqa: BLE001 (whatever else comes out is what is looked for)
        return f"fault! {type(error).__name__}: {error}"
    return "rows"


def percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    if not ordered:
        return {}
    return {
        f"p{p}": round(1000 * ordered[min(p * len(ordered) // 100, len(ordered) - 1)], 1)
        for p in (50, 95, 99)
    }


if __name__ == "__main__":
    main()
