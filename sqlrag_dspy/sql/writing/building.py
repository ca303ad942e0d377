"""Sketches to SQL, as expressions and never by joining strings.

What another table must show is joined along foreign keys; what it must only satisfy becomes a condition on
keys, so that it multiplies no rows. The result is DuckDB SQL, still to be checked like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.grammar import literal, render
from sqlrag_dspy.sql.dialect.dates import call, sorts_as_text
from sqlrag_dspy.sql.joins import Hop, connect
from sqlrag_dspy.sql.writing.firsts import first_of_each
from sqlrag_dspy.sql.writing.predicates import (
    Qualify,
    all_of,
    any_of,
    find_column,
    find_table,
    moment,
    plain_item,
    predicate,
    value_for,
)
from sqlrag_dspy.sql.writing.wholes import over_groups, part_of_whole, range_of
from sqlrag_dspy.types import Absence, Catalog, Item, Predicate, Sketch, Table

Filters = Sequence[Sequence[Predicate]]

_COMPARE: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def write(sketch: Sketch, catalog: Catalog) -> str:
    """The sketch as one DuckDB query. Raises SqlRejected when it names what the catalog has not, or cannot join."""
    return render(Writer(sketch, catalog).query())


def source(name: str) -> exp.Table:
    """A table as a source of rows."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


