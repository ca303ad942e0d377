"""A LIMIT that cuts between equals, so that which rows are shown is chance; seen in the data, never supposed."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.checking.grammar import render
from sqlrag_dspy.sql.linting.statement import Statement, meant
from sqlrag_dspy.sql.telling.phrases import condition_text
from sqlrag_dspy.sql.ties import ranking


def cut_tie(statement: Statement) -> Iterator[str]:
    """ORDER BY … LIMIT k whose rows k and k + 1 rank the same."""
    for select in statement.selects():
        if not select.args.get("order") or not statement.own_limit(select):
            continue
        query = select
        if select is not statement.tree and statement.tree.args.get("with_") and not select.args.get("with_"):
            query = select.copy()
            query.set("with_", statement.tree.args["with_"].copy())
        found = ranking(render(query), dialect="duckdb")
        if found is None:
            continue
        count, text = found
        rows = statement.probe.rows(text)
        if rows is None or len(rows.values) <= count or rows.values[count - 1] != rows.values[count]:
            continue
        if all(each is None for each in rows.values[count]):
            continue  # nothing is ranked there: `null-order` tells of it
        value = ", ".join("missing" if each is None else str(each) for each in rows.values[count])
        first = (
            "the first row and the next are equal"
            if count == 1
            else f"rows {count} and {count + 1} are equal"
        )
        yield (
            f"the LIMIT cuts a tie: {first} in {_ranked(select)} ({value[:60]}); order by another column as "
            "well, or show all of them with rank() OVER (…)"
        )


def _ranked(select: exp.Select) -> str:
    names = [condition_text(meant(each.this, select)) for each in select.args["order"].expressions]
    shown = " and ".join(names)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
