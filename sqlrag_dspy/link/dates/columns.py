"""Links of kind date and part: which date column a date or date part speaks of.

The nearest date column that is named, else the main one of the table asked about; years go to a whole-number year
column when the table has one and no date column is named. Leaves out reading dates (dates.py, parts.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from sqlrag_dspy.link.calendar_words import PARTS
from sqlrag_dspy.link.dates.parts import PartMention
from sqlrag_dspy.link.dates.readers import DateMention, Known
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.named import NamedSpan
from sqlrag_dspy.link.names import main_date, year_column
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.link.text import STOPS, stem, word_texts
from sqlrag_dspy.types import Column, Link, Table, Value

_PARTICIPLE = re.compile(r"(?:ed|[ai]d[oa]s?|eron)$|^ge\w+[dtn]$")
_NEAR = 45
"""Characters within which a date column is named for a date."""


def known(reading: Reading) -> Known:
    """What reading dates needs: today, and the first and last day of the data asked about."""
    for table in reading.tables:
        column, years = main_date(table), year_column(table)
        if column is not None:
            low, high = _as_date(column.profile.minimum), _as_date(column.profile.maximum)
            formats = column.profile.date_formats
            return Known(reading.today, low, high, bool(formats) and formats[0].startswith("%m"))
        if years is not None:
            first, last = years.profile.minimum, years.profile.maximum
            if (
                isinstance(first, (int, float))
                and isinstance(last, (int, float))
                and 1 <= first <= last <= 9999
            ):
                return Known(reading.today, date(int(first), 1, 1), date(int(last), 12, 31))
    return Known(reading.today)


def has_dates(reading: Reading) -> bool:
    """Does any table hold dates or years?"""
    return any(main_date(t) or year_column(t) for t in reading.catalog.tables)


def event_spans(reading: Reading, mentions: Sequence[DateMention]) -> Iterable[NamedSpan]:
    """Verbs that lead to a date and name its column by their root alone: "contracts that expire in 2024".

    After the date only a participle does ("in 2024 and expired"), and no word that is often a stored value ("public").
    """
    around = {table.name for table in (*reading.tables, *reading.neighbours())}
    named = [(s.start, s.end) for s in reading.named if s.found[0].score >= 0.55]
    for number, word in enumerate(reading.words if mentions else ()):
        found = tuple(n for n in reading.names.find_event(word.text) if n.table in around)
        if not found or word.text in STOPS or any(a <= word.start < b for a, b in named):
            continue
        if any(c.startswith("values.") for c in load().concepts.get(stem(word.text), ())):
            continue
        if any(
            _leads(reading, word.start, word.end, m.start, m.end)
            for m in mentions
            if word.end <= m.start or _PARTICIPLE.search(word.text)
        ):
            yield NamedSpan(word.start, word.end, number, 1, word.text, found)


def _leads(reading: Reading, start: int, end: int, date_start: int, date_end: int) -> bool:
    """Whether a stretch may say which date is meant: shortly before it, or after it with but small words between."""
    if end <= date_start:
        return date_start - end <= _NEAR
    return 0 <= start - date_end <= _NEAR / 1.5 and all(
        word in STOPS for word in word_texts(reading.text[date_end:start])
    )


def date_links(reading: Reading, mention: DateMention) -> Iterable[Link]:
    """The link of a date; two when it may mean a date or a year column."""
    table, column, is_named = _date_column(reading, mention.start, mention.end)
    holder = next((t for t in reading.tables if year_column(t) is not None), None)
    weight = 1.0
    if holder is not None and not is_named and (column is None or holder in reading.tables[:1]):
        number = _year_link(reading, mention, holder)
        if number is not None:
            yield number
            weight = 0.8
    if column is None and weight < 1:
        return
    told = ""
    if mention.assumed_year is not None:
        text = reading.folded.original[slice(*reading.folded.span(mention.start, mention.end))]
        told = f"'{text}' is taken to be of {mention.assumed_year}, the latest in the data"
    interval = mention.interval
    yield reading.link(
        "date",
        mention.start,
        mention.end,
        table=table.name if table else None,
        column=column.name if column else None,
        value=interval.start.isoformat() if interval.start else None,
        upper=interval.end.isoformat() if interval.end else None,
        grain=interval.grain,
        op="!=" if mention.is_negated else "",
        concept=told,
        score=mention.score * weight * (1.0 if column is not None else 0.8),
    )


def part_links(reading: Reading, mention: PartMention) -> Iterable[Link]:
    """The link of a date part, or of the year column when that is what "by year" means."""
    table, column, is_named = _date_column(reading, mention.start, mention.end)
    holder = next((t for t in reading.tables if year_column(t) is not None), None)
    if holder is not None and mention.grain == "year" and not is_named:
        years = year_column(holder)
        if years is not None and (column is None or holder in reading.tables[:1]):
            yield reading.link(
                "column",
                mention.start,
                mention.end,
                table=holder.name,
                column=years.name,
                grain="number",
                concept="year",
                score=1.0,
            )
            return
    if table is None or column is None:
        return
    yield reading.link(
        "part",
        mention.start,
        mention.end,
        table=table.name,
        column=column.name,
        grain=mention.grain,
        value=mention.weekday,
        upper=mention.until,
        op="" if mention.weekday is None else "between" if mention.until else "=",
        score=0.95 if mention.weekday is None else 0.85,
    )


def _date_column(reading: Reading, start: int, end: int) -> tuple[Table | None, Column | None, bool]:
    """The date column named nearest to a span (True), else the main one of the tables asked about (False)."""
    best: tuple[float, Table, Column] | None = None
    for span in reading.named:
        for named in span.found[:4]:
            home = reading.column_of(named)
            is_date = home is not None and home[1].is_date and named.score >= 0.45 and not named.end
            is_part = span.text in PARTS and home is not None and home[0] not in reading.tables
            if home is None or not is_date or is_part or reading.is_elsewhere(named):
                continue
            gap = start - span.end if span.end <= start else 1.5 * (span.start - end)
            if gap < 0 or not _leads(reading, span.start, span.end, start, end):
                continue
            worth = named.score - gap / 60 - 0.1 * (home[0] not in reading.tables[:1])
            if best is None or worth > best[0]:
                best = (worth, *home)
    if best is not None:
        return best[1], best[2], True
    for table in [*reading.tables, *reading.neighbours()]:
        column = main_date(table)
        if column is not None:
            return table, column, False
    return None, None, False


def _year_link(reading: Reading, mention: DateMention, table: Table) -> Link | None:
    """Years as numbers; None for an interval that does not begin and end with a year."""
    column = year_column(table)
    start, end = mention.interval.start, mention.interval.end
    if column is None or any(d is not None and (d.month, d.day) != (1, 1) for d in (start, end)):
        return None
    first = start.year if start else None
    last = end.year - 1 if end else None
    op, value, upper = "!=" if mention.is_negated else "=", first, None
    if first is None and last is not None:
        op, value = ("<", last + 1) if mention.bound == "before" else ("<=", last)
    elif last is None and first is not None:
        op, value = (">", first - 1) if mention.bound == "after" else (">=", first)
    elif last != first:
        op, upper = "between", last
    return reading.link(
        "number",
        mention.start,
        mention.end,
        table=table.name,
        column=column.name,
        value=value,
        upper=upper,
        op=op,
        grain="year",
        score=mention.score,
    )


def _as_date(value: Value) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None
