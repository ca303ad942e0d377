"""Filling one pattern: columns, values and restrictions drawn from a table, and how each is said."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sqlrag_dspy.learn.patterns import Surfaces
from sqlrag_dspy.link.names import year_column
from sqlrag_dspy.link.reading import is_flag
from sqlrag_dspy.link.spans import span_columns
from sqlrag_dspy.types import Column, Item, Predicate, Table

COMPARATORS = {
    "en": [("more than {n}", ">"), ("over {n}", ">"), ("at least {n}", ">="), ("{n} or more", ">="),
           ("fewer than {n}", "<"), ("less than {n}", "<"), ("at most {n}", "<="), ("exactly {n}", "=")],
    "es": [("más de {n}", ">"), ("al menos {n}", ">="), ("{n} o más", ">="), ("menos de {n}", "<"),
           ("como máximo {n}", "<="), ("exactamente {n}", "=")],
    "nl": [("meer dan {n}", ">"), ("minstens {n}", ">="), ("{n} of meer", ">="), ("minder dan {n}", "<"),
           ("hooguit {n}", "<="), ("precies {n}", "=")],
}  # fmt: skip
PLACES = {
    "en": (("second", "2nd"), ("third", "3rd")),
    "es": (("segundo", "segunda"), ("tercer", "tercera")),
    "nl": (("tweede", "op één na", "op een na"), ("derde", "op twee na")),
}
"""The second and the third."""
WHO = {"en": "who", "es": "quién", "nl": "wie"}


@dataclass
class Draw:
    """The slots of one question while they are filled."""

    rng: random.Random
    lang: str
    table: Table
    surfaces: Surfaces
    said: dict[str, str] = field(default_factory=dict)
    filters: list[tuple[Predicate, ...]] = field(default_factory=list)
    share: list[tuple[Predicate, ...]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    person: str | None = None
    """The table's column of persons, which "who" asks for."""

    def columns(self, sort: str) -> list[Column]:
        """Columns of a sort that have a name in this language and are not used yet."""
        key = set(self.table.key)
        out = []
        for column in self.table.columns:
            named = self.surfaces.noun(random.Random(0), self.lang, self.table.name, column.name, False)
            if named is None or column.profile.is_long_text or column.name in self.used:
                continue
            fits = {
                "text": column.profile.found == "text"
                and column.name in self.table.filter_columns
                and column.profile.distinct < 0.9 * max(self.table.rows, 20),  # nobody counts by headline
                "number": column.is_number
                and column.name not in key
                and not is_flag(column)
                and column != year_column(self.table),
                "date": column.is_date,
                "any": True,
                "nullable": column.profile.null_share > 0,
            }[sort]
            if fits:
                out.append(column)
        return out

    def pick(self, sort: str) -> Column | None:
        """A random column of a sort, now used."""
        pool = self.columns(sort)
        if not pool:
            return None
        chosen = self.rng.choice(pool)
        self.used.add(chosen.name)
        return chosen

    def noun(self, column: Column | None, plural: bool) -> str | None:
        return self.surfaces.noun(
            self.rng, self.lang, self.table.name, column.name if column else None, plural
        )


def value_of(draw: Draw, sort: str) -> tuple[str, Any, str] | None:
    """A column, one of its values, and how it is said; `sort` is category or person."""
    pool = []
    for column in draw.table.columns:
        if column.name not in draw.table.filter_columns or column.profile.found != "text":
            continue
        values = [v for v, _ in column.profile.values] or list(column.profile.samples)
        many = column.profile.distinct > 25
        if values and column.name not in draw.used and many == (sort == "person"):
            pool.append((column, values))
    if not pool:
        return None
    column, values = draw.rng.choice(pool)
    value = draw.rng.choice(values)
    draw.used.add(column.name)
    return column.name, value, draw.surfaces.value(draw.rng, draw.lang, draw.table.name, column.name, value)


def person_of(draw: Draw) -> Column | None:
    """The column of persons, said as "who"."""
    column = draw.table.column(draw.person) if draw.person else None
    if column is not None:
        draw.used.add(column.name)
        draw.said["who"] = WHO[draw.lang]
    return column


def compare(draw: Draw) -> Column | None:
    """A column two of whose values are compared."""
    pool = [c for c in draw.columns("text") if len(c.profile.values) >= 2]
    if not pool:
        return None
    column = draw.rng.choice(pool)
    draw.used.add(column.name)
    pair = draw.rng.sample([v for v, _ in column.profile.values], 2)
    for slot, value in zip(("v1", "v2"), pair):
        draw.said[slot] = draw.surfaces.value(draw.rng, draw.lang, draw.table.name, column.name, value)
    draw.filters.append((Predicate(draw.table.name, column.name, "in", tuple(pair)),))
    return column


def ask_share(draw: Draw) -> bool:
    """The condition whose share is asked: a category, or a number comparison."""
    if draw.rng.random() < 0.7:
        found = value_of(draw, "category")
        if found is not None:
            column, value, said = found
            draw.said["share"] = said
            draw.share.append((Predicate(draw.table.name, column, "=", value),))
            return True
    compared = _number(draw)
    if compared is None:
        return False
    text, predicates = compared
    draw.said["share"] = text
    draw.share.extend(predicates)
    return True


def _number(draw: Draw) -> tuple[str, list[tuple[Predicate, ...]]] | None:
    column = draw.pick("number")
    if column is None:
        return None
    low, high = column.profile.minimum, column.profile.maximum
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or high <= low:
        return None
    number = round_number(draw.rng.uniform(low, high))
    text, op = draw.rng.choice(COMPARATORS[draw.lang])
    unit = draw.surfaces.word(draw.rng, draw.lang, draw.table.name, column.name, "unit")
    noun = unit or draw.noun(column, True) or ""
    return f"{text.format(n=number)} {noun}", [(Predicate(draw.table.name, column.name, op, number),)]


def span_of(draw: Draw, aggregate: str) -> Item | None:
    """The days between the table's two dates; None when it has no such pair."""
    found = span_columns(draw.table)
    if found is None or draw.used & {found[0].name, found[1].name}:
        return None
    draw.used |= {found[0].name, found[1].name}
    draw.said["start"], draw.said["end"] = (draw.noun(column, False) or "" for column in found)
    return Item(draw.table.name, found[1].name, aggregate, since=found[0].name)  # type: ignore[arg-type]


def round_number(number: float) -> int | float:
    """A number as people say it: the larger, the rounder."""
    if number < 0:
        return -round_number(-number)
    if number >= 1000:
        return int(round(number, -2))
    if number >= 20:
        return int(round(number, -1))
    return int(number) if number >= 3 else round(number, 1)


_SPELT = {
    "en": ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    "es": ["cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"],
    "nl": ["nul", "één", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen", "tien"],
}


def spell(number: int, lang: str, rng: random.Random) -> str:
    return _SPELT[lang][number] if number <= 10 and rng.random() < 0.5 else str(number)


def dated_years(draw: Draw) -> tuple[Column, int, int] | None:
    """The table's first date column, from now on used, with the years of its first and last date; None without one."""
    dated = next((c for c in draw.table.columns if c.is_date), None)
    if dated is None or dated.name in draw.used:
        return None
    draw.used.add(dated.name)
    try:
        first, last = (
            date.fromisoformat(str(v)[:10]).year for v in (dated.profile.minimum, dated.profile.maximum)
        )
    except ValueError:
        return None
    return dated, first, last
