"""Recognises a query over a query: ranked rows, the number of groups, and the mean over groups.

The columns of the inner query are told by what they stand for, so that one SELECT is left to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number
from sqlrag_dspy.sql.reading.conditions import Beyond
from sqlrag_dspy.sql.scopes import has_own_aggregate

Over = Literal["", "count", "avg"]
_WHOLE = ("distinct", "order", "limit", "offset", "with_", "qualify")


def is_own_limit(tree: exp.Select) -> bool:
    """Whether the limit of a query is the one that `check` adds to see a cut, such as 1001."""
    limit = tree.args.get("limit")
    count = number(limit.expression) if isinstance(limit, exp.Limit) else None
    return count is not None and count.isdigit() and int(count) > 100 and int(count) % 100 == 1


def flattened(tree: exp.Select) -> tuple[exp.Select, Over]:
    """A query over one subquery, or WITH, as one query, and what is asked of its groups; any other as it is."""
    tables = {each.alias.casefold(): each.this for each in _ctes(tree)}
    flat, over, used = _flat(tree, tables)
    if set(tables) - used:
        raise Beyond("a clause that sketches have not")
    return flat, over


def _flat(tree: exp.Select, tables: Mapping[str, exp.Expr]) -> tuple[exp.Select, Over, set[str]]:
    start = tree.args.get("from_")
    source = start.this if start is not None else None
    inner = source.this if isinstance(source, exp.Subquery) else None
    used: set[str] = set()
    if isinstance(source, exp.Table) and source.name.casefold() in tables and not source.args.get("joins"):
        inner = tables[source.name.casefold()]
        used.add(source.name.casefold())
    if not isinstance(inner, exp.Select) or tree.args.get("joins"):
        return tree, "", used
    inner, over, deeper = _flat(inner, tables)
    if over or any(inner.args.get(key) for key in _WHOLE):
        raise Beyond("a source that is no table")
    if inner.args.get("group") is not None and (asked := _of_groups(tree, inner)) is not None:
        return asked[0], asked[1], used | deeper
    return _merged(tree, inner), "", used | deeper


def _of_groups(outer: exp.Select, inner: exp.Select) -> tuple[exp.Select, Over] | None:
    """The groups that COUNT(*) counts or AVG(column) takes the mean of; None when rows of them are asked for."""
    shown = [each.unalias() for each in outer.expressions]
    if not has_own_aggregate(outer):
        return None
    said = {key for key, value in outer.args.items() if value} - {"expressions", "from_", "with_"}
    if is_own_limit(outer):
        said.discard("limit")
    if said or len(shown) != 1:
        raise Beyond("an aggregate of groups")
    node, groups = bare(shown[0]), inner.copy()
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star | exp.Literal):
        groups.set("expressions", [each.copy() for each in inner.args["group"].expressions])
        return groups, "count"
    column = bare(node.this) if isinstance(node, exp.Avg) else None
    meant = [each for each in inner.expressions if column is not None and each.alias == column.name]
    if len(meant) != 1 or not isinstance(column, exp.Column):
        raise Beyond("an aggregate of groups")
    groups.set("expressions", [meant[0].copy()])
    return groups, "avg"


def _ctes(tree: exp.Select) -> list[exp.Expr]:
    found = tree.args.get("with_")
    if found is None:
        return []
    if found.args.get("recursive"):
        raise Beyond("a recursive query")
    return list(found.expressions)


def _merged(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """The outer query with the inner one's columns written out; only a bound on a rank may be asked of its rows."""
    if any(outer.args.get(key) for key in ("group", "having", "distinct", "qualify")):
        raise Beyond("a query over a query")
    named = {each.alias_or_name.casefold(): each.unalias() for each in inner.expressions}

    def told(node: exp.Expr) -> Any:
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            if node.name.casefold() not in named:
                raise Beyond("a column that the inner query has not")
            return named[node.name.casefold()].copy()
        return node

    merged = inner.copy()
    shown: list[exp.Expr] = []
    for each in outer.expressions:
        if isinstance(each, exp.Star):
            shown += [node.copy() for node in inner.expressions]
        else:
            alias = each.alias_or_name
            spelt = each.unalias().copy().transform(told)
            shown.append(exp.Alias(this=spelt, alias=exp.to_identifier(alias, quoted=True)))
    merged.set("expressions", shown)
    where = outer.args.get("where")
    if where is not None:
        merged.set("qualify", exp.Qualify(this=where.this.copy().transform(told)))
    for key in ("order", "limit", "offset"):
        if outer.args.get(key) is not None:
            merged.set(key, outer.args[key].copy().transform(told))
    return merged
