"""Recognises what occurs with both of two values: `SELECT x … INTERSECT SELECT x …`.

Told as groups of x, among the rows with either value, in which both are counted.
"""

from __future__ import annotations

from dataclasses import replace

from sqlrag_dspy.sql.dialect.dates import span
from sqlrag_dspy.sql.reading.conditions import Beyond
from sqlrag_dspy.types import Item, Part, Predicate, Sketch, Value

_Group = tuple[Predicate, ...]


def both_of(first: Sketch, second: Sketch) -> Sketch:
    """Two lists of one column that only differ in one value, or period, as the groups that have both."""
    bare = [replace(each, filters=(), distinct=False) for each in (first, second)]
    is_list = len(first.select) == 1 and not first.select[0].aggregate
    if bare[0] != bare[1] or not is_list or first.group or first.order or first.limit is not None:
        raise Beyond("lists of different things")
    shown = first.select[0]
    known = (Predicate(shown.table, shown.column or "", "not null"),)
    filters = [[group for group in each.filters if group != known] for each in (first, second)]
    shared = [group for group in filters[0] if group in filters[1]]
    one, other = (_place([group for group in each if group not in shared]) for each in filters)
    if one[0] != other[0] or one[1] == other[1]:
        raise Beyond("lists that differ in more than a value")
    item = one[0]
    either = Predicate(item.table, item.column or "", "in", (one[1], other[1]), item.part)
    is_told = known in (*first.filters, *second.filters)
    return replace(
        bare[0],
        filters=((either,), *shared, *([known] if is_told else [])),
        group=(shown,),
        having=((replace(item, aggregate="count_distinct"), "=", 2),),
    )


def _place(own: list[_Group]) -> tuple[Item, Value]:
    """The column, or part of a date, and the one value of it that some filters ask for."""
    if len(own) == 1 and len(own[0]) == 1 and own[0][0].op == "=" and not own[0][0].since:
        only = own[0][0]
        if not isinstance(only.value, tuple) and not only.than:
            return Item(only.table, only.column, "", only.part), only.value
    bounds = {group[0].op: group[0] for group in own if len(group) == 1 and not group[0].part}
    if len(own) != 2 or set(bounds) != {">=", "<"} or bounds[">="].column != bounds["<"].column:
        raise Beyond("lists that differ in more than a value")
    start, end = str(bounds[">="].value), str(bounds["<"].value)
    home = bounds[">="]
    periods: tuple[tuple[Part, str | None], ...] = (("year", None), ("year_month", start[5:7]))
    for part, month in periods:
        if span(start[:4], month) == (start, end):
            return Item(home.table, home.column, "", part), int(start[:4]) if month is None else start[:7]
    raise Beyond("a period that is no year or month")
