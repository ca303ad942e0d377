"""Spider's gold queries through `sqlrag sql` over their SQLite files, against the rows SQLite itself gives.

python scripts/measure_spider.py FOLDER          (holds spider/*.sqlite and gold/spider_dev_part.jsonl)

Every gold query must pass the check; the strict ones (no tie cut by LIMIT, not empty, not relative to now) must
give SQLite's rows, in its order where the query orders. Prints what fails and why; exits 1 below 99 %.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from sqlrag_dspy.cli.tools import compute
from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.learn.metrics import plain
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.settings import Settings

ENOUGH = 0.99


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    lines = (folder / "gold" / "spider_dev_part.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    found = {"queries": len(cases), "checked": 0, "strict": 0, "strict_right": 0, "others_right": 0}
    with tempfile.TemporaryDirectory() as store:
        for path in sorted({case["db_path"] for case in cases}):
            settings = Settings(source=str(folder / path), store=f"{store}/{Path(path).stem}")
            database = open_database(settings)
            gold = sqlite3.connect(f"{(folder / path).absolute().as_uri()}?mode=ro", uri=True)
            gold.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for case in (each for each in cases if each["db_path"] == path):
                passed, fault = answered(case, database, gold)
                found["checked"] += passed
                found["strict"] += case["strict"]
                found["strict_right"] += case["strict"] and not fault
                found["others_right"] += not case["strict"] and not fault
                if fault:
                    strict = "strict" if case["strict"] else "not strict"
                    print(f"{case['id']} ({strict}): {fault}\n    {case['gold_sql']}", file=sys.stderr)
            gold.close()
            database.close()
    found["strict_share"] = round(found["strict_right"] / max(found["strict"], 1), 4)
    print(json.dumps(found, indent=1))
    sys.exit(found["checked"] < found["queries"] or found["strict_share"] < ENOUGH)


def answered(case: dict[str, Any], database: Database, gold: sqlite3.Connection) -> tuple[bool, str]:
    """Whether the gold query passed the check, and what is wrong with its rows ("" when nothing is)."""
    want = gold.execute(case["gold_sql"]).fetchall()
    try:
        database.check(case["gold_sql"])
    except SqlRejected as error:
        return False, f"refused: {error}"
    try:
        result = compute(database, case["gold_sql"])
    except QueryFailed as error:
        return True, f"failed: {error}"
    if len(want) > len(result["rows"]) and result["truncated"]:
        want = want[: len(result["rows"])] if case["ordered"] else []
    return True, difference(want, result["rows"], is_ordered=case["ordered"])


def difference(want: list[Any], have: list[Any], *, is_ordered: bool) -> str:
    """How two results differ, "" when they do not: the same columns in the same order, and the same rows."""
    wanted = [tuple(map(plain, row)) for row in want]
    found = [tuple(map(plain, row)) for row in have]
    if wanted == found or (not is_ordered and Counter(wanted) == Counter(found)):
        return ""
    if Counter(wanted) == Counter(found):
        return "the rows are in another order"
    missing, spare = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    return f"SQLite has {list(missing)[:2]}, here is {list(spare)[:2]}"


if __name__ == "__main__":
    main()
