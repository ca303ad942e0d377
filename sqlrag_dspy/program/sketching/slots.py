"""A filled skeleton to a Sketch, with the assumptions made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlrag_dspy.program.sketching.homing import at_home, measured_in
from sqlrag_dspy.program.sketching.pairs import beside_of, both_of
from sqlrag_dspy.program.sketching.referring import alike_to, of_other_rows, other_row
from sqlrag_dspy.program.sketching.restricting import comparisons, inside_of, predicates
from sqlrag_dspy.program.sketching.skeleton import (
    AGGREGATES,
    BESIDE,
    EACH,
    RESTRICTING,
    SHARES,
    SHARING,
    Skeleton,
    compared,
    set_beside,
    tables_of,
)
from sqlrag_dspy.types import (
    Absence,
    Aggregate,
    Catalog,
    Column,
    Item,
    Link,
    Links,
    Part,
    Predicate,
    Sketch,
    Table,
)


def assemble(
    skeleton: Skeleton, links: Links, assigned: Mapping[int, str], table: Table, catalog: Catalog
) -> tuple[Sketch | None, list[str]]:
    """The sketch of a filled skeleton, with the assumptions made; None when a slot stays empty."""
    from sqlrag_dspy.program.database import display_column

    assumptions: list[str] = []
    by_role = _by_role(links, assigned)
    absent = None
    if skeleton.without == "other":
        pair = _owner_and_absent(links, catalog)
        if pair is None:
            return None, assumptions
        table, absent = pair
    else:
        root = _root(skeleton, by_role, links, table, catalog)
        if root is None:
            return None, assumptions
        table, links = root, at_home(links, root, catalog)
        by_role = _by_role(links, assigned)
    halves = set_beside(links, assigned) if skeleton.beside else ()
    restricting = [
        (links.chosen[n], role)
        for n, role in sorted(assigned.items())
        if role in RESTRICTING and n not in halves
    ]
    without = None
    if absent is not None:
        inside, restricting = inside_of(absent, restricting)
        without = Absence(absent.name, predicates(inside, absent, catalog, assumptions))
    filters = predicates(restricting, table, catalog, assumptions)
    if referred := by_role.get("via", []):
        told = predicates([(link, "filter") for link in referred], table, catalog, assumptions)
        others = of_other_rows(told, referred, catalog)
        if others is None:
            return None, assumptions
        filters = (*filters, *others)
    shares = predicates(
        [(links.chosen[n], SHARING.get(r, "filter")) for n, r in sorted(assigned.items())
         if r == "share" or r in SHARING],
        table, catalog, assumptions,
    )  # fmt: skip

    same = None
    if skeleton.without == "same":
        shared = [_group(link, table, catalog) for link in by_role.get("alike", [])]
        same = alike_to(shared[0] if shared else None, by_role.get("whose", []), table, catalog)
        if same is None:
            return None, assumptions
    groups = [_group(link, table, catalog) for link in by_role.get("group", [])]
    if int(skeleton.groups) == len(groups) + 1 and by_role.get("via") and (other := other_row(table)):
        groups.insert(0, other)
    if int(skeleton.groups) > len(groups):
        rivals = compared(links, assigned)
        if rivals is None or skeleton.beside:
            return None, assumptions
        groups.append(Item(rivals[0] or table.name, rivals[1], "", rivals[2]))
    measured = [_item(link, table) for link in by_role.get("measure", [])]
    aggregate = skeleton.aggregate
    if measured and measured[0].table != table.name and AGGREGATES & set(aggregate.split("+")):
        once = measured_in(by_role["measure"][0], links, set(), catalog, table)
        measured = [_item(once, table)] if once is not None else measured
    measures: list[Item] = []
    parts = dict.fromkeys(aggregate.split("+"))  # skeletons of several counts are learned too
    for name in parts:
        if name == "count":
            measures.append(Item(table.name, None, "count"))
        elif name in AGGREGATES:
            if not measured or measured[0].column is None:
                return None, assumptions
            column = _column(catalog, measured[0])
            is_amount = column is None or column.is_number or bool(measured[0].since)
            is_spanned = column is not None and column.is_date and name == "range"
            if name in ("sum", "avg", "range") and not is_amount and not is_spanned:
                return None, assumptions
            measures.append(replace(measured[0], aggregate=_aggregate(name)))
    amount = None
    if SHARES & set(parts):
        if not shares or (measures and measures[0].table != table.name):
            return None, assumptions
        amount, measures = (replace(measures[0], aggregate="") if measures else None), []
    measure = measures[0] if measures else None
    having: tuple[tuple[Item, str, Any], ...] = ()
    if skeleton.having == "both":
        together = both_of(links, assigned, groups, filters)
        if together is None:
            return None, assumptions
        having = (together,)
    elif skeleton.having in ("yes", "count"):
        bound = by_role.get("having", [])
        if not bound:
            return None, assumptions
        is_counted = measure is None or skeleton.having == "count" or measure.aggregate == "count"
        if (
            is_counted and bound[0].column is not None
        ):  # "cost more than 300" bounds a cost, not how many there are
            return None, assumptions
        subject = Item(table.name, None, "count") if is_counted else measure
        if subject is None:
            return None, assumptions
        having = tuple((subject, op, value) for op, value in comparisons(bound[0], "="))

    beside = None
    if skeleton.beside:
        if not halves or len(measures) != 1:
            return None, assumptions
        beside = beside_of(
            skeleton, measures[0], [(links.chosen[n], assigned[n]) for n in halves], table, catalog
        )
        if beside is None:
            return None, assumptions

    key = display_column(table)
    chosen = [_item(link, table) for link in by_role.get("select", [])]
    shown: list[Item] = []
    if skeleton.show == "measure" and measure is not None:
        shown = measures
    elif skeleton.show in ("group", "groups") or beside is not None:
        shown = list(groups)
    elif skeleton.show == "mean" and measure is not None:
        shown = [measure]
    elif skeleton.show == "group+measure":
        shown = [*groups, *measures]
    elif skeleton.show == "key":
        shown = [Item(table.name, key.name)]
    elif skeleton.show == "columns":
        shown = chosen
    elif skeleton.show == "key+columns":
        shown = [Item(table.name, key.name), *(item for item in chosen if item.column != key.name)]
    if not shown and not shares and beside is None:
        return None, assumptions
    if skeleton.without == "own":
        homes = {shown[0].table, *(p.table for alternatives in filters for p in alternatives)}
        if len(shown) != 1 or homes != {table.name} or not filters:
            return None, assumptions
        without, filters = Absence(table.name, filters, shown[0].column), ()

    order: tuple[tuple[Item, bool], ...] = ()
    if skeleton.order != "none":
        direction, _, by = skeleton.order.partition(":")
        subject_ = {
            "measure": measure,
            **dict.fromkeys(BESIDE.values(), measure),
            "column": _item(by_role["order"][0], table) if by_role.get("order") else None,
            "group": groups[0] if groups else None,
            "shown": shown[0] if shown else None,
        }.get(by)
        if subject_ is None:
            return None, assumptions
        order = ((subject_, direction == "desc"),)
    each = tuple(_group(link, table, catalog) for link in by_role.get("each", []))
    if each:
        shown = [*(item for item in each if item not in shown), *shown]
    limit, offset = None, 0
    cut = EACH.get(skeleton.limit, skeleton.limit)
    if skeleton.limit in EACH and not (each and order):
        return None, assumptions
    if cut == "nth":
        place = by_role["nth"][0].value if by_role.get("nth") else None
        if not isinstance(place, int) or place < 2:
            return None, assumptions
        limit, offset = 1, place - 1
    elif cut == "one":
        limit = 1
    elif cut == "k":
        value = by_role["limit"][0].value if by_role.get("limit") else None
        if not isinstance(value, (int, float)) or value < 1:
            return None, assumptions
        limit = int(value)
    # A list of nothing but sections or authors names each once.
    is_distinct = skeleton.distinct == "yes" or (
        skeleton.show == "columns"
        and not measure
        and limit is None
        and (not order or order[0][0] == shown[0])
        and _names_repeats(shown, catalog)
    )
    if not order and limit is None and not shares:  # the same rows in the same order, whenever it is asked
        if groups:
            order = tuple((item, False) for item in groups)
        elif is_distinct:
            order = tuple((item, False) for item in shown if not item.aggregate)
    # A group or a distinct list of something answers with somethings; rows that have none are left out.
    ranked = [item for item, _ in order if each and not item.part and not item.since]
    filled = [
        item for item in (*groups, *each, *ranked, *(shown if is_distinct else ())) if not item.aggregate
    ]
    for item in filled:
        column = _column(catalog, item)
        if column is not None and column.profile.null_share > 0 and item.column is not None:
            restricted = any(p.column == item.column for alternatives in filters for p in alternatives)
            if not restricted:
                filters = (*filters, (Predicate(item.table, item.column, "not null"),))
                assumptions.append(f"rows without {item.column} are left out")
    return (
        Sketch(
            table=table.name,
            select=tuple(groups) if shares else tuple(shown),
            distinct=is_distinct,
            filters=filters,
            without=without,
            share=shares,
            is_fraction="fraction" in parts,
            share_of=amount,
            group=(*groups, *_keys(by_role, groups, catalog), *(item for item in each if groups)),
            having=having,
            order=order,
            limit=limit,
            offset=offset,
            each=each,
            beside=beside,
            same=same,
            over={"groups": "count", "mean": "avg"}.get(skeleton.show, ""),  # type: ignore[arg-type]
        ),
        assumptions,
    )


def _by_role(links: Links, assigned: Mapping[int, str]) -> dict[str, list[Link]]:
    by_role: dict[str, list[Link]] = {}
    for number, role in sorted(assigned.items()):
        by_role.setdefault("share" if role in SHARING else role, []).append(links.chosen[number])
    return by_role


def _root(
    skeleton: Skeleton, by_role: Mapping[str, Sequence[Link]], links: Links, table: Table, catalog: Catalog
) -> Table | None:
    """The table whose rows are counted, measured or listed; None when that of a group is left without any.

    A question that groups by a table's rows ("customers with two orders or more") speaks of another's.
    """
    if by_role.get("whose"):
        return catalog.table(by_role["whose"][0].table or "")
    if by_role.get("subject"):
        table = catalog.table(by_role["subject"][0].table or "") or table
    groups = [*by_role.get("group", ()), *by_role.get("each", ())]
    if by_role.get("via") and int(skeleton.groups) > len(groups):  # grouped by the rows that are referred to
        return catalog.table(by_role["via"][0].table or "")
    measured = by_role.get("measure")
    aggregates = AGGREGATES & set(skeleton.aggregate.split("+"))
    if measured and aggregates:
        apart = {link.table for link in groups if link.table and link.kind != "part"}
        once = measured_in(measured[0], links, apart, catalog, table)
        if once is None and apart and aggregates & {"sum", "avg"}:
            return None
        return catalog.table((once or measured[0]).table or table.name)
    grouped = {link.table for link in groups if link.kind == "table"}
    if table.name not in grouped:
        return table
    others = (found for name in tables_of(links) if name not in grouped and (found := catalog.table(name)))
    return next(others, table if other_row(table) is not None else None)


def _keys(
    by_role: Mapping[str, Sequence[Link]], groups: Sequence[Item], catalog: Catalog
) -> tuple[Item, ...]:
    """What keeps the rows of a table apart that is grouped by, where some share the name they are shown by."""
    from sqlrag_dspy.program.database import display_column

    out: list[Item] = []
    others = {item.table: item.via for item in groups if item.via}
    tables = {link.table or "" for link in by_role.get("group", ()) if link.kind == "table"}
    for name in (*others, *sorted(tables - set(others))):
        table, via = catalog.table(name), others.get(name, "")
        if table is not None and display_column(table).profile.distinct < table.rows:
            out += [Item(name, key, via=via) for key in table.key if key != display_column(table).name]
    return tuple(out)


def _owner_and_absent(links: Links, catalog: Catalog) -> tuple[Table, Table] | None:
    """Two tables that a foreign key joins: the one it leads to, and the one whose rows are missing."""
    found = [table for name in tables_of(links) if (table := catalog.table(name)) is not None]
    for owner in found:
        for other in reversed(found):
            if any(key.table == owner.name for key in other.foreign_keys) and other is not owner:
                return owner, other
    return None


def _item(link: Link, table: Table) -> Item:
    """The expression a link stands for; a month is one of a year, so that Marches stay apart."""
    part: Part = ""
    if link.kind == "part":
        part = "year_month" if link.grain == "month" else link.grain  # type: ignore[assignment]
    return Item(link.table or table.name, link.column, "", part, link.since)


def _group(link: Link, table: Table, catalog: Catalog) -> Item:
    """The expression grouped by: moments fall together by day."""
    item = _item(link, table)
    if link.kind == "table" and (named := catalog.table(link.table or "")) is not None:
        from sqlrag_dspy.program.database import display_column

        item = Item(named.name, display_column(named).name)
        if named.name == table.name and (other := other_row(named)) is not None:
            item = other  # rows grouped by rows of their own table
    column = _column(catalog, item)
    if column is not None and column.profile.found == "datetime" and not item.part:
        return Item(item.table, item.column, "", "day")
    return item


def _names_repeats(items: Sequence[Item], catalog: Catalog) -> bool:
    """Whether a list shows nothing but one text column whose values repeat."""
    if len(items) != 1 or items[0].part:
        return False
    column, table = _column(catalog, items[0]), catalog.table(items[0].table)
    return (
        column is not None
        and table is not None
        and column.profile.found == "text"
        and column.profile.distinct < 0.9 * table.rows
    )


def _aggregate(name: str) -> Aggregate:
    return name  # type: ignore[return-value]


def _column(catalog: Catalog, item: Item) -> Column | None:
    table = catalog.table(item.table)
    return table.column(item.column) if table is not None and item.column else None


def main_table(links: Links, catalog: Catalog) -> Table | None:
    """The table a question is about: named ones first, then those of its columns and values.

    Ties go to the table with the longest texts, then the most rows.
    """
    if not catalog.tables:
        return None
    votes: Counter[str] = Counter()
    for place, link in enumerate(links.chosen):
        if link.table:
            votes[link.table] += {"table": 4, "column": 2, "value": 1}.get(link.kind, 1)
            if link.kind == "table" and not any(earlier.kind == "table" for earlier in links.chosen[:place]):
                votes[link.table] += 1
    return max(
        catalog.tables,
        key=lambda t: (votes[t.name], bool(t.text_columns), not t.is_view, t.rows),
    )
