"""Ties stretches of a question to tables, columns, values, dates, numbers and date parts: `Linker.link`.

The order is: what names a table or column, then dates and numbers, values, date parts; each gets its column by
what stands near it; then the best cover that does not overlap is chosen. Leaves out what to do with the links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from sqlrag_dspy.link.cover import cover
from sqlrag_dspy.link.dates.columns import date_links, event_spans, has_dates, known, part_links
from sqlrag_dspy.link.dates.find import find_dates
from sqlrag_dspy.link.dates.parts import find_parts
from sqlrag_dspy.link.mentions import Mention, find_mentions, is_negated
from sqlrag_dspy.link.names import Names, main_table
from sqlrag_dspy.link.numbers.amounts import number_links, unit_of
from sqlrag_dspy.link.numbers.find import NumberMention, find_numbers
from sqlrag_dspy.link.numbers.ranks import find_ranks
from sqlrag_dspy.link.reading import Reading, is_flag, is_table
from sqlrag_dspy.link.spans import find_mentions_of_time, find_spans, has_both_ends, is_measured
from sqlrag_dspy.link.states import find_lacking, find_states, find_yes
from sqlrag_dspy.link.text import fold, words
from sqlrag_dspy.link.together import NameParts
from sqlrag_dspy.link.unstored import find_unstored
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.link.who import who_links
from sqlrag_dspy.link.wording import find_wording
from sqlrag_dspy.types import Catalog, Column, Link, Links, Table

MOST_CHARACTERS = 4_000
"""Only so much of a question is read: what comes after is pasted text, not a restriction."""
_MOST_OTHERS = 60


class Linker:
    """Links questions to one database.

    `synonyms` maps a table to other words for its columns, and for itself under "". `today` is asked once a
    question; relative dates count from it. Safe to call from several threads.
    """

    def __init__(
        self,
        catalog: Catalog,
        values: ValueStore,
        *,
        synonyms: Mapping[str, Mapping[str, Sequence[str]]] = {},
        today: Callable[[], date],
    ) -> None:
        self.catalog = catalog
        self.values = values
        self._names = Names(catalog, synonyms)
        self._today = today
        self._parts = NameParts(catalog)
        self._main = main_table(catalog)

    def link(self, question: str) -> Links:
        """All links of a question, in any of the three languages; never raises on odd input."""
        folded = fold(question[:MOST_CHARACTERS])
        listed = words(folded)
        if not listed or self._main is None:
            return Links(question, ())
        reading = Reading(self.catalog, self._names, self._parts, self._main, folded, listed, self._today())
        chosen, others = cover(_candidates(reading, self.values))
        return Links(question, chosen, others[:_MOST_OTHERS])


_AFTER_YEAR = re.compile(r"\b(?:19|20)\d\d\s*(?:and|or|vs\.?|versus|y|o|en|of|tegen|against|contra|,|/)\s*$")
"""Before a number that is a year as well, whatever stands behind it: "2022 and 2023 sales"."""


def _candidates(reading: Reading, values: ValueStore) -> list[Link]:
    """Every link that might be meant, overlapping ones too."""
    numbers = find_numbers(reading.text, reading.languages)
    units = {m: None if _AFTER_YEAR.search(reading.text[: m.start]) else unit_of(reading, m) for m in numbers}
    taken = [(m.start, m.end) for m in numbers if m.is_firm or units[m] is not None]
    dates = find_dates(reading.folded, known(reading), taken)
    reading.named.extend(list(event_spans(reading, dates)))
    busy = [(d.start, d.end) for d in dates]
    found = [*_name_links(reading), *(link for d in dates for link in date_links(reading, d))]
    years_are_dates = has_dates(reading)
    for mention in numbers:
        unit = units[mention]
        is_number = unit is not None or (not mention.is_label and (mention.is_firm or not years_are_dates))
        if is_number and not any(a <= mention.number_start and mention.number_end <= b for a, b in busy):
            found.extend(number_links(reading, mention, unit))
    found.extend(
        reading.link("number", rank.start, rank.end, op="nth", value=rank.place, score=0.97)
        for rank in find_ranks(reading.text)
    )
    found.extend(_span_links(reading))
    places = {n for s in reading.named for n in range(s.first, s.first + s.count) if s.found[0].score >= 0.6}
    mentions = find_mentions(
        reading.folded, reading.words, values, reading.languages, places, reading.names.table_nouns
    )
    found = [k for k in found if k.kind not in ("table", "column") or not _is_tail(reading, k, mentions)]
    found.extend(_value_links(reading, mentions))
    found.extend(who_links(reading, values))
    found.extend(_wording_links(reading))
    found.extend(_state_links(reading, found))
    found.extend(_unstored_links(reading, values, found))
    found.extend(link for p in find_parts(reading.text, busy) for link in part_links(reading, p))
    return _settle_participles(reading, found, busy, numbers)


def _name_links(reading: Reading) -> Iterable[Link]:
    around = reading.asked | {table.name for table in reading.neighbours(reading.asked)}
    for span in reading.named:
        # "customers per country" means a country of customers, though stores have a column called just that
        own = max(
            (n.score for n in span.found if n.column and not n.concept and n.table in reading.asked),
            default=0.0,
        )
        for named in span.found[:8]:
            home = reading.column_of(named)
            if (named.column and home is None) or reading.is_elsewhere(named):
                continue
            if home and home[1].is_number and reading.adds_up(span):
                continue
            if named.end and reading.asked and named.table not in around:
                continue  # "the biggest store" has nothing to do with what is measured of currencies
            if home and own >= 0.6 and named.table not in reading.asked:
                named = replace(named, score=min(named.score, own - 0.01))
            if home and named.concept and any(n.table == named.table and not n.column for n in span.found):
                named = replace(
                    named, score=named.score - 0.03
                )  # "pedidos" are orders rather than when ordered
            yield reading.link(
                "column" if home else "table",
                span.start,
                span.end,
                table=named.table,
                column=home[1].name if home else None,
                concept=named.concept,
                op=named.end,
                grain="" if home is None else "text" if _refers(*home) else _holds(home[1]),
                score=named.score - (0.03 * min(reading.rank(named.table), 3) if home else 0.0),
            )


def _wording_links(reading: Reading) -> Iterable[Link]:
    """Words that a short text contains, as a pattern for LIKE; its own wildcards mean themselves nowhere, so none."""
    for mention in find_wording(reading):
        start, end = reading.folded.span(mention.word_start, mention.word_end)
        word = reading.folded.original[start:end]
        if not set(word) & set("%_\\"):
            yield reading.link(
                "value",
                mention.start,
                mention.end,
                table=mention.table.name,
                column=mention.column.name,
                value=f"%{word}%",
                op="not like" if mention.is_negated else "like",
                concept="word",
                score=0.95,
            )


def _state_links(reading: Reading, found: list[Link]) -> Iterable[Link]:
    """Words for what a column holds or lacks: of a date as a restriction like a value, of a key as its column."""
    dated = {
        (k.table, k.column)
        for k in found
        if k.kind == "date" and k.table is not None and k.column is not None
    }
    values = [k for k in found if k.kind == "value" and k.concept == "category" and k.score >= 0.55]
    asked = {table.name for table in reading.tables}
    taken = {place for k in values if k.table in asked for place in _folded_places(reading, k)}
    for state in find_states(reading, dated, taken):
        answers = is_flag(state.column)
        yield reading.link(
            "value",
            state.start,
            state.end,
            table=state.table.name,
            column=state.column.name,
            value=int(state.is_there) if answers else None,
            op="=" if answers else "not null" if state.is_there else "null",
            concept="category" if answers else "state",
            score=1.0,
        )
    for span, table, column, answer in find_yes(reading):
        if not is_negated(reading.text, span.start):  # who says neither yes nor no may be meant by "not"
            yield reading.link(
                "value",
                span.start,
                span.end,
                table=table.name,
                column=column.name,
                value=answer,
                op="=",
                concept="category",
                score=1.0,
            )
    for state in find_lacking(reading):
        yield reading.link(
            "column",
            state.start,
            state.end,
            table=state.table.name,
            column=state.column.name,
            grain="text",
            score=1.0,
        )


def _unstored_links(reading: Reading, values: ValueStore, found: list[Link]) -> Iterable[Link]:
    """Values that no row holds, which restrict to nothing."""
    taken = {place for k in found if k.score >= 0.5 for place in _folded_places(reading, k)}
    for mention in find_unstored(reading, values, taken):
        yield reading.link(
            "value",
            mention.start,
            mention.end,
            table=mention.home.table,
            column=mention.home.column,
            value=mention.value,
            op="!=" if mention.is_negated else "=",
            concept=mention.home.kind,
            score=0.98,
        )


def _folded_places(reading: Reading, link: Link) -> Iterable[int]:
    """The places of the folded text that a link covers."""
    for word in reading.words:
        start, end = reading.folded.span(word.start, word.end)
        if link.start < end and start < link.end:
            yield from range(word.start, word.end)


_DAYS = re.compile(r"\b(?:days|dias|dagen)\b")


def _span_links(reading: Reading) -> Iterable[Link]:
    """Words for the time that passes between the two dates of a row."""
    home = find_spans(reading)
    if home is None:
        return
    table, start, end = home
    if is_measured(table) and not (has_both_ends(reading.text) or _DAYS.search(reading.text)):
        return
    for mention in find_mentions_of_time(reading.text):
        yield reading.link(
            "column",
            mention.start,
            mention.end,
            table=table.name,
            column=end.name,
            op=mention.op,
            grain="days",
            score=0.95,
            since=start.name,
        )


def _is_tail(reading: Reading, link: Link, mentions: list[Mention]) -> bool:
    """The end of a compound names something only if it is an amount or date, or its beginning is a value."""
    for span in reading.named:
        if span.is_compound and reading.folded.span(span.start, span.end) == (link.start, link.end):
            return link.grain not in ("number", "date") and not any(m.end == span.start for m in mentions)
    return False


def _value_links(reading: Reading, mentions: list[Mention]) -> Iterable[Link]:
    """One link for each stretch and column; the values it names equally well are in `also`."""
    grouped: dict[tuple[int, int, str, str], list[Mention]] = {}
    for mention in mentions:
        home = mention.entry.home
        grouped.setdefault((mention.start, mention.end, home.table, home.column), []).append(mention)
    for (start, end, table, column), found in grouped.items():
        found.sort(key=lambda m: (-round(m.score, 3), -m.entry.frequency, m.entry.value))
        best = found[0]
        also = dict.fromkeys(m.entry.value for m in found[1:] if m.score >= best.score - 0.06)
        also.pop(best.entry.value, None)
        score = best.score + (0.08 if reading.named_near(table, column, start, end) else 0.0)
        score = min(score, 1.0) - 0.02 * min(reading.rank(table), 2) - 0.01 * reading.distance(table)
        score -= 0.0 if best.entry.home.is_filter else 0.02
        if (table, column) not in reading.together and any(
            (start, end, *h) in grouped for h in reading.together
        ):
            score -= 0.1  # "from Bristol, going by the delivery address"
        if best.entry.home.kind in ("title", "other"):
            score -= 0.03
        if len(also) > 4 and best.form.part in ("surname", "first"):
            score -= 0.15
        yield reading.link(
            "value",
            start,
            end,
            table=table,
            column=column,
            value=best.entry.value,
            op="!=" if best.is_negated else "=",
            concept=best.entry.home.kind,
            also=tuple(also)[:50],
            score=score,
        )


_WHEN = re.compile(r"\b(?:when|cuando|wanneer|date|dates|fecha|fechas|datum)\b")
_HOW_MUCH = re.compile(
    r"\b(?:how\s+much|total|sum|average|mean|amount|money|highest|lowest|most|largest|biggest|median|max|min|importe|suma|"
    r"cuanto|media|promedio|medio|dinero|mayor|menor|bedrag|geld|gemiddeld|gemiddelde|totaal|hoogste|laagste|meeste|"
    r"budget|euros?|eur)\b"
)


def _settle_participles(
    reading: Reading, found: list[Link], dates: list[tuple[int, int]], numbers: list[NumberMention]
) -> list[Link]:
    """ "approved" may be a status or an amount, "closed" a status or a date: what stands near decides."""
    values = {
        (k.start, k.end): k.score
        for k in found
        if k.kind == "value" and k.concept == "category" and k.score >= 0.55
    }
    is_column: dict[tuple[int, int], bool] = {}
    for span in reading.named:
        place = reading.folded.span(span.start, span.end)
        home = reading.column_of(span.found[0])
        if place in values and home is not None:
            near = reading.text[max(0, span.start - 28) : span.end + 25]
            followed = any(0 <= s.start - span.end <= 1 and is_table(s) for s in reading.named)
            if home[1].is_date:
                meant = any(0 <= a - span.end <= 15 for a, _ in dates) or bool(_WHEN.search(near))
            elif home[1].is_number and not _refers(*home) and not followed:  # not "the approved projects"
                meant = bool(_HOW_MUCH.search(near)) or any(
                    (n.is_money or n.value >= 1000)
                    and min(abs(n.start - span.end), abs(span.start - n.end)) <= 16
                    for n in numbers
                )
            else:
                meant = False
            is_column[place] = meant
    settled = []
    for link in found:
        meant_column = is_column.get((link.start, link.end))
        if meant_column is not None and not (link.kind == "column" and link.op):
            if link.kind == "column":
                link = replace(link, score=min(1.0, link.score + 0.3) if meant_column else link.score * 0.55)
            elif link.kind == "value" and meant_column:
                link = replace(link, score=link.score * 0.7)
        rival = values.get((link.start, link.end))
        if (
            rival is not None
            and meant_column is None
            and link.kind in ("table", "column")
            and link.concept
            and not link.op
        ):
            link = replace(
                link, score=min(link.score, rival * 0.9)
            )  # a stored value before a synonym of a name
        settled.append(link)
    return settled


def _refers(table: Table, column: Column) -> bool:
    """Whether a column names a row of another table, or another row: no number to compute with."""
    return any(key.columns == (column.name,) for key in table.foreign_keys)


def _holds(column: Column) -> str:
    """What a column holds, as the mask tells it."""
    if is_flag(column):
        return "bool"
    if column.is_number:
        return "number"
    if column.is_date:
        return "date"
    return "bool" if column.profile.found == "boolean" else "text"
