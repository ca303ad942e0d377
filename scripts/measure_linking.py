"""How often the tables that a gold query reads are among those that schema retrieval gives, and what it costs.

    python scripts/widen_schema.py wide_shop.db shop.db --with …
    python scripts/measure_linking.py wide_shop.db trainsets/shop/train.jsonl trainsets/shop/dev.jsonl
    python scripts/measure_linking.py wide_spider.db FOLDER/gold/spider_dev_part.jsonl

A question counts when all the tables of its gold query are given. Prints a row for every file, language and
encoder (none: words alone): questions, that share among 20, 10 and 5 tables, and milliseconds a question. A
question that is declined needs no table and is left out. --show prints what was missed among 20.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from sqlrag_dspy.link import SchemaIndex
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.program.encoder import multilingual
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import Catalog

COUNTS = (20, 10, 5)


def needed(row: dict[str, Any], catalog: Catalog) -> frozenset[str]:
    """The tables of a question's gold query, as the catalog spells them."""
    sql = row.get("gold_sql") or row.get("sql") or ""
    if row.get("filter_sql"):
        sql = f'SELECT 1 FROM "{row["table"]}" WHERE {row["filter_sql"]}'
    if not sql:
        return (
            frozenset([row["table"]]) if row.get("table") and row.get("route") != "decline" else frozenset()
        )
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    named = {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    tables = {table.name for table in tree.find_all(exp.Table) if table.name.casefold() not in named}
    return frozenset(found.name for name in tables if (found := catalog.table(name)) is not None)


def measure(index: SchemaIndex, rows: list[dict[str, Any]], *, show: bool) -> list[tuple[Any, ...]]:
    """(language, questions, share among 20, 10, 5, median and 95th percentile of milliseconds), all first."""
    index.relevant(["warm"])
    hits: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        wanted = needed(row, index.catalog)
        if not wanted:
            continue
        start = time.perf_counter()
        given = index.relevant([row["question"]], max(COUNTS))
        took = time.perf_counter() - start
        hit = tuple(wanted <= set(given[:count]) for count in COUNTS)
        if show and not hit[0]:
            print(f"MISSED {sorted(wanted - set(given))} | {row['question']} | {', '.join(given)}")
        for language in ("all", row.get("lang", "en")):
            hits[language].append(hit)
            seconds[language].append(took * 1000)
    return [
        (
            language,
            len(found),
            *(sum(hit[n] for hit in found) / len(found) for n in range(len(COUNTS))),
            statistics.median(seconds[language]),
            sorted(seconds[language])[math.ceil(0.95 * len(found)) - 1],
        )
        for language, found in hits.items()
    ]


def open_wide(path: Path, store: str) -> Database:
    return open_database(Settings(source=str(path), store=store))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("questions", nargs="+", type=Path)
    parser.add_argument("--store", help="where its profile is kept, to be used again (default: nowhere)")
    parser.add_argument("--show", action="store_true", help="print what was missed among 20")
    parser.add_argument("--without-encoder", action="store_true", help="words alone")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        database = open_wide(chosen.database, chosen.store or place)
        values = database.values()
        print(
            f"{chosen.database.name}: {len(database.catalog.tables)} tables, "
            f"{sum(len(t.columns) for t in database.catalog.tables)} columns, opened in "
            f"{time.perf_counter() - started:.1f} s\n"
        )
        print("| questions | language | encoder | n | @20 | @10 | @5 | ms | ms, 95 % |")
        print("|---|---|---|---:|---:|---:|---:|---:|---:|")
        for encode in (None,) if chosen.without_encoder else (None, multilingual):
            started = time.perf_counter()
            index = SchemaIndex(database.catalog, encode, values=values)
            index.relevant(["warm"])
            took = time.perf_counter() - started
            for path in chosen.questions:
                rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
                for language, count, *shares, middle, late in measure(index, rows, show=chosen.show):
                    print(
                        f"| {path.parent.name}/{path.stem} | {language} | {'yes' if encode else 'no'} | {count} | "
                        + " | ".join(f"{share:.3f}" for share in shares)
                        + f" | {middle:.1f} | {late:.1f} |"
                    )
            print(f"(index made in {took:.1f} s)")
        database.close()


if __name__ == "__main__":
    main()
