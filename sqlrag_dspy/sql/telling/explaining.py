"""What a query does, in one plain sentence; the same query always gives the same words.

A query that a sketch can say is told from its sketch; any other is told clause by clause.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.statement import tree_of
from sqlrag_dspy.sql.dialect.grouping import plain_aggregates
from sqlrag_dspy.sql.reading.queries import read
from sqlrag_dspy.sql.telling.phrases import condition_text, groups_text, plain_name, value_text
from sqlrag_dspy.types import Absence, Beside, Catalog, CheckedSql, Item, Predicate, Sketch

_AGGREGATES = {"sum": "total", "avg": "average", "min": "lowest", "max": "highest"}
_DATES = {"min": "earliest", "max": "latest"}
_COMPARED = {
    "=": "is",
    "!=": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}


def explain(query: CheckedSql | str, catalog: Catalog) -> str:
    """One sentence without a full stop, such as `counts articles by year and category`; "" for what is not SQL."""
    text = query.text if isinstance(query, CheckedSql) else query
    sketch = read(text, catalog)
    if sketch is not None:
        return _Sentence(sketch, catalog).text()
    try:
        tree = tree_of(text, catalog)
    except (SqlRejected, RecursionError):
        return ""
    return _clauses(tree)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _is_own_limit(limit: int) -> bool:
    """Whether the limit is the one that `check` adds to see a cut, such as 1001."""
    return limit > 100 and limit % 100 == 1


class _Sentence:
    def __init__(self, sketch: Sketch, catalog: Catalog) -> None:
        self.sketch = sketch
        self.catalog = catalog
        self.table = plain_name(sketch.table)

    def text(self) -> str:
        sketch = self.sketch
        said = self._subject()
        if sketch.group:
            joint = "over groups by" if sketch.over == "avg" else "by"
            said += f" {joint} {_listed([self._item(each) for each in sketch.group])}"
        if sketch.filters:
            is_part = bool(sketch.share) or sketch.beside is not None
            said += f" {'among those ' if is_part else ''}where {self._groups(sketch.filters)}"
        if sketch.without is not None:
            said += self._without(sketch.without)
        if sketch.same is not None:
            those = groups_text(sketch.same.filters, sketch.table, self.catalog)
            said += f" with the {self._item(sketch.same.item)} of the one where {those}, without that"
        if sketch.having:
            conditions = [
                f"{self._item(item)} {_COMPARED.get(op, op)} {value_text(value)}"
                for item, op, value in sketch.having
            ]
            said += f", keeping groups whose {_listed(conditions)}"
        if sketch.beside is not None and sketch.beside.how in ("more", "less"):
            first, second = self._halves(sketch.beside)
            said += f", keeping groups whose {first} is {sketch.beside.how} than that {second}"
        return said + self._order()

    def _without(self, absence: Absence) -> str:
        name = plain_name(absence.table)
        rest = (
            f" where {groups_text(absence.filters, absence.table, self.catalog)}" if absence.filters else ""
        )
        if absence.column is not None:
            return f" whose {plain_name(absence.column)} has no {name}{rest}"
        return f" without {name}{rest}"

    def _groups(self, groups: tuple[tuple[Predicate, ...], ...]) -> str:
        return groups_text(groups, self.sketch.table, self.catalog)

    def _subject(self) -> str:
        sketch = self.sketch
        if sketch.share:
            whole = "fraction" if sketch.is_fraction else "percentage"
            amount = self._item(sketch.share_of) + " of " if sketch.share_of is not None else ""
            return f"{whole} of {amount}{self.table} where {self._groups(sketch.share)}"
        if sketch.beside is not None and (sketch.beside.is_shown or not sketch.select):
            return self._beside(sketch.beside)
        if sketch.over == "count":
            return f"counts groups of {self.table}"
        if sketch.over:
            return f"mean of {self._item(sketch.select[0])}"
        shown = [each for each in sketch.select if each not in sketch.group or not self._has_aggregate()]
        counts = [each for each in shown if each.aggregate == "count" and each.column is None]
        if len(shown) == 1 and counts:
            return f"counts {plain_name(counts[0].table)}"
        if not shown:
            shown = list(sketch.select)
        names = _listed([self._item(each) for each in shown])
        distinct = "distinct " if sketch.distinct else ""
        tables = {each.table for each in shown}
        return (
            f"{distinct}{names} of {self.table}"
            if tables == {sketch.table}
            else f"{distinct}{names} from {self.table}"
        )

    def _halves(self, beside: Beside) -> tuple[str, str]:
        """The aggregate of the first part, and what the second one is."""
        first, second = self._groups(beside.first), self._groups(beside.second)
        return f"{self._item(beside.of)} where {first}", f"where {second}"

    def _beside(self, beside: Beside) -> str:
        first, second = self._halves(beside)
        if beside.how in ("more", "less"):
            return _listed([self._item(each) for each in self.sketch.select]) + f" of {self.table}"
        if beside.how == "change":
            return f"change in percent of {first}, to that {second}"
        if beside.how == "gap":
            return f"difference between {first} and that {second}"
        return f"{first} {'beside' if beside.how == 'both' else 'less'} that {second}"

    def _has_aggregate(self) -> bool:
        return any(each.aggregate for each in self.sketch.select)

    def _item(self, item: Item) -> str:
        if item.column is None:
            return f"number of {plain_name(item.table)}"
        owner = f"{plain_name(item.table)} " if item.table != self.sketch.table else ""
        owner += f"{plain_name(item.via)} " if item.via else ""
        name = owner + plain_name(item.column)
        if item.since:
            name = f"number of days from {owner}{plain_name(item.since)} to {plain_name(item.column)}"
        if item.part:
            name = (
                f"{item.part.replace('_', ' ')} of {name}"
                if item.part != "year_month"
                else f"month of {name}"
            )
        if item.aggregate == "count":
            return f"number of {name} values"
        if item.aggregate == "count_distinct":
            return f"number of different {name} values"
        if not item.aggregate:
            return name
        table = self.catalog.table(item.table)
        column = table.column(item.column) if table is not None else None
        is_date = column is not None and column.is_date and not item.since
        if item.aggregate == "range":
            return f"{'days' if is_date else 'difference'} between the ends of {name}"
        words = {**_AGGREGATES, **_DATES} if is_date else _AGGREGATES
        return f"{words[item.aggregate]} {name}"

    def _key(self, item: Item) -> str:
        """What rows are ordered by: of two parts, what is said of them."""
        beside = self.sketch.beside
        if beside is None or item != beside.of:
            return self._item(item)
        return "that" if beside.is_shown else self._beside(beside)

    def _order(self) -> str:
        sketch = self.sketch
        limit = None if sketch.limit is None or _is_own_limit(sketch.limit) else sketch.limit
        said = ""
        if sketch.order:
            keys = [f"{self._key(item)}{' descending' if down else ''}" for item, down in sketch.order]
            said = f", ordered by {_listed(keys)}"
        if sketch.each:
            within = _listed([self._item(each) for each in sketch.each])
            return f"{said}, first {limit if limit != 1 else 'only'} of each {within}"
        if sketch.offset and limit == 1:
            said += f", number {sketch.offset + 1} only"
        elif limit is not None:
            said += f", first {limit}" if limit != 1 else ", the first only"
        if sketch.offset and limit != 1:
            said += f" after the first {sketch.offset}"
        return said


# --- queries beyond sketches ------------------------------------------------------------------------


def _clauses(tree: exp.Expr) -> str:
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        words = {"union": "together with", "except": "without", "intersect": "that are also among"}
        return f"{_clauses(tree.this)} {words[tree.key]} {_clauses(tree.expression)}"
    if not isinstance(tree, exp.Select):
        return condition_text(tree)
    shown = [condition_text(each.unalias()) for each in tree.expressions]
    counted = tree.expressions[0].unalias() if len(tree.expressions) == 1 else None
    sources = _source_names(tree)
    group, where = tree.args.get("group"), tree.args.get("where")
    is_count = isinstance(counted, exp.Count) and isinstance(counted.this, exp.Star)
    if is_count:
        said = f"counts rows of {_listed(sources)}" if sources else "counts rows"
    else:
        verb = "computes" if any(plain_aggregates(each) for each in tree.expressions) else "shows"
        distinct = "distinct " if tree.args.get("distinct") else ""
        said = f"{verb} {distinct}{_listed(shown)}" + (f" from {_listed(sources)}" if sources else "")
    if where is not None:
        said += f" where {condition_text(where.this)}"
    if group is not None:
        keys = [condition_text(each) for each in group.expressions]
        said += f", for each {_listed(keys)}" if keys else ", grouped"
    if (having := tree.args.get("having")) is not None:
        said += f", keeping groups where {condition_text(having.this)}"
    if (order := tree.args.get("order")) is not None:
        said += f", ordered by {_listed([_ordered(each) for each in order.expressions])}"
    limit = tree.args.get("limit")
    count = limit.args.get("expression") if limit is not None else None
    if isinstance(count, exp.Literal) and not _is_own_limit(int(count.this)):
        said += f", first {count.this}"
    return said


def _ordered(node: exp.Expr) -> str:
    return condition_text(node.this) + (" descending" if node.args.get("desc") else "")


def _source_names(tree: exp.Select) -> list[str]:
    start = tree.args.get("from_")
    every = [start.this] if start is not None else []
    every += [each.this for each in tree.args.get("joins") or ()]
    return list(dict.fromkeys(_source_name(node) for node in every))


def _source_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Table) and node.name:
        return plain_name(node.name)
    return "a subquery" if isinstance(node, exp.Subquery) else "a list"
