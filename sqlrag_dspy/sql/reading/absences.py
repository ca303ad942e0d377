"""Recognises that something is missing: `key NOT IN (SELECT …)` and NOT EXISTS (SELECT …).

NULL among the keys of a NOT IN, which makes SQL answer with nothing, is not kept. Writing is building.py's.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import field_of
from sqlrag_dspy.sql.reading.conditions import Beyond, Subquery
from sqlrag_dspy.sql.reading.from_clause import Joins, far_rows
from sqlrag_dspy.types import Absence, Catalog, Predicate


def absence_of(terms: list[exp.Expr], catalog: Catalog, joins: Joins, subquery: Subquery) -> Absence | None:
    """The one absence among the terms, which it is taken from; None for none, or for several. Raises Beyond."""
    found = [term for term in terms if _negated(term) is not None]
    if len(found) != 1 or (inner := _negated(found[0])) is None:
        return None
    terms.remove(found[0])
    if isinstance(inner, exp.Exists):
        left, query, own = inner, inner.this, None
    else:
        left, query = inner.this, inner.args["query"]
        own = _own_column(left, query, joins)
    table, key, groups = far_rows(left, query, catalog, joins, subquery, own=own)
    filters = tuple(group for group in groups if group != (Predicate(table.name, key, "not null"),))
    if any(each.table != table.name for group in filters for each in group):
        raise Beyond("an absence that spans tables")
    return Absence(table.name, filters, own)


def _negated(term: exp.Expr) -> exp.In | exp.Exists | None:
    """The membership in a subquery that a term negates."""
    term = bare(term)
    inner = bare(term.this) if isinstance(term, exp.Not) else None
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return inner
    return inner if isinstance(inner, exp.Exists) else None


def _own_column(left: exp.Expr, query: exp.Expr, joins: Joins) -> str | None:
    """The column in `x NOT IN (SELECT x FROM t …)` over the only table that is shown."""
    while isinstance(query, exp.Subquery):
        query = query.this
    shown = query.expressions[0].unalias() if len(query.expressions) == 1 else None
    outer, inner = field_of(left), field_of(shown) if shown is not None else None
    if outer is None or inner is None or outer.column is None or outer.table is None:
        return None
    is_same = outer.column is inner.column and [each.name for each in joins.tables] == [outer.table.name]
    return outer.column.name if is_same else None
