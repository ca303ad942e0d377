"""Ties stretches of a question to tables, columns, values, dates, numbers and date parts: `Linker.link`.

The order is: what names a table or column, then dates and numbers, values, date parts; each gets its column by
what stands near it; then the best cover that does not overlap is chosen. Leaves out what to do with the links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from sqlrag_dspy.link.cover import cover
from sqlrag_dspy.link.date_atoms import DateMention, Known
from sqlrag_dspy.link.dates import find_dates
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.mentions import Mention, find_mentions
from sqlrag_dspy.link.named import NamedSpan, find_named
from sqlrag_dspy.link.names import Names, main_date, main_table, name_words, year_column
from sqlrag_dspy.link.numbers import NumberMention, find_numbers
from sqlrag_dspy.link.parts import PartMention, find_parts
from sqlrag_dspy.link.text import Folded, Word, fold, likely_languages, words
from sqlrag_dspy.link.units import factor
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.types import Catalog, Column, Link, Links, Table, Value

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
        self._main = main_table(catalog)

    def link(self, question: str) -> Links:
        """All links of a question, in any of the three languages; never raises on odd input."""
        folded = fold(question[:MOST_CHARACTERS])
        listed = words(folded)
        if not listed or self._main is None:
            return Links(question, ())
        reading = _Reading(self, folded, listed)
        chosen, others = cover(reading.links())
        return Links(question, chosen, others[:_MOST_OTHERS])


class _Reading:
    """One question being read: what it names, and the table it seems to be about."""

    def __init__(self, linker: Linker, folded: Folded, listed: list[Word]) -> None:
        self.catalog, self.names, self.values = linker.catalog, linker._names, linker.values
        self.folded, self.words = folded, listed
        self.today = linker._today()
        self.languages = likely_languages([w.text for w in listed])
        self.main = linker._main
        self.named = find_named(folded.text, listed, self.names, self.languages, self._measured)
        self.tables = self._tables()

    def _tables(self) -> list[Table]:
        """Tables of the question, likeliest first: named ones, then the main table."""
        votes: dict[str, float] = {}
        for span in self.named:
            for named in span.found:
                if not named.column and named.score >= 0.6:
                    votes[named.table] = max(votes.get(named.table, 0.0), named.score * len(span.text))
        ranked = [t for name in sorted(votes, key=lambda n: -votes[n]) if (t := self.catalog.table(name))]
        if self.main is not None and self.main not in ranked:
            ranked.append(self.main)
        return ranked

    def _measured(self, columns: Sequence[str]) -> Iterable[tuple[Table, Column]]:
        """The columns that measure a concept, one a table."""
        for table in self.catalog.tables:
            column = self.names.measured_by(columns, table)
            if column is not None:
                yield table, column

    def links(self) -> list[Link]:
        """Every candidate."""
        numbers = find_numbers(self.folded.text, self.languages)
        units = {m: self._unit(m) for m in numbers}
        taken = [(m.start, m.end) for m in numbers if m.is_firm or units[m] is not None]
        dates = find_dates(self.folded, self._known(), taken)
        busy = [(d.start, d.end) for d in dates]
        found = [*self._name_links(), *(link for d in dates for link in self._date_links(d))]
        found.extend(
            link
            for m in numbers
            if (units[m] is not None or not m.is_label)
            and (m.is_firm or units[m] is not None or not self._has_dates())
            and not any(a <= m.number_start and m.number_end <= b for a, b in busy)
            for link in self._number_links(m, units[m])
        )
        places = {n for s in self.named for n in range(s.first, s.first + s.count) if s.found[0].score >= 0.6}
        mentions = find_mentions(
            self.folded, self.words, self.values, self.languages, places, self.names.table_nouns
        )
        found.extend(self._value_links(mentions))
        found.extend(link for p in find_parts(self.folded.text, busy) for link in self._part_links(p))
        return self._settle_participles(found, busy, numbers)

    def _settle_participles(
        self, found: list[Link], dates: list[tuple[int, int]], numbers: list[NumberMention]
    ) -> list[Link]:
        """ "approved" may be a status or an amount, "closed" a status or a date: what stands near decides."""
        text = self.folded.text
        values = {
            (k.start, k.end)
            for k in found
            if k.kind == "value" and k.concept == "category" and k.score >= 0.6
        }
        settled: list[Link] = []
        for link in found:
            if link.kind == "column" and not link.op and (link.start, link.end) in values:
                start = next(
                    (
                        s.start
                        for s in self.named
                        if self.folded.span(s.start, s.end) == (link.start, link.end)
                    ),
                    0,
                )
                end = start + len(link.text)
                near = text[max(0, start - 40) : end + 25]
                if link.grain == "date":
                    meant = any(0 <= a - end <= 15 for a, _ in dates) or bool(_WHEN.search(near))
                elif link.grain == "number":
                    meant = bool(_HOW_MUCH.search(near)) or any(
                        (n.is_money or n.value >= 1000) and min(abs(n.start - end), abs(start - n.end)) <= 16
                        for n in numbers
                    )
                else:
                    meant = False
                link = replace(link, score=min(1.0, link.score + 0.3) if meant else link.score * 0.7)
            settled.append(link)
        return settled

    def _link(self, kind: str, start: int, end: int, **fields: object) -> Link:
        a, b = self.folded.span(start, end)
        return Link(kind, a, b, self.folded.original[a:b], **fields)  # type: ignore[arg-type]

    # --- names ---------------------------------------------------------------------------------------

    def _name_links(self) -> Iterable[Link]:
        mentioned = {t.name: 0.06 if n == 0 else 0.04 for n, t in enumerate(self.tables)}
        for span in self.named:
            for named in span.found[:8]:
                score = named.score + mentioned.get(named.table, 0.0) * (
                    named.score < 1 or len(span.found) > 1
                )
                table = self.catalog.table(named.table)
                if table is None:
                    continue
                column = table.column(named.column) if named.column else None
                yield self._link(
                    "column" if named.column else "table",
                    span.start,
                    span.end,
                    table=named.table,
                    column=column.name if column else None,
                    concept=named.concept,
                    op=named.end,
                    grain=_holds(column) if column else "",
                    score=min(score, 1.0),
                )

    # --- dates ---------------------------------------------------------------------------------------

    def _known(self) -> Known:
        earliest: list[date] = []
        latest: list[date] = []
        month_first = False
        for table in self.tables[:1] or self.catalog.tables:
            column = main_date(table)
            year = year_column(table)
            if column is not None:
                low, high = _as_date(column.profile.minimum), _as_date(column.profile.maximum)
                formats = column.profile.date_formats
                month_first = bool(formats) and formats[0].startswith("%m")
            elif year is not None:
                low, high = _year_start(year.profile.minimum), _year_start(year.profile.maximum)
                high = high.replace(month=12, day=31) if high else None
            else:
                continue
            if low and high:
                earliest.append(low)
                latest.append(high)
        return Known(self.today, min(earliest, default=None), max(latest, default=None), month_first)

    def _has_dates(self) -> bool:
        return any(main_date(t) or year_column(t) for t in self.catalog.tables)

    def _date_column(self, start: int, end: int) -> tuple[Table | None, Column | None, bool]:
        """The date column named nearest to a span (True), else the main one of the tables asked about (False)."""
        best: tuple[float, Table, Column] | None = None
        for span in self.named:
            for named in span.found[:4]:
                table = self.catalog.table(named.table)
                column = table.column(named.column) if table and named.column else None
                if table is None or column is None or not column.is_date or named.score < 0.45:
                    continue
                gap = start - span.end if span.end <= start else 1.5 * (span.start - end)
                if not 0 <= gap <= 45 or named.end:
                    continue
                worth = named.score - gap / 60 - 0.1 * (table not in self.tables[:1])
                if best is None or worth > best[0]:
                    best = (worth, table, column)
        if best is not None:
            return best[1], best[2], True
        for table in [*self.tables, *self._neighbours()]:
            column = main_date(table)
            if column is not None:
                return table, column, False
        return None, None, False

    def _neighbours(self) -> Iterable[Table]:
        """Tables that a foreign key joins to those asked about."""
        asked = {t.name for t in self.tables}
        for table in self.catalog.tables:
            targets = {k.table for k in table.foreign_keys}
            sources = {k.table for t in self.tables for k in t.foreign_keys}
            if table.name not in asked and (targets & asked or table.name in sources):
                yield table

    def _date_links(self, mention: DateMention) -> Iterable[Link]:
        interval = mention.interval
        table, column, is_named = self._date_column(mention.start, mention.end)
        holder = next((t for t in self.tables if year_column(t) is not None), None)
        if holder is not None and (
            column is None or (table not in self.tables[:1] and holder in self.tables[:1])
        ):
            number = self._year_link(mention, holder)
            if number is not None:
                yield number
            return
        told = ""
        if mention.assumed_year is not None:
            text = self.folded.original[slice(*self.folded.span(mention.start, mention.end))]
            told = f"'{text}' is taken to be of {mention.assumed_year}, the latest in the data"
        yield self._link(
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
            score=min(1.0, mention.score if column is not None else mention.score * 0.8),
        )

    def _year_link(self, mention: DateMention, table: Table) -> Link | None:
        """Years as numbers, for a table that holds years in a whole-number column."""
        column = year_column(table)
        start, end = mention.interval.start, mention.interval.end
        if column is None or any(d is not None and (d.month, d.day) != (1, 1) for d in (start, end)):
            return None
        first = start.year if start else None
        last = end.year - 1 if end else None
        op, value, upper = "=", first, None
        if first is None:
            op, value = "<=", last
            if self.folded.text[mention.start : mention.end].startswith(
                ("before", "antes", "voor", "pre", "prior")
            ):
                op, value = "<", (last or 0) + 1
        elif last is None:
            op = ">="
        elif last != first:
            op, upper = "between", last
        elif mention.is_negated:
            op = "!="
        return self._link(
            "number", mention.start, mention.end, table=table.name, column=column.name, value=value, upper=upper,
            op=op, grain="year", score=mention.score,
        )  # fmt: skip

    # --- numbers -------------------------------------------------------------------------------------

    def _unit(self, mention: NumberMention) -> NamedSpan | None:
        """The number column that is named right after a number, or right before it or its comparator."""
        text = self.folded.text
        after = before = None
        for span in self.named:
            if span.start >= mention.number_end and _AFTER_NUMBER.fullmatch(
                text[mention.number_end : span.start]
            ):
                after = after or self._numeric(span)
            elif span.end <= mention.start and (
                mention.op or _LABEL_GAP.fullmatch(text[span.end : mention.start])
            ):
                kept = self._numeric(span)
                if kept is not None and _BEFORE_NUMBER.fullmatch(text[span.end : mention.start]):
                    before = kept
        if mention.is_label:
            return self._labelled(mention, before, after)
        if after is not None and all(n.concept == "money" for n in after.found):  # "500 euros approved"
            beside = (
                kept
                for span in self.named
                if 0 <= span.start - after.end <= 12 or 0 <= mention.start - span.end <= 16
                if (kept := self._numeric(span)) is not None and any(n.concept != "money" for n in kept.found)
            )
            return next(beside, after)
        if not mention.op and after is None and mention.value not in range(1000) and not mention.is_firm:
            return None
        return after or before

    def _labelled(
        self, mention: NumberMention, before: NamedSpan | None, after: NamedSpan | None
    ) -> NamedSpan | None:
        """ "tier-2", "second floor": only for whole numbers within what the column holds."""
        text = self.folded.text
        for span in (before, after):
            if span is None or not _LABEL_GAP.fullmatch(
                text[min(span.end, mention.end) : max(span.start, mention.start)]
            ):
                continue
            for named in span.found:
                table = self.catalog.table(named.table)
                column = table.column(named.column) if table else None
                low, high = (column.profile.minimum, column.profile.maximum) if column else (None, None)
                if isinstance(low, int) and isinstance(high, int) and low <= mention.value <= high <= 100:
                    return replace(span, found=(named,))
        return None

    def _numeric(self, span: NamedSpan) -> NamedSpan | None:
        kept = []
        for named in span.found:
            table = self.catalog.table(named.table)
            column = table.column(named.column) if table and named.column else None
            if column is not None and column.is_number and not named.end and named.score >= 0.5:
                kept.append(named)
        if not kept or kept[0].score < span.found[0].score - 0.25:
            return None
        return replace(span, found=tuple(kept))

    def _number_links(self, mention: NumberMention, unit: NamedSpan | None) -> Iterable[Link]:
        homes: list[tuple[str, str, float]] = []
        if unit is not None:
            rank = {t.name: n for n, t in enumerate(self.tables)}
            found = sorted(unit.found, key=lambda n: -n.score + 0.1 * rank.get(n.table, 3))
            homes = [(n.table, n.column, 1.0) for n in found[:3]]
        elif mention.concept:
            columns = next(
                a.columns
                for found in load().adjectives.values()
                for a in found
                if a.concept == mention.concept
            )
            order = [t.name for t in self.tables]
            measured = sorted(
                self._measured(columns), key=lambda p: order.index(p[0].name) if p[0].name in order else 99
            )
            homes = [(t.name, c.name, 0.85) for t, c in measured[:2]]
        elif mention.is_money and mention.op:
            found_money = self.names.find("euro")
            homes = [(n.table, n.column, 0.85) for n in found_money if n.column][:2]
        op, value, upper = mention.op, mention.value, mention.upper
        if unit is not None and not op and unit.end <= mention.start:
            op = "="
        told = ""
        if not homes or unit is None:
            word = re.match(
                r"[\s-]*(?:(?:or|of|o|y|and|en)\s+\w+\s+)?([a-z]+)", self.folded.text[mention.number_end :]
            )
            converted = self._convert(word[1] if word else "", [t for t, _, _ in homes])
            if converted is not None:
                table_name, column_name, times = converted
                homes = [(table_name, column_name, 0.9)]
                value, upper = _times(value, times), None if upper is None else _times(upper, times)
                told = f"{mention.value} {word[1] if word else ''} are taken as {value} in {column_name}"
        if not homes:
            homes = [("", "", 0.95 if mention.op else 0.8)]
        for number, (table, column, score) in enumerate(homes):
            yield self._link(
                "number",
                mention.start,
                mention.end,
                table=table or None,
                column=column or None,
                value=value,
                upper=upper,
                op=op,
                concept=told,
                score=score - 0.1 * number,
            )

    def _convert(self, unit: str, tables: list[str]) -> tuple[str, str, float] | None:
        """The column that holds an asked unit's family, with the factor: hours for minutes_down."""
        for table in sorted(self.tables, key=lambda t: t.name not in tables):
            for column in table.columns:
                times = factor(unit, name_words(column.name)) if column.is_number and unit else None
                if times is not None:
                    return table.name, column.name, times
        return None

    # --- values --------------------------------------------------------------------------------------

    def _value_links(self, mentions: list[Mention]) -> Iterable[Link]:
        grouped: dict[tuple[int, int, str, str], list[Mention]] = {}
        for mention in mentions:
            home = mention.entry.home
            grouped.setdefault((mention.start, mention.end, home.table, home.column), []).append(mention)
        order = [t.name for t in self.tables]
        for (start, end, table, column), found in grouped.items():
            found.sort(key=lambda m: (-round(m.score, 3), -m.entry.count, m.entry.value))
            best = found[0]
            also = dict.fromkeys(m.entry.value for m in found[1:] if m.score >= best.score - 0.06)
            also.pop(best.entry.value, None)
            score = best.score + (0.02 if best.entry.home.is_filter else 0.0)
            score += 0.04 if order[:1] == [table] else 0.02 if table in order else 0.0
            score += 0.08 if self._is_named_near(table, column, start, end) else 0.0
            if best.entry.home.kind in ("title", "other"):
                score -= 0.03
            if len(also) > 4 and best.form.part in ("surname", "first"):
                score -= 0.15
            yield self._link(
                "value",
                start,
                end,
                table=table,
                column=column,
                value=best.entry.value,
                op="!=" if best.is_negated else "=",
                concept=best.entry.home.kind,
                also=tuple(also)[:50],
                score=max(0.0, min(score, 1.0)),
            )

    def _is_named_near(self, table: str, column: str, start: int, end: int) -> bool:
        return any(
            (0 <= start - span.end <= 8 or 0 <= span.start - end <= 2)
            and any(n.table == table and n.column == column and n.score >= 0.5 for n in span.found)
            for span in self.named
        )

    # --- parts ---------------------------------------------------------------------------------------

    def _part_links(self, mention: PartMention) -> Iterable[Link]:
        table, column, is_named = self._date_column(mention.start, mention.end)
        holder = next((t for t in self.tables if year_column(t) is not None), None)
        if (
            holder is not None
            and (column is None or table not in self.tables[:1])
            and mention.grain == "year"
        ):
            year = year_column(holder)
            if year is not None:
                yield self._link(
                    "column", mention.start, mention.end, table=holder.name, column=year.name, grain="number"
                )
                return
        if table is None or column is None:
            return
        value: Value = mention.weekday
        yield self._link(
            "part",
            mention.start,
            mention.end,
            table=table.name,
            column=column.name,
            grain=mention.grain,
            value=value,
            upper=mention.until,
            op="" if value is None else "between" if mention.until else "=",
            score=0.95 if value is None else 0.85,
        )


