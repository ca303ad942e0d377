"""SQLite's SQL to DuckDB's: the repairs that are certain, on a tree whose names are resolved.

Each rule leaves a form that it does not touch again, whichever dialect the result is read as; so checked SQL
re-checks to itself. Children are repaired before parents. What is only probably wrong is left to linting.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import alternatives
from sqlrag_dspy.sql.alternatives import as_text
from sqlrag_dspy.sql.dialect import comparing
from sqlrag_dspy.sql.dialect.arguments import (
    DATE_ARGUMENTS,
    NUMBER_ARGUMENTS,
    TEXT_ARGUMENTS,
    TEXT_SLICES,
)
from sqlrag_dspy.sql.dialect.dates import (
    as_moment,
    call,
    cast,
    modified,
    now,
    parsed,
    parsed_day,
    rewrite_strftime,
    seconds,
    sorts_as_text,
    text,
    text_date,
    try_cast,
)
from sqlrag_dspy.sql.dialect.grouping import wrap_bare_columns
from sqlrag_dspy.sql.dialect.values import bracketed, storage_class, unless_missing, whole_remainder
from sqlrag_dspy.sql.elapsed import stored_date, text_difference
from sqlrag_dspy.sql.kinds import function_name, kind_of
from sqlrag_dspy.sql.walking import nodes_of

_WHOLE_NUMBERS = ("%Y", "%m", "%d", "%H", "%M", "%S", "%j", "%w", "%W")
"""Formats whose text SQLite calculates with as a whole number."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def prepare(tree: exp.Expr) -> None:
    """Take out what would be mistaken for a name: COLLATE clauses, which say how to compare."""
    for node in nodes_of(tree):
        if not isinstance(node, exp.Collate):
            continue
        collation = node.expression.name.upper()
        inner = node.this
        if collation == "NOCASE":
            parent = node.parent
            while isinstance(parent, exp.Paren):
                parent = parent.parent
            node.replace(call("lower", inner))
            if isinstance(parent, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
                for side in (parent.this, parent.expression):
                    if function_name(comparing.bare(side)) != "lower":
                        side.replace(call("lower", side.copy()))
            elif isinstance(parent, exp.In):
                for each in parent.expressions:
                    each.replace(call("lower", each.copy()))
        elif collation in ("BINARY", "RTRIM"):
            node.replace(inner)
        else:
            raise SqlRejected(f"COLLATE {collation} is not supported; use lower(column)")


def repair(tree: exp.Expr, *, is_sqlite: bool, source_is_sqlite: bool) -> None:
    """Rewrite in place. `is_sqlite`: the text follows SQLite's rules; the source may be SQLite all the same."""
    rules = Repairs(is_sqlite=is_sqlite, source_is_sqlite=source_is_sqlite)
    for node in reversed(nodes_of(tree)):
        rule = rules.by_type.get(type(node))
        if rule is None:
            continue
        new = rule(node)
        if new is not None and new is not node:
            _put(node, new)


def _put(node: exp.Expr, new: exp.Expr) -> None:
    parent = node.parent
    is_output = isinstance(parent, exp.Select) and node.arg_key == "expressions"
    if is_output and isinstance(node, exp.Column):
        new = exp.Alias(this=new, alias=exp.to_identifier(node.name, quoted=True))
    node.replace(new)


class Repairs:
    """The rules by node type; each takes a node and gives what replaces it, or None."""

    def __init__(self, *, is_sqlite: bool, source_is_sqlite: bool) -> None:
        self.is_sqlite = is_sqlite
        self.source_is_sqlite = source_is_sqlite
        self.by_type: dict[type[exp.Expr], Callable[..., exp.Expr | None]] = {
            **dict.fromkeys(_COMPARISONS, comparing.compare),
            exp.Between: comparing.between,
            exp.In: comparing.within,
            exp.Is: _is,
            exp.Like: self._like,
            exp.ILike: self._like,
            exp.Glob: self._like,
            exp.Div: self._div,
            exp.Mod: self._mod,
            exp.Mul: _arithmetic,
            exp.Add: _arithmetic,
            exp.Sub: _arithmetic,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Extract: _extract,
            exp.Substring: _substring,
            exp.Trim: _trim,
            exp.Coalesce: alternatives.coalesce,
            exp.Case: alternatives.case,
            exp.If: alternatives.either,
            exp.Sum: _sum,
            exp.Avg: _sum,
            exp.Anonymous: self._function,
            exp.CurrentTimestamp: lambda node: now(),
            exp.Ordered: self._ordered,
            exp.Select: self._select,
        }

    def _like(self, node: exp.Like | exp.ILike | exp.Glob) -> exp.Expr | None:
        return comparing.like(node, ignores_case=self.source_is_sqlite)

    def _div(self, node: exp.Div) -> exp.Expr | None:
        changed = _arithmetic(node)
        left, right = (changed or node).this, (changed or node).expression
        if kind_of(left) == kind_of(right) == "integer":
            if self.is_sqlite:
                return exp.IntDiv(this=left, expression=right)
            if self.source_is_sqlite:
                # spelt so that a reader with SQLite's rules divides the same way
                return exp.Div(this=cast(left, "DOUBLE"), expression=_not_zero(right))
        guarded = _not_zero(right)
        return changed if guarded is right else exp.Div(this=left, expression=guarded)

    def _mod(self, node: exp.Mod) -> exp.Expr | None:
        changed = _arithmetic(node)
        return whole_remainder(changed or node) if self.is_sqlite else changed

    def _cast(self, node: exp.Cast) -> exp.Expr | None:
        inner, to = node.this, node.to.this
        column = text_date(inner)
        if column is not None and to == exp.DType.DATE:
            return parsed_day(inner, column)
        if column is not None and to in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME):
            return parsed(inner, column)
        if isinstance(inner, exp.Literal) and inner.is_string:
            if inner.this.lower() == "now" and to in (exp.DType.DATE, exp.DType.TIMESTAMP):
                return exp.CurrentDate() if to == exp.DType.DATE else now()
            return None
        kind = kind_of(inner)
        if not self.source_is_sqlite:
            return None
        if to in exp.DataType.INTEGER_TYPES:
            if kind == "number":
                cut = call("trunc" if self.is_sqlite else "round", inner)
                return cast(cut, "BIGINT")
            if kind in ("text", None) and not (isinstance(node, exp.TryCast) and to == exp.DType.BIGINT):
                return try_cast(inner, "BIGINT")
            return None if to == exp.DType.BIGINT else type(node)(this=inner, to=exp.DataType.build("BIGINT"))
        if to == exp.DType.FLOAT or (to == exp.DType.DECIMAL and not node.to.expressions):
            return (try_cast if kind == "text" else cast)(inner, "DOUBLE")
        is_plain = not isinstance(node, exp.TryCast)
        if is_plain and kind in ("text", None) and to not in exp.DataType.TEXT_TYPES:
            return exp.TryCast(this=inner, to=node.to)
        return None

    def _ordered(self, node: exp.Ordered) -> None:
        if self.is_sqlite and not node.meta.get("says_nulls"):
            node.set("nulls_first", not node.args.get("desc"))
        node.meta["says_nulls"] = True

    def _select(self, node: exp.Select) -> None:
        if self.source_is_sqlite:
            wrap_bare_columns(node)

    def _function(self, node: exp.Anonymous) -> exp.Expr | None:
        name, arguments = function_name(node), node.expressions
        if name == "strftime":
            return rewrite_strftime(arguments)
        if name == "date":
            return cast(modified(arguments), "DATE") if len(arguments) != 1 else _day(arguments[0])
        if name == "datetime":
            return call("strftime", modified(arguments), text("%Y-%m-%d %H:%M:%S"))
        if name == "time":
            return call("strftime", modified(arguments), text("%H:%M:%S"))
        if name == "julianday":
            # DuckDB's julian() counts from midnight, SQLite's julianday() from noon
            return exp.Paren(
                this=exp.Sub(this=call("julian", modified(arguments)), expression=exp.Literal.number("0.5"))
            )
        if name == "unixepoch":
            return seconds(modified(arguments))
        if name == "now":
            parent = node.parent
            return None if isinstance(parent, exp.Cast) else now()
        if name == "typeof" and len(arguments) == 1 and self.source_is_sqlite:
            return storage_class(arguments[0])
        if name == "strptime":
            return call("try_strptime", *arguments)
        if name in ("max", "min") and len(arguments) > 1 and self.source_is_sqlite:
            return unless_missing(call("greatest" if name == "max" else "least", *arguments), arguments)
        if name == "json_extract" and len(arguments) == 2 and self.source_is_sqlite:
            path = comparing.string(arguments[1])  # a text without its quotes, as SQLite gives it
            return call("json_extract_string", *arguments) if path is not None and "*" not in path else None
        if name == "total" and len(arguments) == 1:
            total = exp.Coalesce(
                this=exp.Sum(this=_numeric(arguments[0])), expressions=[exp.Literal.number("0.0")]
            )
            is_plain = not isinstance(node.parent, exp.Filter | exp.Window)
            return total if is_plain else exp.Sum(this=_numeric(arguments[0]))
        if name == "group_concat" and len(arguments) == 1:
            only, comma = arguments[0], text(",")
            if isinstance(only, exp.Order):
                return call(
                    "string_agg", as_text(only.this), exp.Order(this=comma, expressions=only.expressions)
                )
            return call("string_agg", as_text(only), comma)
        if name == "group_concat":
            return call("string_agg", as_text(arguments[0]), *arguments[1:])
        if name == "char" and arguments:
            letters: list[exp.Expr] = [call("chr", each) for each in arguments]
            return reduce(lambda left, right: exp.DPipe(this=left, expression=right), letters)
        if name in ("like", "glob") and len(arguments) == 2:
            kind = exp.ILike if name == "like" else exp.Glob
            return kind(this=arguments[1], expression=arguments[0])
        if name in ("printf", "format"):
            return self._format(name, arguments)
        if name in ("substr",) and (fixed := _slice(node, arguments)) is not None:
            return fixed
        return _aligned_arguments(node, name, arguments)

    def _format(self, name: str, arguments: list[exp.Expr]) -> exp.Expr | None:
        import re

        pattern = str(arguments[0].this)
        if name == "format" and ("{" in pattern or "%" not in pattern):
            return None
        kinds = re.findall(r"%[-+ 0#,]*\d*(?:\.\d+)?([a-zA-Z%])", pattern)
        wanted = [each for each in kinds if each != "%"]
        cast_to = {**dict.fromkeys("feEgG", "DOUBLE"), **dict.fromkeys("diu", "BIGINT"), "s": "VARCHAR"}
        kind_for = {"DOUBLE": "number", "BIGINT": "integer", "VARCHAR": "text"}
        fixed: list[exp.Expr] = [arguments[0]]
        for position, argument in enumerate(arguments[1:]):
            to = cast_to.get(wanted[position]) if position < len(wanted) else None
            is_cast = (
                isinstance(argument, exp.Cast) and to is not None and argument.to == exp.DataType.build(to)
            )
            if to is not None and not is_cast and (to == "DOUBLE" or kind_of(argument) != kind_for[to]):
                is_safe = kind_of(argument) in ("integer", "number", "boolean") or to == "VARCHAR"
                argument = cast(argument, to) if is_safe else try_cast(argument, to)
            fixed.append(argument)
        return call("printf", *fixed)


