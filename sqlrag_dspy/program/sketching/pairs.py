"""What two values of one column, or two periods, stand for: parts set beside each other, or groups that have both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlrag_dspy.program.sketching.contrasts import halves_of
from sqlrag_dspy.program.sketching.restricting import predicates
from sqlrag_dspy.program.sketching.skeleton import OPPOSITES, Skeleton, compared
from sqlrag_dspy.types import Beside, Catalog, Item, Link, Links, Predicate, Table


def beside_of(
    skeleton: Skeleton, of: Item, pair: Sequence[tuple[Link, str]], table: Table, catalog: Catalog
) -> Beside | None:
    """Two parts of the rows and how they are compared; None when both are one."""
    if len(pair) == 1:
        (link, role), ends = pair[0], halves_of(pair[0][0])
        if ends is None and role not in OPPOSITES:
            return None
        pair = [(end, role) for end in ends] if ends is not None else [*pair, (link, OPPOSITES[role])]
    first, second = (predicates([each], table, catalog, []) for each in pair)
    if not first or not second or first == second:
        return None
    is_shown = not skeleton.order.endswith(skeleton.beside)
    return Beside(of, first, second, skeleton.beside, is_shown)  # type: ignore[arg-type]


def both_of(
    links: Links,
    assigned: Mapping[int, str],
    groups: Sequence[Item],
    filters: Sequence[tuple[Predicate, ...]],
) -> tuple[Item, str, int] | None:
    """That a group has rows of every value, or period, that the filters name of one column."""
    rivals = compared(links, assigned)
    if rivals is None or not groups:
        return None
    item = Item(rivals[0], rivals[1], "count_distinct", rivals[2])
    if (item.table, item.column) in {(group.table, group.column) for group in groups}:
        return None
    listed = [
        len(p.value)
        for alternatives in filters
        for p in alternatives
        if (p.table, p.column, p.op) == (item.table, item.column, "in") and isinstance(p.value, tuple)
    ]
    if not listed and rivals[2]:  # periods next to each other are told as one
        listed = [
            sum(1 for n, role in assigned.items() if role == "filter" and links.chosen[n].kind == "date")
        ]
    return (item, "=", listed[0]) if len(listed) == 1 else None