def _times(value: int | float, times: float) -> int | float:
    product = value * times
    return int(product) if float(product).is_integer() else product


_LABEL_GAP = re.compile(r"[\s#:-]{1,2}")
_WHEN = re.compile(r"\b(?:when|cuando|wanneer|date|dates|fecha|fechas|datum)\b")
_HOW_MUCH = re.compile(
    r"\b(?:how\s+much|total|sum|average|mean|amount|money|highest|lowest|most|largest|biggest|median|max|min|importe|"
    r"suma|cuanto|media|promedio|medio|dinero|mayor|menor|bedrag|geld|hoeveel\s+geld|gemiddeld|gemiddelde|totaal|hoogste|"
    r"laagste|meeste|budget|euros?|eur)\b"
)
_AFTER_NUMBER = re.compile(
    r"[\s%-]*(?:(?:or|and|of|en|o|y)\s+(?:more|less|fewer|meer|minder|mas|menos)\s+|(?:of|de|van|total|full|different|(?:in|en|on|op|at)(?:\s+(?:the|la|el|de|het))?)\s+)*"
)
_BEFORE_NUMBER = re.compile(
    r"[\s:=]*(?:(?:is|are|was|were|of|with|a|an|the|has|have|had|that|it|at|being|es|sea|sean|son|de|que|un|una|con|van|"
    r"een|met|die|dat|zijn|ligt|lies|set|to|in|for|somewhere|anywhere|equal|us|me|requested|asked)\s+)*"
)


def _holds(column: Column) -> str:
    found = column.profile.found
    return (
        "number"
        if column.is_number
        else "date"
        if column.is_date
        else "bool"
        if found == "boolean"
        else "text"
    )


def _as_date(value: Value) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


def _year_start(value: Value) -> date | None:
    return date(value, 1, 1) if isinstance(value, int) and 1 <= value <= 9999 else None