# --- rules without state ----------------------------------------------------------------------------


def _day(node: exp.Expr) -> exp.Expr:
    column = text_date(node)
    if column is not None:
        return parsed_day(node, column)
    moment = as_moment(node)
    return moment if kind_of(moment) == "date" else cast(moment, "DATE")


def _not_zero(node: exp.Expr) -> exp.Expr:
    """The divisor, NULL instead of zero: SQLite gives NULL where DuckDB gives infinity."""
    inner = comparing.bare(node)
    if isinstance(inner, exp.Nullif):
        return node
    if isinstance(inner, exp.Literal) and (inner.is_string or float(inner.this) != 0):
        return node
    return exp.Nullif(this=node, expression=exp.Literal.number(0))


def _arithmetic(node: exp.Binary) -> exp.Expr | None:
    left, right = node.this, node.expression
    if isinstance(node, exp.Sub) and (days := text_difference(node)) is not None:
        return days
    kinds = kind_of(left), kind_of(right)
    if "interval" in kinds or {"date", "timestamp"} & set(kinds):
        fixed_left = parsed(left, column) if (column := text_date(left)) else left
        fixed_right = parsed(right, column) if (column := text_date(right)) else right
        if isinstance(left, exp.Literal) and left.is_string and kinds[1] == "interval":
            fixed_left = as_moment(left)
    else:
        fixed_left, fixed_right = _numeric(left), _numeric(right)
    if fixed_left is left and fixed_right is right:
        return None
    return type(node)(this=fixed_left, expression=fixed_right)


