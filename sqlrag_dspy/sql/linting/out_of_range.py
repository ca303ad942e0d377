"""Conditions that no row, or every row, satisfies, as the known range and values of a column tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, string
from sqlrag_dspy.sql.kinds import field_of
from sqlrag_dspy.sql.linting.absence import may_lack, stored_null
from sqlrag_dspy.sql.linting.bounds import Bound, Scalar, bounds, is_less, moment, shown_value, stated
from sqlrag_dspy.sql.linting.spelling import fold, is_caseless, literals, stored_spelling, stored_texts
from sqlrag_dspy.sql.linting.statement import (
    NoRow,
    Statement,
    field_with_column,
    is_table,
    own,
    said,
    terms_of,
)
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Column

LISTED = 12
"""Stored values that one line of advice names."""


def out_of_range(statement: Statement) -> Iterator[str]:
    """Literals that are not stored, bounds beyond the range, LIKE that matches nothing or all, IS NULL for nobody."""
    yield from _texts(statement)
    for select in statement.selects():
        yield from _ranges(select)
        yield from _nulls(statement, select)
    yield from _patterns(statement.tree)


# --- text that is not among the listed values -------------------------------------------------------


def _texts(statement: Statement) -> Iterator[str]:
    """Text that a column does not hold and that is like nothing it holds; `spelling` tells of the others."""
    for node, found, text in literals(statement.tree):
        column = found.column
        if column is None or not column.profile.is_categorical or not text.strip():
            continue
        stored = stored_texts(column)
        is_open = is_caseless(node, found)
        if text in stored or (is_open and fold(text) in map(fold, stored)):
            continue
        if stored_spelling(text, column) is None:
            yield NoRow.of(node, f"no row has {said(found)} = {text!r}{_holds(stored)}")


def _holds(stored: list[str]) -> str:
    return f"; it holds {', '.join(map(repr, stored))}" if len(stored) <= LISTED else ""


def _patterns(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.Like, exp.ILike):
        found, pattern = field_with_column(node.this), string(node.expression)
        if found is None or found.column is None or pattern is None or node.args.get("escape"):
            continue
        if re.fullmatch("%+", pattern):
            yield f"{said(found)} LIKE {pattern!r} holds for every row that has a value; name a part of the text"
            continue
        column = found.column
        if (
            not column.profile.is_categorical
            or column.profile.found != "text"
            or not set(pattern) & set("%_")
        ):
            continue
        stored = stored_texts(column)
        if any(matches(pattern, each, exact=isinstance(node, exp.Like)) for each in stored):
            continue
        meant = next((each for each in stored if matches(fold(pattern), fold(each), exact=False)), None)
        meant = meant or stored_spelling(pattern.strip("%_"), column)
        told = f"; the stored value is {meant!r}" if meant is not None else _holds(stored)
        yield NoRow.of(node, f"no row has {said(found)} LIKE {pattern!r}{told}")


def matches(pattern: str, text: str, *, exact: bool) -> bool:
    """Whether LIKE (ILIKE when not `exact`) finds the pattern in the text."""
    spelt = "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in pattern)
    return re.fullmatch(spelt, text, re.DOTALL | (0 if exact else re.IGNORECASE)) is not None


# --- ranges -----------------------------------------------------------------------------------------


def _ranges(select: exp.Select) -> Iterator[str]:
    """Conditions that decide on every row; a branch of OR that never holds takes nothing away."""
    having = select.args.get("having")
    terms = terms_of(select) + (list(conjuncts(having.this)) if having is not None else [])
    everywhere = [bound for term in terms for bound in stated(term)]
    for term in terms:
        never = _never_any(term)
        found = bounds(term)
        if never is not None:
            yield NoRow.of(term, never)
        elif len(found) == 1 and sum(each.place == found[0].place for each in everywhere) == 1:
            always = _always(found[0])
            if always is not None:
                yield always


def _never_any(term: exp.Expr) -> str | None:
    """Why a condition never holds: a bound of it is out of range, or each branch of its OR is."""
    term = bare(term)
    if isinstance(term, exp.Or):
        first, second = _never_any(term.this), _never_any(term.expression)
        return None if second is None else first
    if isinstance(term, exp.And):
        return _never_any(term.this) or _never_any(term.expression)
    return next((told for each in bounds(term) if (told := _never(each)) is not None), None)


def _span(bound: Bound) -> tuple[Scalar, Scalar] | None:
    """The least and the greatest stored value, comparable with those of the bound."""
    column = bound.field.column if bound.field is not None else None
    if column is None or column.profile.minimum is None or column.profile.maximum is None:
        return None
    low, high = column.profile.minimum, column.profile.maximum
    if column.is_number and not isinstance(low, str) and not isinstance(high, str):
        return float(low), float(high)
    if not column.is_date:
        return None
    lowest, highest = moment(str(low)), moment(str(high))
    if bound.is_day:
        return moment(lowest[:10]), moment(highest[:10])
    return lowest, highest


def _never(bound: Bound) -> str | None:
    span = _span(bound)
    column = bound.field.column if bound.field is not None else None
    if span is None or column is None or bound.op in ("!=", "null", "known"):
        return None
    low, high = span
    if any(type(each) is not type(low) for each in bound.values):
        return None
    fits = [each for each in bound.values if not _is_beyond(bound.op, each, low, high)]
    if not fits:
        return f"no row has {bound.text}: it runs from {shown_value(low)} to {shown_value(high)}"
    listed = _listed_numbers(column)
    if bound.op == "=" and listed and not any(each in listed for each in bound.values):
        return f"no row has {bound.text}{_numbers(listed)}"
    return None


def _listed_numbers(column: Column) -> list[float]:
    if column.profile.found != "integer":
        return []
    return sorted(float(each) for each, _ in column.profile.values if isinstance(each, int | float))


def _numbers(listed: list[float]) -> str:
    return f"; it holds {', '.join(map(shown_value, listed))}" if len(listed) <= LISTED else ""


def _is_beyond(op: str, value: Scalar, low: Scalar, high: Scalar) -> bool:
    """Whether nothing between `low` and `high` satisfies the bound."""
    if op == "=":
        return is_less(value, low) or is_less(high, value)
    if op in ("<", "<="):
        return is_less(value, low) or (op == "<" and value == low)
    return is_less(high, value) or (op == ">" and value == high)


def _always(bound: Bound) -> str | None:
    """Told of numbers alone: a range of dates often covers all of them on purpose, as > 0 does of numbers."""
    span = _span(bound)
    column = bound.field.column if bound.field is not None else None
    if span is None or column is None or not column.is_number or may_lack(column):
        return None
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}.get(bound.op)
    value = bound.values[0] if bound.values else None
    if opposite is None or not isinstance(value, float) or (bound.op in (">", ">=") and value in (0.0, 1.0)):
        return None
    if not _is_beyond(opposite, value, *span):
        return None
    low, high = map(shown_value, span)
    return f"every row has {bound.text}: it runs from {low} to {high}, so the condition leaves nothing out"


# --- IS NULL ----------------------------------------------------------------------------------------


def _nulls(statement: Statement, select: exp.Select) -> Iterator[str]:
    """IS NULL over a column that always has a value, or that holds blank text instead."""
    outer = any(join.side for join in select.args.get("joins") or ())
    where = select.args.get("where")
    if where is None or outer:
        return
    for node in where.find_all(exp.Is):
        if not isinstance(bare(node.expression), exp.Null) or isinstance(node.parent, exp.Not):
            continue
        found = field_of(node.this)
        if (
            not own(node, select)
            or found is None
            or found.column is None
            or found.table is None
            or not is_table(node.this, select, statement.catalog)
            or _is_beside_blank(node)
        ):
            continue
        profile = found.column.profile
        if profile.found == "empty" or not statement.probe.can_run:
            continue
        if stored_null(statement, found.table.name, found.column.name) is not False:
            continue
        if profile.found == "text" and profile.null_share:
            yield f"no row has {said(found)} IS NULL, but some hold empty text; write \"{found.name}\" = ''"
        else:
            yield f"no row has {said(found)} IS NULL: every row has a value"


def _is_beside_blank(node: exp.Expr) -> bool:
    """Whether an OR beside it looks for empty text already."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Or):
        if any(each.is_string and not each.this.strip() for each in parent.find_all(exp.Literal)):
            return True
        parent = parent.parent
    return False
