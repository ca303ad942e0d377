"""Items and predicates of a sketch as expressions, with dates compared the way the column stores them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.advice import nearest
from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.dialect.dates import (
    ISO_DATE,
    ISO_TIME,
    call,
    cast,
    has_time,
    parsed,
    sorts_as_text,
    text,
)
from sqlrag_dspy.sql.elapsed import days_between
from sqlrag_dspy.sql.kinds import column_kind
from sqlrag_dspy.types import Catalog, Column, Item, Part, Predicate, Table, Value

Qualify = Callable[[str, str], exp.Column]
"""(table, column) to the column node, qualified where the query needs it."""

_ORDERED: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_PARTS = {"year": "YEAR", "month": "MONTH", "quarter": "QUARTER", "weekday": "DOW"}


def find_table(catalog: Catalog, name: str) -> Table:
    """The table of that name; SqlRejected with the nearest one when there is none."""
    table = catalog.table(name)
    if table is None:
        guess = nearest(name, [each.name for each in catalog.tables])
        raise SqlRejected(f"no table {name!r}" + (f"; did you mean {guess!r}?" if guess else ""))
    return table


def find_column(table: Table, name: str) -> Column:
    """The column of that name; SqlRejected with the nearest one when there is none."""
    column = table.column(name)
    if column is None:
        guess = nearest(name, [each.name for each in table.columns])
        raise SqlRejected(
            f"no column {name!r} in {table.name}" + (f"; did you mean {guess!r}?" if guess else "")
        )
    return column


def moment(node: exp.Expr, column: Column) -> exp.Expr:
    """The column's date as DATE or TIMESTAMP."""
    return parsed(node, column) if column.profile.date_formats else node


def part_of(node: exp.Expr, column: Column, part: Part) -> exp.Expr:
    """A date part: numbers for year, month, quarter and weekday (Sunday is 0); text for year_month; a DATE for day."""
    if not column.is_date:
        raise SqlRejected(f"{column.name!r} holds no dates, so it has no {part}")
    when = moment(node, column)
    if part == "day":
        return cast(when, "DATE")
    if part == "year_month":
        return call("strftime", when, text("%Y-%m"))
    return exp.Extract(this=exp.var(_PARTS[part]), expression=when)


def plain_item(item: Item, table: Table, qualify: Qualify) -> exp.Expr:
    """The item without its aggregate."""
    if item.column is None:
        raise SqlRejected("an item without a column can only be counted")
    if item.column == "rowid" and table.key == ("rowid",):
        return qualify(table.name, "rowid")
    column = find_column(table, item.column)
    node = qualify(table.name, column.name)
    if item.since:
        return _days(item.since, column, table, qualify)
    return part_of(node, column, item.part) if item.part else node


def _days(since: str, column: Column, table: Table, qualify: Qualify) -> exp.Expr:
    start = find_column(table, since)
    return days_between(qualify(table.name, start.name), start, qualify(table.name, column.name), column)


def predicate(each: Predicate, table: Table, qualify: Qualify, *, ignores_case: bool) -> exp.Expr:
    """One predicate as a condition over its own table."""
    column = find_column(table, each.column)
    node = qualify(table.name, column.name)
    if each.since:
        if each.op not in _ORDERED or isinstance(each.value, bool | str | tuple | None):
            raise SqlRejected(f"days from {each.since!r} to {column.name!r} are compared with one number")
        return _ORDERED[each.op](
            this=_days(each.since, column, table, qualify), expression=literal(each.value)
        )
    if each.op in ("null", "not null"):
        return _null(node, column, wanted=each.op == "null")
    if each.op in ("like", "not like"):
        subject = node if column_kind(column) == "text" else cast(node, "VARCHAR")
        like: exp.Expr = (exp.ILike if ignores_case else exp.Like)(
            this=subject, expression=text(str(each.value))
        )
        return exp.Not(this=like) if each.op == "not like" else like
    if each.op in ("in", "not in"):
        return _among(each, column, node)
    if each.than and each.op in _ORDERED:
        return _ORDERED[each.op](this=node, expression=_average(column, table))
    if each.op not in _ORDERED:
        raise SqlRejected(
            f"a predicate has operator {each.op!r}; use = != < <= > >= in, like, null or their negations"
        )
    if isinstance(each.value, tuple):
        raise SqlRejected(f"{each.op} compares {column.name!r} with one value; use in for several")
    if each.value is None:
        return _null(node, column, wanted=each.op == "=")
    if each.part:
        left = part_of(node, column, each.part)
        right = (
            cast(text(str(each.value)), "DATE") if each.part == "day" else _part_value(each.value, each.part)
        )
        return _ORDERED[each.op](this=left, expression=right)
    if column.is_date:
        return _date(each.op, str(each.value), column, node)
    return _ORDERED[each.op](this=node, expression=value_for(column, each.value))


def _average(column: Column, table: Table) -> exp.Expr:
    """The average of a column over all rows of its table."""
    if not column.is_number:
        raise SqlRejected(f"{column.name!r} holds no numbers, so it has no average")
    name = exp.to_identifier(column.name, quoted=True)
    source = exp.Table(this=exp.to_identifier(table.name, quoted=True))
    query = exp.Select(expressions=[exp.Avg(this=exp.Column(this=name))], from_=exp.From(this=source))
    return exp.Subquery(this=query)


