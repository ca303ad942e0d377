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
from sqlrag_dspy.sql.joins import Hop
from sqlrag_dspy.sql.writing.beside import difference, either, part_of_rows, shown_beside
from sqlrag_dspy.sql.writing.conditions import Conditions
from sqlrag_dspy.sql.writing.firsts import first_of_each
from sqlrag_dspy.sql.writing.predicates import (
    all_of,
    find_column,
    find_table,
    moment,
    plain_item,
    value_for,
)
from sqlrag_dspy.sql.writing.referring import named_apart, other_row, source
from sqlrag_dspy.sql.writing.wholes import over_groups, part_of_whole, range_of
from sqlrag_dspy.types import Beside, Catalog, Item, Sketch, Table

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


class Writer(Conditions):
    """One sketch being written: which tables are joined, and each slot as an expression."""

    def __init__(self, sketch: Sketch, catalog: Catalog) -> None:
        super().__init__(sketch.table, catalog)
        self.sketch = sketch
        for item in self._items():
            self._join(find_table(catalog, item.table).name)
            if item.via and (item.table, item.via) not in self.referred:
                self.referred.append((item.table, item.via))

    def _items(self) -> list[Item]:
        sketch = self.sketch
        having = [item for item, _, _ in sketch.having]
        beside = [sketch.beside.of] if sketch.beside is not None else []
        order = [item for item, _ in sketch.order]
        return [*sketch.select, *sketch.group, *sketch.each, *having, *beside, *order]

    # --- the query ----------------------------------------------------------------------------------

    def query(self) -> exp.Select:
        sketch = self.sketch
        if not sketch.select and not sketch.share and sketch.beside is None:
            raise SqlRejected("the sketch selects nothing; name a column or an aggregate")
        query = exp.Select(from_=exp.From(this=source(self.root.name)))
        others = [other_row(find_table(self.catalog, name), via) for name, via in self.referred]
        if self.hops or others:
            query.set("joins", [*(self._on(hop) for hop in self.hops), *others])
        extra = [self._absent(sketch.without)] if sketch.without is not None else []
        extra += self._shared(sketch.same) if sketch.same is not None else []
        beside = sketch.beside
        if beside is not None and sketch.group and beside.how not in ("more", "less"):
            extra.append(either(*self._parts(beside)))
        where = all_of([*self._conditions(sketch.filters), *extra])
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
        if beside is not None:
            shown += shown_beside(beside, self._label(beside.of), *self._halves(beside))
        query.set("expressions", shown if sketch.over != "count" else [literal(1)])
        if sketch.distinct:
            query.set("distinct", exp.Distinct())
        if sketch.group:
            query.set("group", exp.Group(expressions=[self._plain(item) for item in sketch.group]))
        bounds = [self._having(*each) for each in sketch.having]
        if beside is not None and beside.how in ("more", "less"):
            first, second = self._halves(beside)
            bounds.append(_COMPARE[">" if beside.how == "more" else "<"](this=first, expression=second))
        having = all_of(bounds)
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

    # --- items --------------------------------------------------------------------------------------

    def _plain(self, item: Item) -> exp.Expr:
        def other(table: str, name: str) -> exp.Column:
            apart = exp.to_identifier(named_apart(table, item.via), quoted=True)
            return exp.Column(this=exp.to_identifier(name, quoted=True), table=apart)

        return plain_item(item, find_table(self.catalog, item.table), other if item.via else self._column)

    def _shown(self, item: Item) -> exp.Expr:
        node = self._item(item)
        if item.aggregate or item.part or item.since:
            return exp.Alias(this=node, alias=exp.to_identifier(self._label(item), quoted=True))
        if item.via:
            return exp.Alias(this=node, alias=exp.to_identifier(f"{item.column} of {item.via}", quoted=True))
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
        beside = self.sketch.beside
        if beside is not None and item == beside.of:
            node = difference(beside, *self._halves(beside))
            return exp.Ordered(this=node, desc=descending, nulls_first=False)
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

    def _parts(self, beside: Beside) -> tuple[exp.Expr, exp.Expr]:
        """The conditions of the two parts that are compared."""
        first, second = (all_of(self._conditions(part)) for part in (beside.first, beside.second))
        if first is None or second is None:
            raise SqlRejected("a part of the rows has no condition; say what each of the two holds")
        return first, second

    def _halves(self, beside: Beside) -> tuple[exp.Expr, exp.Expr]:
        """The aggregate of each part."""
        of = beside.of
        if of.aggregate == "sum" and self._is_multiplied(of.table):
            raise SqlRejected(f"amounts of {of.table} would be added up several times here")
        first, second = self._parts(beside)
        return part_of_rows(self._item(of), first), part_of_rows(self._item(of), second)
