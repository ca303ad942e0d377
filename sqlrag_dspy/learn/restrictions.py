"""Restrictions of made questions: the predicates that a phrase stands for, and how it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from sqlrag_dspy.learn.patterns import SLOT, Pattern, Surfaces
from sqlrag_dspy.learn.phrases import Draw, compare, round_number, span_of, spell, value_of
from sqlrag_dspy.link.dates.intervals import move_months
from sqlrag_dspy.types import Absence, Catalog, Column, Predicate, Table

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


def restrict(draw: Draw, restrictions: Sequence[Pattern]) -> str:
    """A random restriction: adds its predicates and gives its phrase ("" when the table has none that fits)."""
    rng, table = draw.rng, draw.table
    pool = [p for p in restrictions if p.lang == draw.lang]
    if not pool:
        return ""
    kinds = sorted({p.kind for p in pool})
    preferred = {"value": 5, "date": 6, "person": 3, "number": 3, "null": 3}
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
    if kind == "word":
        return _worded(draw, pattern)
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
    first, second = sorted(
        (round_number(draw.rng.uniform(low, high)), round_number(draw.rng.uniform(low, high)))
    )
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


def a_word_of(draw: Draw, column: Column) -> str | None:
    """A word of some stored text, for "titles with the word …"."""
    values = [v for v, _ in column.profile.values] or list(column.profile.samples)
    words = [word for v in values for word in re.findall(r"[^\W\d_]{4,}", str(v))]
    return draw.rng.choice(words) if words else None


def _worded(draw: Draw, pattern: Pattern) -> str:
    texts = [c for c in draw.columns("any") if c.profile.found == "text"]
    column = draw.rng.choice(texts) if texts else None
    word = a_word_of(draw, column) if column is not None else None
    if column is None or word is None:
        return ""
    draw.used.add(column.name)
    op = "not like" if pattern.op == "!=" else "like"
    draw.filters.append((Predicate(draw.table.name, column.name, op, f"%{word}%"),))
    return pattern.q.replace("{word}", word).replace("{column}", draw.noun(column, False) or "")


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
    after = move_months(month, 1)
    quarter = (day.month - 1) // 3
    spans: dict[str, tuple[date | None, date | None]] = {
        "year": (date(day.year, 1, 1), date(day.year + 1, 1, 1)),
        "month": (month, after),
        "day": (day, day + timedelta(days=1)),
        "quarter": (date(day.year, quarter * 3 + 1, 1), move_months(date(day.year, quarter * 3 + 3, 1), 1)),
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
        "between-months": (month, move_months(after, 1)),
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


def may_lack(table: Table, catalog: Catalog, surfaces: Surfaces) -> list[Table]:
    """The tables with a name that refer to this one."""
    return [
        other
        for other in catalog.tables
        if any(key.table == table.name for key in other.foreign_keys)
        and other.name != table.name
        and surfaces.knows(other.name)
    ]


def lacking(draw: Draw, catalog: Catalog, restrictions: Sequence[Pattern]) -> Absence | None:
    """Rows of another table that refer to this one and are said to be missing; None when none has a name."""
    pool = may_lack(draw.table, catalog, draw.surfaces)
    if not pool:
        return None
    inner = Draw(draw.rng, draw.lang, draw.rng.choice(pool), draw.surfaces)
    draw.said["absent"], draw.said["absents"] = inner.noun(None, False) or "", inner.noun(None, True) or ""
    some = [p for p in restrictions if p.kind in ("value", "date")]
    draw.said["absent_filters"] = restrict(inner, some) if draw.rng.random() < 0.4 else ""
    return Absence(inner.table.name, tuple(inner.filters))
