"""Recognises rows that refer to others of their table: employees e JOIN employees m ON m.id = e.manager_id.

The join is taken out of the query, and columns of the other row say by which column they are reached.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import Field, field_of
from sqlrag_dspy.sql.reading.conditions import Beyond, Groups, Subquery, groups_of
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, Table


def without_other_rows(tree: exp.Select) -> exp.Select:
    """The query with columns of other rows marked as such, and their table no longer joined; any other as it is."""
    start, joins = tree.args.get("from_"), list(tree.args.get("joins") or ())
    nodes = [start.this, *(join.this for join in joins)] if start is not None else []
    if not all(isinstance(node, exp.Table) for node in nodes):
        return tree
    names = [node.name.casefold() for node in nodes]
    twice = [node for node in nodes if names.count(node.name.casefold()) == 2]
    if len(twice) != 2 or len(set(names)) != len(names) - 1:
        return tree
    found = _reference(joins, {node.alias_or_name for node in twice})
    if found is None:
        raise Beyond("a table twice")
    join, term, via, other = found
    rest = [each for each in conjuncts(join.args["on"]) if each is not term]
    for column in tree.find_all(exp.Column):
        field = field_of(column)
        if column.table != other or field is None:
            continue
        if field.column is None or field.column.is_date:
            raise Beyond("a date of another row")
        column.meta["field"] = replace(field, via=via)
    joined = next(node for node in twice if node.alias_or_name != other)
    kept = [each for each in joins if each is not join]
    if start is not None and start.this.alias_or_name == other:
        start.set("this", joined)
        kept = [each for each in kept if each.this is not joined]
    tree.set("joins", kept or None)
    if rest:
        where = tree.args.get("where")
        terms = [*rest, *(conjuncts(where.this) if where is not None else ())]
        whole = terms[0]
        for each in terms[1:]:
            whole = exp.And(this=whole, expression=each)
        tree.set("where", exp.Where(this=whole))
    return tree


def _reference(joins: list[exp.Join], apart: set[str]) -> tuple[exp.Join, exp.Expr, str, str] | None:
    """The join of a table with itself along a reference: its condition, the referring column, the other's name."""
    for join in joins:
        on = join.args.get("on")
        if on is None or join.side or join.kind not in ("", "INNER"):
            continue
        for term in conjuncts(on):
            if not isinstance(term, exp.EQ):
                continue
            sides = [
                side for side in (bare(term.this), bare(term.expression)) if isinstance(side, exp.Column)
            ]
            if {side.table for side in sides} != apart:
                continue
            for here, there in (sides, sides[::-1]):
                if via := _via(field_of(here), field_of(there)):
                    return join, term, via, there.table
    return None


def _via(here: Field | None, there: Field | None) -> str:
    """The column of `here` when it refers to `there`, the key of the same table."""
    if here is None or there is None or here.table is None or here.table is not there.table:
        return ""
    if here.column is None or there.column is None:
        return ""
    refers = any(
        key.table == here.table.name
        and (key.columns, key.to_columns) == ((here.column.name,), (there.column.name,))
        for key in here.table.foreign_keys
    )
    return here.column.name if refers else ""


def referred_groups(left: exp.Expr, query: exp.Expr, catalog: Catalog, subquery: Subquery) -> Groups | None:
    """`manager_id IN (SELECT id FROM employees WHERE …)` as predicates on the other row; None for what is else."""
    while isinstance(query, exp.Subquery):
        query = query.this
    here = field_of(left)
    if here is None or not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    via = _via(here, field_of(query.expressions[0].unalias()))
    said = {key for key, value in query.args.items() if value} - {"expressions", "from_", "where"}
    source = query.args["from_"].this if query.args.get("from_") is not None else None
    if not via or said or not isinstance(source, exp.Table):
        return None
    where = query.args.get("where")
    groups = groups_of(where.this, subquery) if where is not None else []
    table: Table | None = here.table
    if not groups or table is None or any(p.table != table.name or p.via for group in groups for p in group):
        raise Beyond("another row that is restricted elsewhere")
    return [tuple(replace(p, via=via) for p in group) for group in groups]
