"""Rows that a negation loses because a value is missing: NOT IN with a NULL in the list, and != over NULL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, string
from sqlrag_dspy.sql.kinds import Field, field_of
from sqlrag_dspy.sql.linting.absence import is_missing, may_lack, required
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    field_with_column,
    place_of,
    said,
    unwrapped,
    where_of,
)
from sqlrag_dspy.sql.writing.predicates import all_of

NEGATIONS = 12
"""Negations of a statement that are looked into: each takes the whole statement apart."""


def not_in(statement: Statement) -> Iterator[str]:
    """NOT IN over something that holds NULL, which is then true for no row."""
    for node in statement.tree.find_all(exp.Not):
        inner = bare(node.this)
        if not isinstance(inner, exp.In):
            continue
        if any(isinstance(bare(each), exp.Null) for each in inner.expressions):
            yield "NOT IN over a list with NULL is never true; leave NULL out of the list"
        query = inner.args.get("query")
        if query is not None and _gives_null(statement, query):
            output = _output(query)
            name = said(output) if output is not None else "its column"
            column = f'"{output.name}"' if output is not None else "it"
            yield (
                f"NOT IN is never true when the subquery gives a NULL, and {name} has some; "
                f"add WHERE {column} IS NOT NULL to it, or use NOT EXISTS"
            )


def _output(query: exp.Expr) -> Field | None:
    fields = query.meta.get("fields") or (
        query.this.meta.get("fields") if isinstance(query.this, exp.Expr) else None
    )
    only = fields[0] if fields else None
    return only if isinstance(only, Field) and only.name else None


def _gives_null(statement: Statement, query: exp.Expr) -> bool:
    inner = query.this if isinstance(query, exp.Subquery) else query
    column = exp.column(exp.to_identifier("v", quoted=True))
    alias = exp.TableAlias(
        this=exp.to_identifier("q", quoted=True), columns=[exp.to_identifier("v", quoted=True)]
    )
    asked = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=exp.Subquery(this=inner.copy(), alias=alias)),
        where=exp.Where(this=exp.Is(this=column, expression=exp.Null())),
        limit=exp.Limit(expression=exp.Literal.number(1)),
    )
    seen = statement.probe.has_rows(asked)
    if seen is not None:
        return seen
    if not isinstance(inner, exp.Select) or len(inner.expressions) != 1:
        return False
    shown = inner.expressions[0].unalias()
    found, place = field_with_column(shown), place_of(shown)
    if found is None or found.column is None or place in required(inner):
        return False
    return may_lack(found.column)


def negation(statement: Statement) -> Iterator[str]:
    """!= and NOT over a column with missing values: those rows are neither equal nor unequal."""
    kept = {
        (found.table.name, found.name)
        for node in statement.tree.find_all(exp.Is)
        if (found := field_of(unwrapped(node.this))) is not None and found.table is not None
    }
    for node in islice(statement.tree.find_all(exp.NEQ, exp.Not), NEGATIONS):
        inner = bare(node.this) if isinstance(node, exp.Not) else node
        if not isinstance(inner, exp.NEQ | exp.EQ | exp.In | exp.Like | exp.ILike):
            continue
        if isinstance(inner, exp.NEQ) and isinstance(node, exp.Not):
            continue
        if "" in (string(inner.this), string(inner.args.get("expression") or inner.this)):
            continue  # what is empty is not wanted, and what is missing neither
        select = node.find_ancestor(exp.Select)
        if not isinstance(select, exp.Select) or _is_counted(node):
            continue
        for side in (inner.this, inner.args.get("expression")):
            column = unwrapped(side) if isinstance(side, exp.Expr) else None
            found = field_with_column(column) if column is not None else None
            if found is None or column is None or found.table is None:
                continue
            if (found.table.name, found.name) in kept or place_of(column) in _elsewhere(select, node):
                continue
            if is_missing(statement, _without(select, node), column):
                yield (
                    f"rows where {said(found)} is missing are left out by this negation; add "
                    f'OR "{found.name}" IS NULL if they are wanted'
                )


def _is_counted(node: exp.Expr) -> bool:
    """Whether the negation only chooses what is shown or summed, and drops no row."""
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Select):
        if isinstance(parent, exp.Where | exp.Having | exp.Join):
            return False
        parent = parent.parent
    return True


def _without(select: exp.Select, node: exp.Expr) -> exp.Select:
    """The SELECT over the rows that only this negation decides on, so that those it loses can be looked for."""
    node.meta["looked_at"] = True
    bared = select.copy()
    node.meta.pop("looked_at")
    terms: list[exp.Expr] = []
    for term in where_of(bared):
        marked = next((each for each in term.walk() if each.meta.get("looked_at")), None)
        if marked is None:
            terms.append(term)
        elif marked is not term:  # one branch of an OR: the rows that no other branch keeps
            marked.replace(exp.false())
            terms.append(exp.Not(this=exp.Coalesce(this=term, expressions=[exp.false()])))
    condition = all_of([term.copy() for term in terms])
    bared.set("where", exp.Where(this=condition) if condition is not None else None)
    return bared


def _elsewhere(select: exp.Select, node: exp.Expr) -> set[tuple[str, str]]:
    """Columns that another condition of the SELECT wants to be known anyway."""
    return required(_without(select, node))
