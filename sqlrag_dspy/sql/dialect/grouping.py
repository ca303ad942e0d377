"""Columns that a grouped query shows without grouping by them, which SQLite allows and DuckDB refuses.

SQLite takes such a column from some row of the group; with a single MIN or MAX, from the row that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.kinds import function_name
from sqlrag_dspy.sql.words import words

AGGREGATES = frozenset(
    words(
        """
        max min string_agg group_concat list array_agg any_value first last arg_max arg_min max_by min_by
        median mode count_if countif bool_and bool_or stddev stddev_samp stddev_pop variance var_samp
        var_pop total quantile quantile_cont quantile_disc approx_count_distinct product mean grouping
        count_star corr arbitrary argmax argmin approx_quantile listagg mad skewness kurtosis entropy sem
        covar_pop covar_samp favg fsum json_group_array json_group_object bit_and bit_or bit_xor
        """
    )
)


def is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count | exp.Sum | exp.Avg) or function_name(node) in AGGREGATES


def own_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of one query's expression, without what lies in queries inside it."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for child in node.iter_expressions(reverse=True):
            if not isinstance(child, exp.Query):
                stack.append(child)


def plain_aggregates(root: exp.Expr) -> list[exp.Expr]:
    """Aggregates that make a group of rows into one; those with OVER do not."""
    found = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query):
            continue
        if isinstance(node, exp.Window):
            # sum(count(*)) OVER (…): the inner one groups
            inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
            stack.extend(inner.iter_expressions())
            stack.extend(child for key, child in _parts(node) if key != "this")
            continue
        if is_aggregate(node):
            found.append(node)
            continue
        stack.extend(node.iter_expressions())
    return found


def _parts(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for key, value in node.args.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expr):
                yield key, each


def wrap_bare_columns(select: exp.Select) -> None:
    """Wrap bare columns of a grouped query in ANY_VALUE, or in ARG_MIN / ARG_MAX beside a single MIN or MAX."""
    group = select.args.get("group")
    parts = [*select.expressions]
    having, order = select.args.get("having"), select.args.get("order")
    ordered = [each.this for each in order.expressions] if order is not None else []
    if having is not None:
        parts.append(having)
    aggregates = [found for part in [*parts, *ordered] for found in plain_aggregates(part)]
    if group is None and not aggregates:
        return
    if group is not None and (group.args.get("all") or not group.expressions):
        return
    keys = _keys(select, group)
    shown = [found for part in select.expressions for found in plain_aggregates(part)]
    extreme = shown[0] if len(shown) == 1 and function_name(shown[0]) in ("max", "min") else None
    if extreme is not None and isinstance(extreme.expressions[0], exp.Distinct):
        extreme = None
    for part in [*parts, *ordered]:
        _wrap_under(part, keys, extreme)


def _keys(select: exp.Select, group: exp.Group | None) -> dict[str, type[exp.Expr]]:
    """What the query groups by, as spelt, with the type of each node."""
    keys: dict[str, type[exp.Expr]] = {}
    for each in group.expressions if group is not None else []:
        if isinstance(each, exp.Literal) and not each.is_string:
            position = int(each.this) - 1
            if 0 <= position < len(select.expressions):
                each = select.expressions[position].unalias()
        elif isinstance(each, exp.Column) and each.meta.get("output"):
            each = next((p.this for p in select.expressions if p.alias_or_name == each.name), each)
        keys[_spelt(each)] = type(each)
        if isinstance(each, exp.Tuple | exp.Paren | exp.Cube | exp.Rollup | exp.GroupingSets):
            keys |= {_spelt(inner): type(inner) for inner in own_nodes(each)}
    return keys


def _spelt(node: exp.Expr) -> str:
    if isinstance(node, exp.Column) and "source" in node.meta:
        return f"{node.meta['source']}.{node.name}".casefold()
    return node.sql()


def _wrap_under(root: exp.Expr, keys: dict[str, type[exp.Expr]], extreme: exp.Expr | None) -> None:
    stack = [root]
    types = set(keys.values())  # spelling a node costs more than its type tells
    while stack:
        node = stack.pop()
        if (
            (type(node) in types and _spelt(node) in keys)
            or is_aggregate(node)
            or isinstance(node, exp.Query | exp.Filter | exp.Window)
        ):
            continue
        if isinstance(node, exp.Column):
            if "source" in node.meta and not isinstance(node.this, exp.Star):
                _wrap(node, extreme)
            continue
        stack.extend(node.iter_expressions())


def _wrap(node: exp.Column, extreme: exp.Expr | None) -> None:
    inner = node.copy()
    if extreme is None:
        new: exp.Expr = exp.Anonymous(this="any_value", expressions=[inner])
    else:
        name = "arg_max" if function_name(extreme) == "max" else "arg_min"
        new = exp.Anonymous(this=name, expressions=[inner, extreme.expressions[0].copy()])
    if isinstance(node.parent, exp.Select):
        new = exp.Alias(this=new, alias=exp.to_identifier(node.name, quoted=True))
    node.replace(new)
