"""Questions with their sketches, made from phrasing patterns and a database's own names and values.

Patterns (`trainsets/patterns/*.jsonl`) say how people ask for a skeleton; surfaces (`trainsets/<name>/
surfaces.json`) say what they call its tables and columns. They teach the sketcher phrasings that no labelled
query happens to use. They are never scored, and the router never sees them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.types import Column, Item, Part, Predicate, Sketch, Table

LANGUAGES = ("en", "es", "nl")
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
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Pattern:
    """One phrasing of a skeleton, or of a restriction (then `kind` is set)."""

    q: str
    lang: str
    kind: str = ""
    op: str = "="
    date: str = ""
    aggregate: str = "none"
    groups: tuple[str, ...] = ()
    show: str = ""
    order: str = "none"
    limit: str = "none"
    having: str = "no"
    distinct: str = "no"
    half: int = 1

    @property
    def slots(self) -> set[str]:
        return set(_SLOT.findall(self.q))


@dataclass
class Made:
    """A made question with the sketch it stands for."""

    question: str
    lang: str
    sketch: Sketch


def read_patterns(folder: Path) -> tuple[list[Pattern], list[Pattern]]:
    """Skeleton patterns and restriction patterns of a folder. Raises LabelError naming file and line."""
    skeletons: list[Pattern] = []
    restrictions: list[Pattern] = []
    for lang in LANGUAGES:
        for name, into in ((f"{lang}.jsonl", skeletons), (f"{lang}.filters.jsonl", restrictions)):
            path = folder / name
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if not line.strip():
                    continue
                try:
                    raw: dict[str, Any] = json.loads(line)
                    raw["groups"] = tuple(raw.get("groups") or ())
                    into.append(Pattern(lang=lang, **{k: v for k, v in raw.items() if k in _FIELDS}))
                except (ValueError, TypeError) as error:
                    raise LabelError(f"{path}, line {number}: {error}; correct that pattern") from error
    return skeletons, restrictions


_FIELDS = set(Pattern.__dataclass_fields__) - {"lang"}


class Surfaces:
    """What people call the tables, columns and values of one database."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._tables = raw.get("tables") or {}
        self._columns = raw.get("columns") or {}
        self._values = raw.get("values") or {}

    @classmethod
    def read(cls, folder: Path) -> Surfaces | None:
        """The surfaces of a trainset folder; None when it has none."""
        path = folder / "surfaces.json"
        if not path.is_file():
            return None
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise LabelError(f"{path} is not JSON: {error}") from error

    def knows(self, table: str, column: str | None = None) -> bool:
        return table in self._tables if column is None else f"{table}.{column}" in self._columns

    def noun(self, rng: random.Random, lang: str, table: str, column: str | None, plural: bool) -> str | None:
        """A noun for a table or column, or None when there is none in that language."""
        entry = self._tables.get(table) if column is None else self._columns.get(f"{table}.{column}")
        nouns = (entry or {}).get(lang)
        if not nouns:
            return None
        single, _, many = str(rng.choice(nouns)).partition("|")
        return (many or single) if plural else single

    def word(self, rng: random.Random, lang: str, table: str, column: str, sort: str) -> str | None:
        """An adjective or unit of a column: `sort` is max, min, more, less or unit."""
        found = ((self._columns.get(f"{table}.{column}") or {}).get(sort) or {}).get(lang)
        return rng.choice(found) if found else None

    def value(self, rng: random.Random, lang: str, table: str, column: str, value: Any) -> str:
        """How a stored value is said."""
        said = ((self._values.get(f"{table}.{column}") or {}).get(lang) or {}).get(str(value))
        if said and (lang != "en" or rng.random() < 0.3):
            return str(rng.choice(said))
        text = str(value)
        return text.lower() if rng.random() < 0.3 else text


@dataclass
class _Draw:
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


