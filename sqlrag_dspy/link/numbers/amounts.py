"""Links of kind number: which column a number is compared with.

The number column named right after it ("1000 words") or right before it ("budget over 5000"), the one that a
comparative measures ("longer than"), one that holds its unit ("2 hours" for minutes_down), else none. Leaves out
reading numbers (numbers.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.named import NamedSpan
from sqlrag_dspy.link.names import Named, name_words
from sqlrag_dspy.link.numbers.ages import age_links
from sqlrag_dspy.link.numbers.find import NumberMention
from sqlrag_dspy.link.numbers.units import factor
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.link.spans import find_spans, has_both_ends, is_elapsing, unit_at
from sqlrag_dspy.link.text import stem, word_set
from sqlrag_dspy.types import Column, Link, Table

_LABEL_GAP = re.compile(r"[\s#:-]{1,2}")
_AFTER_NUMBER = re.compile(
    r"[\s%-]*(?:(?:or|and|of|en|o|y)\s+(?:more|less|fewer|meer|minder|mas|menos)\s+|"
    r"(?:of|de|van|total|full|different|number|amount|numero|cantidad|aantal|(?:in|en|on|op|at)(?:\s+(?:the|la|el|de|het))?)\s+)*"
)
_BEFORE_NUMBER = re.compile(
    r"[\s:=#-]*(?:(?:is|are|was|were|of|with|a|an|the|has|have|had|that|it|at|being|es|sea|sean|son|de|que|un|una|con|"
    r"van|een|met|die|dat|zijn|ligt|lies|set|to|in|for|somewhere|anywhere|equal|us|me|requested|asked)\s+)*"
)
_COSTING = word_set("cost costs cuesta cuestan kost kosten")
_LARGE = 10_000
"""A number from here on is no year, and a sum of money where nothing else is said."""
_UNIT_WORD = re.compile(r"[\s-]*(?:(?:or|of|o|y|and|en)\s+(?:more|less|meer|minder|mas|menos)\s+)?([a-z]+)")


def unit_of(reading: Reading, mention: NumberMention) -> NamedSpan | None:
    """The number column that is named right after a number, or right before it or its comparator."""
    text = reading.text
    after = before = None
    for span in reading.named:
        if span.start >= mention.number_end:
            if after is None and _AFTER_NUMBER.fullmatch(text[mention.number_end : span.start]):
                after = _numeric(reading, span)
        elif span.end <= mention.start and (
            mention.op or _LABEL_GAP.fullmatch(text[span.end : mention.start])
        ):
            kept = _numeric(reading, span)
            if kept is not None and _BEFORE_NUMBER.fullmatch(text[span.end : mention.start]):
                before = kept
    if mention.is_label:
        return _labelled(reading, mention, before, after)
    if after is not None and _is_currency(after):  # "500 euros approved"
        beside = (
            kept
            for span in reading.named
            if 0 <= span.start - after.end <= 12 or 0 <= mention.start - span.end <= 16
            if (kept := _numeric(reading, span)) is not None and not _is_currency(kept)
        )
        return next(beside, after)
    if after is None and not mention.op and not mention.is_firm:
        return None
    return after or before


def number_links(reading: Reading, mention: NumberMention, unit: NamedSpan | None) -> Iterable[Link]:
    """Links of a number, the likeliest column first."""
    op, value, upper, told = mention.op, mention.value, mention.upper, ""
    elapsed = _elapsed(reading, mention)
    if elapsed is not None:
        yield elapsed
        return
    aged = list(age_links(reading, mention)) if unit is None else []
    if aged:
        yield from aged
        return
    homes: list[tuple[str, str, float]] = []
    if unit is not None:
        found = sorted(unit.found, key=lambda n: -n.score + 0.1 * reading.rank(n.table))
        if unit.text in _COSTING and unit.end <= mention.start:  # what is asked for it, not what it cost us
            asked = {(table.name, column.name) for table, column in reading.measured(("price",))}
            found.sort(key=lambda n: (n.table, n.column) not in asked)
        homes = [(n.table, n.column, 1.0) for n in found[:3]]
        if not op and unit.end <= mention.start:
            op = "="
        times = factor(unit.text, name_words(found[0].column))
        if times is not None and times != 1 and not mention.is_average:  # "megabytes" name a column of bytes
            homes = homes[:1]
            value, upper = _times(value, times), None if upper is None else _times(upper, times)
            told = f"{mention.value} {unit.text} are taken as {value} in {found[0].column}"
    else:
        if mention.concept:
            columns = next(
                a.columns for f in load().adjectives.values() for a in f if a.concept == mention.concept
            )
            measured = sorted(reading.measured(columns), key=lambda pair: reading.rank(pair[0].name))
            homes = [(t.name, c.name, 0.85) for t, c in measured if c.is_number][:2]
        elif mention.is_money and op:
            homes = [(n.table, n.column, 0.85) for n in reading.names.find("euro") if n.column][:2]
        elif op and mention.value >= _LARGE:
            homes = [(table, column, 0.85) for table, column in _only_money(reading)]
        word = _UNIT_WORD.match(reading.text[mention.number_end :])
        converted = _convert(reading, word[1]) if word and not mention.is_average else None
        if converted is not None and word is not None:
            table, column, times = converted
            homes = [(table.name, column.name, 0.9)]
            value, upper = _times(value, times), None if upper is None else _times(upper, times)
            told = "" if times == 1 else f"{mention.value} {word[1]} are taken as {value} in {column.name}"
    if not homes and mention.is_average:
        homes = [(table, column, 0.8) for table, column in _only_measure(reading)]
    elif not homes:
        homes = [("", "", 0.95 if op else 0.8)]
    for number, (table_name, column_name, score) in enumerate(homes):
        yield reading.link(
            "number",
            mention.start,
            mention.end,
            table=table_name or None,
            column=column_name or None,
            value=None if mention.is_average else value,
            upper=upper,
            op=op,
            grain="average" if mention.is_average else "",
            concept=told,
            score=score - 0.1 * number,
        )


def _elapsed(reading: Reading, mention: NumberMention) -> Link | None:
    """ "took more than 25 days": a bound on the days between a row's two dates, unless a column holds such a time."""
    if not mention.op or mention.is_average or mention.is_money:
        return None
    unit, home = unit_at(reading.text, mention.number_end), find_spans(reading)
    word = _UNIT_WORD.match(reading.text[mention.number_end :])
    if unit is None or home is None or word is None or not is_elapsing(reading.text):
        return None
    if _convert(reading, word[1]) is not None and not has_both_ends(reading.text):
        return None
    (times, ends), (table, start, end) = unit, home
    return reading.link(
        "number",
        mention.start,
        max(mention.end, ends),
        table=table.name,
        column=end.name,
        value=_times(mention.value, times),
        upper=None if mention.upper is None else _times(mention.upper, times),
        op=mention.op,
        score=1.0,
        since=start.name,
    )