def _numeric(node: exp.Expr) -> exp.Expr:
    """Text as a number, a condition as 0 or 1; anything else as it is."""
    if isinstance(node, exp.Distinct):
        return node
    column = stored_date(node)
    if column is not None and not all(each.startswith("%Y%m%d") for each in column.profile.date_formats):
        raise SqlRejected(
            f"{column.name!r} holds dates, not numbers; write julianday(last) - julianday(first) for the days between "
            f"two dates, date({column.name}, '+7 days') for a later day, or strftime('%Y', {column.name}) for the year"
        )
    kind = kind_of(node)
    if kind == "boolean":
        return cast(node, "BIGINT")
    if function_name(node) == "strftime" and str(node.expressions[-1].this) in _WHOLE_NUMBERS:
        return try_cast(node, "BIGINT")
    return try_cast(node, "DOUBLE") if kind == "text" and not isinstance(node, exp.Literal) else node


def _is(node: exp.Is) -> exp.Expr | None:
    right = comparing.bare(node.expression)
    if isinstance(right, exp.Null | exp.Boolean):
        left = bracketed(node.this)
        return None if left is node.this else exp.Is(this=left, expression=node.expression)
    pair = comparing.align(node.this, node.expression, exp.NullSafeEQ)
    left, other = pair or (node.this, node.expression)
    return exp.NullSafeEQ(this=bracketed(left), expression=bracketed(other))


