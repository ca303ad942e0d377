"""Recognises rows that share a value with certain rows: x = (SELECT x FROM t WHERE name = 'a') AND name <> 'a'."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import field_of
from sqlrag_dspy.sql.reading.conditions import Beyond, Groups, Subquery, groups_of
from sqlrag_dspy.sql.reading.date_parts import dated
from sqlrag_dspy.sql.reading.from_clause import Joins
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Item, Same

_OTHER = ("group", "having", "order", "limit", "offset", "with_", "joins", "distinct", "qualify")


def same_of(terms: list[exp.Expr], joins: Joins, subquery: Subquery) -> Same | None:
    """The one value that rows share with certain others, which is taken from the terms; None without. Raises Beyond."""
    for place, term in enumerate(terms):
        found = _alike(term, joins, subquery)
        if found is None:
            continue
        rest = [*terms[:place], *terms[place + 1 :]]
        for other in rest:
            try:
                said = groups_of(exp.Not(this=exp.Paren(this=other.copy())), subquery)
            except Beyond:
                continue
            if said == list(found.filters):
                terms[:] = [each for each in rest if each is not other]
                return found
        raise Beyond("rows that share a value with themselves")
    return None


def _alike(term: exp.Expr, joins: Joins, subquery: Subquery) -> Same | None:
    term = bare(term)
    query: exp.Expr | None = None
    if isinstance(term, exp.In):
        query = term.args.get("query")
    elif isinstance(term, exp.EQ) and isinstance(bare(term.expression), exp.Subquery):
        query = bare(term.expression)
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    where, start = query.args.get("where"), query.args.get("from_")
    if where is None or start is None or any(query.args.get(key) for key in _OTHER):
        return None
    outer, inner = _item(term.this), _item(query.expressions[0].unalias())
    if outer is None or outer != inner or [each.name for each in joins.tables] != [outer.table]:
        return None
    groups: Groups = [group for each in conjuncts(where.this) for group in groups_of(each, subquery)]
    if len(groups) != 1 or len(groups[0]) != 1 or groups[0][0].table != outer.table:
        return None
    return Same(outer, tuple(groups))


def _item(node: exp.Expr) -> Item | None:
    found = field_of(node)
    if found is not None and found.table is not None and found.column is not None:
        return Item(found.table.name, found.column.name, via=found.via)
    spelt = dated(node)
    if spelt is not None and spelt.part is not None:
        return Item(spelt.table.name, spelt.column.name, "", spelt.part)
    return None
