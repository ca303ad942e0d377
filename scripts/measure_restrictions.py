"""How many of the restrictions that gold queries state are found by the linker, and what it links besides.

    python scripts/measure_restrictions.py trainsets/articles --split train --show

Reads comparisons of a column with a literal from the gold SQL (values, dates, numbers); a date or number hidden in
an expression is not counted. Recall is over those, precision over linked values of questions that are answered.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from sqlrag_dspy.link import Linker
from sqlrag_dspy.types import Link

Restriction = tuple[str, str, str, Any]
"""(kind, column, operator, value)"""

_SIGNS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
}  # fmt: skip


def restrictions(sql: str, linker: Linker) -> list[Restriction]:
    """What a query demands of columns, as far as it is written plainly."""
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    found: list[Restriction] = []
    for node in tree.walk():
        column = node.this if isinstance(getattr(node, "this", None), exp.Column) else None
        if column is None:
            continue
        if type(node) in _SIGNS and isinstance(node.expression, (exp.Literal, exp.Neg)):
            found.append(("", column.name, _SIGNS[type(node)], _value(node.expression)))
        elif isinstance(node, exp.In) and node.expressions:
            sign = "!=" if isinstance(node.parent, exp.Not) else "="
            found.extend(
                ("", column.name, sign, _value(e)) for e in node.expressions if isinstance(e, exp.Literal)
            )
        elif isinstance(node, exp.Between) and isinstance(node.args["low"], exp.Literal):
            found.append(("", column.name, ">=", _value(node.args["low"])))
            found.append(("", column.name, "<=", _value(node.args["high"])))
        elif isinstance(node, exp.Like) and isinstance(node.expression, exp.Literal):
            found.append(("", column.name, "=", str(node.expression.this).strip("%")))
    return [(_kind(r, linker), *r[1:]) for r in found]


def _value(node: exp.Expression) -> Any:
    if isinstance(node, exp.Neg):
        return -_value(node.this)
    return node.this if node.is_string else float(node.this)


def _kind(restriction: Restriction, linker: Linker) -> str:
    _, name, sign, value = restriction
    columns = [c for t in linker.catalog.tables if (c := t.column(name))]
    if any(c.is_date for c in columns):
        return "date" if re.match(r"\d{4}-\d\d-\d\d", str(value)) else "other"
    return "number" if isinstance(value, float) else "value" if sign in ("=", "!=") else "other"


def is_found(restriction: Restriction, chosen: tuple[Link, ...]) -> bool:
    """Does a chosen link state this restriction?"""
    kind, column, sign, value = restriction
    for link in chosen:
        if kind == "value" and link.kind == "value" and link.op == sign:
            stored = [str(v) for v in (link.value, *link.also)]
            if value in stored or any(str(value) in s for s in stored):
                return True
        if kind == "date" and link.kind == "date" and str(value)[:10] in (link.value, link.upper):
            return True
        is_number = kind == "number" and link.kind == "number" and (link.column or column) == column
        if is_number and value in (link.value, link.upper):
            return True
    return False


def measure(linker: Linker, rows: list[dict[str, Any]], *, show: bool = False) -> dict[str, Any]:
    """Recall by kind and language of restriction, and the share of linked values that the gold query names."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    linked = named = 0
    for row in rows:
        if row["route"] == "decline":
            continue
        sql = row["sql"] or (
            f'SELECT 1 FROM "{row["table"]}" WHERE {row["filter_sql"]}' if row["filter_sql"] else ""
        )
        wanted = restrictions(sql, linker) if sql else []
        links = linker.link(row["question"])
        for restriction in wanted:
            if restriction[0] == "other":
                continue
            hit = is_found(restriction, links.chosen)
            for name in (restriction[0], f"{restriction[0]}/{row['lang']}"):
                total[name] += 1
                right[name] += hit
            if show and not hit:
                print("MISSED", restriction, "|", row["question"], "|", brief(links.chosen))
        for link in links.chosen:
            if link.kind != "value":
                continue
            linked += 1
            good = any(r[0] == "value" and is_found(r, (link,)) for r in wanted)
            named += good
            if show and not good:
                print("EXTRA ", brief((link,)), "|", row["question"], "|", sql[:150])
    recall = {name: f"{right[name]}/{n} = {right[name] / n:.3f}" for name, n in sorted(total.items())}
    return {
        "questions": len(rows),
        "recall": recall,
        "value precision": f"{named}/{linked} = {named / max(1, linked):.3f}",
    }


def brief(links: tuple[Link, ...]) -> str:
    return "; ".join(
        f"{k.kind} {k.text!r} {k.column or ''}{k.op}{'' if k.value is None else str(k.value)[:30]}"
        f"{'' if k.upper is None else '..' + str(k.upper)} {k.score:.2f}"
        for k in links
    )


def main() -> None:
    from sqlrag_dspy.learn.databases import open_trainset
    from sqlrag_dspy.settings import Settings

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--show", action="store_true", help="print every miss and every extra value")
    arguments = parser.parse_args()
    lines = (arguments.folder / f"{arguments.split}.jsonl").read_text(encoding="utf-8").splitlines()
    database = open_trainset(arguments.folder, Settings())
    print(
        json.dumps(
            measure(database.linker, [json.loads(line) for line in lines], show=arguments.show), indent=1
        )
    )
    database.close()


if __name__ == "__main__":
    main()