def _extract(node: exp.Extract) -> exp.Expr | None:
    moment = as_moment(node.expression)
    return None if moment is node.expression else exp.Extract(this=node.this, expression=moment)


def _substring(node: exp.Substring) -> exp.Expr | None:
    arguments = [node.this, node.args.get("start"), node.args.get("length")]
    fixed = _slice(node, [each for each in arguments if each is not None])
    if fixed is not None:
        return fixed
    subject = as_text(node.this)
    if subject is node.this:
        return None
    return exp.Substring(this=subject, start=node.args.get("start"), length=node.args.get("length"))


def _slice(node: exp.Expr, arguments: list[exp.Expr]) -> exp.Expr | None:
    """substr(date, 1, 4) where the stored text does not begin with the year."""
    column = text_date(arguments[0]) if arguments else None
    if column is None or sorts_as_text(column) or len(arguments) != 3:
        return None
    pattern = TEXT_SLICES.get((str(arguments[1].this), str(arguments[2].this)))
    if pattern is None or (column.profile.date_formats[0].startswith(("%Y/", "%Y.")) and len(pattern) == 2):
        return None
    return call("strftime", parsed(arguments[0], column), text(pattern))


def _trim(node: exp.Trim) -> exp.Expr | None:
    subject = as_text(node.this)
    return None if subject is node.this else exp.Trim(**{**node.args, "this": subject})


def _sum(node: exp.Sum | exp.Avg) -> exp.Expr | None:
    inner = node.this
    if isinstance(inner, exp.Distinct):
        parts = [_numeric(each) for each in inner.expressions]
        same = all(new is old for new, old in zip(parts, inner.expressions))
        return None if same else type(node)(this=exp.Distinct(expressions=parts))
    fixed = _numeric(inner)
    return None if fixed is inner else type(node)(this=fixed)


def _aligned_arguments(node: exp.Anonymous, name: str, arguments: list[exp.Expr]) -> exp.Expr | None:
    fixed = list(arguments)
    for position in DATE_ARGUMENTS.get(name, ()):
        if position < len(fixed):
            fixed[position] = as_moment(fixed[position])
    for position in TEXT_ARGUMENTS.get(name, ()):
        if position < len(fixed):
            fixed[position] = as_text(fixed[position])
    for position in NUMBER_ARGUMENTS.get(name, ()):
        if position < len(fixed):
            fixed[position] = _numeric(fixed[position])
    if all(new is old for new, old in zip(fixed, arguments)):
        return None
    return call(name, *fixed)
