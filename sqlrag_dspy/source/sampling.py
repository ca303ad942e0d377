"""The table `profiled` in the worker's memory: of each value of one table a short prefix, the length and a hash.

Leaves out what is made of it: see `profile`.
"""

from __future__ import annotations

from sqlrag_dspy.source import counting, quoting
from sqlrag_dspy.source.counting import PREFIX, Counts
from sqlrag_dspy.source.introspect import RawTable
from sqlrag_dspy.source.pool import Engine


def counted(engine: Engine, table: RawTable, rows: int, most: int) -> list[Counts]:
    """Makes the table `profiled` of `most` rows at most, and counts over it.

    Bytes that are not UTF-8 are mended in the columns that turn out to hold some: planning to mend takes longer
    than all else that is done for a short table.
    """
    mended: frozenset[int] = frozenset()
    while True:
        _keep(engine, table, rows, most, mended)
        counts = counting.count(engine, len(table.columns), min(rows, most))
        spoilt = frozenset(place for place, own in enumerate(counts) if own.bad)
        if spoilt <= mended:
            return counts
        mended |= spoilt


def _keep(engine: Engine, table: RawTable, rows: int, most: int, mended: frozenset[int]) -> None:
    items = []
    for place, column in enumerate(table.columns):
        stored = quoting.name(column.name)
        text = stored if engine.place.kind == "sqlite" else f"CAST({stored} AS VARCHAR)"
        legible = quoting.strict(text)
        if place in mended:
            # The first 4 * PREFIX bytes hold PREFIX characters whatever they are; a blob may be cut anywhere.
            legible = f"COALESCE({legible}, {quoting.mend(f'encode({text})[1:{4 * PREFIX}]')})"
        items.append(f"left({legible}, {PREFIX}) AS t{place}")
        items.append(f"CAST(length({text}) AS INTEGER) AS l{place}")
        items.append(f"hash({text}) AS h{place}")
        items.append(f"{text} IS NOT NULL AND {quoting.strict(text)} IS NULL AS b{place}")
    if table.rowid == "rowid":
        items.append("CAST(rowid AS BIGINT) AS r")
    sampling = f" USING SAMPLE reservoir({most} ROWS) REPEATABLE (7)" if rows > most else ""
    engine.trusted(
        f"CREATE OR REPLACE TEMP TABLE profiled AS SELECT {', '.join(items)} FROM {table.relation}{sampling}"
    )
