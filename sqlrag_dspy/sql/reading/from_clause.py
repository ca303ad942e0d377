"""What a query's FROM clause and key subqueries join: tables, equalities, and the table whose rows it shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from sqlrag_dspy.sql.joins import Pair, is_unique
from sqlrag_dspy.sql.kinds import field_of
from sqlrag_dspy.sql.reading.conditions import Beyond, Groups, Subquery, groups_of
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, Predicate, Table


@dataclass
class Joins:
    """The tables of a query and the equalities that join them."""

    tables: list[Table] = field(default_factory=list)
    pairs: set[Pair] = field(default_factory=set)
    far: set[Pair] = field(default_factory=set)


def sources(tree: exp.Select, catalog: Catalog, joins: Joins) -> list[exp.Expr]:
    """The tables of FROM and JOIN into `joins`; conditions of ON as terms."""
    start = tree.args.get("from_")
    if start is None:
        raise Beyond("no table")
    conditions: list[exp.Expr] = []
    every = [start.this, *(each.this for each in tree.args.get("joins") or ())]
    for node in every:
        if (
            not isinstance(node, exp.Table)
            or not isinstance(node.this, exp.Identifier)
            or node.args.get("joins")
        ):
            raise Beyond("a source that is no table")
        table = catalog.table(node.name)
        if table is None or table in joins.tables:
            raise Beyond("a table twice")
        joins.tables.append(table)
    for join in tree.args.get("joins") or ():
        if join.side or join.kind not in ("", "INNER", "CROSS") or join.method:
            raise Beyond("an outer join")
        on, using = join.args.get("on"), join.args.get("using")
        if on is not None:
            conditions += conjuncts(on)
        for column in using or ():
            here = catalog.table(join.this.name)
            holders = [
                each for each in joins.tables if each.column(column.name) is not None and each is not here
            ]
            if here is None or len(holders) != 1:
                raise Beyond("USING over several tables")
            joins.pairs.add(frozenset({(here.name, column.name), (holders[0].name, column.name)}))
    return conditions


def pair_of(term: exp.Expr) -> Pair | None:
    """Two stored columns of different tables set equal."""
    if not isinstance(term, exp.EQ):
        return None
    left, right = field_of(term.this), field_of(term.expression)
    if left is None or right is None or left.table is None or right.table is None:
        return None
    if left.column is None or right.column is None or left.table.name == right.table.name:
        return None
    if left.via or right.via:
        raise Beyond("a join with another row's table")
    return frozenset({(left.table.name, left.column.name), (right.table.name, right.column.name)})


def root_of(joins: Joins) -> Table:
    """The table of which each row shows at most once in the join: all others are reached by keys."""
    for table in joins.tables:
        reached, stack = {table.name}, [table.name]
        while stack:
            here = stack.pop()
            for goal in joins.tables:
                if goal.name in reached:
                    continue
                columns = tuple(
                    name
                    for pair in joins.pairs
                    if {each[0] for each in pair} == {here, goal.name}
                    for owner, name in pair
                    if owner == goal.name
                )
                if columns and is_unique(goal, columns):
                    reached.add(goal.name)
                    stack.append(goal.name)
        if len(reached) == len(joins.tables):
            return table
    raise Beyond("a join that multiplies rows")


def far_groups(left: exp.Expr, query: exp.Expr, catalog: Catalog, joins: Joins, subquery: Subquery) -> Groups:
    """`key IN (SELECT …)` or EXISTS (SELECT …) as predicates on the table inside."""
    table, key, groups = far_rows(left, query, catalog, joins, subquery)
    return groups or [(Predicate(table.name, key, "not null"),)]


def far_rows(
    left: exp.Expr,
    query: exp.Expr,
    catalog: Catalog,
    joins: Joins,
    subquery: Subquery,
    *,
    own: str | None = None,
) -> tuple[Table, str, Groups]:
    """The table inside a key subquery, the column that belongs to the rows outside, and its conditions.

    `own` is that column where the table inside is the one outside as well.
    """
    while isinstance(query, exp.Subquery):
        query = query.this
    plain = ("group", "having", "order", "limit", "with_", "joins", *(() if own else ("distinct",)))
    if not isinstance(query, exp.Select) or any(query.args.get(key) for key in plain):
        raise Beyond("a subquery that is more than a filter")
    inside = Joins()
    sources(query, catalog, inside)
    where = query.args.get("where")
    terms = list(conjuncts(where.this)) if where is not None else []
    if own is not None:
        key = own
    elif isinstance(left, exp.Exists):
        links = [term for term in terms if pair_of(term) is not None]
        terms = [term for term in terms if pair_of(term) is None]
        if not links:
            raise Beyond("EXISTS without a link")
        key = next(each for each in pair_of(links[0]) or () if each[0] == inside.tables[0].name)[1]
        joins.far |= {pair for term in links if (pair := pair_of(term)) is not None}
    else:
        if len(query.expressions) != 1:
            raise Beyond("IN over several columns")
        pair = pair_of(exp.EQ(this=left.copy(), expression=query.expressions[0].unalias().copy()))
        if pair is None:
            raise Beyond("IN over no key")
        joins.far.add(pair)
        key = next(name for owner, name in pair if owner == inside.tables[0].name)
    groups: Groups = []
    for term in terms:
        groups += groups_of(term, subquery)
    return inside.tables[0], key, groups


def one_value_each(first: Groups, second: Groups) -> bool:
    """Whether each asks for one value of the same column, which `write` keeps apart as two rows."""
    both = [*first, *second]
    alone = [group[0] for group in both if len(group) == 1 and group[0].op == "="]
    return len(first) == len(second) == 1 and len(alone) == 2 and alone[0].column == alone[1].column
