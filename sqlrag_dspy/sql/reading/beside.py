"""Recognises two parts of the rows beside each other: SUM(a), SUM(b); SUM(a) - SUM(b); HAVING SUM(a) > SUM(b).

Writing is sql.writing.beside's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number
from sqlrag_dspy.sql.kinds import function_name
from sqlrag_dspy.sql.reading.conditions import Groups
from sqlrag_dspy.sql.reading.shares import branch_of, counted_by, factors, summed
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Predicate

How = Literal["both", "difference", "gap", "change", "more", "less"]


@dataclass(frozen=True)
class Half:
    """The aggregate of the rows that satisfy a condition; `amount` None counts them."""

    condition: exp.Expr
    aggregate: Literal["count", "sum", "avg"]
    amount: exp.Expr | None = None

    def is_like(self, other: Half) -> bool:
        """Whether both are the same aggregate."""
        return (self.aggregate, self.amount) == (other.aggregate, other.amount)


@dataclass(frozen=True)
class Told:
    """Two halves and what is said of them."""

    first: Half
    second: Half
    how: How


def told_of(tree: exp.Select) -> tuple[Told | None, int]:
    """What a query compares by what it shows, bounds groups by or orders them by, and how many columns show it."""
    having, order = tree.args.get("having"), tree.args.get("order")
    told, count = _shown([bare(each.unalias()) for each in tree.expressions])
    if told is None and having is not None:
        found = [told for term in conjuncts(having.this) if (told := bounded_by(term)) is not None]
        told = found[0] if len(found) == 1 else None
    if told is None and order is not None and len(order.expressions) == 1:
        told = difference_of(order.expressions[0].this)
    return told, count


def _shown(shown: Sequence[exp.Expr]) -> tuple[Told | None, int]:
    """What the last expressions of a SELECT compare, and how many of them do."""
    if len(shown) > 1:
        first, second = half_of(shown[-2]), half_of(shown[-1])
        if first is not None and second is not None and first.is_like(second):
            return Told(first, second, "both"), 2
    told = difference_of(shown[-1]) if shown else None
    return told, 1 if told is not None else 0


def difference_of(node: exp.Expr) -> Told | None:
    """The halves of `a - b`, of ABS(a - b), or of 100.0 * (b - a) / a."""
    node = bare(node)
    inner = bare(node.expressions[0]) if function_name(node) == "abs" and node.expressions else None
    if isinstance(inner, exp.Sub):
        return _told(inner.this, inner.expression, "gap")
    if isinstance(node, exp.Sub):
        return _told(node.this, node.expression, "difference")
    above, below = factors(node)
    gaps = [each for each in above if isinstance(each, exp.Sub)]
    digits = [number(each) for each in above if number(each) is not None]
    if len(gaps) != 1 or len(above) != 2 or len(below) != 1 or digits not in (["100.0"], ["100"]):
        return None
    told = _told(gaps[0].expression, gaps[0].this, "change")
    base = half_of(below[0])
    return told if told is not None and base == told.first and digits == ["100.0"] else None


def bounded_by(term: exp.Expr) -> Told | None:
    """The halves that a condition on groups compares."""
    if not isinstance(term, exp.GT | exp.LT):
        return None
    return _told(term.this, term.expression, "more" if isinstance(term, exp.GT) else "less")


def half_of(node: exp.Expr) -> Half | None:
    """The aggregate of a part of the rows, however it is spelt."""
    node = bare(node)
    if isinstance(node, exp.Coalesce) and [number(each) for each in node.expressions] == ["0"]:
        node = bare(node.this)
    if (found := summed(node)) is not None:
        return Half(found[0], "sum", found[1])
    if isinstance(node, exp.Filter) and isinstance(node.this, exp.Avg):
        return Half(node.expression.this, "avg", bare(node.this.this))
    if isinstance(node, exp.Avg) and isinstance(case := bare(node.this), exp.Case | exp.If):
        branch = branch_of(case)
        if branch is not None and (branch[2] is None or isinstance(branch[2], exp.Null)):
            return Half(branch[0], "avg", bare(branch[1]))
    counted = None if isinstance(node, exp.Avg) else counted_by(node)
    return Half(counted[0], "count") if counted is not None and counted[1] == 1.0 else None


def _told(first: exp.Expr, second: exp.Expr, how: How) -> Told | None:
    one, other = half_of(first), half_of(second)
    return Told(one, other, how) if one is not None and other is not None and one.is_like(other) else None


def is_either(term: exp.Expr, told: Told) -> bool:
    """Whether a condition says no more than that a row belongs to one of the halves."""
    term = bare(term)
    if not isinstance(term, exp.Or):
        return False
    return [bare(term.this), bare(term.expression)] == [
        bare(told.first.condition),
        bare(told.second.condition),
    ]


def parted(first: Groups, second: Groups, filters: Groups) -> tuple[Groups, Groups, Groups]:
    """Both parts and the other filters, where a period of all rows ends what the parts leave open.

    "Before July" and "from July on", of 2023, are its two halves.
    """
    spans = {_place(each): _ends(filters, each) for each in _dated((*first, *second))}
    for place, ends in spans.items():
        if len(ends) != 2:
            continue
        first, second = (_closed(part, place, ends) for part in (first, second))
        lows, highs = ([str(_of(part, place, op)) for part in (first, second)] for op in (">=", "<"))
        is_whole = min(lows) == str(ends[">="].value) and max(highs) == str(ends["<"].value)
        if is_whole and sorted(highs)[0] == sorted(lows)[1]:
            filters = [group for group in filters if group not in [(end,) for end in ends.values()]]
    return first, second, filters


_Place = tuple[str, str]


def _place(each: Predicate) -> _Place:
    return (each.table, each.column)


def _dated(groups: Sequence[tuple[Predicate, ...]]) -> list[Predicate]:
    return [
        group[0] for group in groups if len(group) == 1 and group[0].op in (">=", "<") and not group[0].part
    ]


def _ends(groups: Groups, like: Predicate) -> dict[str, Predicate]:
    return {each.op: each for each in _dated(groups) if _place(each) == _place(like)}


def _of(part: Groups, place: _Place, op: str) -> object:
    return next((each.value for each in _dated(part) if _place(each) == place and each.op == op), None)


def _closed(part: Groups, place: _Place, ends: dict[str, Predicate]) -> Groups:
    """The part with the ends that it has not itself."""
    own = {each.op for each in _dated(part) if _place(each) == place}
    if not own:
        return part
    missing = [(replace(ends[op]),) for op in (">=", "<") if op not in own]
    return sorted([*part, *missing], key=lambda group: group[0].op != ">=") if missing else part
