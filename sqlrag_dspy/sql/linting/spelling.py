"""Literals that no row holds as written, while another letter case, accent or spelling is stored."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.checking.advice import nearest
from sqlrag_dspy.sql.dialect.comparing import bare, ignores_case, string
from sqlrag_dspy.sql.dialect.dates import call
from sqlrag_dspy.sql.kinds import Field, function_name
from sqlrag_dspy.sql.linting.statement import NoRow, Statement, field_with_column, said
from sqlrag_dspy.sql.probing import Probe, first
from sqlrag_dspy.types import Column

_CASES = {"lower": str.lower, "upper": str.upper}

ALIKE = 0.9
"""Jaro-Winkler likeness from which a stored text is taken for what was meant."""


def fold(value: str) -> str:
    """The text without letter case, accents and outer space."""
    apart = unicodedata.normalize("NFKD", value.strip().casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def stored_texts(column: Column) -> list[str]:
    """The listed values of a categorical text column."""
    return [each for each, _ in column.profile.values if isinstance(each, str)]


def stored_spelling(value: str, column: Column) -> str | None:
    """The stored value that `value` most likely means: equal but for case and accents, or spelt much alike."""
    stored = stored_texts(column)
    if value in stored:
        return None
    same = next((each for each in stored if fold(each) == fold(value)), None)
    return same or nearest(value, stored, cutoff=80)


def literals(tree: exp.Expr) -> Iterator[tuple[exp.Expr, Field, str]]:
    """(comparison, column, text) for each equality or list of a stored text column and literal text."""
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike):
        if isinstance(node, exp.In):
            pairs = [(node.this, each) for each in node.expressions]
        else:
            pairs = [(node.this, node.expression), (node.expression, node.this)]
        for left, right in pairs:
            found, text = field_with_column(_inside(left)), string(_inside(right))
            if found is None or found.column is None or text is None or found.column.profile.found != "text":
                continue
            if isinstance(node, exp.Like | exp.ILike) and (set(text) & set("%_") or left is not node.this):
                continue
            yield node, found, text


def _inside(node: exp.Expr) -> exp.Expr:
    """The column or text in lower(…) or upper(…)."""
    node = bare(node)
    return bare(node.expressions[0]) if function_name(node) in _CASES and node.expressions else node


def is_caseless(node: exp.Expr, found: Field) -> bool:
    """Whether the comparison passes over letter case: ILIKE, lower(…) = …, or the column's own way."""
    if isinstance(node, exp.ILike) or (found.column is not None and ignores_case(found.column)):
        return True
    return any(function_name(side) in _CASES for side in node.iter_expressions())


def spelling(statement: Statement) -> Iterator[str]:
    """Text that is stored only otherwise, and text that is stored in other spellings as well."""
    for node, found, text in literals(statement.tree):
        column = found.column
        if column is None or not text.strip() or column.profile.is_long_text:
            continue
        is_open = is_caseless(node, found)
        case = _case_missed(node, text)
        if case is not None:
            yield f"{case}(…) never gives {text!r}; write {_CASES[case](text)!r}"
            continue
        if column.profile.is_categorical:
            stored = stored_texts(column)
            if text in stored or (is_open and fold(text) in map(fold, stored)):
                others = [each for each in stored if each != text and _is_same(each, text, is_open)]
                if others and not _are_all_named(node, others, statement.tree):
                    yield (
                        f"{said(found)} = {text!r} misses rows that hold {' or '.join(map(repr, others))}; "
                        "name every spelling with IN (…)"
                    )
                continue
            meant = stored_spelling(text, column)
        else:
            meant = _probed(statement, found, text, is_open)
        if meant is not None:
            told = f"no row has {said(found)} = {text!r}; the stored value is {meant!r}"
            yield NoRow.of(node, told)


def _case_missed(node: exp.Expr, text: str) -> str | None:
    """The function that gives one letter case alone, where the literal beside it is in another."""
    sides = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]
    for side in sides:
        case = function_name(bare(side))
        if case in _CASES and string(_inside(side)) is None:
            is_plain = any(string(other) == text for other in sides)
            return case if is_plain and _CASES[case](text) != text else None
    return None


def _is_same(stored: str, text: str, is_open: bool) -> bool:
    """Whether a stored text is the same word in another spelling, which the comparison does not reach."""
    return fold(stored) == fold(text) and not (is_open and stored.casefold() == text.casefold())


def _are_all_named(node: exp.Expr, others: list[str], tree: exp.Expr) -> bool:
    """Whether the statement names the other spellings itself."""
    texts = {each.this for each in tree.find_all(exp.Literal) if each.is_string}
    return all(each in texts for each in others)


def _probed(statement: Statement, found: Field, text: str, is_open: bool) -> str | None:
    """What a column whose values are not listed holds instead, seen in its rows; None when it holds the text."""
    if not statement.probe.can_run:
        return None
    stored, column = stored_rows(found)
    same: exp.Expr = exp.EQ(this=column, expression=exp.Literal.string(text))
    if is_open:
        same = exp.EQ(this=call("lower", column.copy()), expression=exp.Literal.string(text.lower()))
    stored.set("where", exp.Where(this=same))
    if statement.probe.has_rows(first(stored)) is not False:
        return None
    return nearest_stored(statement.probe, found, text)


def stored_rows(found: Field) -> tuple[exp.Select, exp.Column]:
    """A query of the whole stored column, and the column as it is named there."""
    name, table = found.name, found.table
    if found.column is not None:
        name = found.column.name  # not the alias that the query may give it
    column = exp.column(exp.to_identifier(name, quoted=True))
    source = exp.Table(this=exp.to_identifier(table.name if table is not None else "", quoted=True))
    return exp.Select(expressions=[column.copy()], from_=exp.From(this=source)), column


def nearest_stored(probe: Probe, found: Field, text: str) -> str | None:
    """The text of a stored column that is spelt most like `text`, looked for in its rows; None when none is close."""
    query, column = stored_rows(found)
    likeness = call(
        "jaro_winkler_similarity",
        call("strip_accents", call("lower", column)),
        exp.Literal.string(fold(text)),
    )
    alike = exp.GTE(this=likeness, expression=exp.Literal.number(str(ALIKE)))
    query.set("where", exp.Where(this=alike))
    query.set("order", exp.Order(expressions=[exp.Ordered(this=likeness.copy(), desc=True)]))
    rows = probe.rows(first(query))
    meant = rows.values[0][0] if rows is not None and rows.values else None
    if not isinstance(meant, str):
        return None
    return meant if fold(meant) == fold(text) or nearest(text, [meant], cutoff=80, is_whole=True) else None
