"""WHERE conditions back into predicates: a conjunction of alternatives, dates as half-open intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number, string, uncased
from sqlrag_dspy.sql.dialect.dates import ISO_TIME, has_time, read_date, sorts_as_text, span
from sqlrag_dspy.sql.elapsed import Elapsed, elapsed_of
from sqlrag_dspy.sql.kinds import Field, column_kind, field_of, function_name
from sqlrag_dspy.sql.reading.date_parts import Dated, dated, day_of, interval, is_day, like_interval
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Column, Predicate, Value

Groups = list[tuple[Predicate, ...]]
Subquery = Callable[[exp.Expr, exp.Expr], Groups]
"""Reads `column IN (subquery)` into groups over the other table; raises Beyond."""


class Beyond(Exception):
    """The query lies beyond the grammar of sketches."""


_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_OPPOSITE = {
    **_NEGATED,
    "in": "not in",
    "not in": "in",
    "like": "not like",
    "not like": "like",
    "null": "not null",
}
_OPPOSITE["not null"] = "null"


def groups_of(condition: exp.Expr, subquery: Subquery) -> Groups:
    """A condition as groups of alternatives, all of which must hold; raises Beyond."""
    groups: Groups = []
    for term in conjuncts(condition):
        groups += _term(term, subquery)
    return groups


def _term(term: exp.Expr, subquery: Subquery) -> Groups:
    term = bare(term)
    if isinstance(term, exp.Or):
        alternatives: list[Predicate] = []
        for each in _disjuncts(term):
            found = _term(each, subquery)
            if len(found) != 1:
                raise Beyond("AND within OR")
            alternatives += found[0]
        return [tuple(alternatives)]
    if isinstance(term, exp.Not):
        return _negated(bare(term.this), subquery)
    if isinstance(term, exp.In) and term.args.get("query") is not None:
        return subquery(term.this, term.args["query"])
    if isinstance(term, exp.Exists):
        return subquery(term, term.this)
    if isinstance(term, exp.Boolean) and term.this:
        return []
    return [(each,) for each in _atom(term)]


def _disjuncts(node: exp.Expr) -> list[exp.Expr]:
    found, stack = [], [node]
    while stack:
        each = bare(stack.pop())
        if isinstance(each, exp.Or):
            stack += [each.expression, each.this]
        else:
            found.append(each)
    return found


def _negated(term: exp.Expr, subquery: Subquery) -> Groups:
    if isinstance(term, exp.Or):
        return [group for each in _disjuncts(term) for group in _negated(each, subquery)]
    if isinstance(term, exp.In) and term.args.get("query") is not None:
        raise Beyond("NOT IN (subquery)")
    if isinstance(term, exp.Not):
        return _term(term.this, subquery)
    if isinstance(term, exp.And | exp.Exists):
        raise Beyond("NOT over a conjunction")
    found = list(_atom(term))
    # an interval negated is two open ends: one of them must hold
    return [tuple(_opposite(each) for each in found)]


def _opposite(each: Predicate) -> Predicate:
    if each.op not in _OPPOSITE:
        raise Beyond(each.op)
    return replace(each, op=_OPPOSITE[each.op])


def _atom(term: exp.Expr) -> list[Predicate]:
    op = _OPS.get(type(term))
    if op is not None:
        return _comparison(term.this, op, term.expression)
    if isinstance(term, exp.Between):
        low = _comparison(term.this, ">=", term.args["low"])
        return [*low, *_comparison(term.this, "<=", term.args["high"])]
    if isinstance(term, exp.In):
        return [_membership(term)]
    if isinstance(term, exp.Is):
        return [_nullness(term)]
    if isinstance(term, exp.Like | exp.ILike):
        return _pattern(term)
    found = field_of(term)
    if found is not None and found.kind == "boolean":
        return [_of(found, "=", True)]
    raise Beyond(type(term).__name__)


def _of(found: Field | None, op: str, value: Value | tuple[Value, ...] = None) -> Predicate:
    if found is None or found.table is None or found.column is None:
        raise Beyond("not a stored column")
    return Predicate(found.table.name, found.column.name, op, value, via=found.via)


def value_of(node: exp.Expr) -> Value:
    """The value of a literal, whatever its sign; raises Beyond for anything else."""
    node = bare(node)
    said = string(node)
    if said is not None:
        return said
    digits = number(node)
    if digits is not None:
        return int(digits) if digits.lstrip("-").isdigit() else float(digits)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    raise Beyond("compared with an expression")


def _is_constant(node: exp.Expr) -> bool:
    node = bare(node)
    return (
        isinstance(node, exp.Boolean)
        or string(node) is not None
        or number(node) is not None
        or day_of(node) is not None
    )


def _comparison(left: exp.Expr, op: str, right: exp.Expr) -> list[Predicate]:
    if _is_constant(left) and not _is_constant(right):
        left, op, right = right, _FLIPPED[op], left
    if isinstance(bare(left), exp.Subquery) and not isinstance(bare(right), exp.Subquery):
        left, op, right = right, _FLIPPED[op], left
    if isinstance(bare(right), exp.Subquery):
        return [_average(field_of(left), op, bare(right).this)]
    days = elapsed_of(left) or elapsed_of(right)
    if days is not None:
        return [_elapsed(days, op if elapsed_of(left) else _FLIPPED[op], right if elapsed_of(left) else left)]
    left = uncased(left)
    if field_of(left) is not None:
        right = uncased(right)
    if function_name(left) == "try_strptime":
        found = field_of(left.expressions[0])
        day = day_of(right)
        if found is not None and found.column is not None and found.column.is_date and day is not None:
            return [_of(found, op, day)]
    found = field_of(left)
    if found is not None and found.column is not None:
        if found.column.is_date:
            return _date(found, op, right)
        value = value_of(right)
        kind = column_kind(found.column)
        if kind == "boolean" and op in ("=", "!="):
            value = str(value).casefold() in ("1", "true", "t", "yes", "y")
        elif kind in ("integer", "number") and isinstance(value, str):
            try:
                value = float(value) if "." in value else int(value)
            except ValueError as error:
                raise Beyond("text against a number") from error
        elif kind == "text" and not isinstance(value, str):
            if op not in ("=", "!="):
                raise Beyond("text ordered against a number")
            value = str(number(right))
        return [_of(found, op, value)]
    spelt = dated(left)
    if spelt is not None:
        return _dated(spelt, op, right)
    if function_name(left) == "lower" and op in ("=", "!=") and isinstance(said := value_of(right), str):
        if "%" in said or "_" in said:
            raise Beyond("a wildcard in a plain comparison")
        return [_of(field_of(left.expressions[0]), "like" if op == "=" else "not like", said)]
    raise Beyond("an expression compared")


def _average(found: Field | None, op: str, query: exp.Expr) -> Predicate:
    """`x > (SELECT AVG(x) FROM t)`, over all rows of x's own table."""
    said = {key for key, value in query.args.items() if value} - {"expressions", "from_"}
    source = query.args["from_"].this if isinstance(query, exp.Select) and query.args.get("from_") else None
    shown = query.expressions[0].unalias() if len(query.expressions) == 1 else None
    inner = field_of(shown.this) if isinstance(shown, exp.Avg) else None
    if found is None or found.column is None or found.table is None or not found.column.is_number:
        raise Beyond("compared with a subquery")
    if said or not isinstance(source, exp.Table) or source.name.casefold() != found.table.name.casefold():
        raise Beyond("compared with a subquery")
    if inner is None or inner.table != found.table or inner.column != found.column:
        raise Beyond("compared with a subquery")
    return Predicate(found.table.name, found.column.name, op, than="average")