class Writer:
    """One sketch being written: which tables are joined, and each slot as an expression."""

    def __init__(self, sketch: Sketch, catalog: Catalog) -> None:
        self.sketch = sketch
        self.catalog = catalog
        self.ignores_case = catalog.dialect == "sqlite"
        self.root = find_table(catalog, sketch.table)
        self.hops: list[Hop] = []
        self.joined = [self.root.name]
        for item in self._items():
            self._join(find_table(catalog, item.table).name)

    def _items(self) -> list[Item]:
        sketch = self.sketch
        having = [item for item, _, _ in sketch.having]
        return [*sketch.select, *sketch.group, *sketch.each, *having, *(item for item, _ in sketch.order)]

    def _join(self, name: str) -> None:
        if name in self.joined:
            return
        hops = connect(self.catalog, self.joined, name)
        if hops is None:
            raise SqlRejected(f"no foreign key leads from {self.root.name} to {name}; they cannot be joined")
        for hop in hops:
            self.hops.append(hop)
            self.joined.append(hop.right)

    # --- the query ----------------------------------------------------------------------------------

    def query(self) -> exp.Select:
        sketch = self.sketch
        if not sketch.select and not sketch.share:
            raise SqlRejected("the sketch selects nothing; name a column or an aggregate")
        query = exp.Select(from_=exp.From(this=source(self.root.name)))
        if self.hops:
            query.set("joins", [self._on(hop) for hop in self.hops])
        absent = [self._absent(sketch.without)] if sketch.without is not None else []
        where = all_of([*self._conditions(sketch.filters), *absent])
        if where is not None:
            query.set("where", exp.Where(this=where))
        shown: list[exp.Expr] = []
        for node in map(self._shown, sketch.select):
            # counts of joined tables may be one COUNT(*), whatever they are called
            if node.unalias() not in [each.unalias() for each in shown]:
                shown.append(node)
        if sketch.share:
            heading = exp.to_identifier("share" if sketch.is_fraction else "percent", quoted=True)
            shown.append(exp.Alias(this=self._share(), alias=heading))
        query.set("expressions", shown if sketch.over != "count" else [literal(1)])
        if sketch.distinct:
            query.set("distinct", exp.Distinct())
        if sketch.group:
            query.set("group", exp.Group(expressions=[self._plain(item) for item in sketch.group]))
        having = all_of([self._having(*each) for each in sketch.having])
        if having is not None:
            query.set("having", exp.Having(this=having))
        if sketch.over:
            return self._over(query, shown)
        if sketch.each:
            return first_of_each(
                query,
                [self._plain(item) for item in sketch.each],
                [self._ordered(item, descending) for item, descending in sketch.order],
                sketch.limit or 1,
            )
        if sketch.order:
            order = [self._ordered(item, descending) for item, descending in sketch.order]
            query.set("order", exp.Order(expressions=order))
        if sketch.limit is not None:
            query.set("limit", exp.Limit(expression=literal(max(int(sketch.limit), 0))))
        if sketch.offset:
            query.set("offset", exp.Offset(expression=literal(max(int(sketch.offset), 0))))
        return query

    def _over(self, groups: exp.Select, shown: Sequence[exp.Expr]) -> exp.Select:
        """The number of groups, or the mean of the one number that is shown of each."""
        if not self.sketch.group or self.sketch.limit is not None or self.sketch.each:
            raise SqlRejected("only groups that are all kept can be counted or averaged")
        if self.sketch.over == "count":
            return over_groups(groups, None)
        if len(shown) != 1 or not isinstance(shown[0], exp.Alias):
            raise SqlRejected("the mean over groups is that of one aggregate of each")
        return over_groups(groups, shown[0].alias)

    def _on(self, hop: Hop) -> exp.Join:
        pairs = [
            exp.EQ(this=self._column(hop.left, left), expression=self._column(hop.right, right))
            for left, right in zip(hop.left_columns, hop.right_columns)
        ]
        return exp.Join(this=source(hop.right), on=all_of(pairs))

    def _column(self, table: str, name: str) -> exp.Column:
        qualifier = exp.to_identifier(table, quoted=True) if self.hops else None
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier)

    # --- items --------------------------------------------------------------------------------------

    def _plain(self, item: Item) -> exp.Expr:
        return plain_item(item, find_table(self.catalog, item.table), self._column)

    def _shown(self, item: Item) -> exp.Expr:
        node = self._item(item)
        if item.aggregate or item.part or item.since:
            return exp.Alias(this=node, alias=exp.to_identifier(self._label(item), quoted=True))
        if not self._is_grouped() or item in self.sketch.group:
            return node
        wrapped = call("any_value", node)
        return exp.Alias(this=wrapped, alias=exp.to_identifier(item.column, quoted=True))

    def _label(self, item: Item) -> str:
        """A heading that no column has, or ORDER BY and HAVING would take one for the other."""
        aggregate = (
            "" if item.aggregate == "count" and item.column is None else item.aggregate.partition("_")[0]
        )
        if item.since:
            return f"{aggregate} days from {item.since} to {item.column}".strip()
        words = [aggregate, item.column if item.aggregate else "", item.part.replace("_", " ")]
        label = " ".join(word for word in words if word) or f"number of {item.table}"
        taken = {column.name.casefold() for table in self.catalog.tables for column in table.columns}
        return f"{label} of {item.column}" if label.casefold() in taken else label

    def _is_grouped(self) -> bool:
        return bool(self.sketch.group) or any(item.aggregate for item in self._items())

    def _item(self, item: Item) -> exp.Expr:
        if item.aggregate == "count" and item.column is None:
            return self._count_rows(find_table(self.catalog, item.table))
        node = self._plain(item)
        if not item.aggregate:
            return node
        if item.aggregate == "count":
            return exp.Count(this=node)
        if item.aggregate == "count_distinct":
            return exp.Count(this=exp.Distinct(expressions=[node]))
        if item.aggregate in ("sum", "avg"):
            return (exp.Sum if item.aggregate == "sum" else exp.Avg)(this=node)
        table = find_table(self.catalog, item.table)
        column = find_column(table, item.column or "")
        if item.aggregate == "range":
            return range_of(node, None if item.part or item.since else column)
        if (
            not item.part
            and not item.since
            and column.is_date
            and column.profile.date_formats
            and not sorts_as_text(column)
        ):
            # the first and last in time, shown as stored
            return call(f"arg_{item.aggregate}", node, moment(node.copy(), column))
        return call(item.aggregate, node)

    def _count_rows(self, table: Table) -> exp.Expr:
        """COUNT(*), or a count of distinct keys where the joins show a row of that table several times."""
        if not self._is_multiplied(table.name):
            return exp.Count(this=exp.Star())
        keys: list[exp.Expr] = [self._column(table.name, name) for name in table.key]
        inner = keys[0] if len(keys) == 1 else exp.Tuple(expressions=keys)
        return exp.Count(this=exp.Distinct(expressions=[inner]))

    def _is_multiplied(self, name: str) -> bool:
        """Whether some join gives a row of that table several partners, seen from that table outwards."""
        edges = [(hop.left, hop.right, hop.many) for hop in self.hops]
        back = [(hop.right, hop.left, self._many_back(hop)) for hop in self.hops]
        reached, stack = {name}, [name]
        while stack:
            here = stack.pop()
            for start, goal, many in (*edges, *back):
                if start == here and goal not in reached:
                    if many:
                        return True
                    reached.add(goal)
                    stack.append(goal)
        return False

    def _many_back(self, hop: Hop) -> bool:
        key = {each.casefold() for each in find_table(self.catalog, hop.left).key}
        return not key <= {each.casefold() for each in hop.left_columns}

    def _ordered(self, item: Item, descending: bool) -> exp.Expr:
        node = self._item(item)
        table = find_table(self.catalog, item.table)
        column = table.column(item.column or "")
        is_bare = not item.aggregate and not item.part and not item.since
        is_extreme = item.aggregate in ("min", "max") and not item.part and not item.since
        if (
            column is not None
            and column.is_date
            and column.profile.date_formats
            and not sorts_as_text(column)
        ):
            if is_bare:
                node = moment(node, column)
            elif is_extreme:
                node = call(item.aggregate, moment(self._plain(item), column))
        if not item.aggregate and self._is_grouped() and item not in self.sketch.group:
            node = call("max" if descending else "min", node)
        return exp.Ordered(this=node, desc=descending, nulls_first=False)

    def _having(self, item: Item, op: str, value: object) -> exp.Expr:
        if op not in _COMPARE:
            raise SqlRejected(f"a group is compared with {op!r}; use = != < <= > >=")
        node = self._item(item)
        plain = value if isinstance(value, bool | int | float | str) else str(value)
        if item.aggregate in ("", "min", "max") and item.column is not None and not item.part:
            column = find_column(find_table(self.catalog, item.table), item.column)
            if not column.is_date:
                return _COMPARE[op](this=node, expression=value_for(column, plain))
        return _COMPARE[op](this=node, expression=literal(plain))

    def _share(self) -> exp.Expr:
        wanted = all_of(self._conditions(self.sketch.share)) or exp.true()
        amount = self.sketch.share_of
        if amount is not None and (amount.table != self.root.name or self._is_multiplied(self.root.name)):
            raise SqlRejected(f"amounts of {amount.table} would be added up several times here")
        whole = self._count_rows(self.root) if amount is None else exp.Sum(this=self._plain(amount))
        return part_of_whole(whole, wanted, is_fraction=self.sketch.is_fraction)

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
