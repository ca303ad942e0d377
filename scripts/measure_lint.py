"""How often each lint fires on gold queries, which are right by and large: the fewer the better.

    SQLRAG_DATA=… python scripts/measure_lint.py

Reads the strict queries of gold/spider_dev_part.jsonl in the data folder and opens their databases. Prints every
firing with its query, then queries and shares by lint; docs/lint.md says of each firing whether it is right.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import Source, open_source
from sqlrag_dspy.sql import check, notices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SQLRAG_DATA"), help="the data folder")
    parser.add_argument("--all", action="store_true", help="also the queries that are not strict")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the data folder with --data or SQLRAG_DATA")
    folder = Path(arguments.data)
    text = (folder / "gold" / "spider_dev_part.jsonl").read_text(encoding="utf-8")
    queries = [json.loads(line) for line in text.splitlines()]
    sources: dict[str, Source] = {}
    fired: Counter[str] = Counter()
    ran: list[float] = []
    linted: list[float] = []
    asked = warned = told = 0
    for query in queries:
        if not (query["strict"] or arguments.all):
            continue
        asked += 1
        path = query["db_path"]
        if path not in sources:
            sources[path] = open_source(f"sqlite:///{folder / path}", limits=Limits())
        source = sources[path]
        try:
            checked = check(query["gold_sql"], source.catalog)
            start = time.perf_counter()
            source.execute(checked)
            ran.append(time.perf_counter() - start)
            found = notices(checked, source.catalog, source.execute)
            linted.append(time.perf_counter() - start - ran[-1])
        except SqlRagError as error:
            print(f"{query['id']}  not checked: {error}\n")
            continue
        warned += any(not each.is_note for each in found)
        told += bool(found)
        fired.update({each.lint for each in found})
        if found:
            print(f"{query['id']}  {query['question']}\n  {query['gold_sql']}")
            for each in found:
                print(f"  {each.lint}{' (note)' if each.is_note else ''}: {each.advice}")
            print()
    for source in sources.values():
        source.close()
    for lint, count in fired.most_common():
        print(f"{lint:15} {count:4} of {asked}  {count / asked:.1%}")
    print(f"{'any warning':15} {warned:4} of {asked}  {warned / asked:.1%}")
    print(f"{'notes as well':15} {told:4} of {asked}  {told / asked:.1%}")
    costs = [f"{statistics.median(each) * 1000:.1f} ms" for each in (ran, linted)]
    print(f"median time of a statement {costs[0]}, of its lints {costs[1]}")


if __name__ == "__main__":
    main()