def _only_measure(reading: Reading) -> list[tuple[str, str]]:
    """The number column of the table asked about that can be meant by "above average": the only one."""
    table = reading.tables[0] if reading.tables else None
    columns = [c for c in table.columns if c.is_number and not _is_identifier(table, c)] if table else []
    keyed = [c.name for c in columns if table is not None and c.name not in table.key]
    return [(table.name, keyed[0])] if table is not None and len(keyed) == 1 else []


def _only_money(reading: Reading) -> list[tuple[str, str]]:
    """The one amount of money of the first table asked about that has any: "contracts over a million"."""
    for table in reading.tables:
        columns = [n.column for n in reading.names.find("euro") if n.table == table.name and n.column]
        if columns:
            return [(table.name, columns[0])] if len(columns) == 1 else []
    return []


def _numeric(reading: Reading, span: NamedSpan) -> NamedSpan | None:
    """The number columns that a span may name, if those are what it likeliest names."""
    kept: list[Named] = []
    for named in span.found:
        home = reading.column_of(named)
        is_named = home is not None and home[1].is_number and not named.end and named.score >= 0.5
        if home is not None and is_named and not _is_identifier(*home):
            kept.append(named)
    if not kept or kept[0].score < span.found[0].score - 0.25:
        return None
    return replace(span, found=tuple(kept))


def _labelled(
    reading: Reading, mention: NumberMention, before: NamedSpan | None, after: NamedSpan | None
) -> NamedSpan | None:
    """ "tier-2", "second floor": only for whole numbers within what the column holds."""
    for span in (before, after):
        if span is None or not _LABEL_GAP.fullmatch(
            reading.text[min(span.end, mention.end) : max(span.start, mention.start)]
        ):
            continue
        for named in span.found:
            home = reading.column_of(named)
            low, high = (home[1].profile.minimum, home[1].profile.maximum) if home else (None, None)
            if isinstance(low, int) and isinstance(high, int) and low <= mention.value <= high <= 100:
                return replace(span, found=(named,))
    return None


def _convert(reading: Reading, unit: str) -> tuple[Table, Column, float] | None:
    """The column that holds an asked unit's family, with the factor: hours for minutes_down."""
    for table in reading.tables:
        for column in table.columns:
            times = factor(unit, name_words(column.name)) if column.is_number else None
            if times is not None:
                return table, column, times
    return None


def _times(value: int | float, times: float) -> int | float:
    product = value * times
    return int(product) if float(product).is_integer() else product


def _is_identifier(table: Table, column: Column) -> bool:
    """Keys to other tables, ids and numbers within a key: nobody compares them with a number of things."""
    words = name_words(column.name)
    is_numbered = column.name in table.key and "number" in words
    return "id" in words or is_numbered or any(column.name in k.columns for k in table.foreign_keys)


def _is_currency(span: NamedSpan) -> bool:
    """ "euros" says that a column holds money, not which."""
    return "nouns.money" in load().concepts.get(stem(span.text), ())
