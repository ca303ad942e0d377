"""Gold sketches told the way questions speak: of rows rather than of the keys that refer to them.

Each rewriting keeps the rows of the query. What a query says is sql.reading's; links are align's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from sqlrag_dspy.learn.held import restricts
from sqlrag_dspy.program.sketching.homing import at_home
from sqlrag_dspy.types import Catalog, Item, Links, Predicate, Sketch, Table


def told_by_row(sketch: Sketch, links: Links, catalog: Catalog) -> Sketch:
    """The sketch with keys, groups and lists told by the rows that they stand for, as the question names them."""
    sketch = keyed_by_row(sketch, links, catalog)
    for rewriting in (grouped_by_row, listed_by_row, counted_by_row, both_by_row):
        sketch = rewriting(sketch, catalog)
    return beside_in_order(sketch, links, catalog)


def beside_in_order(sketch: Sketch, links: Links, catalog: Catalog) -> Sketch:
    """Two parts that are compared in the order in which the question names them, where that says the same."""
    beside, root = sketch.beside, catalog.table(sketch.table)
    if beside is None or root is None or beside.how in ("difference", "change"):
        return sketch
    chosen = at_home(links, root, catalog).chosen
    places: list[Any] = [
        min((k.start for k in chosen if restricts(k, part)), default=None)
        for part in (beside.first, beside.second)
    ]
    if None in places:  # one link names both, the earlier first
        places = [_starts(beside.first), _starts(beside.second)]
    if places[0] <= places[1]:
        return sketch
    how: Any = {"more": "less", "less": "more"}.get(beside.how, beside.how)
    return replace(sketch, beside=replace(beside, first=beside.second, second=beside.first, how=how))


def _starts(part: tuple[tuple[Predicate, ...], ...]) -> Any:
    """Since when a part of the rows counts, as text."""
    return min((str(p.value) for group in part for p in group if p.op == ">="), default="")


def keyed_by_row(sketch: Sketch, links: Links, catalog: Catalog) -> Sketch:
    """Columns that refer to another table's rows, told as what those rows are recognised by, or as their key.

    Everywhere where both hold the same text and the question names the other table or its key; else where the
    column only keeps rows apart and is not shown.
    """
    said = {(k.table, k.column) for k in links.chosen if k.kind == "column"}
    tables = {k.table for k in links.chosen if k.kind == "table"}

    def shown(item: Item) -> Item:
        named = _referred(item, catalog)
        if named is None or (item.table, item.column) in said:
            return item
        is_told = named[0] in tables and named[1] == named[2]
        is_named = (named[0], named[1]) in said
        return replace(item, table=named[0], column=named[1]) if is_told or is_named else item

    def apart(item: Item) -> Item:
        named = _referred(item, catalog)
        return replace(item, table=named[0], column=named[2]) if named else item

    if sketch.each or sketch.over == "count":
        each = tuple(_named_row(apart(item), catalog) for item in sketch.each)
        group = sketch.group
        if sketch.over == "count":
            group = tuple(apart(item) for item in sketch.group)
        sketch = replace(
            sketch, each=each, group=group, select=group if sketch.over == "count" else sketch.select
        )
    if not sketch.group:
        return sketch
    return replace(
        sketch,
        select=tuple(shown(item) if item in sketch.group else item for item in sketch.select),
        order=tuple((shown(item) if item in sketch.group else item, down) for item, down in sketch.order),
        group=tuple(shown(item) for item in sketch.group),
    )


def _referred(item: Item, catalog: Catalog) -> tuple[str, str, str] | None:
    """The table that a plain column refers to by its key, that key, and what its rows are recognised by."""
    from sqlrag_dspy.program.database import display_column

    table = catalog.table(item.table)
    if table is None or item.aggregate or item.part or item.since or item.column is None:
        return None
    for key in table.foreign_keys:
        other = catalog.table(key.table)
        if (
            key.columns == (item.column,)
            and other is not None
            and other is not table
            and other.key == key.to_columns
        ):
            return other.name, key.to_columns[0], display_column(other).name
    return None


def _named_row(item: Item, catalog: Catalog) -> Item:
    """The key of a table as what its rows are recognised by."""
    from sqlrag_dspy.program.database import display_column

    table = catalog.table(item.table)
    is_key = table is not None and table.key == (item.column,) and not item.part
    return replace(item, column=display_column(table).name) if table is not None and is_key else item


def counted_by_row(sketch: Sketch, catalog: Catalog) -> Sketch:
    """A count of different keys ("how many customers ordered in May"), told as a count of the rows they refer to."""
    item = sketch.select[0] if len(sketch.select) == 1 else None
    named = _referred(replace(item, aggregate=""), catalog) if item is not None else None
    if item is None or named is None or item.aggregate != "count_distinct" or item.table != sketch.table:
        return sketch
    if sketch.group or sketch.having or sketch.order or sketch.without or sketch.share or not sketch.filters:
        return sketch
    if any(p.table not in (sketch.table, named[0]) for group in sketch.filters for p in group):
        return sketch
    if not any(p.table == sketch.table for group in sketch.filters for p in group):
        return sketch
    return replace(sketch, table=named[0], select=(Item(named[0], None, "count"),))


def both_by_row(sketch: Sketch, catalog: Catalog) -> Sketch:
    """Rows to which rows of two values belong, told as groups of those that have both."""
    homes: dict[tuple[str, str], list[Predicate]] = defaultdict(list)
    for group in sketch.filters:
        if len(group) == 1 and group[0].op == "=" and group[0].table != sketch.table and not group[0].than:
            homes[(group[0].table, group[0].column)].append(group[0])
    twice = [found for found in homes.values() if len(found) > 1]
    is_list = (
        len(sketch.select) == 1 and not sketch.select[0].aggregate and sketch.select[0].table == sketch.table
    )
    if len(twice) != 1 or not is_list or sketch.group or sketch.order or sketch.without or sketch.share:
        return sketch
    told = twice[0]
    inner = catalog.table(told[0].table)
    if inner is None or not any(key.table == sketch.table for key in inner.foreign_keys):
        return sketch
    rest = tuple(group for group in sketch.filters if group[0] not in told)
    either = Predicate(told[0].table, told[0].column, "in", tuple(p.value for p in told), told[0].part)  # type: ignore[misc]
    counted = Item(told[0].table, told[0].column, "count_distinct", told[0].part)
    return replace(
        sketch,
        table=inner.name,
        filters=((either,), *rest),
        group=sketch.select,
        having=((counted, "=", len(told)),),
    )


def grouped_by_row(sketch: Sketch, catalog: Catalog) -> Sketch:
    """The sketch with groups of a table's rows ("GROUP BY customers.id", its name shown) told by what is shown."""
    groups = list(sketch.group)
    for table in catalog.tables:
        plain = [item for item in groups if item.table == table.name and not item.part]
        named = {item.column for item in plain}
        shown = [
            item
            for item in dict.fromkeys(sketch.select)
            if item.table == table.name and item.column and not item.aggregate and not item.part
        ]
        if not plain or not shown or not any({*key} <= named for key in _keys(table)):
            continue
        groups = [item for item in groups if item not in plain or item in shown]
        groups += [item for item in shown if item not in groups]
    return replace(sketch, group=tuple(groups))


def listed_by_row(sketch: Sketch, catalog: Catalog) -> Sketch:
    """A distinct list of another table's names, told as a list of that table's rows ("who ordered in May")."""
    from sqlrag_dspy.program.database import display_column

    homes = {item.table for item in sketch.select}
    table = catalog.table(homes.pop()) if len(homes) == 1 else None
    if table is None or table.name == sketch.table or not sketch.distinct or sketch.share or sketch.without:
        return sketch
    if any(item.aggregate or item.part for item in sketch.select) or sketch.group or sketch.limit is not None:
        return sketch
    display = display_column(table)
    is_named = any((item.column,) in _keys(table) for item in sketch.select) and display.name in {
        item.column for item in sketch.select
    }
    is_met = any(p.table == sketch.table for group in sketch.filters for p in group)
    if not is_named or not is_met:
        return sketch
    return replace(sketch, table=table.name, distinct=False)


def _keys(table: Table) -> list[tuple[str, ...]]:
    """The columns of a table that no two of its rows share, together or alone."""
    alone = [(c.name,) for c in table.columns if 0 < table.rows <= c.profile.distinct]
    return [table.key, *alone]
