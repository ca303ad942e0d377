"""A gold query, in SQLite's or DuckDB's words, back into the sketch that would write it.

Beyond sketches: most set operations, WITH and windows, outer and self joins, most CASE and arithmetic. For what
is read, `write` gives the same rows, except that a maximum taken with a subquery keeps one of its ties.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.statement import tree_of
from sqlrag_dspy.sql.dialect.comparing import bare, number
from sqlrag_dspy.sql.elapsed import elapsed_of
from sqlrag_dspy.sql.kinds import field_of, function_name
from sqlrag_dspy.sql.reading.absences import absence_of
from sqlrag_dspy.sql.reading.beside import bounded_by, difference_of, is_either, parted, told_of
from sqlrag_dspy.sql.reading.both import both_of
from sqlrag_dspy.sql.reading.conditions import Beyond, Groups, groups_of, value_of
from sqlrag_dspy.sql.reading.date_parts import dated, stored
from sqlrag_dspy.sql.reading.extents import range_of
from sqlrag_dspy.sql.reading.firsts import (
    Extreme,
    Ranking,
    extreme_of,
    ranking_of,
    refuse_text_order,
    with_extreme,
)
from sqlrag_dspy.sql.reading.from_clause import Joins, far_groups, one_value_each, pair_of, root_of, sources
from sqlrag_dspy.sql.reading.joining import check_joins
from sqlrag_dspy.sql.reading.nested import flattened, is_own_limit
from sqlrag_dspy.sql.reading.referring import referred_groups, without_other_rows
from sqlrag_dspy.sql.reading.shares import Share, share_of
from sqlrag_dspy.sql.reading.sharing import same_of
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Aggregate, Beside, Catalog, Column, Item, Sketch, Value

_COMPARE: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


_MODIFIERS = ("limit", "order", "offset", "with_")


def read(sql: str, catalog: Catalog) -> Sketch | None:
    """The sketch of a query, or None when the query is wrong or lies beyond what a sketch can say."""
    try:
        tree = tree_of(sql, catalog)
        if isinstance(tree, exp.Intersect) and not any(tree.args.get(key) for key in _MODIFIERS):
            first, second = (_Reader(each, catalog).sketch() for each in (tree.this, tree.expression))
            return both_of(first, second)
        return _Reader(tree, catalog).sketch()
    except (SqlRejected, Beyond, RecursionError):
        return None


class _Reader:
    def __init__(self, tree: exp.Expr, catalog: Catalog) -> None:
        while isinstance(tree, exp.Subquery):
            if any(tree.args.get(key) for key in _MODIFIERS):
                raise Beyond("modifiers around brackets")
            tree = tree.this
        if not isinstance(tree, exp.Select):
            raise Beyond("not one SELECT")
        tree, self.over = flattened(tree)
        if tree.args.get("windows"):
            raise Beyond("a clause that sketches have not")
        self.tree = without_other_rows(tree)
        self.catalog = catalog
        self.joins = Joins()
        self.far: dict[str, Groups] = {}
        self.told, self.told_by = told_of(tree)
        self.outputs = {
            each.alias.casefold(): each.this for each in tree.expressions if isinstance(each, exp.Alias)
        }

    def sketch(self) -> Sketch:
        conditions = sources(self.tree, self.catalog, self.joins)
        where = self.tree.args.get("where")
        terms = [*conditions, *(conjuncts(where.this) if where is not None else ())]
        without = absence_of(terms, self.catalog, self.joins, self._subquery)
        same = same_of(terms, self.joins, self._subquery)
        plain, extreme = self._split(terms)
        filters: Groups = []
        for term in plain:
            if self.told is None or not is_either(term, self.told):
                filters += groups_of(term, self._subquery)
        self.root = root_of(self.joins)
        distinct = self.tree.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise Beyond("DISTINCT ON")
        select, share, whole = self._select()
        beside, filters = self._beside(filters)
        ranking = ranking_of(self.tree)
        sketch = Sketch(
            table=self.root.name,
            select=tuple(select),
            distinct=distinct is not None,
            filters=tuple(filters),
            without=without,
            share=tuple(share),
            is_fraction=whole.is_fraction if whole is not None else False,
            share_of=self._amount(whole),
            group=self._group(),
            having=self._having(),
            order=self._order(self._ordering(ranking), filters),
            limit=self._rows("limit") if ranking is None else ranking.limit,
            offset=self._rows("offset") or 0,
            over=self.over,
            beside=beside,
            same=same,
            each=tuple(self._plain(self._output(node)) for node in ranking.each) if ranking else (),
        )
        if extreme is not None:
            sketch = with_extreme(sketch, extreme)
        check_joins(sketch, self.joins, self.catalog)
        return sketch

    # --- FROM and WHERE -----------------------------------------------------------------------------

    def _split(self, terms: list[exp.Expr]) -> tuple[list[exp.Expr], Extreme | None]:
        plain: list[exp.Expr] = []
        extreme = None
        for term in terms:
            pair = pair_of(term)
            if pair is not None:
                self.joins.pairs.add(pair)
                continue
            found = extreme_of(term, self.catalog, self._subquery)
            if found is None:
                plain.append(term)
            elif extreme is None:
                extreme = found
            else:
                raise Beyond("two extremes")
        return plain, extreme

    def _subquery(self, left: exp.Expr, query: exp.Expr) -> Groups:
        referred = referred_groups(left, query, self.catalog, self._subquery)
        if referred is not None:
            return referred
        groups = far_groups(left, query, self.catalog, self.joins, self._subquery)
        for group in groups:
            for each in group:
                before = self.far.setdefault(each.table, groups)
                if before is not groups and not one_value_each(before, groups):
                    raise Beyond("two subqueries over one table")
        return groups

    # --- two parts beside each other ------------------------------------------------------------------

    def _beside(self, filters: Groups) -> tuple[Beside | None, Groups]:
        """The comparison, and the filters that it leaves."""
        told = self.told
        if told is None:
            return None, filters
        halves: list[Groups] = []
        for each in (told.first, told.second):
            far, self.far = self.far, {}  # each part may ask for another row of one table
            halves.append(groups_of(each.condition, self._subquery))
            self.far = far
        first, second, rest = parted(halves[0], halves[1], filters)
        of = Item(self.root.name, None, "count")
        if told.first.amount is not None:
            of = replace(self._plain(told.first.amount), aggregate=told.first.aggregate)
            if of.table != self.root.name or not self._column_of(of).is_number or of.part or of.since:
                raise Beyond("an amount of other rows")
        is_shown = self.told_by > 0 or told.how in ("more", "less")
        is_grouped = self.tree.args.get("group") is not None
        if not first or not second or (not is_grouped and not is_shown):
            raise Beyond("a part that is everything")
        return Beside(of, tuple(first), tuple(second), told.how, is_shown), rest

    # --- what is shown ------------------------------------------------------------------------------

    def _select(self) -> tuple[list[Item], Groups, Share | None]:
        items: list[Item] = []
        share: Groups = []
        whole = None
        plain = self.tree.expressions[: len(self.tree.expressions) - self.told_by]
        for position, projection in enumerate(plain):
            node = bare(projection.unalias())
            found = share_of(node)
            if found is not None:
                if share or position != len(self.tree.expressions) - 1:
                    raise Beyond("a share among others")
                share, whole = groups_of(found.condition, self._subquery), found
                if not share:
                    raise Beyond("a share of everything")
            elif isinstance(node, exp.Star):
                items += [Item(t.name, c.name) for t in self.joins.tables for c in t.columns]
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                raise Beyond("all columns of one table")
            else:
                items.append(self._item(node))
        if share and any(item.aggregate for item in items):
            raise Beyond("a share beside an aggregate")
        if share and self.over:
            raise Beyond("a share of groups")
        return items, share, whole

    def _amount(self, share: Share | None) -> Item | None:
        """What a share is a part of, None for rows."""
        if share is None or share.amount is None:
            return None
        item = self._plain(share.amount)
        if item.table != self.root.name or not self._column_of(item).is_number:
            raise Beyond("an amount of other rows")
        return item

    def _item(self, node: exp.Expr) -> Item:
        node = bare(node)
        if isinstance(node, exp.Column) and node.meta.get("output"):
            node = bare(self.outputs[node.name.casefold()])
        if isinstance(node, exp.Count):
            return self._count(node)
        name = function_name(node)
        if name == "any_value" and len(node.expressions) == 1:
            return self._item(node.expressions[0])
        if name in ("arg_min", "arg_max") and stored(node.expressions[1]) == node.expressions[0]:
            return replace(self._plain(node.expressions[0]), aggregate=_named(name[4:]))
        aggregate = name if name in ("min", "max") else ""
        if isinstance(node, exp.Sum | exp.Avg):
            aggregate = "sum" if isinstance(node, exp.Sum) else "avg"
        spanned = range_of(node)
        if spanned is not None:
            return spanned
        if aggregate:
            inner = node.expressions[0] if name else node.this
            if isinstance(inner, exp.Distinct) or (name and len(node.expressions) != 1):
                raise Beyond("an aggregate of distinct values")
            plain = self._plain(inner)
            column = self._column_of(plain)
            if plain.since:
                return replace(plain, aggregate=_named(aggregate))
            if aggregate in ("sum", "avg") and (plain.part or not column.is_number):
                raise Beyond("a sum of what is no number")
            refuse_text_order(column.is_date and not plain.part and stored(inner) is bare(inner), column)
            return replace(plain, aggregate=_named(aggregate))
        return self._plain(node)

    def _count(self, node: exp.Count) -> Item:
        inner = node.this
        if node.expressions:
            raise Beyond("a count of several columns")
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Literal) and not inner.is_string):
            return Item(self.root.name, None, "count")
        is_distinct = isinstance(inner, exp.Distinct)
        if is_distinct and len(inner.expressions) != 1:
            raise Beyond("a count of several columns")
        plain = self._plain(inner.expressions[0] if is_distinct else inner)
        if plain.table == self.root.name and (plain.column,) == self.root.key and not plain.part:
            return Item(self.root.name, None, "count")
        return replace(plain, aggregate="count_distinct" if is_distinct else "count")

    def _plain(self, node: exp.Expr) -> Item:
        node = stored(node)
        found = field_of(node)
        if found is not None and found.table is not None and found.column is not None:
            return Item(found.table.name, found.column.name, via=found.via)
        days = elapsed_of(node)
        if days is not None and days.factor == 1.0:
            return Item(days.table.name, days.end.name, since=days.start.name)
        spelt = dated(node)
        if spelt is not None and spelt.part is not None:
            return Item(spelt.table.name, spelt.column.name, "", spelt.part)
        raise Beyond("an expression shown")

    def _column_of(self, item: Item) -> Column:
        table = self.catalog.table(item.table)
        column = table.column(item.column or "") if table is not None else None
        if column is None:
            raise Beyond("no stored column")
        return column

    # --- GROUP BY, HAVING, ORDER BY, LIMIT ----------------------------------------------------------

    def _by_position(self, node: exp.Expr) -> exp.Expr:
        position = number(node)
        if position is None or not position.isdigit():
            return node
        if not 1 <= int(position) <= len(self.tree.expressions):
            raise Beyond("no such column")
        chosen: exp.Expr = self.tree.expressions[int(position) - 1]
        return chosen.unalias()

    def _group(self) -> tuple[Item, ...]:
        group = self.tree.args.get("group")
        if group is None:
            return ()
        if any(value for key, value in group.args.items() if key != "expressions"):
            raise Beyond("grouping sets")
        return tuple(self._plain(self._output(self._by_position(each))) for each in group.expressions)

    def _output(self, node: exp.Expr) -> exp.Expr:
        node = bare(node)
        if isinstance(node, exp.Column) and node.meta.get("output"):
            return bare(self.outputs[node.name.casefold()])
        return node

    def _having(self) -> tuple[tuple[Item, str, Value], ...]:
        having = self.tree.args.get("having")
        if having is None:
            return ()
        found = []
        for term in conjuncts(having.this):
            if self.told is not None and bounded_by(term) == self.told:
                continue
            if isinstance(term, exp.Between):
                item = self._item(term.this)
                found += [(item, ">=", value_of(term.args["low"])), (item, "<=", value_of(term.args["high"]))]
                continue
            op = _COMPARE.get(type(term))
            if op is None:
                raise Beyond("a group condition")
            left, right = self._output(term.this), self._output(term.expression)
            if number(left) is not None:
                left, right, op = right, left, {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
            found.append((self._item(left), op, value_of(right)))
        return tuple(found)

    def _ordering(self, ranking: Ranking | None) -> list[exp.Expr]:
        """What rows are ordered by; those of a ranking by what ranks them, whatever order they are shown in."""
        order = self.tree.args.get("order")
        if ranking is None:
            return list(order.expressions) if order is not None else []
        is_cut = self.tree.args.get("limit") is not None and not is_own_limit(self.tree)
        if is_cut or any(self.tree.args.get(key) for key in ("offset", "distinct")):
            raise Beyond("ranked rows that are cut")
        return [ranking.order]

    def _order(self, ordering: list[exp.Expr], filters: Groups) -> tuple[tuple[Item, bool], ...]:
        found = []
        for each in ordering:
            node = self._output(self._by_position(each.this))
            if self.told is not None and difference_of(node) == self.told:
                amount = self.told.first.amount
                plain = self._plain(amount) if amount is not None else Item(self.root.name, None)
                found.append(
                    (replace(plain, aggregate=self.told.first.aggregate), bool(each.args.get("desc")))
                )
                continue
            item = self._item(node)
            descending = bool(each.args.get("desc"))
            if item.column is not None and item.aggregate != "count":
                nullable = [self._column_of(item)]
                if item.since:
                    nullable.append(self._column_of(replace(item, column=item.since, since="")))
                column = self._column_of(item)
                is_raw = isinstance(node, exp.Column)
                refuse_text_order(column.is_date and not item.part and not item.since and is_raw, column)
                is_first = bool(each.args.get("nulls_first"))
                says = bool(each.meta.get("says_nulls"))
                has_nulls = any(
                    each.profile.null_share and not self._excludes_null(item, each.name, filters)
                    for each in nullable
                )
                if has_nulls and (is_first if says else not descending):
                    raise Beyond("NULLs first")
            found.append((item, descending))
        return tuple(found)

    def _excludes_null(self, item: Item, column: str, filters: Groups) -> bool:
        return any(
            len(group) == 1
            and (group[0].column == column or (group[0].since and group[0].since == item.since))
            and group[0].op != "null"
            and group[0].table == item.table
            for group in filters
        )

    def _rows(self, clause: str) -> int | None:
        """The number of rows that LIMIT or OFFSET says, None without one."""
        node = self.tree.args.get(clause)
        if node is None:
            return None
        count = number(node.args.get("expression") or node.args.get("count") or exp.null())
        if count is None or not count.isdigit():
            raise Beyond(f"a {clause} that is no number")
        return int(count)


# --- pieces without a reader ------------------------------------------------------------------------


def _named(aggregate: str) -> Aggregate:
    return aggregate  # type: ignore[return-value]
