"""How tables reach each other: shortest paths along foreign keys, declared ones before inferred ones."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from sqlrag_dspy.types import Catalog, Table

Pair = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Hop:
    """A join of `right` to `left` on equal columns. `many`: one row of `left` may meet several of `right`."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]
    many: bool

    @property
    def pairs(self) -> set[Pair]:
        """The equalities of the join, each as a set of two (table, column)."""
        return {
            frozenset({(self.left, left), (self.right, right)})
            for left, right in zip(self.left_columns, self.right_columns)
        }


def _edges(catalog: Catalog) -> dict[str, list[tuple[float, Hop]]]:
    edges: dict[str, list[tuple[float, Hop]]] = {table.name: [] for table in catalog.tables}
    for table in catalog.tables:
        for link in table.foreign_keys:
            other = catalog.table(link.table)
            if other is None or other.name == table.name:
                continue
            if any(other.column(name) is None for name in link.to_columns):
                continue
            if any(table.column(name) is None for name in link.columns):
                continue
            cost = 1.0 if link.is_declared else 1.1
            to_one = is_unique(other, link.to_columns)
            from_one = is_unique(table, link.columns)
            edges[table.name].append(
                (cost, Hop(table.name, link.columns, other.name, link.to_columns, not to_one))
            )
            edges[other.name].append(
                (cost, Hop(other.name, link.to_columns, table.name, link.columns, not from_one))
            )
    return edges


def is_unique(table: Table, columns: tuple[str, ...]) -> bool:
    """Whether no two rows of the table share values in these columns, by its key or by what was counted."""
    named = {name.casefold() for name in columns}
    if {name.casefold() for name in table.key} <= named:
        return True
    return any(
        (column := table.column(name)) is not None and 0 < table.rows <= column.profile.distinct
        for name in columns
    )


def path(catalog: Catalog, start: str, goal: str) -> tuple[Hop, ...] | None:
    """The cheapest hops from one table to another: () when they are the same, None when nothing leads there."""
    return connect(catalog, (start,), goal)


def connect(catalog: Catalog, starts: Iterable[str], goal: str) -> tuple[Hop, ...] | None:
    """The cheapest hops from any of `starts` to `goal`."""
    edges = _edges(catalog)
    queue: list[tuple[float, int, str, tuple[Hop, ...]]] = []
    for order, start in enumerate(starts):
        heapq.heappush(queue, (0.0, order, start, ()))
    seen: set[str] = set()
    count = len(queue)
    while queue:
        cost, _, table, hops = heapq.heappop(queue)
        if table == goal:
            return hops
        if table in seen:
            continue
        seen.add(table)
        for weight, hop in edges.get(table, ()):
            if hop.right not in seen:
                count += 1
                heapq.heappush(queue, (cost + weight, count, hop.right, (*hops, hop)))
    return None


def spell(hops: tuple[Hop, ...]) -> str:
    """Hops as advice: JOIN "b" ON "a"."x" = "b"."y" …"""
    parts = []
    for hop in hops:
        on = " AND ".join(
            f"{quoted(hop.left)}.{quoted(left)} = {quoted(hop.right)}.{quoted(right)}"
            for left, right in zip(hop.left_columns, hop.right_columns)
        )
        parts.append(f"JOIN {quoted(hop.right)} ON {on}")
    return " ".join(parts)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
