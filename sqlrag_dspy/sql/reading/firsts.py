"""Recognises the first rows of each group: a RANK that is bounded, or an extreme of the rows that share a column.

Writing is building.py's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number
from sqlrag_dspy.sql.dialect.dates import sorts_as_text
from sqlrag_dspy.sql.kinds import field_of, function_name
from sqlrag_dspy.sql.reading.conditions import Beyond, Groups, Subquery, groups_of
from sqlrag_dspy.sql.reading.date_parts import dated
from sqlrag_dspy.sql.reading.from_clause import Joins, sources
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, Column, Item, Sketch


@dataclass(frozen=True)
class Ranking:
    """The first `limit` in `order` of the rows, or groups, that agree in `each`."""

    each: list[exp.Expr]
    order: exp.Ordered
    limit: int


def ranking_of(tree: exp.Select) -> Ranking | None:
    """The ranking that QUALIFY bounds; None without one. Raises Beyond for other windows."""
    qualify = tree.args.get("qualify")
    if qualify is None:
        return None
    node = bare(qualify.this)
    window, bound = bare(node.this) if isinstance(node, exp.EQ | exp.LTE) else None, None
    if isinstance(window, exp.Window):
        bound = number(node.expression)
    if not isinstance(window, exp.Window) or bound is None or not bound.isdigit():
        raise Beyond("a window")
    order = window.args.get("order")
    is_rank = isinstance(window.this, exp.Rank) or function_name(window.this) == "rank"
    if not is_rank or window.args.get("spec") or order is None or len(order.expressions) != 1:
        raise Beyond("a window")
    if isinstance(node, exp.EQ) and bound != "1":
        raise Beyond("a place among others")
    each = list(window.args.get("partition_by") or ())
    if not each:
        raise Beyond("a rank over all rows")
    return Ranking(each, order.expressions[0], int(bound))


@dataclass(frozen=True)
class Extreme:
    """Rows whose `item` is the greatest, or least, among the rows that pass `filters` and agree in `each`."""

    item: Item
    is_greatest: bool
    filters: Groups
    each: list[Item]


def extreme_of(term: exp.Expr, catalog: Catalog, subquery: Subquery) -> Extreme | None:
    """`x = (SELECT MAX(x) FROM t WHERE …)`, also of the rows that share a column with the one outside."""
    if not isinstance(term, exp.EQ) or not isinstance(bare(term.expression), exp.Subquery):
        return None
    outer, inner = field_of(term.this), bare(term.expression).this
    plain = ("distinct", "group", "having", "order", "limit", "joins", "with_")
    if outer is None or outer.table is None or outer.column is None or not isinstance(inner, exp.Select):
        raise Beyond("a subquery compared")
    if any(inner.args.get(key) for key in plain) or len(inner.expressions) != 1:
        raise Beyond("a subquery compared")
    call = inner.expressions[0].unalias()
    if function_name(call) not in ("max", "min") or field_of(call.expressions[0]) != outer:
        raise Beyond("a subquery compared")
    joins = Joins()
    if sources(inner, catalog, joins) or [each.name for each in joins.tables] != [outer.table.name]:
        raise Beyond("a subquery over another table")
    shared, rest = _shared_with(inner)
    groups = [group for each in rest for group in groups_of(each, subquery)]
    refuse_text_order(outer.column.is_date, outer.column)
    return Extreme(Item(outer.table.name, outer.column.name), function_name(call) == "max", groups, shared)


def with_extreme(sketch: Sketch, extreme: Extreme) -> Sketch:
    """A sketch of the rows outside, cut to those that are the extreme. Raises Beyond where that is no first row."""
    is_cut = sketch.group or sketch.order or sketch.limit is not None or sketch.offset or sketch.each
    if set(extreme.filters) != set(sketch.filters) or is_cut:
        raise Beyond("an extreme of other rows")
    if sketch.distinct or any(each.aggregate for each in sketch.select) or sketch.share:
        raise Beyond("an extreme under an aggregate")
    order = ((extreme.item, extreme.is_greatest),)
    return replace(sketch, order=order, limit=1, each=tuple(extreme.each))


def _shared_with(inner: exp.Select) -> tuple[list[Item], list[exp.Expr]]:
    """What the rows of a subquery share with the row outside (`b.section = a.section`), and its other conditions."""
    where = inner.args.get("where")
    shared: list[Item] = []
    rest: list[exp.Expr] = []
    for term in conjuncts(where.this) if where is not None else ():
        item = _shared(term)
        if item is None:
            rest.append(term)
        else:
            shared.append(item)
    return shared, rest


def _shared(term: exp.Expr) -> Item | None:
    if not isinstance(term, exp.EQ):
        return None
    sides = [
        {each.table.casefold() for each in side.find_all(exp.Column)} for side in (term.this, term.expression)
    ]
    if len(sides[0]) != 1 or len(sides[1]) != 1 or sides[0] == sides[1]:
        return None
    left, right = field_of(term.this), field_of(term.expression)
    if left is not None and left.table is not None and left.column is not None and left == right:
        return Item(left.table.name, left.column.name)
    one, other = dated(term.this), dated(term.expression)
    if one is None or one != other or one.part is None:
        return None
    return Item(one.table.name, one.column.name, "", one.part)


def refuse_text_order(is_date: bool, column: Column) -> None:
    """Raises Beyond for stored dates that sort otherwise than in time."""
    if is_date and column.profile.date_formats and not sorts_as_text(column):
        raise Beyond("dates ordered as text")