def _elapsed(days: Elapsed, op: str, right: exp.Expr) -> Predicate:
    """Days between two dates against a number; hours and weeks are told in days."""
    value = value_of(right)
    if isinstance(value, bool | str | None):
        raise Beyond("days against no number")
    value = value if days.factor == 1.0 else value / days.factor
    return Predicate(days.table.name, days.end.name, op, value, since=days.start.name)


def _day_range(table: str, column: str, start: str, end: str) -> list[Predicate]:
    return [Predicate(table, column, ">=", start), Predicate(table, column, "<", end)]


def _over_interval(name: tuple[str, str], op: str, days: tuple[str, str]) -> list[Predicate]:
    """A comparison of a whole year or month, as one of days."""
    start, end = days
    if op == "=":
        return _day_range(*name, start, end)
    if op in (">", ">="):
        return [Predicate(*name, ">=", end if op == ">" else start)]
    if op in ("<", "<="):
        return [Predicate(*name, "<", start if op == "<" else end)]
    raise Beyond("not in an interval")


def _dated(spelt: Dated, op: str, right: exp.Expr) -> list[Predicate]:
    name = (spelt.table.name, spelt.column.name)
    said = day_of(right)
    if said is None:
        digits = number(right)
        if digits is None:
            raise Beyond("a date part compared with an expression")
        said = digits
    days = interval(spelt.pattern, said)
    if days is not None and op != "!=":
        return _over_interval(name, op, days)
    part = spelt.part
    if part is None:
        raise Beyond(spelt.pattern)
    if part == "day":
        if not is_day(said):
            raise Beyond("not a day")
        return [Predicate(*name, op, said)]
    return [Predicate(*name, op, part_value(part, said), part)]


