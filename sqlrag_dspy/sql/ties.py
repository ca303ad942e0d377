"""What a top-k query ranks by, so that whoever runs it can see whether its LIMIT cuts through equals."""

from __future__ import annotations

import sqlglot
from sqlglot import exp


def ranking(sql: str, *, dialect: str = "sqlite") -> tuple[int, str] | None:
    """The limit, and the query of the values that it ranks by for one row more; None when it ranks nothing.

    Rows `limit` and `limit + 1` of that query are equal where the limit cuts a tie. Queries with an offset or
    without a plain SELECT at the top are left out.
    """
    tree = sqlglot.parse_one(sql, read=dialect)
    if not isinstance(tree, exp.Select) or tree.args.get("offset"):
        return None
    order, limit = tree.args.get("order"), tree.args.get("limit")
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if order is None or not isinstance(count, exp.Literal) or count.is_string:
        return None
    named = {item.alias: item.unalias() for item in tree.expressions if item.alias}
    items = [_meant(ordered.this, tree, named) for ordered in order.expressions]
    grouped = tree.copy()
    if grouped.args.get("distinct"):
        grouped.set("distinct", None)
        grouped = grouped.group_by(*(item.unalias().copy() for item in tree.expressions))
    if group := grouped.args.get("group"):
        group.set("expressions", [_meant(item, tree, named).copy() for item in group.expressions])
    probe = grouped.select(*(item.copy() for item in items), append=False)
    for ordered, item in zip(probe.args["order"].expressions, items, strict=True):
        ordered.set("this", item.copy())
    return int(count.this), probe.limit(int(count.this) + 1).sql(dialect=dialect)


def _meant(ordered: exp.Expr, tree: exp.Select, named: dict[str, exp.Expr]) -> exp.Expr:
    """What an item of ORDER BY stands for: a place in the list, an alias, or itself."""
    if isinstance(ordered, exp.Literal) and str(ordered.this).isdigit() and not ordered.is_string:
        place = int(ordered.this)
        item: exp.Expr = (
            tree.expressions[place - 1].unalias() if 0 < place <= len(tree.expressions) else ordered
        )
        return item
    if isinstance(ordered, exp.Column) and not ordered.table and ordered.name in named:
        return named[ordered.name]
    return ordered
