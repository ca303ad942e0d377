"""Joined tables of one query, and conditions over them: what another table must only satisfy multiplies no rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.grammar import literal
from sqlrag_dspy.sql.joins import Hop, connect
from sqlrag_dspy.sql.writing.predicates import (
    Qualify,
    all_of,
    any_of,
    find_column,
    find_table,
    plain_item,
    predicate,
)
from sqlrag_dspy.sql.writing.referring import referring, source
from sqlrag_dspy.types import Absence, Catalog, Predicate, Same

Filters = Sequence[Sequence[Predicate]]


class Conditions:
    """The tables that a query joins, beginning with `root`, and restrictions as conditions over them."""

    def __init__(self, root: str, catalog: Catalog) -> None:
        self.catalog = catalog
        self.ignores_case = catalog.dialect == "sqlite"
        self.root = find_table(catalog, root)
        self.hops: list[Hop] = []
        self.joined = [self.root.name]
        self.referred: list[tuple[str, str]] = []
        """Tables of which other rows are shown, with the column that refers to them."""

    def _join(self, name: str) -> None:
        if name in self.joined:
            return
        hops = connect(self.catalog, self.joined, name)
        if hops is None:
            raise SqlRejected(f"no foreign key leads from {self.root.name} to {name}; they cannot be joined")
        for hop in hops:
            self.hops.append(hop)
            self.joined.append(hop.right)

    def _on(self, hop: Hop) -> exp.Join:
        pairs = [
            exp.EQ(this=self._column(hop.left, left), expression=self._column(hop.right, right))
            for left, right in zip(hop.left_columns, hop.right_columns)
        ]
        return exp.Join(this=source(hop.right), on=all_of(pairs))

    def _column(self, table: str, name: str) -> exp.Column:
        qualifier = exp.to_identifier(table, quoted=True) if self.hops or self.referred else None
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier)

    # --- conditions ---------------------------------------------------------------------------------

    def _conditions(self, filters: Filters) -> list[exp.Expr]:
        """One condition for each group of alternatives; groups over the same far table meet in one row of it."""
        conditions: list[exp.Expr] = []
        far: dict[str, list[tuple[Predicate, ...]]] = {}
        for group in filters:
            if not group:
                continue
            tables = {find_table(self.catalog, each.table).name for each in group}
            outside = tables - set(self.joined)
            if len(tables) == 1 and outside:
                far.setdefault(outside.pop(), []).append(tuple(group))
            else:
                conditions.append(any_of([self._condition(each) for each in group]))
        for table, groups in far.items():
            for together in _compatible(groups):
                conditions.append(self._far(table, together))
        return conditions

    def _condition(self, each: Predicate) -> exp.Expr:
        table = find_table(self.catalog, each.table)
        if table.name not in self.joined:
            return self._far(table.name, [(each,)])
        return self._near(each, self._column)

    def _near(self, each: Predicate, qualify: Qualify) -> exp.Expr:
        if each.via:
            return referring(
                each, find_table(self.catalog, each.table), qualify, ignores_case=self.ignores_case
            )
        return predicate(each, find_table(self.catalog, each.table), qualify, ignores_case=self.ignores_case)

    def far_hops(self, name: str) -> tuple[Hop, ...]:
        """The way from the joined tables to one that is not joined; SqlRejected when there is none."""
        hops = connect(self.catalog, self.joined, name)
        if not hops:
            raise SqlRejected(f"no foreign key leads from {self.root.name} to {name}; they cannot be joined")
        return hops

    def _far(self, name: str, groups: Sequence[tuple[Predicate, ...]]) -> exp.Expr:
        """Rows that have a partner in a table that is not joined: key IN (SELECT …), or EXISTS for several."""
        hops = self.far_hops(name)
        first, rest = hops[0], hops[1:]

        def inner(table: str, column: str) -> exp.Column:
            qualifier = exp.to_identifier(table, quoted=True)
            return exp.Column(this=exp.to_identifier(column, quoted=True), table=qualifier)

        query = exp.Select(from_=exp.From(this=source(first.right)))
        joins = []
        for hop in rest:
            pairs = [
                exp.EQ(this=inner(hop.left, left), expression=inner(hop.right, right))
                for left, right in zip(hop.left_columns, hop.right_columns)
            ]
            joins.append(exp.Join(this=source(hop.right), on=all_of(pairs)))
        if joins:
            query.set("joins", joins)
        terms = [any_of([self._near(each, inner) for each in group]) for group in groups]
        if len(first.left_columns) == 1:
            query.set("expressions", [inner(first.right, first.right_columns[0])])
            query.set("where", exp.Where(this=all_of(terms)))
            outer = self._column(first.left, first.left_columns[0])
            return exp.In(this=outer, query=exp.Subquery(this=query))
        links: list[exp.Expr] = [
            exp.EQ(this=inner(first.right, right), expression=inner(first.left, left))
            for left, right in zip(first.left_columns, first.right_columns)
        ]
        query.set("expressions", [literal(1)])
        query.set("where", exp.Where(this=all_of([*links, *terms])))
        return exp.Exists(this=query)

    def _shared(self, same: Same) -> list[exp.Expr]:
        """Rows with a value that certain rows of the table have, without those."""
        table = find_table(self.catalog, same.item.table)
        known = {p.table for group in same.filters for p in group}
        if table.name != self.root.name or known != {table.name} or same.item.aggregate:
            raise SqlRejected(f"what rows of {self.root.name} share is said of them and of their own columns")

        def inner(_: str, each: str) -> exp.Column:
            return exp.Column(this=exp.to_identifier(each, quoted=True))

        wanted = all_of([any_of([self._near(each, inner) for each in group]) for group in same.filters])
        query = exp.Select(
            expressions=[plain_item(same.item, table, inner)],
            from_=exp.From(this=source(table.name)),
            where=exp.Where(this=wanted),
        )
        outer = plain_item(same.item, table, self._column)
        those = all_of([any_of([self._near(each, self._column) for each in group]) for group in same.filters])
        alike = exp.In(this=outer, query=exp.Subquery(this=query))
        return [alike, exp.Not(this=exp.Paren(this=those))]

    def _absent(self, absence: Absence) -> exp.Expr:
        """Rows that no such row of a table belongs to. Keys that are NULL belong to nothing, so they are no answer."""
        table = find_table(self.catalog, absence.table)
        if absence.column is None:
            if table.name in self.joined:
                raise SqlRejected(f"{table.name} cannot be both shown and absent")
            first = self.far_hops(table.name)[0]
            keyed = (Predicate(first.right, first.right_columns[0], "not null"),)
            return exp.Not(this=self._far(table.name, [*absence.filters, keyed]))
        column = find_column(table, absence.column)
        if table.name != self.root.name or any(
            p.table != table.name for group in absence.filters for p in group
        ):
            raise SqlRejected(
                f"rows of {table.name} that share a {column.name} are those of the table itself"
            )
        name = exp.to_identifier(column.name, quoted=True)

        def inner(_: str, each: str) -> exp.Column:
            return exp.Column(this=exp.to_identifier(each, quoted=True))

        keyed = (Predicate(table.name, column.name, "not null"),)
        terms = [any_of([self._near(each, inner) for each in group]) for group in (*absence.filters, keyed)]
        query = exp.Select(
            expressions=[exp.Column(this=name)],
            from_=exp.From(this=source(table.name)),
            where=exp.Where(this=all_of(terms)),
        )
        outer = self._column(table.name, column.name)
        return exp.Not(this=exp.In(this=outer, query=exp.Subquery(this=query)))


def _compatible(groups: list[tuple[Predicate, ...]]) -> list[list[tuple[Predicate, ...]]]:
    """Groups that one row can satisfy together; two different values of one column need two rows."""
    sets: list[list[tuple[Predicate, ...]]] = []
    for group in groups:
        only = group[0] if len(group) == 1 and group[0].op == "=" else None
        for chosen in sets:
            taken = {each[0].column for each in chosen if len(each) == 1 and each[0].op == "="}
            if only is None or only.column not in taken:
                chosen.append(group)
                break
        else:
            sets.append([group])
    return sets
