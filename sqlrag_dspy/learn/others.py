"""Groups and restrictions of made questions that belong to another table: one that each row leads to by a key."""

from __future__ import annotations

from collections.abc import Sequence

from sqlrag_dspy.learn.patterns import Pattern
from sqlrag_dspy.learn.phrases import Draw
from sqlrag_dspy.learn.restrictions import restrict
from sqlrag_dspy.program.database import display_column
from sqlrag_dspy.program.sketching.homing import leads_to
from sqlrag_dspy.types import Catalog, Item


def another(draw: Draw, catalog: Catalog) -> tuple[Item, str, str] | None:
    """A group of another table, its noun for one and for several: the rows themselves, or a column of theirs."""
    pool = [
        t for t in leads_to(draw.table, catalog) if draw.surfaces.knows(t.name) and t.name not in draw.used
    ]
    if not pool:
        return None
    table = draw.rng.choice(pool)
    inner = Draw(draw.rng, draw.lang, table, draw.surfaces)
    column = inner.pick("text") if draw.rng.random() < 0.4 else None
    single, plural = inner.noun(column, False), inner.noun(column, True)
    if not single or not plural:
        return None
    draw.used.add(table.name)
    return Item(table.name, (column or display_column(table)).name), single, plural


def restrict_another(draw: Draw, catalog: Catalog, restrictions: Sequence[Pattern]) -> str:
    """A random restriction of another table, as `restrict` gives one of the table itself."""
    pool = [
        t for t in leads_to(draw.table, catalog) if draw.surfaces.knows(t.name) and t.name not in draw.used
    ]
    if not pool:
        return ""
    inner = Draw(draw.rng, draw.lang, draw.rng.choice(pool), draw.surfaces)
    said = restrict(inner, [p for p in restrictions if p.kind in ("value", "person", "number")])
    draw.filters += inner.filters
    return said
