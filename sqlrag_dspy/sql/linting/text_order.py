"""Numbers kept as text beside other text, put in order: as text, '9' comes after '10'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, string
from sqlrag_dspy.sql.dialect.dates import text_date
from sqlrag_dspy.sql.kinds import Field, function_name
from sqlrag_dspy.sql.linting.statement import Statement, field_with_column, meant, own, said
from sqlrag_dspy.types import Profile

MOSTLY = 0.5
"""Share of the values that must be numbers."""
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*")
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d+)?\s*")
_CODE = re.compile(r"\s*[+-]?0\d")
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def text_order(statement: Statement) -> Iterator[str]:
    """ORDER BY, MAX, MIN and comparisons with a number over a text column that holds mostly numbers."""
    for select in statement.selects():
        for found, place in _uses(select):
            number = _as_number(statement, found)
            if number is not None:
                yield (
                    f"{said(found)} is text, mostly numbers, and {place} text, where '9' comes after '10'; "
                    f"use {number}, which is NULL for any other text"
                )


def _uses(select: exp.Select) -> Iterator[tuple[Field, str]]:
    order = select.args.get("order")
    for ordered in order.expressions if order is not None else ():
        item = meant(ordered.this, select)
        if (found := _text(item)) is not None:
            yield found, "is put in order as"
        elif _settles(item):
            break  # what follows only orders the ties
    for node in select.find_all(exp.Anonymous, *_ORDERS, exp.Between):
        if not own(node, select):
            continue
        if isinstance(node, exp.Anonymous):
            is_extreme = function_name(node) in ("max", "min") and len(node.expressions) == 1
            if is_extreme and (found := _text(node.expressions[0])) is not None:
                yield found, f"its {function_name(node)} is that of"
            continue
        column, *values = (
            (node.this, node.args["low"], node.args["high"])
            if isinstance(node, exp.Between)
            else (node.this, node.expression)
        )
        if string(column) is not None:
            column, values = values[0], [column]
        texts = [string(each) for each in values]
        is_number = all(each is not None and _NUMBER.fullmatch(each) for each in texts)
        if is_number and (found := _text(column)) is not None:
            yield found, "is compared as"


def _settles(item: exp.Expr) -> bool:
    """Whether rows that are ordered by it are mostly in order: an aggregate, or a column that hardly repeats."""
    if next(item.find_all(exp.AggFunc), None) is not None or function_name(item) in (
        "max",
        "min",
        "sum",
        "avg",
    ):
        return True
    found = field_with_column(item)
    if found is None or found.column is None or found.table is None:
        return False
    return found.column.profile.distinct >= MOSTLY * found.table.rows


def _text(node: exp.Expr) -> Field | None:
    """The stored text column that a node is, dates and long texts apart."""
    found = field_with_column(node)
    if found is None or found.kind != "text" or text_date(bare(node)) is not None:
        return None
    return None if found.column is None or found.column.profile.is_long_text else found


def _as_number(statement: Statement, found: Field) -> str | None:
    """How to write the column as a number; None when it holds none, too few, or orders the same as text."""
    if found.column is None or found.table is None or found.column.profile.found != "text":
        return None
    profile, name = found.column.profile, f'"{found.column.name}"'
    shown = [(str(value), n) for value, n in profile.values] or [(str(value), 1) for value in profile.samples]
    if any(_CODE.match(value) for value, _ in shown):
        return None
    whole = sum(n for _, n in shown)
    if sum(n for value, n in shown if _GROUPED.fullmatch(value)) >= MOSTLY * whole > 0:
        return f"TRY_CAST(REPLACE({name}, ',', '') AS DOUBLE)"
    numbers = [(value.strip(), n) for value, n in shown if _NUMBER.fullmatch(value)]
    if not numbers:
        return None
    is_most = sum(n for _, n in numbers) >= MOSTLY * whole
    if profile.values or not statement.probe.can_run:
        return f"TRY_CAST({name} AS DOUBLE)" if is_most and _turns([v for v, _ in numbers]) else None
    return f"TRY_CAST({name} AS DOUBLE)" if _looked_up(statement, found, name, profile) else None


def _turns(values: list[str]) -> bool:
    """Whether the order as text is another than that of the numbers."""
    return sorted(values) != sorted(values, key=float)


def _looked_up(statement: Statement, found: Field, name: str, profile: Profile) -> bool:
    """The same, of all rows: whether most are numbers, and the last of them as text is not the greatest."""
    if found.table is None:
        return False
    table, number = f'"{found.table.name}"', f"TRY_CAST({name} AS DOUBLE)"
    many = statement.probe.number(f"SELECT COUNT(*) FROM {table} WHERE {number} IS NOT NULL")
    if many is None or many < MOSTLY * found.table.rows * (1 - profile.null_share):
        return False
    last = f"(SELECT {number} FROM {table} WHERE {number} IS NOT NULL ORDER BY {name} DESC LIMIT 1)"
    return bool(statement.probe.has_rows(f"SELECT 1 FROM {table} WHERE {number} > {last} LIMIT 1"))