def part_value(part: str, said: str) -> Value:
    """The value of a part in a predicate: text for year_month and day, a number for the others."""
    if part in ("year_month", "day"):
        return said
    try:
        return int(said)
    except ValueError as error:
        raise Beyond(said) from error


def _date(found: Field, op: str, right: exp.Expr) -> list[Predicate]:
    column = found.column
    if column is None or found.table is None:
        raise Beyond("not a stored column")
    name = (found.table.name, column.name)
    said = day_of(right)
    if said is None and (digits := number(right)) is not None and len(digits) == 4:
        said = digits
    if said is None:
        raise Beyond("a date compared with an expression")
    is_typed = not isinstance(bare(right), exp.Literal)
    said = said.strip()
    if said.endswith((" 00:00:00", "T00:00:00")):
        said = said[:10]
        if op in (">", "<=", "=", "!="):
            raise Beyond("exactly midnight")
        return [Predicate(*name, op, said)]
    if len(said) in (4, 7) and (days := span(said[:4], said[5:7] or None)) is not None:
        if op in (">", ">="):
            return [Predicate(*name, ">=", days[0])]
        if op in ("<", "<="):
            return [Predicate(*name, "<", days[0])]
        raise Beyond("a part of a date equals no date")
    if ISO_TIME.fullmatch(said):
        return [Predicate(*name, op, said)]
    if not is_day(said):
        stored = read_date(said, column.profile.date_formats)
        if stored is None or (sorts_as_text(column) and column.profile.date_formats):
            raise Beyond("not a date")
        said = stored.date().isoformat()
        return [Predicate(*name, op, said)]
    if op in ("<", ">=") or is_typed:
        return [Predicate(*name, op, said)]
    return [Predicate(*name, _text_op(op, column), said)]


def _text_op(op: str, column: Column) -> str:
    """SQLite compares text: '2023-03-31 10:00' > '2023-03-31'. As an operator over whole days."""
    forms = column.profile.date_formats
    if forms and not sorts_as_text(column):
        return op
    if not forms:
        if column_kind(column) == "date":
            return op
        raise Beyond("a moment against a day")
    if not has_time(column):
        return op
    if all("%H" in each or "%I" in each for each in forms) and op in (">", "<="):
        return ">=" if op == ">" else "<"
    raise Beyond("moments and days in one column")


def _membership(term: exp.In) -> Predicate:
    if not term.expressions:
        raise Beyond("IN of something else")
    left = uncased(term.this)
    found = field_of(left)
    if found is not None and found.column is not None and not found.column.is_date:
        values: list[Value] = []
        for each in term.expressions:
            predicate = _comparison(left, "=", each)[0]
            if isinstance(predicate.value, tuple):
                raise Beyond("a list in a list")
            values.append(predicate.value)
        return _of(found, "in", tuple(values))
    if found is not None and found.column is not None:
        days = [day_of(each) or "" for each in term.expressions]
        if has_time(found.column) or not all(is_day(each) for each in days):
            raise Beyond("moments in a list")
        return _of(found, "in", tuple(days))
    spelt = dated(left)
    if spelt is None or spelt.part is None:
        raise Beyond("an expression in a list")
    said = [day_of(each) or number(each) or "" for each in term.expressions]
    picked = tuple(part_value(spelt.part, each) for each in said)
    return Predicate(
        spelt.table.name, spelt.column.name, "in", picked, "" if spelt.part == "day" else spelt.part
    )


def _nullness(term: exp.Is) -> Predicate:
    right = bare(term.expression)
    if isinstance(right, exp.Null):
        return _of(field_of(term.this), "null")
    if isinstance(right, exp.Boolean):
        return _of(field_of(term.this), "=", bool(right.this))
    raise Beyond("IS a value")


def _pattern(term: exp.Like | exp.ILike) -> list[Predicate]:
    said = string(term.expression)
    left = bare(term.this)
    if function_name(left) == "lower":
        left = bare(left.expressions[0])
    found = field_of(left)
    if said is None or found is None or found.column is None or found.table is None:
        raise Beyond("LIKE over an expression")
    if found.column.is_date:
        days = like_interval(said, found.column)
        if days is None:
            raise Beyond("a pattern over dates")
        return _day_range(found.table.name, found.column.name, *days)
    if found.kind != "text":
        raise Beyond("a pattern over numbers")
    return [_of(found, "like", said)]
