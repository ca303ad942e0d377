"""Counts over the columns of the table `profiled`, where `profile` keeps a sample: t prefix, l length, h hash,
b bytes that are not UTF-8, each followed by the column's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from sqlrag_dspy.source import dates
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.types import Value

PREFIX = 300
"""Characters of a value that are looked at."""
CELLS = 1_000_000
"""Values that one statement counts, at most: their distinct ones are kept in memory meanwhile."""

# Words that stand for a missing date or number: they do not make its column a text.
_PLACEHOLDERS = "'n/a', 'na', 'none', 'null', 'nan', 'unknown', 'tbd', 'tba', '-', '--', '?'"
_INTEGER = r"\s*[+-]?\d{1,19}\s*"
_NUMBER = r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[Ii]nf)\s*"


@dataclass(frozen=True)
class Counts:
    """Counts over the values of one column; `filled` are those that are neither NULL nor blank.

    `bad` are not UTF-8, `padded` start with a zero or a plus, `bits` spell a boolean, `placeholders` say that
    a value is missing, `infinite` are `numbers` beyond every finite one; `words` and lengths are means over the
    filled ones.
    """

    rows: int
    present: int
    bad: int
    blank: int
    distinct: int
    max_length: int
    mean_length: float
    words: float
    integers: int
    numbers: int
    padded: int
    distinct_numbers: int
    compact_dates: int
    digits: int
    bits: int
    placeholders: int
    infinite: int

    @property
    def filled(self) -> int:
        return self.present - self.blank

    @property
    def null_share(self) -> float:
        return round(1 - self.filled / self.rows, 4) if self.rows else 0.0


NONE = Counts(*[0] * len(fields(Counts)))
"""The counts of a column without rows."""


def count(engine: Engine, columns: int, rows: int) -> list[Counts]:
    """The counts of every column, for `rows` rows and so many columns.

    Columns are stacked and counted by one statement: of a short table nearly all the time goes into planning one.
    """
    number = f"l <= 40 AND regexp_full_match(t, '{_NUMBER}')"
    step = max(1, CELLS // max(rows, 1))
    found: list[Counts] = []
    for start in range(0, columns, step):
        places = range(start, min(start + step, columns))
        told = engine.trusted(
            f"""SELECT place, count(*), count(t), count(*) FILTER (b),
            count(*) FILTER (trim(t, ' \t\r\n') = ''), count(DISTINCT h) FILTER (trim(t, ' \t\r\n') <> ''),
            coalesce(max(l), 0), coalesce(avg(l) FILTER (trim(t) <> ''), 0),
            coalesce(avg((length(t) - length(replace(replace(t, '\n', ' '), ' ', '')) + 1)
                * l / greatest(least(l, {PREFIX}), 1)) FILTER (trim(t) <> ''), 0),
            count(*) FILTER (l <= 40 AND regexp_full_match(t, '{_INTEGER}') AND TRY_CAST(t AS BIGINT) IS NOT NULL),
            count(*) FILTER ({number}),
            count(*) FILTER (l <= 40 AND regexp_matches(t, '^\\s*([+-]?0\\d|\\+)')),
            count(DISTINCT CASE WHEN {number} THEN TRY_CAST(t AS DOUBLE) END),
            count(*) FILTER (l = 8 AND regexp_full_match(t, '(1[89]|20)\\d{{6}}')
                AND ({dates.parsed("t", "%Y%m%d")}) IS NOT NULL),
            count(*) FILTER (regexp_matches(t, '\\d')),
            count(*) FILTER (lower(t) IN ('0', '1', 'true', 'false', 't', 'f')),
            count(*) FILTER (lower(trim(t)) IN ({_PLACEHOLDERS})),
            count(*) FILTER ({number} AND isfinite(TRY_CAST(t AS DOUBLE)) IS NOT TRUE)
            FROM ({_stacked(places)}) GROUP BY place"""
        )
        by_place = {place: Counts(*row) for place, *row in told}
        found += [by_place.get(place, NONE) for place in places]
    return found


def _stacked(places: Iterable[int]) -> str:
    """The cells of those columns one below the other: place, t, l, h and b."""
    places = list(places)
    lists = [f"unnest([{', '.join(f'{kind}{place}' for place in places)}]) AS {kind}" for kind in "tlhb"]
    return f"SELECT unnest([{', '.join(map(str, places))}]) AS place, {', '.join(lists)} FROM profiled"


def values(engine: Engine, column: str, expression: str, limit: int) -> list[tuple[Value, int]]:
    rows = engine.trusted(
        f"SELECT {expression} AS v, count(*) FROM profiled WHERE {column} IS NOT NULL AND {expression} IS NOT NULL "
        f"AND trim({column}, ' \t\r\n') <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {limit}"
    )
    return [(value, int(count)) for value, count in rows]


def span(engine: Engine, expression: str) -> tuple[Value, Value, int]:
    """The least and the greatest value of an expression, and how many there are."""
    low, high, present = engine.trusted(
        f"SELECT min({expression}), max({expression}), count({expression}) FROM profiled"
    )[0]
    return low, high, int(present)


def shorten(value: Value) -> Value:
    return value if not isinstance(value, str) or len(value) <= 80 else value[:79] + "…"


def fitting(engine: Engine, expression: str) -> int:
    return int(engine.trusted(f"SELECT count({expression}) FROM profiled")[0][0])


def scaled(counts: Counts, share: float) -> int:
    """Distinct values of the whole table: exact, or scaled up when most sampled values differ."""
    if share == 1.0 or counts.distinct * 2 < counts.filled:
        return counts.distinct
    return int(counts.distinct / share)


def is_unique(counts: Counts) -> bool:
    return counts.rows > 0 and counts.filled == counts.rows and counts.distinct == counts.rows
