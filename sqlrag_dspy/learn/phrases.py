"""Filling one pattern: columns, values and restrictions drawn from a table, and how each is said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from sqlrag_dspy.learn.patterns import SLOT, Pattern, Surfaces
from sqlrag_dspy.link.spans import span_columns
from sqlrag_dspy.types import Column, Item, Predicate, Table

MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "es": [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    "nl": [
        "januari",
        "februari",
        "maart",
        "april",
        "mei",
        "juni",
        "juli",
        "augustus",
        "september",
        "oktober",
        "november",
        "december",
    ],
}
WEEKDAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "es": ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
    "nl": ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
}
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
                "text": column.profile.found == "text" and column.name in self.table.filter_columns,
                "number": column.is_number and column.name not in key,
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
    number = _round(draw.rng.uniform(low, high))
    text, op = draw.rng.choice(COMPARATORS[draw.lang])
    unit = draw.surfaces.word(draw.rng, draw.lang, draw.table.name, column.name, "unit")
    noun = unit or draw.noun(column, True) or ""
    return f"{text.format(n=number)} {noun}", [(Predicate(draw.table.name, column.name, op, number),)]


def restrict(draw: Draw, restrictions: Sequence[Pattern]) -> str:
    """A random restriction: adds its predicates and gives its phrase ("" when the table has none that fits)."""
    rng, table = draw.rng, draw.table
    pool = [p for p in restrictions if p.lang == draw.lang]
    if not pool:
        return ""
    kinds = sorted({p.kind for p in pool})
    preferred = {"value": 5, "date": 6, "person": 3, "number": 3}
    kind = rng.choices(kinds, [preferred.get(k, 1) for k in kinds])[0]
    pattern = rng.choice([p for p in pool if p.kind == kind])
    if kind in ("value", "person", "not"):
        found = value_of(draw, "person" if kind == "person" else "category")
        if found is None:
            return ""
        column, value, said = found
        draw.filters.append((Predicate(table.name, column, "!=" if kind == "not" else "=", value),))
        return pattern.q.replace("{value}", said)
    if kind == "either":
        before = dict(draw.said)
        column_ = compare(draw)
        if column_ is None:
            return ""
        text = pattern.q.replace("{v1}", draw.said["v1"]).replace("{v2}", draw.said["v2"])
        draw.said = before
        return text
    if kind in ("null", "notnull"):
        nullable = draw.pick("nullable")
        if nullable is None:
            return ""
        draw.filters.append((Predicate(table.name, nullable.name, "null" if kind == "null" else "not null"),))
        return pattern.q.replace("{null}", draw.noun(nullable, False) or "")
    if kind == "number":
        return _numbered(draw, pattern)
    if kind == "days":
        return _lasting(draw, pattern)
    if kind == "average":
        return _averaged(draw, pattern)
    dated = next((c for c in table.columns if c.is_date), None)
    if dated is None or dated.name in draw.used:
        return ""
    draw.used.add(dated.name)
    if kind == "weekday":
        day = rng.randrange(7)
        draw.filters.append((Predicate(table.name, dated.name, "=", day + 1, "weekday"),))
        return pattern.q.replace("{weekday}", WEEKDAYS[draw.lang][day])
    return _dated(draw, pattern, dated)


def _numbered(draw: Draw, pattern: Pattern) -> str:
    column = draw.pick("number")
    if column is None:
        return ""
    low, high = column.profile.minimum, column.profile.maximum
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or high <= low:
        return ""
    first, second = sorted((_round(draw.rng.uniform(low, high)), _round(draw.rng.uniform(low, high))))
    name = draw.table.name
    compared = {
        sort: draw.surfaces.word(draw.rng, draw.lang, name, column.name, sort)
        for sort in ("more", "less")
        if sort in pattern.slots
    }
    if not all(compared.values()) or (pattern.op == "between" and first == second):
        return ""
    if pattern.op == "between":
        draw.filters += [
            (Predicate(name, column.name, ">=", first),),
            (Predicate(name, column.name, "<=", second),),
        ]
    else:
        draw.filters.append((Predicate(name, column.name, pattern.op, first),))
    unit = draw.surfaces.word(draw.rng, draw.lang, name, column.name, "unit")
    noun = unit or draw.noun(column, True) or ""
    said = pattern.q.replace("{n}", str(first)).replace("{m}", str(second)).replace("{measure}", noun)
    for sort, word in compared.items():
        said = said.replace(f"{{{sort}}}", word or "")
    return said.replace("{unit}", noun)


def _averaged(draw: Draw, pattern: Pattern) -> str:
    column = draw.pick("number")
    if column is None:
        return ""
    name = draw.table.name
    said = {
        sort: draw.surfaces.word(draw.rng, draw.lang, name, column.name, sort) or ""
        for sort in ("more", "less", "unit")
    }
    said["measure"] = draw.noun(column, False) or ""
    if not all(said[slot] for slot in pattern.slots):
        return ""
    draw.filters.append((Predicate(name, column.name, pattern.op, than="average"),))
    return SLOT.sub(lambda match: said[match.group(1)], pattern.q)


def span_of(draw: Draw, aggregate: str) -> Item | None:
    """The days between the table's two dates; None when it has no such pair."""
    found = span_columns(draw.table)
    if found is None or draw.used & {found[0].name, found[1].name}:
        return None
    draw.used |= {found[0].name, found[1].name}
    draw.said["start"], draw.said["end"] = (draw.noun(column, False) or "" for column in found)
    return Item(draw.table.name, found[1].name, aggregate, since=found[0].name)  # type: ignore[arg-type]