def _part_value(value: Value, part: Part) -> exp.Expr:
    if part == "year_month":
        return text(str(value))
    try:
        number = int(str(value))
        return literal(number % 7 if part == "weekday" else number)  # Sunday may be told as 7
    except ValueError:
        raise SqlRejected(f"{part} is compared with {value!r}; use a whole number") from None


def value_for(column: Column, value: Value) -> exp.Expr:
    """The value as a literal of the column's own type."""
    kind = column_kind(column)
    if value is None:
        return exp.null()
    if kind in ("integer", "number"):
        if isinstance(value, bool):
            return literal(int(value))
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                raise SqlRejected(f"{column.name!r} is a number; {value!r} is none") from None
            if number != number or number in (float("inf"), float("-inf")):
                raise SqlRejected(f"{column.name!r} is a number; {value!r} is none")
            return literal(int(number) if number.is_integer() else number)
        return literal(value)
    if kind == "boolean":
        word = str(value).strip().casefold()
        if word in ("1", "1.0", "true", "t", "yes", "y"):
            return exp.true()
        if word in ("0", "0.0", "false", "f", "no", "n"):
            return exp.false()
        raise SqlRejected(f"{column.name!r} is true or false; {value!r} is neither")
    return text(str(value))


def _null(node: exp.Expr, column: Column, *, wanted: bool) -> exp.Expr:
    stored = [value for value, _ in column.profile.values] or list(column.profile.samples)
    missing: exp.Expr = exp.Is(this=node, expression=exp.null())
    if column_kind(column) == "text" and any(isinstance(v, str) and not v.strip() for v in stored):
        blank = exp.EQ(this=call("trim", node.copy()), expression=text(""))
        missing = exp.Paren(this=exp.Or(this=missing, expression=blank))
    return missing if wanted else exp.Not(this=missing)


def _among(each: Predicate, column: Column, node: exp.Expr) -> exp.Expr:
    values = each.value if isinstance(each.value, tuple) else (each.value,)
    if not values:
        return exp.Boolean(this=each.op == "not in")
    if each.part:
        node = part_of(node, column, each.part)
        literals = [
            cast(text(str(v)), "DATE") if each.part == "day" else _part_value(v, each.part) for v in values
        ]
    elif column.is_date:
        node = cast(moment(node, column), "DATE")
        literals = [_day(str(v), column) for v in values]
    else:
        literals = [value_for(column, v) for v in values]
    found = exp.In(this=node, expressions=literals)
    return exp.Not(this=found) if each.op == "not in" else found


def _day(value: str, column: Column) -> exp.Expr:
    if not ISO_DATE.match(value):
        raise SqlRejected(f"{column.name!r} holds dates; write {value!r} as 2023-04-17")
    return cast(text(value[:10]), "DATE")


def _date(op: str, value: str, column: Column, node: exp.Expr) -> exp.Expr:
    """A date comparison that counts whole days when the value is a day: <= means before the day after."""
    if ISO_TIME.fullmatch(value):
        right: exp.Expr = cast(text(value), "TIMESTAMP")
        return _ORDERED[op](this=moment(node, column), expression=right)
    if not ISO_DATE.fullmatch(value):
        raise SqlRejected(f"{column.name!r} holds dates; write {value!r} as 2023-04-17")
    try:
        after = (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        raise SqlRejected(f"{value!r} is no day of the calendar") from None
    if op in ("<=", ">"):
        op, value = ("<", after) if op == "<=" else (">=", after)
    if op in ("=", "!="):
        if not has_time(column) and column_kind(column) != "timestamp":
            return _ORDERED[op](this=_comparable(node, column), expression=_bound(value, column))
        inside = exp.And(
            this=exp.GTE(this=_comparable(node, column), expression=_bound(value, column)),
            expression=exp.LT(this=_comparable(node.copy(), column), expression=_bound(after, column)),
        )
        return exp.Not(this=exp.Paren(this=inside)) if op == "!=" else inside
    return _ORDERED[op](this=_comparable(node, column), expression=_bound(value, column))


def _compares_as_text(column: Column) -> bool:
    """ISO text with nothing else between: 'n/a' and '' would sort among the dates."""
    profile = column.profile
    is_iso = bool(profile.date_formats) and all(each.startswith("%Y-%m-%d") for each in profile.date_formats)
    return is_iso and sorts_as_text(column) and not profile.misfits and not profile.null_share


def _comparable(node: exp.Expr, column: Column) -> exp.Expr:
    return node if _compares_as_text(column) else moment(node, column)


def _bound(value: str, column: Column) -> exp.Expr:
    return text(value) if _compares_as_text(column) else cast(text(value), "DATE")


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """The conditions joined by AND, brackets around alternatives; None for none."""
    joined: exp.Expr | None = None
    for condition in conditions:
        term = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        joined = term if joined is None else exp.And(this=joined, expression=term)
    return joined


def any_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by OR."""
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = exp.Or(this=joined, expression=condition)
    return exp.Paren(this=joined) if len(conditions) > 1 else joined
