"""Rows that refer to others of their table, or are like them: whose row a value is ("customers brought in by Ana").

Which links speak of the other row is learned; which column leads there is the schema's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlrag_dspy.program.sketching.restricting import predicates
from sqlrag_dspy.types import Catalog, Item, Link, Predicate, Same, Table


def reference_of(table: Table | None) -> str:
    """The one column by which rows of a table refer to others of it; "" for none, or for several."""
    found = (
        [key.columns[0] for key in table.foreign_keys if key.table == table.name] if table is not None else []
    )
    return found[0] if len(found) == 1 else ""


def other_row(table: Table) -> Item | None:
    """What the other row is recognised by; None where rows refer to none."""
    from sqlrag_dspy.program.database import display_column

    via = reference_of(table)
    return Item(table.name, display_column(table).name, via=via) if via else None


def of_other_rows(
    groups: Sequence[Sequence[Predicate]], links: Sequence[Link], catalog: Catalog
) -> tuple[tuple[Predicate, ...], ...] | None:
    """Restrictions that the links stand for, told of the rows that are referred to; None where there are none."""
    vias = {link.table or "": reference_of(catalog.table(link.table or "")) for link in links}
    if not all(vias.values()):
        return None
    return tuple(tuple(replace(p, via=vias.get(p.table, "")) for p in group) for group in groups)


def alike_to(item: Item | None, named: Sequence[Link], table: Table, catalog: Catalog) -> Same | None:
    """What rows share with those that are named: the item, or else the row that they refer to; None where neither."""
    via = reference_of(table)
    item = item or (Item(table.name, via) if via else None)
    groups = predicates([(link, "filter") for link in named], table, catalog, [])
    homes = {p.table for group in groups for p in group} | ({item.table} if item is not None else set())
    if item is None or not groups or homes != {table.name} or item.column in {g[0].column for g in groups}:
        return None
    return Same(item, groups)