def _lasting(draw: Draw, pattern: Pattern) -> str:
    before = dict(draw.said)
    item = span_of(draw, "")
    draw.said = before
    if item is None or item.column is None:
        return ""
    number = draw.rng.choice([2, 3, 5, 7, 10, 14, 20, 30, 45, 60, 90, 100])
    predicate = Predicate(item.table, item.column, pattern.op, number, since=item.since)
    draw.filters.append((predicate,))
    return pattern.q.replace("{n}", spell(number, draw.lang, draw.rng))


def _dated(draw: Draw, pattern: Pattern, column: Column) -> str:
    rng = draw.rng
    try:
        low = date.fromisoformat(str(column.profile.minimum)[:10])
        high = date.fromisoformat(str(column.profile.maximum)[:10])
    except ValueError:
        return ""
    day = low + timedelta(days=rng.randrange(max((high - low).days, 1)))
    if rng.random() < 0.5 and (high - low).days > 1000:  # most questions ask about where the data are
        day = high - timedelta(days=rng.randrange(700))
    month = date(day.year, day.month, 1)
    after = _next_month(month)
    quarter = (day.month - 1) // 3
    spans: dict[str, tuple[date | None, date | None]] = {
        "year": (date(day.year, 1, 1), date(day.year + 1, 1, 1)),
        "month": (month, after),
        "day": (day, day + timedelta(days=1)),
        "quarter": (date(day.year, quarter * 3 + 1, 1), _next_month(date(day.year, quarter * 3 + 3, 1))),
        "half": (
            date(day.year, 6 * pattern.half - 5, 1),
            date(day.year + pattern.half - 1, 13 - 6 * pattern.half, 1),
        ),
        "from-day": (day, None),
        "from-month": (month, None),
        "from-year": (date(day.year, 1, 1), None),
        "after-month": (after, None),
        "after-day": (day + timedelta(days=1), None),
        "after-year": (date(day.year + 1, 1, 1), None),
        "before-day": (None, day),
        "before-month": (None, month),
        "before-year": (None, date(day.year, 1, 1)),
        "between-months": (month, _next_month(after)),
    }
    if pattern.date not in spans:
        return ""
    start, end = spans[pattern.date]
    if pattern.date == "between-months" and after.year != month.year:
        return ""
    names = MONTHS[draw.lang]
    said = pattern.q
    for slot, text in (
        ("year", str(day.year)),
        ("month2", names[after.month - 1]),
        ("month", names[day.month - 1]),
        ("day", str(day.day)),
        ("quarter", str(quarter + 1)),
    ):
        said = said.replace(f"{{{slot}}}", text)
    if start is not None:
        draw.filters.append((Predicate(draw.table.name, column.name, ">=", start.isoformat()),))
    if end is not None:
        draw.filters.append((Predicate(draw.table.name, column.name, "<", end.isoformat()),))
    return said


def _next_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def _round(number: float) -> int | float:
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
