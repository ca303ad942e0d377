"""How tables are joined: the shortest ways between them over foreign keys, declared or inferred.

Leaves out which tables are needed (`schema_index`) and finding references that are not declared: the catalog has
them, by name, type and values, marked `is_declared` False.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlrag_dspy.link.schema.lookalikes import copies
from sqlrag_dspy.types import Catalog

MOST_STEPS = 4
"""Joins of one path at most."""
_INFERRED = 1.4
"""What an inferred step costs beside a declared one, so that it is taken where it is clearly shorter."""
_COPY = 3.0
"""What it costs to go through a copy (an archive) besides."""


@dataclass(frozen=True)
class Join:
    """`columns` of `table` refer to `to_columns` of `to_table`; `is_declared` False when only the data say so."""

    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    is_declared: bool = True

    def __str__(self) -> str:
        pairs = zip(self.columns, self.to_columns, strict=True)
        said = " AND ".join(f"{self.table}.{a} = {self.to_table}.{b}" for a, b in pairs)
        return said if self.is_declared else f"{said} (inferred)"


@dataclass(frozen=True)
class JoinPath:
    """The joins that lead from `start` to `end`, in that order; `through` are the tables between."""

    start: str
    end: str
    joins: tuple[Join, ...]
    through: tuple[str, ...] = ()

    @property
    def is_declared(self) -> bool:
        return all(join.is_declared for join in self.joins)


def join_paths(catalog: Catalog, tables: Iterable[str]) -> tuple[JoinPath, ...]:
    """Ways between the tables: every reference between two of them, and the shortest way where none leads on.

    A table that refers to itself has a path of one join from itself to itself; two references between the same
    tables (two addresses) are two paths. A way through another of the given tables is left out: its parts are
    there. Names that the catalog does not have are ignored; tables that nothing joins are in no path.

    >>> for path in join_paths(catalog, ["customers", "products"]):  # doctest: +SKIP
    ...     print(" , ".join(map(str, path.joins)))
    orders.customer_id = customers.customer_id , order_lines.order_id = orders.order_id , order_lines.product_id = …
    """
    return JoinGraph(catalog, copies(catalog)).paths(tables)


class JoinGraph:
    """The references of a catalog, for many calls of `paths`; `copied` are the tables that copy another."""

    def __init__(self, catalog: Catalog, copied: Collection[str]) -> None:
        self._catalog = catalog
        self._copied = frozenset(copied)
        self._edges = _edges(catalog)

    def paths(self, tables: Iterable[str]) -> tuple[JoinPath, ...]:
        """As `join_paths`."""
        wanted = list(
            dict.fromkeys(t.name for name in tables if (t := self._catalog.table(name)) is not None)
        )
        found: list[JoinPath] = []
        joined: set[frozenset[str]] = set()
        for table in wanted:
            for join in self._edges.get(table, ()):
                if join.table == table and join.to_table in wanted:
                    found.append(JoinPath(table, join.to_table, (join,)))
                    joined.add(frozenset((table, join.to_table)))
        avoided = self._copied - set(wanted)
        for number, start in enumerate(wanted):
            for path in _ways(self._edges, start, set(wanted[number + 1 :]), set(wanted), avoided):
                if frozenset((path.start, path.end)) not in joined:
                    found.append(path)
        return tuple(found)


def _edges(catalog: Catalog) -> dict[str, list[Join]]:
    """The references of every table, from it and to it."""
    edges: dict[str, list[Join]] = defaultdict(list)
    for table in catalog.tables:
        for key in table.foreign_keys:
            join = Join(table.name, key.columns, key.table, key.to_columns, key.is_declared)
            edges[table.name].append(join)
            if key.table != table.name:
                edges[key.table].append(join)
    return edges


def _ways(
    edges: Mapping[str, Sequence[Join]], start: str, ends: set[str], given: set[str], copied: frozenset[str]
) -> Iterator[JoinPath]:
    """The cheapest way from `start` to each of `ends` over tables that are not given."""
    queue: list[tuple[float, int, str, tuple[Join, ...], tuple[str, ...]]] = [(0.0, 0, start, (), ())]
    seen: set[str] = set()
    order = 0
    while queue:
        cost, _, here, joins, through = heapq.heappop(queue)
        if here in seen:
            continue
        seen.add(here)
        if here in ends:
            yield JoinPath(start, here, joins, through)
        if (here in given and here != start) or len(joins) == MOST_STEPS:
            continue
        for join in edges.get(here, ()):
            other = join.to_table if join.table == here else join.table
            if other not in seen:
                order += 1
                step = (1.0 if join.is_declared else _INFERRED) + _COPY * (other in copied)
                between = through if here == start else (*through, here)
                heapq.heappush(queue, (cost + step, order, other, (*joins, join), between))
