"""What a top-k query ranks by, so that whoever runs it can see whether its LIMIT cuts through equals."""

from __future__ import annotations

import sqlglot
from sqlglot import exp


def ranking(sql: str, *, dialect: str = "sqlite") -> tuple[int, str] | None:
    """The last place shown, and the query of the values ranked by, up to one row more; None when it ranks nothing.

    The last place is the limit, and the offset with it. That row and the next of the query are equal where the
    limit cuts a tie. Queries without a plain SELECT at the top are left out.
    """
    tree = sqlglot.parse_one(sql, read=dialect)
    if not isinstance(tree, exp.Select):
        return None
    order, count, skipped = tree.args.get("order"), _whole(tree, "limit"), _whole(tree, "offset")
    if order is None or count is None or (skipped is None and tree.args.get("offset")):
        return None
    last = count + (skipped or 0)
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
    probe.set("offset", None)
    return last, probe.limit(last + 1).sql(dialect=dialect)


def _whole(tree: exp.Select, clause: str) -> int | None:
    """The whole number of a LIMIT or OFFSET; None for any other, or none."""
    found = tree.args.get(clause)
    number = found.expression if isinstance(found, exp.Limit | exp.Offset) else None
    return int(number.this) if isinstance(number, exp.Literal) and number.this.isdigit() else None


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
