"""How far a second, independent reading agrees with the labels: routes, rows of the filters, rows of the SQL.

    python scripts/measure_agreement.py                 # trainsets/reading.jsonl against the labels
    python scripts/measure_agreement.py --list          # also what they differ on

A second route that a label accepts counts as agreement, and is counted beside it. Intervals: 95 %, bootstrap.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqlrag_dspy.learn import gold, labels, metrics
from sqlrag_dspy.learn.databases import open_trainset, path_of
from sqlrag_dspy.settings import Settings

READING = Path("trainsets/reading.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reading", nargs="?", type=Path, default=READING)
    parser.add_argument("--list", action="store_true", help="print every difference")
    given = parser.parse_args()
    second = [json.loads(line) for line in given.reading.read_text(encoding="utf-8").splitlines() if line]
    first = {
        label.id: label
        for schema in Path("trainsets").glob("*/schema.sql")
        for file in labels.files(schema.parent)
        for label in labels.read(file)
    }
    gone = [line["id"] for line in second if line["id"] not in first]
    pairs = [(first[line["id"]], line) for line in second if line["id"] in first]
    databases = {
        name: open_trainset(Path("trainsets") / name, Settings(), is_searched=False)
        for name in sorted({label.database for label, _ in pairs})
    }
    same_route, exact_route, same_filter, same_rows = [], [], [], []
    differences = []
    for label, line in pairs:
        same_route.append(line["route"] == label.route or line["route"] in label.also_ok)
        exact_route.append(line["route"] == label.route)
        said = None if same_route[-1] else f"route {label.route} / {line['route']}"
        path = path_of(databases[label.database])
        if label.route in ("vector", "hybrid") and line["route"] in ("vector", "hybrid"):
            same = line.get("table") == label.table and allowed(label, databases) == allowed(
                label.model_copy(update={"filter_sql": line.get("filter_sql")}), databases
            )
            same_filter.append(same)
            said = said or (None if same else f"filter {label.filter_sql} / {line.get('filter_sql')}")
        if label.route == line["route"] == "sql" and line.get("sql"):
            rows = gold.rows(label.model_copy(update={"sql": line["sql"]}), path)
            same = metrics.rows_match(gold.rows(label, path), rows, is_ordered=False)
            same_rows.append(same)
            said = said or (None if same else f"sql {label.sql} / {line['sql']}")
        if said:
            differences.append(f"{label.id} {label.question!r}: {said}")
    for database in databases.values():
        database.close()
    told: dict[str, Any] = {
        "read": len(second),
        "since dropped": len(gone),
        "route": share(same_route),
        "route, first choice": share(exact_route),
        "cohen_kappa": kappa([(label.route, line["route"]) for label, line in pairs]),
        "filter rows": share(same_filter),
        "sql rows": share(same_rows),
        "routes": dict(Counter(f"{a.route}/{b['route']}" for a, b in pairs if a.route != b["route"])),
    }
    print(json.dumps(told, indent=1))
    if given.list:
        print("\n".join(differences))


def allowed(label: labels.Label, databases: dict[str, Any]) -> set[Any]:
    """Keys that the label's filter allows."""
    database = databases[label.database]
    table = database.catalog.table(label.table)
    return {metrics.key_plain(key) for key in gold.allowed(label, path_of(database), table.key)}


def share(right: Sequence[bool]) -> dict[str, Any]:
    """The share of those that are right, with its interval."""
    values = np.array(right, dtype=float)
    random = np.random.default_rng(0)
    means = values[random.integers(0, len(values), (2000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {
        "share": round(float(values.mean()), 4),
        "interval": [round(low, 4), round(high, 4)],
        "of": len(values),
    }


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's kappa of two readings' routes."""
    observed = sum(a == b for a, b in pairs) / len(pairs)
    one, two = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(one[name] * two[name] for name in one) / len(pairs) ** 2
    return round((observed - chance) / (1 - chance), 4)


if __name__ == "__main__":
    main()
