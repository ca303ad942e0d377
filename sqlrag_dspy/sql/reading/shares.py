"""Recognises a share: the part of the rows, or of an amount, that satisfies a condition; percentage or fraction."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.dialect.comparing import bare, number
from sqlrag_dspy.sql.kinds import field_of, kind_of


@dataclass(frozen=True)
class Share:
    """The condition that is counted; `is_fraction` when the whole is 1 rather than 100.

    `amount` is what is added up on both sides; None when rows are counted.
    """

    condition: exp.Expr
    is_fraction: bool
    amount: exp.Expr | None = None


def share_of(node: exp.Expr) -> Share | None:
    """The share that an expression computes, however it is spelt; None when it computes something else."""
    above, below = factors(node)
    factor, is_real = 1.0, False
    conditions: list[tuple[exp.Expr, float]] = []
    parts: list[tuple[exp.Expr, exp.Expr]] = []
    sums: list[exp.Expr] = []
    averaged = counted = 0
    for each in above:
        digits = number(each)
        if digits is not None:
            factor *= float(digits)
            is_real = is_real or "." in digits
            continue
        part = summed(each)
        if part is not None:
            parts.append(part)
            continue
        found = counted_by(each)
        if found is None:
            return None
        conditions.append(found)
        averaged += isinstance(each, exp.Avg)
    for each in below:
        digits = number(each)
        if digits is not None:
            factor /= float(digits) or 1.0
            is_real = is_real or "." in digits
        elif isinstance(each, exp.Count) and isinstance(each.this, exp.Star | exp.Literal):
            counted += 1
        elif isinstance(each, exp.Sum) and field_of(each.this) is not None:
            sums.append(bare(each.this))
        else:
            return None
    if parts or sums:
        is_one = len(parts) == len(sums) == 1 and not (conditions or averaged or counted)
        if not is_one or field_of(parts[0][1]) != field_of(sums[0]):
            return None
        if not (is_real or _is_real(node) or kind_of(sums[0]) == "number") or factor not in (1.0, 100.0):
            return None
        return Share(parts[0][0], factor == 1.0, sums[0])
    if len(conditions) != 1 or averaged + counted != 1:
        return None
    # whole numbers divided by whole numbers are cut in SQLite, which is no share
    if counted and not (is_real or _is_real(node)):
        return None
    condition, weight = conditions[0]
    factor *= weight
    return Share(condition, factor == 1.0) if factor in (1.0, 100.0) else None


def _is_real(node: exp.Expr) -> bool:
    return any(kind_of(each) == "number" for each in node.find_all(exp.Cast))


def factors(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """An expression as factors above and below the line."""
    node = bare(node)
    if isinstance(node, exp.Cast) and kind_of(node) == "number":
        return factors(node.this)
    if isinstance(node, exp.Mul):
        left, right = factors(node.this), factors(node.expression)
        return left[0] + right[0], left[1] + right[1]
    if isinstance(node, exp.Div):
        left, right = factors(node.this), factors(node.expression)
        return left[0] + right[1], left[1] + right[0]
    if isinstance(node, exp.Nullif) and number(node.expression) == "0":
        return factors(node.this)
    return [node], []


def summed(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """The condition and the column of SUM(CASE … THEN column END) or SUM(column) FILTER (WHERE …)."""
    node = bare(node)
    if isinstance(node, exp.Coalesce) and [number(each) for each in node.expressions] == ["0"]:
        node = bare(node.this)
    if isinstance(node, exp.Filter):
        added = node.this
        is_column = isinstance(added, exp.Sum) and field_of(added.this) is not None
        return (node.expression.this, bare(added.this)) if is_column else None
    inner = bare(node.this) if isinstance(node, exp.Sum) else None
    if not isinstance(inner, exp.Case | exp.If):
        return None
    branch = branch_of(inner)
    if branch is None or field_of(branch[1]) is None:
        return None
    is_nothing = branch[2] is None or isinstance(branch[2], exp.Null) or number(branch[2]) == "0"
    return (branch[0], bare(branch[1])) if is_nothing else None


def branch_of(node: exp.Case | exp.If) -> tuple[exp.Expr, exp.Expr, exp.Expr | None] | None:
    """The condition, the value where it holds and the other one of a CASE of one branch."""
    if isinstance(node, exp.If):
        return (node.this, node.args["true"], node.args.get("false")) if node.args.get("true") else None
    branches = node.args.get("ifs") or []
    if node.this is not None or len(branches) != 1:
        return None
    return branches[0].this, branches[0].args["true"], node.args.get("default")


def counted_by(node: exp.Expr) -> tuple[exp.Expr, float] | None:
    """The condition and weight of SUM(condition), SUM(CASE …), AVG of either, COUNT(*) FILTER or COUNT(CASE …)."""
    if (
        isinstance(node, exp.Filter)
        and isinstance(node.this, exp.Count)
        and isinstance(node.this.this, exp.Star)
    ):
        return node.expression.this, 1.0
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Case):
        found = _case(node.this, needs_else=False)
        return (found[0], 1.0) if found else None
    if not isinstance(node, exp.Sum | exp.Avg):
        return None
    inner = bare(node.this)
    if isinstance(inner, exp.Cast):
        inner = bare(inner.this)
    if isinstance(inner, exp.Case | exp.If):
        return _case(inner, needs_else=isinstance(node, exp.Avg))
    if kind_of(inner) == "boolean":
        return inner, 1.0
    return (exp.EQ(this=inner.copy(), expression=literal(1)), 1.0) if _is_flag(inner, node) else None


def _is_flag(inner: exp.Expr, aggregate: exp.Expr) -> bool:
    """Whether a sum or mean is that of a column of noughts and ones; a mean leaves out the rows without either."""
    found = field_of(inner)
    column = found.column if found is not None else None
    if column is None or {value for value, _ in column.profile.values} != {0, 1}:
        return False
    return isinstance(aggregate, exp.Sum) or not column.profile.null_share


def _case(node: exp.Case | exp.If, *, needs_else: bool) -> tuple[exp.Expr, float] | None:
    branch = branch_of(node)
    if branch is None:
        return None
    condition, then, other = branch
    weight = number(then)
    rest = number(other) if other is not None else ("" if not needs_else else None)
    if weight is None or rest is None or (rest and float(rest) != 0):
        return None
    return (condition, float(weight)) if float(weight) > 0 else None
