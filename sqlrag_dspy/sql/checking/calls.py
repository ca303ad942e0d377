"""Calls with words inside or after their brackets, brought to the one form that DuckDB has for each.

WITHIN GROUP becomes an argument's ORDER BY, or a quantile; IGNORE NULLS stands within the brackets of a window
function, and is refused elsewhere. Leaves out which functions may be called: functions.py.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.kinds import function_name
from sqlrag_dspy.sql.walking import nodes_of

_QUANTILES = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}


def with_plain_calls(tree: exp.Query) -> exp.Query:
    """The tree without WITHIN GROUP, and with IGNORE NULLS where it works. Raises SqlRejected where it does not."""
    for node in nodes_of(tree):
        if isinstance(node, exp.WithinGroup):
            node.replace(_ordered_call(node))
        elif isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            _within_window(node)
    return tree


def _ordered_call(node: exp.WithinGroup) -> exp.Expr:
    """f(…) WITHIN GROUP (ORDER BY a) as f(… ORDER BY a), a quantile of a, or mode(a)."""
    call, order = node.this, node.expression
    name, arguments = function_name(call), list(call.expressions)
    keys = order.expressions if isinstance(order, exp.Order) else []
    if not name or not keys:
        raise SqlRejected("WITHIN GROUP needs an aggregate before it and ORDER BY within it")
    if (name in _QUANTILES and len(arguments) == 1) or (name == "mode" and not arguments):
        if len(keys) > 1:
            raise SqlRejected(f"{name}(…) WITHIN GROUP orders by one column; leave out the others")
        key = keys[0]
        # DuckDB counts a share below zero from the largest value.
        shares = [exp.Neg(this=each) if key.args.get("desc") else each for each in arguments]
        return exp.Anonymous(this=_QUANTILES.get(name, name), expressions=[key.this, *shares])
    if not arguments:
        raise SqlRejected(f"{name}() needs an argument")
    if isinstance(arguments[-1], exp.Order):
        raise SqlRejected(f"{name}(…) is ordered twice; leave out WITHIN GROUP")
    last = exp.Order(this=arguments[-1], expressions=keys)
    return exp.Anonymous(this=name, expressions=[*arguments[:-1], last])


def _within_window(node: exp.IgnoreNulls | exp.RespectNulls) -> None:
    inner, holder = node.this, node.parent
    if isinstance(inner, exp.Anonymous) and isinstance(holder, exp.Window) and inner.expressions:
        node.replace(inner)
        first = inner.expressions[0]
        held = exp.Null()
        first.replace(held)
        held.replace(type(node)(this=first))
        return
    if not (isinstance(holder, exp.Anonymous) and isinstance(holder.parent, exp.Window)):
        words = "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else "RESPECT NULLS"
        raise SqlRejected(
            f"{words} belongs to window functions; write FILTER (WHERE column IS NOT NULL) after an aggregate"
        )
