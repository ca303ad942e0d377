"""One checked statement as the lints see it: its tree, the catalog, and what may be asked of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import Field, field_of, function_name
from sqlrag_dspy.sql.probing import Probe
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, Table


@dataclass(frozen=True)
class Notice:
    """What one lint says of a statement: its name, and one line of advice.

    `is_note`: a fact that the reader may want to know, where the statement more often than not is right; anything
    else is a warning.
    """

    lint: str
    advice: str
    is_note: bool = False


class NoRow(str):
    """Advice that says no more than that no row satisfies `condition`, and what is stored instead."""

    __slots__ = ("condition",)

    condition: exp.Expr

    @classmethod
    def of(cls, condition: exp.Expr, advice: str) -> Self:
        """The advice about that condition, a node of the statement's tree."""
        made = cls(advice)
        made.condition = condition
        return made

    def is_about(self, conditions: Sequence[exp.Expr]) -> bool:
        """Whether it is one of these conditions or a part of one, not counting those of subqueries."""
        return any(
            node == self.condition
            for each in conditions
            for node in each.walk(prune=lambda node: isinstance(node, exp.Query))
        )


@dataclass(frozen=True)
class Statement:
    """`limit`: the LIMIT that `check` put on the outermost query for want of a smaller one, less one."""

    tree: exp.Query
    catalog: Catalog
    probe: Probe
    limit: int

    def selects(self) -> Iterator[exp.Select]:
        """Every SELECT of the statement, outermost first."""
        yield from self.tree.find_all(exp.Select)

    def own_limit(self, select: exp.Select) -> int | None:
        """The number of rows that the writer asked for; None without LIMIT."""
        clause = select.args.get("limit")
        count = clause.expression if isinstance(clause, exp.Limit) else None
        if not isinstance(count, exp.Literal) or count.is_string:
            return None
        rows = int(count.this)
        return None if select is self.tree and rows > self.limit else rows


_STRICT = ("lower", "upper", "try_strptime", "abs", "length", "round", "strftime")
_STRICT_IN_ALL = frozenset((
    "strptime", "date_part", "datepart", "date_trunc", "datetrunc", "date_diff", "datediff", "date_sub",
    "datesub", "year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour",
    "minute", "second", "monthname", "dayname", "last_day", "epoch", "substr", "substring", "left",
    "right", "replace", "trim", "ltrim", "rtrim", "instr", "strpos", "contains", "starts_with",
    "ends_with", "prefix", "suffix", "floor", "ceil", "ceiling", "sqrt", "reverse",
))  # fmt: skip
"""More functions that give NULL where any argument is NULL."""

Rule = Callable[[Statement], Iterator[str]]


def said(found: Field) -> str:
    """The column as advice names it: `table.column`."""
    table = f"{found.table.name}." if found.table else ""
    return f"{table}{found.column.name if found.column else found.name}"


def place_of(node: exp.Expr) -> tuple[str, str] | None:
    """(source, column name) of a column node, which tells two uses of a table apart."""
    inner = bare(node)
    if not isinstance(inner, exp.Column) or "source" not in inner.meta:
        return None
    return str(inner.meta["source"]), inner.name


def sources_used(term: exp.Expr) -> set[str]:
    """The sources whose columns a condition names, by folded alias."""
    return {place[0] for node in term.find_all(exp.Column) if (place := place_of(node)) is not None}


def own(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a node belongs to this SELECT and not to a query inside it."""
    return node.find_ancestor(exp.Select) is select


def terms_of(select: exp.Select) -> list[exp.Expr]:
    """The conditions that every row must pass: of WHERE, and of inner joins."""
    terms: list[exp.Expr] = []
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None and not join.side:
            terms += conjuncts(join.args["on"])
    return terms + where_of(select)


def where_of(select: exp.Select) -> list[exp.Expr]:
    """The conditions of WHERE."""
    where = select.args.get("where")
    return list(conjuncts(where.this)) if where is not None else []


def unwrapped(node: exp.Expr) -> exp.Expr:
    """What stands inside casts and functions that give NULL for NULL and nothing else."""
    node = bare(node)
    while True:
        if isinstance(node, exp.Cast | exp.Neg):
            node = bare(node.this)
        elif function_name(node) in _STRICT and node.expressions:
            node = bare(node.expressions[0])
        else:
            return node


def null_with(node: exp.Expr) -> set[str]:
    """The columns, as SQL, that each make the expression NULL where they are NULL."""
    node = bare(node)
    if isinstance(node, exp.Column):
        return {node.sql()}
    inside: list[exp.Expr] = []
    if isinstance(node, exp.Cast | exp.Neg | exp.Trim):
        inside = [node.this]
    elif isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.DPipe):
        inside = [node.this, node.expression]
    elif function_name(node) in (*_STRICT, *_STRICT_IN_ALL):
        inside = node.expressions
    return {each for part in inside for each in null_with(part)}


def table_sources(select: exp.Select, catalog: Catalog) -> dict[str, Table | exp.Query]:
    """What each source of FROM is, by folded alias: a table of the catalog, or the query in its place.

    A name from WITH is looked up in the clauses around the SELECT.
    """
    nodes = [select.args["from_"].this] if select.args.get("from_") is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    found: dict[str, Table | exp.Query] = {}
    for node in nodes:
        alias = node.alias_or_name.casefold()
        if isinstance(node, exp.Subquery):
            found[alias] = node.this
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            query = _from_with(node, select)
            table = catalog.table(node.name) if query is None else None
            if query is not None or table is not None:
                found[alias] = query if query is not None else table  # type: ignore[assignment]
    return found


def _from_with(node: exp.Table, select: exp.Select) -> exp.Query | None:
    holder: exp.Expr | None = select
    while holder is not None:
        clause = holder.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            if cte.alias.casefold() == node.name.casefold() and not _is_inside(select, cte):
                query: exp.Query = cte.this
                return query
        holder = holder.parent
    return None


def _is_inside(node: exp.Expr, cte: exp.Expr) -> bool:
    parent: exp.Expr | None = node
    while parent is not None:
        if parent is cte:
            return True
        parent = parent.parent
    return False


def is_table(node: exp.Expr, select: exp.Select, catalog: Catalog) -> bool:
    """Whether a column node is read from a table that this SELECT names itself."""
    place = place_of(node)
    return place is not None and isinstance(table_sources(select, catalog).get(place[0]), Table)


def field_with_column(node: exp.Expr) -> Field | None:
    """The field of a column node that stands for a stored column."""
    found = field_of(node)
    return found if found is not None and found.column is not None and found.table is not None else None


def meant(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """What an item of GROUP BY or ORDER BY stands for: a place in the list, an alias, or itself."""
    node = bare(node)
    item: exp.Expr | None = None
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.is_string:
        position = int(node.this) - 1
        item = select.expressions[position] if 0 <= position < len(select.expressions) else None
    elif isinstance(node, exp.Column) and node.meta.get("output"):
        item = next((each for each in select.expressions if each.alias == node.name), None)
    return node if item is None else bare(item.unalias())
