"""Cost of the check: the time of `sql.check` over the time sqlglot itself takes to parse the same query.

python scripts/measure_check.py FOLDER          (holds gold/spider_dev_part.jsonl and spider/*.sqlite)

Both are timed in turn, query by query, in one run: the best of several rounds of each, so that another program's
load falls on both. Prints the median and 95th percentile of the ratios over Spider's gold queries and over
tests/sql/legitimate.sql.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlglot

from sqlrag_dspy.sql import check
from sqlrag_dspy.types import Catalog

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 15
MOST = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    spider = [pair(*each) for each in spider_queries(folder)]
    legitimate = [pair(*each) for each in legitimate_queries()]
    found = {"spider": told(spider), "legitimate": told(legitimate), "both": told(spider + legitimate)}
    print(json.dumps(found, indent=1))
    sys.exit(found["both"]["median_ratio"] > MOST)


def spider_queries(folder: Path) -> list[tuple[str, Catalog, str]]:
    from sqlrag_dspy.settings import Limits
    from sqlrag_dspy.source import open_source

    lines = (folder / "gold" / "spider_dev_part.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    catalogs = {}
    with tempfile.TemporaryDirectory() as store:
        for path in sorted({case["db_path"] for case in cases}):
            cache = Path(store) / f"{Path(path).stem}.json"
            with open_source(str(folder / path), limits=Limits(), cache=cache) as source:
                catalogs[path] = source.catalog
    return [(case["gold_sql"], catalogs[case["db_path"]], "sqlite") for case in cases]


def legitimate_queries() -> list[tuple[str, Catalog, str]]:
    sys.path.insert(0, str(ROOT / "tests" / "sql"))
    from sql_databases import CATALOG, lines

    found = []
    for statement, _ in lines(ROOT / "tests" / "sql" / "legitimate.sql"):
        for reads in ("sqlite", "duckdb"):
            try:
                sqlglot.parse(statement, read=reads)
            except sqlglot.errors.SqlglotError:
                continue
            found.append((statement, CATALOG, reads))
            break
    return found


def pair(statement: str, catalog: Catalog, reads: str) -> tuple[float, float]:
    """Seconds of sqlglot's parse and of the check, the best of several rounds taken in turn."""
    parses, checks = [], []
    for _ in range(ROUNDS):
        parses.append(seconds(lambda: sqlglot.parse(statement, read=reads)))
        checks.append(seconds(lambda: check(statement, catalog)))
    return min(parses), min(checks)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def told(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = sorted(checks / parses for parses, checks in pairs)
    return {
        "queries": len(pairs),
        "median_ratio": round(statistics.median(ratios), 2),
        "p95_ratio": round(ratios[int(0.95 * len(ratios))], 2),
        "median_parse_ms": round(1000 * statistics.median(each[0] for each in pairs), 3),
        "median_check_ms": round(1000 * statistics.median(each[1] for each in pairs), 3),
    }


if __name__ == "__main__":
    main()
