"""What a sample cannot tell, asked of the whole of a large table: ranges, distinct values, uniqueness, misfits.

One pass for all columns, and one more for each that lists its values or may be a key. Leaves out the types,
which the sample decides, but for one: an integer column with a fraction anywhere is a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlrag_dspy.source import counting, dates, quoting
from sqlrag_dspy.source.introspect import RawTable
from sqlrag_dspy.source.measured import Measured
from sqlrag_dspy.source.pool import Engine


def refine(
    engine: Engine, table: RawTable, measured: Sequence[Measured], rows: int, most_values: int
) -> list[Measured]:
    """The columns measured on a sample, with what only the whole table tells put right."""
    is_sqlite = engine.place.kind == "sqlite"
    columns = [_as_number(engine, table, m) if is_sqlite else m for m in measured]
    items: list[str] = []
    for m in columns:
        stored, found = quoting.name(m.raw.name), m.profile.found
        value = f"({m.reading})"
        if found in ("date", "datetime") and m.profile.date_formats:
            value = dates.any_parsed(value, m.profile.date_formats)
        ranged = f"CAST({value} AS DATE)" if found == "date" else value
        has_range = m.profile.minimum is not None
        items += [
            f"min({ranged})" if has_range else "NULL",
            f"max({ranged})" if has_range else "NULL",
            f"approx_count_distinct({stored})",
            f"count({stored})",
            "0" if found in ("text", "empty") else f"count({value})",
        ]
    row = engine.trusted(f"SELECT {', '.join(items)} FROM {table.relation}")[0]
    out = []
    for place, m in enumerate(columns):
        low, high, distinct, present, fitting = row[5 * place : 5 * place + 5]
        profile = replace(
            m.profile,
            minimum=counting.shorten(low),
            maximum=counting.shorten(high),
            distinct=min(int(distinct), rows),
            misfits=0 if m.profile.found in ("text", "empty") else int(present - fitting),
        )
        m = replace(m, profile=profile)
        out.append(_unique(engine, table, _listed(engine, table, m, most_values), rows))
    return out


def _as_number(engine: Engine, table: RawTable, m: Measured) -> Measured:
    if m.profile.found != "integer" or not m.reading.endswith("AS BIGINT)"):
        return m
    stored = quoting.name(m.raw.name)
    number = quoting.number(stored)
    fractions = engine.trusted(f"SELECT count(*) FROM {table.relation} WHERE ({number}) <> floor({number})")[
        0
    ][0]
    if not fractions:
        return m
    return replace(m, reading=number, profile=replace(m.profile, found="number", values=()))


def _listed(engine: Engine, table: RawTable, m: Measured, most_values: int) -> Measured:
    """All values of a categorical column with their counts; none when the whole table has too many."""
    if not m.profile.values:
        return m
    value = f"({m.reading})"
    rows = engine.trusted(
        f"SELECT {value} AS v, count(*) AS n FROM {table.relation} WHERE {value} IS NOT NULL "
        f"AND trim(CAST({value} AS VARCHAR)) <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT {most_values + 1}"
    )
    values = tuple((value, int(n)) for value, n in rows)
    if len(values) > most_values:
        samples = tuple(value for value, _ in values[:5])
        return replace(m, profile=replace(m.profile, values=(), samples=samples))
    return replace(m, profile=replace(m.profile, values=values, distinct=len(values)))


def _unique(engine: Engine, table: RawTable, m: Measured, rows: int) -> Measured:
    if not m.is_unique:
        return m
    stored = quoting.name(m.raw.name)
    distinct = engine.trusted(
        f"SELECT count(DISTINCT hash({stored})) FROM {table.relation} WHERE {stored} IS NOT NULL"
    )
    return replace(m, is_unique=int(distinct[0][0]) == rows)
