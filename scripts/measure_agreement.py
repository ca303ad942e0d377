"""How far a second, independent reading agrees with the labels: routes, rows of the filters, rows of the SQL.

    python scripts/measure_agreement.py                 # trainsets/reading.jsonl against the labels
    python scripts/measure_agreement.py --list          # also what they differ on

A second route that a label accepts counts as agreement, and is counted beside it. Intervals: 95 %, exact binomial.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlrag_dspy.learn import gold, labels, metrics
from sqlrag_dspy.learn.databases import open_trainset, path_of
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.program.database import Database
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
    first |= {line["id"]: Label.model_validate(line["dropped"]) for line in second if "dropped" in line}
    databases = {
        name: open_trainset(Path("trainsets") / name, Settings(), is_searched=False)
        for name in sorted({line["database"] for line in second})
    }
    pairs = [Pair(first[line["id"]], line, databases[line["database"]]) for line in second]
    told: dict[str, Any] = {"all": figures(pairs)}
    places = sorted({pair.second.get("place", "") for pair in pairs})
    if len(places) > 1:
        told |= {f"read in: {p}": figures([q for q in pairs if q.second["place"] == p]) for p in places}
    print(json.dumps(told, indent=1))
    if given.list:
        print("\n".join(said for pair in pairs if (said := pair.difference())))
    for database in databases.values():
        database.close()


@dataclass
class Pair:
    """A label, the second reading of its question, and the database that both are about."""

    first: Label
    second: dict[str, Any]
    database: Database

    @property
    def is_same_route(self) -> bool:
        return self.second["route"] == self.first.route or self.second["route"] in self.first.also_ok

    @cached_property
    def is_same_filter(self) -> bool | None:
        """Whether both searches may return the same rows; None where one of them is no search."""
        if not {self.first.route, self.second["route"]} <= {"vector", "hybrid"}:
            return None
        if self.second.get("table") != self.first.table:
            return False
        changed = self.first.model_copy(update={"filter_sql": self.second.get("filter_sql")})
        return self._allowed(self.first) == self._allowed(changed)

    @cached_property
    def is_same_result(self) -> bool | None:
        """Whether both queries give the same rows; None where one of them is no query."""
        if not self.first.route == self.second["route"] == "sql":
            return None
        path = path_of(self.database)
        rows = gold.rows(self.first.model_copy(update={"sql": self.second["sql"]}), path)
        return metrics.rows_match(gold.rows(self.first, path), rows, is_ordered=False)

    def difference(self) -> str:
        """What the readings differ on, in a line; empty when they agree."""
        label, line = self.first, self.second
        said = ""
        if not self.is_same_route:
            said = f"route {label.route} / {line['route']}"
        elif self.is_same_filter is False:
            said = f"filter {label.filter_sql} / {line.get('filter_sql')}"
        elif self.is_same_result is False:
            said = f"sql {label.sql} / {line['sql']}"
        return said and f"{label.id} {label.question!r}: {said}"

    def _allowed(self, label: Label) -> set[Any]:
        table = self.database.catalog.table(label.table or "")
        keys = gold.allowed(label, path_of(self.database), table.key if table else ())
        return {metrics.key_plain(key) for key in keys}


def figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Agreement on routes, on rows allowed and on rows computed."""
    routes = [(pair.first.route, pair.second["route"]) for pair in pairs]
    return {
        "questions": len(pairs),
        "route": share([pair.is_same_route for pair in pairs]),
        "route, first choice": share([a == b for a, b in routes]),
        "cohen_kappa": kappa(routes),
        "filter rows": share([pair.is_same_filter for pair in pairs if pair.is_same_filter is not None]),
        "sql rows": share([pair.is_same_result for pair in pairs if pair.is_same_result is not None]),
        "routes that differ": dict(Counter(f"{a}/{b}" for a, b in routes if a != b)),
        "doubts noted": sum("doubt" in pair.second for pair in pairs),
    }


def share(right: Sequence[bool]) -> dict[str, Any]:
    """The share of those that are right, with its exact (Clopper-Pearson) interval: a bootstrap of a share
    at or near 1 has no width, however few were asked."""
    from scipy.stats import binomtest

    found = binomtest(sum(right), len(right)).proportion_ci(0.95, method="exact")
    return {
        "share": round(sum(right) / len(right), 4),
        "interval": [round(float(found.low), 4), round(float(found.high), 4)],
        "of": len(right),
    }


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's kappa of two readings' routes."""
    observed = sum(a == b for a, b in pairs) / len(pairs)
    one, two = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(one[name] * two[name] for name in one) / len(pairs) ** 2
    return round((observed - chance) / (1 - chance), 4)


if __name__ == "__main__":
    main()
