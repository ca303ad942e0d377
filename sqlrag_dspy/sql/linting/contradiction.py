"""Conditions that cannot hold together, or cannot fail, whatever the data: read from the statement alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import Field
from sqlrag_dspy.sql.linting.bounds import Bound, Scalar, bounds, is_less
from sqlrag_dspy.sql.linting.statement import Statement, null_with, own, place_of, terms_of
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.sql.telling.phrases import condition_text

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def contradiction(statement: Statement) -> Iterator[str]:
    """Comparisons with NULL and with itself, bounds that exclude each other, alternatives that cover everything."""
    yield from _with_null(statement.tree)
    for select in statement.selects():
        yield from _with_itself(select)
        having = select.args.get("having")
        terms = terms_of(select) + (list(conjuncts(having.this)) if having is not None else [])
        yield from exclusive(terms)
        for node in select.find_all(exp.Or):
            if own(node, select) and not isinstance(node.parent, exp.Or):
                yield from _exhaustive(node)
        if having is not None and select.args.get("group") is not None:
            yield from _empty_groups(select, having)


def _with_null(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(*_COMPARED):
        if isinstance(bare(node.expression), exp.Null) or isinstance(bare(node.this), exp.Null):
            yield "a comparison with NULL is never true; write IS NULL or IS NOT NULL"


def _with_itself(select: exp.Select) -> Iterator[str]:
    for node in select.find_all(*_COMPARED):
        place = place_of(node.this)
        if place is None or place != place_of(node.expression) or not own(node, select):
            continue
        if isinstance(node.find_ancestor(exp.Where, exp.Having, exp.Join), exp.Expr):
            holds = "always" if isinstance(node, exp.EQ | exp.LTE | exp.GTE) else "never"
            name = f"{place[0]}.{place[1]}"
            yield f"{name} is compared with itself, which is {holds} true; compare it with another column or a value"


def exclusive(terms: Sequence[exp.Expr]) -> Iterator[str]:
    """Bounds on one thing of which no value satisfies all."""
    together: dict[str, list[Bound]] = {}
    for term in terms:
        for bound in bounds(term):
            together.setdefault(bound.place, []).append(bound)
    for found in together.values():
        for one, two in combinations(found, 2):
            if _exclude(one, two):
                remedy = "use OR, IN (…), or two subqueries"
                if {one.op, two.op} == {">=", "<="} and _is_reversed(terms, one):
                    remedy = "write the smaller bound of BETWEEN first"
                yield f"{one.text} and {two.text} never hold together; {remedy}"
                break
    yield from _missing(terms, together)


def _missing(terms: Sequence[exp.Expr], together: dict[str, list[Bound]]) -> Iterator[str]:
    """IS NULL beside a condition on something that is NULL wherever that is."""
    for place, stated in together.items():
        null = next((each for each in stated if each.op == "null"), None)
        if null is None:
            continue
        for term in terms:
            inner = bare(term)
            if not isinstance(inner, (*_COMPARED, exp.Like, exp.ILike, exp.Between, exp.In)):
                continue
            sides = [inner.this]
            if isinstance(inner, _COMPARED):
                sides.append(inner.expression)
            if any(bare(side).sql() != place and place in null_with(side) for side in sides):
                yield f"{null.text} and {condition_text(term)} never hold together; use OR, or leave one out"
                break


def _is_reversed(terms: Sequence[exp.Expr], bound: Bound) -> bool:
    """Whether the bound comes from a BETWEEN that excludes itself."""
    for term in terms:
        if isinstance(between := bare(term), exp.Between):
            stated = bounds(between)
            if len(stated) == 2 and bound in stated and _exclude(*stated):
                return True
    return False


def _exclude(one: Bound, two: Bound) -> bool:
    ops = {one.op, two.op}
    if "null" in ops:
        return ops != {"null"}
    if "known" in ops or one.values == () or two.values == ():
        return False
    if not _is_one_kind((*one.values, *two.values)):
        return False
    if one.op == "=":
        return not any(_satisfies(value, two) for value in one.values)
    if two.op == "=":
        return not any(_satisfies(value, one) for value in two.values)
    return _is_gap(one, two) or _is_gap(two, one)


def _is_one_kind(values: tuple[Scalar, ...]) -> bool:
    return len({type(each) for each in values}) == 1


def _is_gap(lower: Bound, upper: Bound) -> bool:
    """Whether nothing lies above the one and below the other."""
    if lower.op not in (">", ">=") or upper.op not in ("<", "<="):
        return False
    low, high = lower.values[0], upper.values[0]
    if is_less(high, low):
        return True
    if low == high:
        return upper.op == "<" or lower.op == ">"
    is_whole = isinstance(lower.field, Field) and lower.field.kind == "integer"
    if is_whole and isinstance(low, float) and isinstance(high, float):
        return lower.op == ">" and upper.op == "<" and high - low <= 1
    return False


def _satisfies(value: Scalar, bound: Bound) -> bool:
    other = bound.values[0]
    if bound.op in ("=", "!="):
        return (value in bound.values) == (bound.op == "=")
    if bound.op in ("<", ">="):
        return is_less(value, other) == (bound.op == "<")
    return is_less(other, value) == (bound.op == ">")


def _exhaustive(node: exp.Or) -> Iterator[str]:
    """Alternatives of which every known value satisfies one."""
    found: list[Bound] = []
    stack: list[exp.Expr] = [node]
    while stack:
        each = bare(stack.pop())
        if isinstance(each, exp.Or):
            stack += [each.expression, each.this]
        else:
            stated = bounds(each)
            found += stated if len(stated) == 1 else []
    for one, two in combinations(found, 2):
        if one.place == two.place and _cover(one, two):
            yield f"{one.text} OR {two.text} is always true; {_remedy({one.op, two.op})}"
            return


def _remedy(ops: set[str]) -> str:
    if ops == {"!="}:
        return "use NOT IN (…), or AND"
    if ops <= {"<", "<=", ">", ">="}:
        return "AND keeps what lies between; or leave it out"
    return "leave it out"


def _cover(one: Bound, two: Bound) -> bool:
    ops = {one.op, two.op}
    if ops == {"null", "known"}:
        return True
    if "null" in ops or "known" in ops or not _is_one_kind((*one.values, *two.values)):
        return False
    if ops == {"!="}:
        return not set(one.values) & set(two.values)
    if "!=" in ops:
        excluded, other = (one, two) if one.op == "!=" else (two, one)
        return all(_satisfies(value, other) for value in excluded.values)
    return _is_covered(one, two) or _is_covered(two, one)


def _is_covered(lower: Bound, upper: Bound) -> bool:
    if lower.op not in (">", ">=") or upper.op not in ("<", "<="):
        return False
    low, high = lower.values[0], upper.values[0]
    return is_less(low, high) or (low == high and not (lower.op == ">" and upper.op == "<"))


def _empty_groups(select: exp.Select, having: exp.Expr) -> Iterator[str]:
    """HAVING COUNT(*) = 0: a group that GROUP BY makes has a row."""
    for term in conjuncts(having.this):
        for bound in bounds_of_count(term):
            value = bound.values[0]
            least = float(value) if isinstance(value, float) else None
            if least is None:
                continue
            is_never = (
                (bound.op == "=" and least < 1)
                or (bound.op == "<" and least <= 1)
                or (bound.op == "<=" and least < 1)
            )
            if is_never:
                joins = any(join.side for join in select.args.get("joins") or ())
                remedy = (
                    "COUNT a column of the joined table"
                    if joins
                    else "find those without rows by NOT EXISTS or NOT IN"
                )
                yield f"a group has one row at least, so COUNT(*) {bound.op} {int(least)} is never true; {remedy}"


def bounds_of_count(term: exp.Expr) -> Iterator[Bound]:
    """Bounds on COUNT(*), which names no column."""
    term = bare(term)
    if isinstance(term, _COMPARED) and isinstance(bare(term.this), exp.Count):
        count = bare(term.this)
        if isinstance(count.this, exp.Star):
            column = exp.column(exp.to_identifier("n", quoted=True))
            swapped = type(term)(this=column, expression=term.expression.copy())
            yield from bounds(swapped)
