"""Two sides of a comparison brought to one type, by what the columns really hold.

SQLite compares anything with anything; DuckDB casts the literal to the column's type or fails. Each rule gives
the answer SQLite would give, save where a date is compared with a DATE, which means days.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.dialect.dates import (
    ISO_DATE,
    ISO_PART,
    ISO_TIME,
    call,
    cast,
    has_time,
    iso_literal,
    like_span,
    moment_literal,
    parsed,
    parsed_day,
    read_date,
    sorts_as_text,
    text,
    text_date,
    try_cast,
)
from sqlrag_dspy.sql.kinds import field_of, function_name, kind_of
from sqlrag_dspy.types import Column

Pair = tuple[exp.Expr, exp.Expr]
_EQUAL = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In)
_TRUE = {"1", "true", "t", "yes", "y"}
_FALSE = {"0", "false", "f", "no", "n"}


def bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def string(node: exp.Expr) -> str | None:
    """The text of a string literal, None for anything else."""
    node = bare(node)
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def number(node: exp.Expr) -> str | None:
    """The digits of a number literal, with its sign; None for anything else."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        inner = number(node.this)
        return None if inner is None else f"-{inner}"
    return str(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def align(left: exp.Expr, right: exp.Expr, op: type[exp.Expr]) -> Pair | None:
    """Both sides as they must be written to be compared; None when they already are."""
    changed = _one_way(left, right, op)
    if changed is not None:
        return changed
    turned = _one_way(right, left, op)
    return None if turned is None else (turned[1], turned[0])


def _one_way(left: exp.Expr, right: exp.Expr, op: type[exp.Expr]) -> Pair | None:
    column = text_date(left)
    if column is not None:
        return _text_date(left, column, right, op)
    kind, other = kind_of(left), kind_of(right)
    if kind in ("date", "timestamp"):
        return _moment(left, right, other)
    if kind in ("integer", "number") and other == "text":
        changed = _number_with_text(left, right)
        if changed is not None and _ignores_case(right) and kind_of(changed[0]) == "text":
            return call("lower", changed[0]), call("lower", right)
        return changed
    if kind == "boolean" and not isinstance(bare(left), exp.Boolean):
        return _boolean(left, right, other)
    if kind == "text" and field_of(left) is not None and _ignores_case(left) and other == "text":
        return call("lower", left), call("lower", right)
    return None


def _ignores_case(node: exp.Expr) -> bool:
    found = field_of(node)
    return found is not None and found.column is not None and ignores_case(found.column)


def ignores_case(column: Column) -> bool:
    """Whether the source compares this column without letter case, by the catalog or its declared type."""
    return column.ignores_case or "NOCASE" in column.type.upper()


def uncased(node: exp.Expr) -> exp.Expr:
    """The column or text inside lower(…), as `align` writes both sides of a column that ignores letter case."""
    node = bare(node)
    if function_name(node) != "lower" or len(node.expressions) != 1:
        return node
    inner = bare(node.expressions[0])
    return inner if string(inner) is not None or _ignores_case(inner) else node


def _number_with_text(left: exp.Expr, right: exp.Expr) -> Pair | None:
    said = string(right)
    if said is not None and field_of(left) is None and number(left) is not None:
        return None  # two literals: nothing of the database is compared
    if said is not None:
        try:
            float(said)
        except ValueError:
            found = field_of(left)
            name = found.name if found else "that expression"
            if any(char.isdigit() for char in said) and not said.strip("+-0123456789.,'\u00a0\u202f "):
                raise SqlRejected(
                    f"{name!r} holds numbers; write {said!r} as one, with a decimal point and no other mark"
                ) from None
            raise SqlRejected(
                f"{name!r} holds numbers and cannot be compared with {said!r}; values that are no number read as "
                "NULL, so use IS NULL for them"
            ) from None
        if said.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise SqlRejected(f"compare with a plain number instead of {said!r}")
        digits = said.strip().lstrip("+")
        literal: exp.Expr = exp.Literal.number(digits.lstrip("-"))
        return left, exp.Neg(this=literal) if digits.startswith("-") else literal
    digits_written = number(left)
    if digits_written is not None:
        if field_of(right) is not None:  # SQLite turns the number into text for a text column
            return text(digits_written), right
        return left, try_cast(right, "BIGINT" if digits_written.lstrip("-").isdigit() else "DOUBLE")
    return left, try_cast(right, "DOUBLE")


def _boolean(left: exp.Expr, right: exp.Expr, other: str | None) -> Pair | None:
    said = string(right) if other == "text" else number(right)
    if said is None:
        return (cast(left, "BIGINT"), right) if other in ("integer", "number") else None
    if said.lower() in _TRUE:
        return left, exp.true()
    if said.lower() in _FALSE:
        return left, exp.false()
    found = field_of(left)
    raise SqlRejected(
        f"{found.name if found else 'a condition'!r} is true or false; compare it with TRUE or FALSE"
    )


def _moment(left: exp.Expr, right: exp.Expr, other: str | None) -> Pair | None:
    said = string(right)
    if said is not None:
        literal = iso_literal(said)
        if literal is not None:
            return left, literal
        if ISO_PART.fullmatch(said):
            return call("strftime", left, text("%Y-%m-%d")), right
        moment = read_date(said)
        if moment is None:
            raise SqlRejected(f"{said!r} is not a date; write dates as '2023-04-17'")
        return left, moment_literal(moment)
    if other in ("integer", "number"):
        raise SqlRejected("a date is compared with a number; for a year use EXTRACT(YEAR FROM column) = 2023")
    if other == "text" and text_date(right) is None:
        return left, try_cast(right, "TIMESTAMP")
    return None


def _text_date(left: exp.Expr, column: Column, right: exp.Expr, op: type[exp.Expr]) -> Pair | None:
    said = string(right)
    if said is not None:
        return _text_date_with_literal(left, column, said, right, op)
    digits = number(right)
    if digits is not None:
        return left, text(digits)
    other = text_date(right)
    if other is not None:
        same = (
            other.profile.date_formats == column.profile.date_formats
            and len(column.profile.date_formats) == 1
        )
        if (sorts_as_text(column) and sorts_as_text(other)) or (same and issubclass(op, _EQUAL)):
            return None
        return parsed(left, column), parsed(right, other)
    kind = kind_of(right)
    if kind == "date":
        return parsed_day(left, column), right
    if kind == "timestamp":
        return parsed(left, column), right
    return None


def _text_date_with_literal(
    left: exp.Expr, column: Column, said: str, right: exp.Expr, op: type[exp.Expr]
) -> Pair | None:
    formats = column.profile.date_formats
    is_equality = issubclass(op, _EQUAL)
    if sorts_as_text(column):
        if ISO_PART.match(said) and (ISO_DATE.match(said) or ISO_PART.fullmatch(said)):
            return None
        moment = read_date(said)
        return None if moment is None else (parsed_day(left, column), moment_literal(moment))
    stored = read_date(said, formats)
    fits = any(_fits(said, each) for each in formats)
    if fits and is_equality and len(formats) == 1:
        return None
    if ISO_DATE.fullmatch(said):
        return parsed_day(left, column), cast(text(said), "DATE")
    if ISO_TIME.fullmatch(said):
        return parsed(left, column), cast(text(said), "TIMESTAMP")
    if ISO_PART.fullmatch(said):
        return call("strftime", parsed(left, column), text("%Y-%m-%d")), right
    if stored is not None:
        side = parsed(left, column) if has_time(column) and fits else parsed_day(left, column)
        return side, moment_literal(stored)
    return None


def _fits(said: str, pattern: str) -> bool:
    from datetime import datetime

    try:
        datetime.strptime(said, pattern)
    except ValueError:
        return False
    return True


def compare(node: exp.Binary) -> exp.Expr | None:
    """A comparison with its sides aligned, None when nothing changes."""
    pair = align(node.this, node.expression, type(node))
    return None if pair is None else type(node)(this=pair[0], expression=pair[1])


def between(node: exp.Between) -> exp.Expr | None:
    """BETWEEN as two aligned comparisons when a side changes."""
    subject, low, high = node.this, node.args["low"], node.args["high"]
    first = align(subject.copy(), low, exp.GTE)
    second = align(subject.copy(), high, exp.LTE)
    if first is None and second is None:
        return None
    lower = exp.GTE(this=first[0] if first else subject, expression=first[1] if first else low)
    upper = exp.LTE(this=second[0] if second else subject.copy(), expression=second[1] if second else high)
    return exp.Paren(this=exp.And(this=lower, expression=upper))


def within(node: exp.In) -> exp.Expr | None:
    """IN with each value aligned; sides that need different spellings become alternatives."""
    query = node.args.get("query")
    if query is not None:
        return _in_query(node, query)
    if not node.expressions:
        return None
    subject = node.this
    is_plain = kind_of(subject) == "text" and text_date(subject) is None and not _ignores_case(subject)
    if is_plain and all(kind_of(each) in ("text", None) for each in node.expressions):
        return None
    values: list[exp.Expr] = []
    spelt: dict[str, tuple[exp.Expr, list[exp.Expr]]] = {}
    changed, as_it_is = False, subject.sql()
    for value in node.expressions:
        pair = align(subject, value, exp.In)
        if pair is not None:  # each spelling gets a subject of its own; there may be thousands of values
            pair, changed = align(subject.copy(), value, exp.In), True
        left, right = pair or (subject, value)
        key = left.sql() if pair else as_it_is
        spelt.setdefault(key, (left, []))[1].append(right)
        values.append(right)
    if not changed:
        return None
    parts: list[exp.Expr] = [exp.In(this=left, expressions=rights) for left, rights in spelt.values()]
    if len(parts) == 1:
        return parts[0]
    joined = parts[0]
    for part in parts[1:]:
        joined = exp.Or(this=joined, expression=part)
    return exp.Paren(this=joined)


def _in_query(node: exp.In, query: exp.Expr) -> exp.Expr | None:
    kind = kind_of(node.this)
    other = kind_of(query)
    if kind == "text" and other in ("integer", "number"):
        return exp.In(this=try_cast(node.this, "DOUBLE"), query=query)
    if kind in ("integer", "number") and other == "text":
        return exp.In(this=cast(node.this, "VARCHAR"), query=query)
    return None


def like(node: exp.Like | exp.ILike | exp.Glob, *, ignores_case: bool) -> exp.Expr | None:
    """LIKE over what is not text, or over dates stored in another form than the pattern's."""
    subject, pattern = node.this, node.expression
    kind = type(node)
    new_kind = exp.ILike if ignores_case and kind is exp.Like else kind
    said = string(pattern)
    column = text_date(subject)
    if column is not None and said is not None and not sorts_as_text(column):
        days = like_span(said) if kind is not exp.Glob else None
        if days is not None:
            lower = exp.GTE(this=parsed(subject.copy(), column), expression=cast(text(days[0]), "DATE"))
            upper = exp.LT(this=parsed(subject, column), expression=cast(text(days[1]), "DATE"))
            return exp.Paren(this=exp.And(this=lower, expression=upper))
        is_iso_piece = "-" in said.strip("%") and not any(char.isalpha() for char in said)
        if is_iso_piece and not _looks_stored(column):
            subject = call("strftime", parsed(subject, column), text("%Y-%m-%d %H:%M:%S"))
            return new_kind(this=subject, expression=pattern)
    if kind_of(subject) not in ("text", None):
        return new_kind(this=cast(subject, "VARCHAR"), expression=pattern)
    return None if new_kind is kind else new_kind(this=subject, expression=pattern)


def _looks_stored(column: Column) -> bool:
    """Whether the column has such separators itself, so that the pattern was written with its form in mind."""
    return any("-" in each and not each.startswith("%Y") for each in column.profile.date_formats)