def make(
    database: Database,
    surfaces: Surfaces,
    patterns: Sequence[Pattern],
    restrictions: Sequence[Pattern],
    count: int,
    *,
    seed: int = 0,
) -> list[Made]:
    """`count` made questions over the tables of a database that have surfaces; fewer when patterns do not fit."""
    rng = random.Random(seed)
    tables = [table for table in database.catalog.tables if surfaces.knows(table.name) and table.rows]
    out: list[Made] = []
    if not tables or not patterns:
        return out
    weights = [4 if table.text_columns else 1 for table in tables]
    people = {c.table: c.column for c in database.linker.values.columns if c.kind == "person"}
    for _ in range(count * 3):
        if len(out) >= count:
            break
        pattern = rng.choice(patterns)
        table = rng.choices(tables, weights)[0]
        made = _fill(
            _Draw(rng, pattern.lang, table, surfaces, person=people.get(table.name)),
            pattern,
            restrictions,
            database,
        )
        if made is not None:
            out.append(made)
    return out


def _fill(draw: _Draw, pattern: Pattern, restrictions: Sequence[Pattern], database: Database) -> Made | None:
    """One pattern over one table, or None when the table lacks a fitting column."""
    table, rng, lang = draw.table, draw.rng, draw.lang
    slots = pattern.slots
    groups: list[Item] = []
    for place, group in enumerate(pattern.groups):
        if group == "text":
            if {"v1", "v2"} <= slots and not groups:
                column = _compare(draw)
            elif "who" in slots and not groups:
                column = _who(draw)
            else:
                column = draw.pick("text")
            if column is None:
                return None
            suffix = "" if place == 0 or "group" not in draw.said else "2"
            draw.said[f"group{suffix}"] = draw.noun(column, False) or ""
            draw.said[f"groups{suffix}"] = draw.noun(column, True) or ""
            groups.append(Item(table.name, column.name))
        else:
            dated = next((c for c in table.columns if c.is_date), None)
            if dated is None:
                return None
            part: Part = "year_month" if group == "month" and rng.random() < 0.3 else group  # type: ignore[assignment]
            groups.append(Item(table.name, dated.name, "", part))
    measure = _measure(draw, pattern)
    if measure is False:
        return None
    if pattern.aggregate in ("share", "fraction") and not _share(draw):
        return None
    order = _order(draw, pattern, groups, measure if isinstance(measure, Item) else None)
    if order is None:
        return None
    shown = _shown(draw, pattern, groups, measure if isinstance(measure, Item) else None, database)
    if shown is None:
        return None
    order_items = order
    if pattern.order.endswith(":shown"):
        order_items = ((shown[0], pattern.order.startswith("desc")),)
    limit = None
    if pattern.limit == "one":
        limit = 1
    elif pattern.limit == "k":
        limit = rng.choice([2, 3, 3, 4, 5, 5, 7, 10, 10, 20])
        draw.said["limit"] = _spell(limit, lang, rng)
    having: tuple[tuple[Item, str, Any], ...] = ()
    if pattern.having == "yes":
        subject = measure if isinstance(measure, Item) else Item(table.name, None, "count")
        number = (
            rng.choice([2, 3, 4, 5, 10]) if "having" in slots else rng.choice([100, 300, 500, 1000, 2000])
        )
        text, op = rng.choice(COMPARATORS[lang])
        said = text.format(n=_spell(number, lang, rng) if number <= 12 else str(number))
        draw.said["having"] = draw.said["havingnum"] = said
        having = ((subject, op, number),)
    draw.said["table"] = draw.noun(None, True) or ""
    draw.said["row"] = draw.noun(None, False) or ""
    draw.said["adj"] = ""
    draw.said["filters"] = ""
    if "adj" in slots and rng.random() < 0.5:
        found = _value(draw, "category")
        if found is not None:
            name, value, spoken = found
            draw.said["adj"] = spoken + " "
            draw.filters.append((Predicate(table.name, name, "=", value),))
    if "filters" in slots:
        for _ in range(rng.choices([0, 1, 2], [4, 5, 2])[0]):
            phrase = _restrict(draw, restrictions)
            draw.said["filters"] += phrase
    display = database.display_column(table)
    draw.said.setdefault("title", draw.surfaces.noun(rng, lang, table.name, display.name, False) or "")
    draw.said.setdefault("titles", draw.surfaces.noun(rng, lang, table.name, display.name, True) or "")
    if any(not draw.said.get(slot) for slot in slots - {"filters", "adj"}):
        return None
    question = re.sub(r"\s+", " ", _SLOT.sub(lambda match: draw.said[match.group(1)], pattern.q)).strip()
    question = re.sub(r"\s+([?.,:;])", r"\1", question)
    if rng.random() < 0.4:
        question = question[0].lower() + question[1:]
    return Made(
        question,
        lang,
        Sketch(
            table=table.name,
            select=tuple(shown),
            distinct=pattern.distinct == "yes",
            filters=tuple(draw.filters),
            share=tuple(draw.share),
            is_fraction=pattern.aggregate == "fraction",
            group=() if pattern.aggregate == "none" and pattern.distinct == "yes" else tuple(groups),
            having=having,
            order=order_items,
            limit=limit,
        ),
    )


