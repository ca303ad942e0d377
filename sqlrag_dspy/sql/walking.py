"""Every node of a parsed statement, listed at once: the check looks at all of them several times."""

from __future__ import annotations

from sqlglot import exp


def nodes_of(root: exp.Expr) -> list[exp.Expr]:
    """`root` and every node under it, parents before children. The list stays as it is when nodes are replaced."""
    found = [root]
    for node in found:  # it grows meanwhile
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found.extend([each for each in value if isinstance(each, exp.Expr)])
    return found
