"""Counts that take in too little or too much: COUNT(column) skips NULL, COUNT(*) counts rows without a partner."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.linting.absence import is_missing
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    field_with_column,
    own,
    place_of,
    said,
    sources_used,
    table_sources,
    where_of,
)
from sqlrag_dspy.sql.probing import first, within
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Table


def count_nulls(statement: Statement) -> Iterator[str]:
    """COUNT of a column with missing values, and COUNT(*) by group over a LEFT JOIN."""
    for select in statement.selects():
        counts = [each for each in select.find_all(exp.Count) if own(each, select)]
        has_star = any(isinstance(each.this, exp.Star) for each in counts)
        for call in counts:
            column = bare(call.this) if isinstance(call.this, exp.Expr) else None
            found = field_with_column(column) if column is not None else None
            if has_star or column is None or found is None or _is_filtered(call, column):
                continue
            if _is_mean(call, column):
                continue
            if is_missing(statement, select, column):
                yield (
                    f"COUNT({found.name}) leaves out the rows where {said(found)} is missing; "
                    "use COUNT(*) if every row counts"
                )
        if has_star:
            yield from _without_partner(statement, select)


def _is_filtered(call: exp.Expr, column: exp.Expr) -> bool:
    """Whether COUNT(…) FILTER (WHERE …) speaks of that column."""
    parent = call.parent
    if not isinstance(parent, exp.Filter):
        return False
    return any(place_of(each) == place_of(column) for each in parent.expression.find_all(exp.Column))


def _is_mean(call: exp.Expr, column: exp.Expr) -> bool:
    """Whether the count divides a sum over the same column: a mean or share of what is known, on purpose."""
    division = call.find_ancestor(exp.Div, exp.IntDiv)
    if division is None:
        return False
    sums = division.this.find_all(exp.Sum)
    return any(place_of(each) == place_of(column) for total in sums for each in total.find_all(exp.Column))


def _without_partner(statement: Statement, select: exp.Select) -> Iterator[str]:
    """A LEFT JOIN grouped by its left side: a row without a partner makes a group that counts one."""
    group = select.args.get("group")
    if group is None:
        return
    sources = table_sources(select, statement.catalog)
    grouped = {source for each in group.expressions for source in sources_used(each)}
    for join in select.args.get("joins") or ():
        alias = join.this.alias_or_name.casefold()
        table = sources.get(alias)
        if join.side != "LEFT" or not isinstance(table, Table) or not grouped or alias in grouped:
            continue
        if _is_wanted(select, alias):
            continue
        column = next(_joined(join, alias), table.key[0])
        partner = exp.column(
            exp.to_identifier(column, quoted=True), exp.to_identifier(join.this.alias_or_name, quoted=True)
        )
        lonely = [*where_of(select), exp.Is(this=partner, expression=exp.Null())]
        asked = first(within(select, [exp.Literal.number(1)], lonely))
        if statement.probe.has_rows(asked) is False:
            continue
        yield (
            f"COUNT(*) gives 1 where {table.name} has no matching row; "
            f'use COUNT("{join.this.alias_or_name}"."{column}") to count its rows'
        )


def _joined(join: exp.Join, alias: str) -> Iterator[str]:
    """The columns of the joined table that the join compares."""
    on = join.args.get("on")
    for term in conjuncts(on) if on is not None else ():
        for node in term.find_all(exp.Column):
            place = place_of(node)
            if place is not None and place[0] == alias:
                yield place[1]
    for node in join.args.get("using") or ():
        yield node.name


def _is_wanted(select: exp.Select, alias: str) -> bool:
    """Whether WHERE speaks of the joined table: then rows without a partner are dropped, or the point of it."""
    where = select.args.get("where")
    return where is not None and alias in sources_used(where)