def _measure(draw: _Draw, pattern: Pattern) -> Item | bool:
    """The aggregated item; True when there is none to find, False when the table has no fitting column."""
    table, slots = draw.table, pattern.slots
    if pattern.aggregate == "count":
        return Item(table.name, None, "count")
    if pattern.aggregate == "count_distinct":
        column = draw.pick("text")
        if column is None:
            return False
        draw.said["distinct"] = draw.noun(column, False) or ""
        draw.said["distincts"] = draw.noun(column, True) or ""
        return Item(table.name, column.name, "count_distinct")
    if pattern.aggregate in ("sum", "avg", "min", "max"):
        sort = "date" if "date" in slots and "measure" not in slots else "number"
        if pattern.aggregate in ("min", "max") and not slots & {
            "measure",
            "number",
            "max",
            "min",
            "more",
            "less",
        }:
            sort = "date"
        if sort == "date" and "date" not in slots:
            column = next(iter(draw.columns("date")), None)
        else:
            column = draw.pick(sort)
        if column is None:
            return False
        draw.said["measure"] = draw.said["number"] = draw.noun(column, False) or ""
        draw.said["date"] = draw.said["measure"]
        for name in ("max", "min", "more", "less"):
            draw.said[name] = draw.surfaces.word(draw.rng, draw.lang, table.name, column.name, name) or ""
        return Item(table.name, column.name, pattern.aggregate)  # type: ignore[arg-type]
    return True


def _order(
    draw: _Draw, pattern: Pattern, groups: Sequence[Item], measure: Item | None
) -> tuple[tuple[Item, bool], ...] | None:
    """The order; None when it needs a column that the table lacks."""
    if pattern.order == "none" or pattern.order.endswith(":shown"):
        return ()
    direction, _, by = pattern.order.partition(":")
    descending = direction == "desc"
    if by == "measure":
        return ((measure, descending),) if measure is not None else None
    if by == "group":
        return ((groups[0], descending),) if groups else None
    slots = pattern.slots
    sort = "date" if "date" in slots and not slots & {"max", "min", "number"} else "number"
    if slots & {"max", "min"} and draw.rng.random() < 0.4:
        sort = "date"
    column = draw.pick(sort)
    if column is None:
        return None
    draw.said["number"] = draw.said["date"] = draw.said.get("measure") or draw.noun(column, False) or ""
    for name in ("max", "min", "more", "less"):
        draw.said[name] = draw.surfaces.word(draw.rng, draw.lang, draw.table.name, column.name, name) or ""
    return ((Item(draw.table.name, column.name), descending),)


