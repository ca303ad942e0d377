"""Links to predicates: what the restrictions of a question say, for queries and for searches alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlrag_dspy.types import Catalog, Link, Predicate, Table, Value


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
        elif role in ("true", "false") and column is not None:
            home = catalog.table(where)
            held = home.column(column) if home is not None else None
            is_boolean = held is not None and held.profile.found == "boolean"
            out.append(
                (Predicate(where, column, "=", (role == "true") if is_boolean else int(role == "true")),)
            )
        elif link.kind == "value" and link.concept == "state" and column is not None:
            out.append((Predicate(where, column, link.op),))
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
            bounds = comparisons(link, "=")
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


def inside_of(
    absent: Table, restricting: Sequence[tuple[Link, str]]
) -> tuple[list[tuple[Link, str]], list[tuple[Link, str]]]:
    """What restricts the rows that are missing, and what the rows that are asked for.

    "Who ordered in 2022 and not in 2023" asks for rows with an order of 2022 and without one of 2023.
    """
    here = [(link, role) for link, role in restricting if link.table == absent.name]
    others = [(link, role) for link, role in restricting if link.table != absent.name]
    denied = [
        (replace(link, op="" if link.kind == "date" else "="), role) for link, role in here if link.op == "!="
    ]
    if not denied or len(denied) == len(here):
        return here, others
    return denied, [each for each in restricting if each[0].op != "!=" or each[0].table != absent.name]


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


def comparisons(link: Link, bare: str) -> list[tuple[str, Any]]:
    if link.op == "between":
        return [(">=", link.value), ("<=", link.upper)]
    return [(link.op or bare, link.value)]


def _main_date(table: Table) -> str | None:
    return next((column.name for column in table.columns if column.is_date), None)
