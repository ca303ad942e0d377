"""A filled skeleton to a Sketch, with the assumptions made; and links to predicates, for searches as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlrag_dspy.program.skeleton import AGGREGATES, Skeleton, compared, tables_of
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
    Value,
)


def assemble(
    skeleton: Skeleton, links: Links, assigned: Mapping[int, str], table: Table, catalog: Catalog
) -> tuple[Sketch | None, list[str]]:
    """The sketch of a filled skeleton, with the assumptions made; None when a slot stays empty."""
    from sqlrag_dspy.program.database import display_column

    assumptions: list[str] = []
    absent = None
    if skeleton.without == "other":
        pair = _owner_and_absent(links, catalog)
        if pair is None:
            return None, assumptions
        table, absent = pair
    by_role: dict[str, list[Link]] = {}
    for number, role in sorted(assigned.items()):
        by_role.setdefault("share" if role == "share null" else role, []).append(links.chosen[number])
    restricting = [
        (links.chosen[n], role)
        for n, role in sorted(assigned.items())
        if role in ("filter", "null", "not null")
    ]
    without = None
    if absent is not None:
        inside = [(link, role) for link, role in restricting if link.table == absent.name]
        restricting = [(link, role) for link, role in restricting if link.table != absent.name]
        without = Absence(absent.name, predicates(inside, absent, catalog, assumptions))
    filters = predicates(restricting, table, catalog, assumptions)
    shares = predicates(
        [(links.chosen[n], "null" if r == "share null" else "filter") for n, r in sorted(assigned.items())
         if r in ("share", "share null")],
        table, catalog, assumptions,
    )  # fmt: skip

    groups = [_group(link, table, catalog) for link in by_role.get("group", [])]
    if int(skeleton.groups) > len(groups):
        rivals = compared(links, assigned)
        if rivals is None:
            return None, assumptions
        groups.append(Item(rivals[0] or table.name, rivals[1]))
    measured = [_item(link, table) for link in by_role.get("measure", [])]
    aggregate = skeleton.aggregate
    measures: list[Item] = []
    for name in aggregate.split("+"):
        if name == "count":
            measures.append(Item(table.name, None, "count"))
        elif name in AGGREGATES:
            if not measured or measured[0].column is None:
                return None, assumptions
            column = _column(catalog, measured[0])
            is_amount = column is None or column.is_number or bool(measured[0].since)
            if name in ("sum", "avg") and not is_amount:
                return None, assumptions
            measures.append(replace(measured[0], aggregate=_aggregate(name)))
    measure = measures[0] if measures else None
    having: tuple[tuple[Item, str, Any], ...] = ()
    if skeleton.having != "no":
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
        having = tuple((subject, op, value) for op, value in _comparisons(bound[0], "="))

    key = display_column(table)
    chosen = [_item(link, table) for link in by_role.get("select", [])]
    shown: list[Item] = []
    if skeleton.show == "measure" and measure is not None:
        shown = measures
    elif skeleton.show == "group":
        shown = list(groups)
    elif skeleton.show == "group+measure":
        shown = [*groups, *measures]
    elif skeleton.show == "key":
        shown = [Item(table.name, key.name)]
    elif skeleton.show == "columns":
        shown = chosen
    elif skeleton.show == "key+columns":
        shown = [Item(table.name, key.name), *(item for item in chosen if item.column != key.name)]
    if not shown and not shares:
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
            "column": _item(by_role["order"][0], table) if by_role.get("order") else None,
            "group": groups[0] if groups else None,
            "shown": shown[0] if shown else None,
        }.get(by)
        if subject_ is None:
            return None, assumptions
        order = ((subject_, direction == "desc"),)
    limit, offset = None, 0
    if skeleton.limit == "nth":
        place = by_role["nth"][0].value if by_role.get("nth") else None
        if not isinstance(place, int) or place < 2:
            return None, assumptions
        limit, offset = 1, place - 1
    elif skeleton.limit == "one":
        limit = 1
    elif skeleton.limit == "k":
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
    filled = [item for item in (*groups, *(shown if is_distinct else ())) if not item.aggregate]
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
            is_fraction=aggregate == "fraction",
            group=tuple(groups),
            having=having,
            order=order,
            limit=limit,
            offset=offset,
        ),
        assumptions,
    )


def _owner_and_absent(links: Links, catalog: Catalog) -> tuple[Table, Table] | None:
    """Two tables that a foreign key joins: the one it leads to, and the one whose rows are missing."""
    found = [table for name in tables_of(links) if (table := catalog.table(name)) is not None]
    for owner in found:
        for other in reversed(found):
            if any(key.table == owner.name for key in other.foreign_keys) and other is not owner:
                return owner, other
    return None


def predicates(
    restricting: Sequence[tuple[Link, str]], table: Table, catalog: Catalog, assumptions: list[str]
) -> tuple[tuple[Predicate, ...], ...]:
    """The conjunction that links stand for; values of one column are alternatives of each other."""
    out: list[tuple[Predicate, ...]] = []
    equal: dict[tuple[str, str], list[Any]] = {}
    unequal: dict[tuple[str, str], list[Any]] = {}
    dated: dict[tuple[str, str], list[Link]] = {}
    for link, role in restricting:
        where = link.table or table.name
        column = link.column
        if role in ("null", "not null") and column is not None:
            out.append((Predicate(where, column, role),))
        elif link.kind == "value" and link.concept == "word" and column is not None:
            out.append((Predicate(where, column, link.op, link.value),))
        elif link.kind == "value" and column is not None:
            pool = unequal if link.op == "!=" else equal
            pool.setdefault((where, column), []).extend([link.value, *link.also])
            if link.also:
                assumptions.append(f"{link.text!r} stands for {1 + len(link.also)} stored values of {column}")
        elif link.kind == "date":
            column = column or _main_date(table)
            if column is None:
                continue
            if link.concept:
                assumptions.append(link.concept)
            dated.setdefault((where, column), []).append(link)
        elif link.kind == "part" and column is not None and link.op:
            out.append((_weekday(link, where, column),))
        elif link.kind == "number" and link.grain == "average" and column is not None:
            out.append((Predicate(where, column, link.op, than="average"),))
        elif link.kind == "number" and link.op != "nth" and column is not None:
            bounds = _comparisons(link, "=")
            out.extend((Predicate(where, column, op, value, since=link.since),) for op, value in bounds)
    for (where, column), periods in dated.items():
        out.extend(_periods(periods, where, column))
    for (where, column), values in equal.items():
        distinct = tuple(dict.fromkeys(values))
        if len(distinct) == 1:
            out.append((Predicate(where, column, "=", distinct[0]),))
        else:
            out.append((Predicate(where, column, "in", distinct),))
    for (where, column), values in unequal.items():
        distinct = tuple(dict.fromkeys(values))
        if len(distinct) == 1:
            out.append((Predicate(where, column, "!=", distinct[0]),))
        else:
            out.append((Predicate(where, column, "not in", distinct),))
    return tuple(out)


def first_rows(restricting: Sequence[tuple[Link, str]], table: Table) -> tuple[str, bool, int] | None:
    """What "the ten longest" asks of a search: the column, whether descending, and how many; None without order."""
    for link, role in restricting:
        if role == "order" and link.column is not None and (link.table or table.name) == table.name:
            counts = [
                k.value for k, r in restricting if r == "limit" and isinstance(k.value, int) and k.value > 0
            ]
            return link.column, link.op != "min", int(counts[0]) if counts else 1
    return None


_SPELT = {"month": ("year_month", 7), "year": ("year", 4)}


def _periods(links: Sequence[Link], table: str, column: str) -> list[tuple[Predicate, ...]]:
    """Several periods named for one column are alternatives when they exclude each other, else all hold."""
    closed = [k for k in links if k.value is not None and k.upper is not None and k.op != "!="]
    ordered = sorted(closed, key=lambda k: str(k.value))
    apart = len(closed) == len(links) > 1 and all(str(a.upper) <= str(b.value) for a, b in pairwise(ordered))
    if not apart:
        return [predicate for link in links for predicate in _dates(link, table, column)]
    if all(a.upper == b.value for a, b in pairwise(ordered)):
        whole = (
            Predicate(table, column, ">=", ordered[0].value),
            Predicate(table, column, "<", ordered[-1].upper),
        )
        return [(predicate,) for predicate in whole]
    grains = {link.grain for link in closed}
    if len(grains) == 1 and (grain := grains.pop()) in _SPELT:
        part, length = _SPELT[grain]
        named = [str(link.value)[:length] for link in ordered]
        values: tuple[Value, ...] = tuple(int(n) for n in named) if part == "year" else tuple(named)
        return [(Predicate(table, column, "in", values, part),)]  # type: ignore[arg-type]
    return [predicate for link in links for predicate in _dates(link, table, column)]


def _weekday(link: Link, table: str, column: str) -> Predicate:
    """Days of the week by number, Monday being 1."""
    if link.op == "between" and isinstance(link.value, int) and isinstance(link.upper, int):
        return Predicate(table, column, "in", tuple(range(link.value, link.upper + 1)), "weekday")
    return Predicate(table, column, link.op, link.value, "weekday")


def _dates(link: Link, table: str, column: str) -> list[tuple[Predicate, ...]]:
    if link.op == "!=":
        outside = []
        if link.value is not None:
            outside.append(Predicate(table, column, "<", link.value))
        if link.upper is not None:
            outside.append(Predicate(table, column, ">=", link.upper))
        return [tuple(outside)]
    out: list[tuple[Predicate, ...]] = []
    if link.value is not None:
        out.append((Predicate(table, column, ">=", link.value),))
    if link.upper is not None:
        out.append((Predicate(table, column, "<", link.upper),))
    return out


def _comparisons(link: Link, bare: str) -> list[tuple[str, Any]]:
    if link.op == "between":
        return [(">=", link.value), ("<=", link.upper)]
    return [(link.op or bare, link.value)]


def _item(link: Link, table: Table) -> Item:
    """The expression a link stands for; a month is one of a year, so that Marches stay apart."""
    part: Part = ""
    if link.kind == "part":
        part = "year_month" if link.grain == "month" else link.grain  # type: ignore[assignment]
    return Item(link.table or table.name, link.column, "", part, link.since)


def _group(link: Link, table: Table, catalog: Catalog) -> Item:
    """The expression grouped by: moments fall together by day."""
    item = _item(link, table)
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


def _main_date(table: Table) -> str | None:
    return next((column.name for column in table.columns if column.is_date), None)


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
