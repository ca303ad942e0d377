"""One question being read: its words, what they name, and the tables it seems to be about.

The rooms that make links (values, when, amounts) share it. Leaves out making them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import date

from sqlrag_dspy.link.calendar_words import PARTS
from sqlrag_dspy.link.named import NamedSpan, find_named
from sqlrag_dspy.link.names import VERB, Named, Names
from sqlrag_dspy.link.spoken_money import settle_money
from sqlrag_dspy.link.text import Folded, Word, likely_languages, word_set
from sqlrag_dspy.link.together import NameParts, find_together
from sqlrag_dspy.types import Catalog, Column, Link, LinkKind, Table, Value

_TOTALS = word_set("total totals totaal totale totales sum suma som")
_BESIDE = re.compile(r"\s*(?:(?:of|de|del|van)\s+)?(?:(?:the|all|la|el|los|las|het|de|alle)\s+)?")


class Reading:
    """A folded question with the names found in it; `tables` are those it is about, likeliest first."""

    def __init__(
        self,
        catalog: Catalog,
        names: Names,
        parts: NameParts,
        main: Table | None,
        folded: Folded,
        listed: list[Word],
        today: date,
    ) -> None:
        self.catalog, self.names, self.main = catalog, names, main
        self.folded, self.words, self.today = folded, listed, today
        self.text = folded.text
        self.languages = likely_languages([w.text for w in listed])
        self.named = find_named(folded.text, listed, names, self.languages, self.measured)
        self.named.extend(find_together(folded.text, listed, names, parts, self.languages))
        self.together = {
            (named.table, named.column)
            for span in self.named
            for named in span.found
            if named.concept == "together"
        }
        """The columns that two words name together."""
        self.asked: frozenset[str] = frozenset()
        """The tables that the question names, of `tables`."""
        self.is_told = False
        """Whether the question tells which tables it is about."""
        self.tables = self._tables()
        self.named = settle_money(self.named, self.asked)

    def measured(self, columns: Sequence[str]) -> Iterable[tuple[Table, Column]]:
        """The columns that measure a concept, one a table."""
        for table in self.catalog.tables:
            column = self.names.measured_by(columns, table)
            if column is not None:
                yield table, column

    def column_of(self, named: Named) -> tuple[Table, Column] | None:
        """The table and column that are named; None for a table, or a name the catalog lacks."""
        table = self.catalog.table(named.table)
        column = table.column(named.column) if table and named.column else None
        return (table, column) if table is not None and column is not None else None

    def rank(self, table: str) -> int:
        """The place of a table among those the question is about; one past the last for any other."""
        return next((n for n, t in enumerate(self.tables) if t.name == table), len(self.tables))

    def distance(self, table: str) -> int:
        """How far a table is from those that the question names: 0 for them, 1 for what their rows refer to.

        2 for what refers to them, 3 for any other; 0 for all when none is named.
        """
        if not self.asked or table in self.asked:
            return 0
        tables = [each for each in self.catalog.tables if each.name in self.asked]
        if any(key.table == table for each in tables for key in each.foreign_keys):
            return 1
        other = self.catalog.table(table)
        return 2 if other is not None and any(k.table in self.asked for k in other.foreign_keys) else 3

    def neighbours(self, names: Collection[str] | None = None) -> Iterable[Table]:
        """Tables that a foreign key joins to those of these names, by default those asked about."""
        asked = {t.name for t in self.tables} if names is None else set(names)
        sources = {k.table for t in self.catalog.tables if t.name in asked for k in t.foreign_keys}
        for table in self.catalog.tables:
            if table.name not in asked and (
                table.name in sources or asked & {k.table for k in table.foreign_keys}
            ):
                yield table

    def is_elsewhere(self, named: Named) -> bool:
        """Whether a synonym names when something else happened: "orders that came in" says nothing of shops opening.

        So it is for a date of rows that those asked about refer to, where those have a date of their own.
        """
        home = self.column_of(named)
        if home is None or not home[1].is_date or not named.concept or named.end or named.table in self.asked:
            return False
        asked = [table for table in self.catalog.tables if table.name in self.asked]
        is_parent = any(key.table == named.table for table in asked for key in table.foreign_keys)
        return is_parent and any(column.is_date for table in asked for column in table.columns)

    def adds_up(self, span: NamedSpan) -> bool:
        """Whether "total" is said of an amount that is named beside it, and names none itself."""
        return span.text in _TOTALS and any(
            _BESIDE.fullmatch(self.text[min(span.end, other.end) : max(span.start, other.start)])
            and (home := self.column_of(other.found[0])) is not None
            and home[1].is_number
            for other in self.named
            if other.end <= span.start or span.end <= other.start
        )

    def named_near(self, table: str, column: str, start: int, end: int) -> bool:
        """Is a column named right before or after a folded span?"""
        return any(
            (0 <= start - span.end <= 8 or 0 <= span.start - end <= 2)
            and any(n.table == table and n.column == column and n.score >= 0.5 for n in span.found)
            for span in self.named
        )

    def link(
        self,
        kind: LinkKind,
        start: int,
        end: int,
        *,
        score: float,
        table: str | None = None,
        column: str | None = None,
        op: str = "",
        value: Value = None,
        upper: Value = None,
        grain: str = "",
        concept: str = "",
        also: tuple[Value, ...] = (),
        since: str = "",
    ) -> Link:
        """A link over a folded span, placed in the original question."""
        a, b = self.folded.span(start, end)
        text, kept = self.folded.original[a:b], max(0.0, min(score, 1.0))
        return Link(kind, a, b, text, table, column, op, value, upper, grain, concept, kept, also, since)

    def _tables(self) -> list[Table]:
        """Named tables, else those that verbs speak of, else those alone with a named column; then the main one."""
        votes: dict[str, float] = {}
        for by_verb in (False, True):
            for span in self.named if not votes else ():
                for named in span.found:
                    if not named.column and named.score >= 0.6 and (named.concept == VERB) == by_verb:
                        votes[named.table] = max(votes.get(named.table, 0.0), named.score * len(span.text))
        self.asked = frozenset(votes)
        if not votes:
            for span in self.named:
                tables = {n.table for n in span.found if n.score >= 0.9}
                if len(tables) == 1 and not span.found[0].end and span.text not in PARTS:
                    name = tables.pop()
                    votes[name] = votes.get(name, 0.0) + len(span.text)
        self.is_told = bool(votes)
        ranked = [t for name in sorted(votes, key=lambda n: -votes[n]) if (t := self.catalog.table(name))]
        if self.main is not None and self.main not in ranked:
            ranked.append(self.main)
        return ranked


def is_table(span: NamedSpan) -> bool:
    """Does a span name a table first of all?"""
    return not span.found[0].column


def is_flag(column: Column) -> bool:
    """Whether a column says yes or no: it is boolean, or holds both 0 and 1 and nothing else."""
    if column.profile.found == "boolean":
        return True
    held = {value for value, _ in column.profile.values}
    return column.profile.found == "integer" and held == {0, 1}
