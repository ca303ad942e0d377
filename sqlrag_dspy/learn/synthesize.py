"""Questions with their sketches, made from phrasing patterns and a database's own names and values.

Patterns (`trainsets/patterns/*.jsonl`) say how people ask for a skeleton; surfaces (`trainsets/<name>/
surfaces.json`) say what they call its tables and columns. They teach the sketcher phrasings that no labelled
query happens to use. They are never scored, and the router never sees them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlrag_dspy.learn.contrasts import beside_of, comparison
from sqlrag_dspy.learn.groupings import amount_of, both_of, each_of
from sqlrag_dspy.learn.others import another, restrict_another
from sqlrag_dspy.learn.patterns import SLOT, Pattern, Surfaces, read_patterns
from sqlrag_dspy.learn.phrases import (
    COMPARATORS,
    PLACES,
    Draw,
    ask_share,
    compare,
    person_of,
    round_number,
    span_of,
    spell,
    value_of,
)
from sqlrag_dspy.learn.referring import OTHER, may_refer, name_other, refers, share
from sqlrag_dspy.learn.restrictions import a_word_of, lacking, may_lack, restrict
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.sketching.skeleton import EACH, SHARES
from sqlrag_dspy.types import Absence, Item, Part, Predicate, Sketch

__all__ = ["Made", "Surfaces", "make", "read_patterns"]


OTHERS = 0.25
"""How often a group or a restriction is that of another table, where there is one."""
MISSING = 3
"""How often a pattern of an absence is drawn, against any other."""


@dataclass
class Made:
    """A made question with the sketch it stands for."""

    question: str
    lang: str
    sketch: Sketch


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
    # what is missing has few phrasings, and far fewer questions of the labels to be learned from
    often = [MISSING if pattern.without in ("own", "other") else 1 for pattern in patterns]
    weights = [4 if table.text_columns else 1 for table in tables]
    people = {c.table: c.column for c in database.linker.values.columns if c.kind == "person"}
    for _ in range(count * 3):
        if len(out) >= count:
            break
        pattern = rng.choices(patterns, often)[0]
        table = rng.choices(tables, weights)[0]
        if pattern.without == "other":  # few tables have others that refer to them
            referred = [t for t in tables if may_lack(t, database.catalog, surfaces)]
            if not referred:
                continue
            table = rng.choice(referred)
        if refers(pattern):
            referring = [t for t in tables if may_refer(t, surfaces)]
            if not referring:
                continue
            table = rng.choice(referring)
        made = _fill(
            Draw(rng, pattern.lang, table, surfaces, person=people.get(table.name)),
            pattern,
            restrictions,
            database,
        )
        if made is not None:
            out.append(made)
    return out


def _fill(draw: Draw, pattern: Pattern, restrictions: Sequence[Pattern], database: Database) -> Made | None:
    """One pattern over one table, or None when the table lacks a fitting column."""
    table, rng, lang = draw.table, draw.rng, draw.lang
    slots = pattern.slots
    groups: list[Item] = []
    other_row = name_other(draw, pattern, database) if refers(pattern) else None
    if refers(pattern) and other_row is None:
        return None
    for place, group in enumerate(pattern.groups):
        if group == OTHER and other_row is not None:
            groups.append(other_row)
        elif group == "text":
            if {"v1", "v2"} <= slots and not groups and pattern.having != "both" and not comparison(pattern):
                column = compare(draw)
            elif "who" in slots and not groups:
                column = person_of(draw)
            else:
                suffix = "" if place == 0 or "group" not in draw.said else "2"
                other = another(draw, database.catalog) if rng.random() < OTHERS else None
                if other is not None:
                    item, draw.said[f"group{suffix}"], draw.said[f"groups{suffix}"] = other
                    groups.append(item)
                    continue
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
            is_whole = group == "month" and (pattern.show == "mean" or rng.random() < 0.3)
            part: Part = "year_month" if is_whole else group  # type: ignore[assignment]
            groups.append(Item(table.name, dated.name, "", part))
    each = each_of(draw, pattern, database.catalog)
    if each is None:
        return None
    is_share = bool(SHARES & set(pattern.aggregate.split("+")))
    amount = amount_of(draw) if is_share and "+sum" in pattern.aggregate else None
    if "+sum" in pattern.aggregate and amount is None:
        return None
    measure = _measure(draw, pattern)
    if measure is False:
        return None
    if is_share and not ask_share(draw):
        return None
    beside = None
    if comparison(pattern):
        beside = beside_of(draw, pattern, measure) if isinstance(measure, Item) else None
        if beside is None:
            return None
    order = _order(draw, pattern, groups, measure if isinstance(measure, Item) else None)
    if order is None:
        return None
    shown = _shown(draw, pattern, groups, measure if isinstance(measure, Item) else None, database)
    if shown is None or set(each) & {*shown, *groups}:
        return None
    order_items = order
    if pattern.order.endswith(":shown"):
        order_items = ((shown[0], pattern.order.startswith("desc")),)
    limit, offset = None, 0
    cut = EACH.get(pattern.limit, pattern.limit)
    if pattern.limit == "nth":
        limit, offset = 1, rng.choice([1, 1, 1, 2]) if "nth" in slots else 1
        draw.said["nth"] = rng.choice(PLACES[lang][offset - 1])
    elif cut == "one":
        limit = 1
    elif cut == "k":
        limit = rng.choice([2, 3, 3, 4, 5, 5, 7, 10, 10, 20])
        draw.said["limit"] = spell(limit, lang, rng)
    having: tuple[tuple[Item, str, Any], ...] = ()
    if pattern.having == "both":
        together = both_of(draw, pattern)
        if together is None:
            return None
        having = (together,)
    elif pattern.having in ("yes", "count"):
        counted = Item(table.name, None, "count")
        subject = measure if isinstance(measure, Item) and pattern.having == "yes" else counted
        number = rng.choice([2, 3, 4, 5, 10]) if "having" in slots else _threshold(draw, subject)
        text, op = rng.choice(COMPARATORS[lang])
        is_small = isinstance(number, int) and 0 <= number <= 12
        said = text.format(n=spell(int(number), lang, rng) if is_small else str(number))
        draw.said["having"] = draw.said["havingnum"] = said
        having = ((subject, op, number),)
    draw.said["table"] = draw.noun(None, True) or ""
    draw.said["row"] = draw.noun(None, False) or ""
    draw.said["adj"] = ""
    draw.said["filters"] = ""
    if "adj" in slots and rng.random() < 0.5:
        found = value_of(draw, "category")
        if found is not None:
            name, value, spoken = found
            draw.said["adj"] = spoken + " "
            draw.filters.append((Predicate(table.name, name, "=", value),))
    if "filters" in slots:
        counts = [1, 2] if pattern.without == "own" else [0, 1, 2]
        for _ in range(rng.choices(counts, [4, 5, 2][-len(counts) :])[0]):
            is_other = rng.random() < OTHERS and pattern.without == "no"
            phrase = (
                restrict_another(draw, database.catalog, restrictions)
                if is_other
                else restrict(draw, restrictions)
            )
            draw.said["filters"] += phrase
    without, same = None, None
    if pattern.without == "other":
        without = lacking(draw, database.catalog, restrictions)
        if without is None:
            return None
    elif pattern.without == "same":
        same = share(draw, database)
        if same is None:
            return None
    elif pattern.without == "own":
        if not draw.filters:
            return None
        without = Absence(table.name, tuple(draw.filters), shown[0].column)
        draw.filters.clear()
    display = database.display_column(table)
    if "word" in slots:
        word = a_word_of(draw, display) if display.profile.found == "text" else None
        if word is None:
            return None
        draw.said["word"] = word
        draw.filters.append((Predicate(table.name, display.name, "like", f"%{word}%"),))
    draw.said.setdefault("title", draw.surfaces.noun(rng, lang, table.name, display.name, False) or "")
    draw.said.setdefault("titles", draw.surfaces.noun(rng, lang, table.name, display.name, True) or "")
    if any(not draw.said.get(slot) for slot in slots - {"filters", "adj", "absent_filters"}):
        return None
    question = re.sub(r"\s+", " ", SLOT.sub(lambda match: draw.said[match.group(1)], pattern.q)).strip()
    question = re.sub(r"\s+([?.,:;])", r"\1", question)
    if rng.random() < 0.4:
        question = question[0].lower() + question[1:]
    return Made(
        question,
        lang,
        Sketch(
            table=table.name,
            select=(*each, *shown),
            distinct=pattern.distinct == "yes",
            filters=tuple(draw.filters),
            without=without,
            share=tuple(draw.share),
            is_fraction=pattern.aggregate.startswith("fraction"),
            share_of=amount,
            group=()
            if pattern.aggregate == "none" and pattern.distinct == "yes"
            else (*groups, *(each if groups else ())),
            having=having,
            order=order_items,
            limit=limit,
            offset=offset,
            each=each,
            beside=beside,
            same=same,
            over={"groups": "count", "mean": "avg"}.get(pattern.show, ""),  # type: ignore[arg-type]
        ),
    )


def _threshold(draw: Draw, subject: Item) -> int | float:
    """A bound that some groups pass and others do not, where what is bounded has a range."""
    column = draw.table.column(subject.column or "")
    low, high = (column.profile.minimum, column.profile.maximum) if column is not None else (None, None)
    if subject.aggregate == "sum" or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return draw.rng.choice([100, 300, 500, 1000, 2000])
    return round_number(draw.rng.uniform(low, high))


def _measure(draw: Draw, pattern: Pattern) -> Item | bool:
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
    if pattern.span and pattern.aggregate != "none":
        return span_of(draw, pattern.aggregate) or False
    first, _, further = pattern.aggregate.partition("+")  # the others are of the same column
    if first in ("sum", "avg", "min", "max", "range"):
        sort = "date" if "date" in slots and "measure" not in slots else "number"
        if (
            first in ("min", "max", "range")
            and "avg" not in further
            and not slots
            & {
                "measure",
                "number",
                "max",
                "min",
                "more",
                "less",
            }
        ):
            sort = "date"
        is_main_date = sort == "date" and "date" not in slots
        column = next(iter(draw.columns("date")), None) if is_main_date else draw.pick(sort)
        if column is None:
            return False
        draw.said["measure"] = draw.said["number"] = draw.noun(column, False) or ""
        draw.said["date"] = draw.said["measure"]
        for name in ("max", "min", "more", "less"):
            draw.said[name] = draw.surfaces.word(draw.rng, draw.lang, table.name, column.name, name) or ""
        return Item(table.name, column.name, first)  # type: ignore[arg-type]
    return True


def _order(
    draw: Draw, pattern: Pattern, groups: Sequence[Item], measure: Item | None
) -> tuple[tuple[Item, bool], ...] | None:
    """The order; None when it needs a column that the table lacks."""
    if pattern.order == "none" or pattern.order.endswith(":shown"):
        return ()
    direction, _, by = pattern.order.partition(":")
    descending = direction == "desc"
    if by == "measure" or comparison(pattern):
        return ((measure, descending),) if measure is not None else None
    if by == "group":
        return ((groups[0], descending),) if groups else None
    if pattern.span:
        item = span_of(draw, "")
        return ((item, descending),) if item is not None else None
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
    draw: Draw, pattern: Pattern, groups: Sequence[Item], measure: Item | None, database: Database
) -> list[Item] | None:
    """The selected items; None when there are not enough columns."""
    table, slots = draw.table, pattern.slots
    show = pattern.show or ("measure" if pattern.aggregate != "none" else "key")
    key = Item(table.name, database.display_column(table).name)
    if SHARES & set(pattern.aggregate.split("+")) or comparison(pattern):
        return list(groups)
    measures = []
    if measure is not None:
        further = pattern.aggregate.split("+")[1:]
        measures = [measure, *(replace(measure, aggregate=name) for name in further)]  # type: ignore[arg-type]
    if show in ("measure", "mean"):
        return measures or None
    if show in ("group", "groups"):
        return list(groups)
    if show == "group+measure":
        return [*groups, *measures] if measures else None
    named: list[Item] = []
    if slots & {"title", "titles"}:
        named.append(key)
        draw.used.add(key.column or "")
    if "who" in slots and "who" not in draw.said:
        person = person_of(draw)
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


def _position(q: str, item: Item, draw: Draw, key: Item) -> int:
    """Where the pattern names an item, so that columns come in the order asked."""
    for slot in ("select2", "select", "group2", "group", "title"):
        noun = draw.said.get(slot) or draw.said.get(f"{slot}s")
        is_it = (item == key) if slot == "title" else bool(noun) and item != key
        for name in (f"{{{slot}}}", f"{{{slot}s}}"):
            if is_it and name in q:
                return q.index(name)
    return len(q)
