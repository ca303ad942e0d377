"""Whether a column may be NULL where a query reads it: by its profile, the query's conditions, and a probe."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    field_with_column,
    place_of,
    terms_of,
    unwrapped,
    where_of,
)
from sqlrag_dspy.sql.probing import first, within
from sqlrag_dspy.types import Column

Place = tuple[str, str]

_REJECTS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.In, exp.Between)


def may_lack(column: Column) -> bool:
    """Whether the profile saw rows without a value; blank text counts, so a text column is only suspected."""
    profile = column.profile
    return bool(profile.null_share) or (profile.misfits > 0 and profile.found not in ("text", "empty"))


def is_missing(statement: Statement, select: exp.Select, node: exp.Expr) -> bool:
    """Whether rows that this SELECT reads have NULL in the column; without a probe, whether they are likely to."""
    inner = unwrapped(node)
    found, place = field_with_column(inner), place_of(inner)
    if found is None or found.column is None or place is None or not may_lack(found.column):
        return False
    if place in required(select):
        return False
    null = exp.Is(this=inner.copy(), expression=exp.Null())
    asked = first(within(select, [exp.Literal.number(1)], [*where_of(select), null]))
    seen = statement.probe.has_rows(asked)
    if seen is None and found.table is not None:
        seen = stored_null(statement, found.table.name, found.name)
    return True if seen is None else seen


def stored_null(statement: Statement, table: str, column: str) -> bool | None:
    """Whether any row of the table has NULL there; None when it cannot be asked."""
    name = exp.column(exp.to_identifier(column, quoted=True))
    query = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(table, quoted=True))),
        where=exp.Where(this=exp.Is(this=name, expression=exp.Null())),
    )
    return statement.probe.has_rows(first(query))


def required(select: exp.Select) -> set[Place]:
    """The columns that no row past WHERE and the inner joins has NULL in."""
    return {place for term in terms_of(select) for place in required_by(term)}


def required_by(term: exp.Expr) -> set[Place]:
    """The columns of which the condition is true for no row that has NULL there."""
    term = bare(term)
    if isinstance(term, exp.And):
        return required_by(term.this) | required_by(term.expression)
    if isinstance(term, exp.Or):
        return required_by(term.this) & required_by(term.expression)
    if isinstance(term, exp.Not):
        inner = bare(term.this)
        if isinstance(inner, exp.Is) and isinstance(bare(inner.expression), exp.Null):
            return _plain(inner.this)
        return required_by(inner) if isinstance(inner, _REJECTS) else set()
    if not isinstance(term, _REJECTS):
        return set()
    sides = [term.this, *([term.expression] if isinstance(term, exp.Binary) else [])]
    return {place for side in sides for place in _plain(side)}


def _plain(side: exp.Expr) -> set[Place]:
    """The columns of an expression that is NULL when one of them is."""
    node = unwrapped(side)
    place = place_of(node)
    if place is not None:
        return {place}
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.DPipe):
        return _plain(node.this) | _plain(node.expression)
    return set()