def _shown(
    draw: _Draw, pattern: Pattern, groups: Sequence[Item], measure: Item | None, database: Database
) -> list[Item] | None:
    """The selected items; None when there are not enough columns."""
    table, slots = draw.table, pattern.slots
    show = pattern.show or ("measure" if pattern.aggregate != "none" else "key")
    key = Item(table.name, database.display_column(table).name)
    if pattern.aggregate in ("share", "fraction"):
        return list(groups)
    if show == "measure":
        return [measure] if measure is not None else None
    if show == "group":
        return list(groups)
    if show == "group+measure":
        return [*groups, measure] if measure is not None else None
    named: list[Item] = []
    if slots & {"title", "titles"}:
        named.append(key)
        draw.used.add(key.column or "")
    if "who" in slots and "who" not in draw.said:
        person = _who(draw)
        if person is None:
            return None
        named.append(Item(table.name, person.name))
    for slot in ("select", "select2", "group", "group2"):
        if slot in slots or f"{slot}s" in slots:
            column = draw.pick("text" if slot.startswith("group") else "any")
            if column is None:
                return None
            draw.said[slot] = draw.noun(column, False) or ""
            draw.said[f"{slot}s"] = draw.noun(column, True) or ""
            named.append(Item(table.name, column.name))
    named.sort(key=lambda item: _position(pattern.q, item, draw, key))
    if show == "key":
        return [key]
    if show == "key+columns":
        return [key, *(item for item in named if item != key)]
    return named or None


def _position(q: str, item: Item, draw: _Draw, key: Item) -> int:
    """Where the pattern names an item, so that columns come in the order asked."""
    for slot in ("select2", "select", "group2", "group", "title"):
        noun = draw.said.get(slot) or draw.said.get(f"{slot}s")
        is_it = (item == key) if slot == "title" else bool(noun) and item != key
        for name in (f"{{{slot}}}", f"{{{slot}s}}"):
            if is_it and name in q:
                return q.index(name)
    return len(q)


def _value(draw: _Draw, sort: str) -> tuple[str, Any, str] | None:
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


WHO = {"en": "who", "es": "quién", "nl": "wie"}


def _who(draw: _Draw) -> Column | None:
    """The column of persons, said as "who"."""
    column = draw.table.column(draw.person) if draw.person else None
    if column is not None:
        draw.used.add(column.name)
        draw.said["who"] = WHO[draw.lang]
    return column


def _compare(draw: _Draw) -> Column | None:
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


def _share(draw: _Draw) -> bool:
    """The condition whose share is asked: a category, or a number comparison."""
    if draw.rng.random() < 0.7:
        found = _value(draw, "category")
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


def _number(draw: _Draw) -> tuple[str, list[tuple[Predicate, ...]]] | None:
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


def _restrict(draw: _Draw, restrictions: Sequence[Pattern]) -> str:
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
        found = _value(draw, "person" if kind == "person" else "category")
        if found is None:
            return ""
        column, value, said = found
        draw.filters.append((Predicate(table.name, column, "!=" if kind == "not" else "=", value),))
        return pattern.q.replace("{value}", said)
    if kind == "either":
        before = dict(draw.said)
        column_ = _compare(draw)
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
    dated = next((c for c in table.columns if c.is_date), None)
    if dated is None or dated.name in draw.used:
        return ""
    draw.used.add(dated.name)
    if kind == "weekday":
        day = rng.randrange(7)
        draw.filters.append((Predicate(table.name, dated.name, "=", day + 1, "weekday"),))
        return pattern.q.replace("{weekday}", WEEKDAYS[draw.lang][day])
    return _dated(draw, pattern, dated)


def _numbered(draw: _Draw, pattern: Pattern) -> str:
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


def _dated(draw: _Draw, pattern: Pattern, column: Column) -> str:
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


def _spell(number: int, lang: str, rng: random.Random) -> str:
    return _SPELT[lang][number] if number <= 10 and rng.random() < 0.5 else str(number)
