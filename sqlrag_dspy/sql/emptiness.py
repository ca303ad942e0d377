"""Why a query gave no rows: which condition emptied it, and the stored values nearest to what was asked.

Conditions are dropped one at a time and the rest is counted through `run`; nothing is guessed from the words.
Joins, subqueries, HAVING and the parts of a set operation are looked into the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking import resolved
from sqlrag_dspy.sql.comparing import bare
from sqlrag_dspy.sql.linting.statement import meant, sources_used
from sqlrag_dspy.sql.nearby import held_instead
from sqlrag_dspy.sql.phrases import condition_text
from sqlrag_dspy.sql.predicates import all_of
from sqlrag_dspy.sql.probing import Probe, within
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, CheckedSql, Rows

Run = Callable[[CheckedSql], Rows]

MAX_CONDITIONS = 12
_MAX_DEPTH = 3


def is_empty(rows: Rows) -> bool:
    """Whether a result says that nothing was found: no rows, or one of nothing but zero and NULL, as COUNT gives."""
    if not rows.values:
        return True
    return len(rows.values) == 1 and all(value is None or value == 0 for value in rows.values[0])


def explain_empty(query: CheckedSql, catalog: Catalog, run: Run) -> list[str]:
    """Lines that say which condition left no rows, most telling first; [] when rows pass, or it cannot be told.

    `run` executes a checked query; a probe that fails is left out, and none is run after one ran out of time.
    """
    try:
        tree, _ = resolved(query.text, catalog, dialect="duckdb")
    except (SqlRejected, RecursionError):
        return []
    return list(dict.fromkeys(_Explanation(catalog, Probe(tree, catalog, run)).of(tree, 0)))


@dataclass(frozen=True)
class _Explanation:
    catalog: Catalog
    probe: Probe

    def of(self, tree: exp.Expr, depth: int) -> list[str]:
        """Why a query gives no rows."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.SetOperation):
            return self._of_parts(tree, depth)
        if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
            return []
        limit = tree.args.get("limit")
        if isinstance(limit, exp.Limit) and limit.expression.name == "0":
            return ["LIMIT 0 shows no rows"]
        return self._of_select(tree, depth)

    def _of_parts(self, tree: exp.SetOperation, depth: int) -> list[str]:
        parts = {"first": tree.this, "second": tree.expression}
        looked_at = ["first"] if isinstance(tree, exp.Except) else list(parts)
        empty = [name for name in looked_at if self._rows_of(parts[name]) == 0]
        lines = []
        for name in empty:
            why = self.of(parts[name], depth + 1) if depth < _MAX_DEPTH else []
            lines += [f"the {name} part of {tree.key.upper()} is empty: {line}" for line in why]
            lines += [] if why else [f"the {name} part of {tree.key.upper()} is empty"]
        if lines or self._rows_of(parts["first"]) is None:
            return lines
        if isinstance(tree, exp.Intersect):
            return ["both parts of INTERSECT have rows, but none in common"]
        if isinstance(tree, exp.Except):
            return ["every row of the first part of EXCEPT is in the second"]
        return []

    def _rows_of(self, query: exp.Expr) -> int | None:
        """The number of rows of a query that stands alone; None when it cannot be told."""
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Query):
            return None
        alias = exp.TableAlias(this=exp.to_identifier("q", quoted=True))
        source = exp.Subquery(this=inner.copy(), alias=alias)
        return self.probe.number(exp.Select(expressions=[_count()], from_=exp.From(this=source)))

    # --- one SELECT ---------------------------------------------------------------------------------

    def _of_select(self, select: exp.Select, depth: int) -> list[str]:
        select, links, terms = _apart(select)
        if len(terms) > MAX_CONDITIONS:
            return []
        if self._count(select, links) == 0:
            return self._of_from(select, links, depth)
        if not terms:
            return self._of_groups(select, depth)
        passed = self._count(select, [*links, *terms])
        if passed:
            return self._of_groups(select, depth)
        if passed is None and not self.probe.can_run:
            return []
        if len(terms) == 1:
            return [self._alone(select, terms[0], depth)]
        lines = []
        for position, term in enumerate(terms):
            others = [each for at, each in enumerate(terms) if at != position]
            left = self._count(select, [*links, *others])
            if left:
                rows = "1 row passes" if left == 1 else f"{left:,} rows pass"
                lines.append(
                    f"without the condition {condition_text(term)}, {rows}{self._instead(select, term, depth)}"
                )
        return lines or self._conflicts(select, links, terms, depth)

    def _count(self, select: exp.Select, terms: list[exp.Expr]) -> int | None:
        return self.probe.number(within(select, [_count()], terms))

    def _alone(self, select: exp.Select, term: exp.Expr, depth: int) -> str:
        return f"no row passes: {condition_text(term)}{self._instead(select, term, depth)}"

    def _conflicts(
        self, select: exp.Select, links: list[exp.Expr], terms: list[exp.Expr], depth: int
    ) -> list[str]:
        """The smallest sets of conditions that no row passes, found by leaving out one after another."""
        lines: list[str] = []
        rest = list(terms)
        while rest and self._count(select, [*links, *rest]) == 0:
            needed = list(rest)
            for term in rest:
                fewer = [each for each in needed if each is not term]
                if fewer and self._count(select, [*links, *fewer]) == 0:
                    needed = fewer
            if len(needed) == 1:
                lines.append(self._alone(select, needed[0], depth))
            else:
                together = " and ".join(condition_text(each) for each in needed)
                lines.append(f"no row passes {together} together, though each alone lets some pass")
            rest = [each for each in rest if each not in needed]
        return lines

    def _instead(self, select: exp.Select, term: exp.Expr, depth: int) -> str:
        """What an emptied condition could have asked for, as `; …`, or nothing."""
        for query in term.find_all(exp.Select):
            if depth < _MAX_DEPTH and self._rows_of(query) == 0:
                why = self.of(query, depth + 1)
                return f"; its subquery is empty{': ' + why[0] if why else ''}"
        return held_instead(term, select, self.probe)

    # --- FROM, GROUP BY, HAVING ---------------------------------------------------------------------

    def _of_from(self, select: exp.Select, links: list[exp.Expr], depth: int) -> list[str]:
        """Which table is empty, or from which join on nothing matches."""
        joins = list(select.args.get("joins") or ())
        lines: list[str] = []
        for node in [select.args["from_"].this, *(join.this for join in joins)]:
            table = self.catalog.table(node.name) if isinstance(node, exp.Table) else None
            if table is not None and table.rows == 0:
                lines.append(f"table {table.name!r} is empty")
            elif isinstance(node, exp.Subquery) and depth < _MAX_DEPTH and self._rows_of(node.this) == 0:
                why = self.of(node.this, depth + 1)
                lines.append(f"the subquery {node.alias} is empty{': ' + why[0] if why else ''}")
            elif isinstance(node, exp.Table) and depth < _MAX_DEPTH and self._is_empty_name(node):
                why = self.of(self.probe.named(node.name) or node, depth + 1)
                lines.append(f"{node.name} is empty{': ' + why[0] if why else ''}")
        if lines:
            return lines
        reached = {select.args["from_"].this.alias_or_name.casefold()}
        for place, join in enumerate(joins):
            reached.add(join.this.alias_or_name.casefold())
            fewer = select.copy()
            fewer.set("joins", [each.copy() for each in joins[: place + 1]])
            inside = [each for each in links if sources_used(each) <= reached]
            if self._count(fewer, inside) == 0:
                return [self._unmatched(join, inside)]
        return ["the tables have no rows that match each other in the joins"] if joins else []

    def _is_empty_name(self, node: exp.Table) -> bool:
        query = self.probe.named(node.name)
        return query is not None and self._rows_of(query) == 0

    def _unmatched(self, join: exp.Join, links: list[exp.Expr]) -> str:
        name = join.this.alias_or_name
        stated = list(conjuncts(join.args["on"])) if join.args.get("on") is not None else []
        stated += [each for each in links if name.casefold() in sources_used(each)]
        told = " and ".join(condition_text(each) for each in stated)
        table = join.this.name if isinstance(join.this, exp.Table) else name
        return f"no row of {table} matches in the join{': ' + told if told else ''}"

    def _of_groups(self, select: exp.Select, depth: int) -> list[str]:
        """Which condition of HAVING no group passes; rows that pass WHERE there are."""
        having = select.args.get("having")
        if having is None:
            return []
        terms = list(conjuncts(having.this))
        if self._groups(select, terms) != 0:
            return []
        lines = []
        for position, term in enumerate(terms):
            others = [each for at, each in enumerate(terms) if at != position]
            left = self._groups(select, others)
            if left:
                groups = "1 group passes" if left == 1 else f"{left:,} groups pass"
                told = condition_text(term)
                lines.append(f"without HAVING {told}, {groups}{self._extreme(select, term, others)}")
        return lines or ["rows pass WHERE; no group of them passes HAVING"]

    def _grouped(self, select: exp.Select, shown: exp.Expr, terms: list[exp.Expr]) -> exp.Subquery:
        query = within(select, [exp.alias_(shown.copy(), "v", quoted=True)], [])
        if select.args.get("where") is not None:
            query.set("where", select.args["where"].copy())
        group = select.args.get("group")
        if group is not None:
            keys = [meant(each, select).copy() for each in group.expressions]
            query.set("group", exp.Group(expressions=keys))
        condition = all_of([each.copy() for each in terms])
        query.set("having", exp.Having(this=condition) if condition is not None else None)
        return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("q", quoted=True)))

    def _groups(self, select: exp.Select, terms: list[exp.Expr]) -> int | None:
        source = self._grouped(select, _count(), terms)
        return self.probe.number(exp.Select(expressions=[_count()], from_=exp.From(this=source)))

    def _extreme(self, select: exp.Select, term: exp.Expr, others: list[exp.Expr]) -> str:
        """How far the groups come: `; the largest COUNT(*) is 2`."""
        term = bare(term)
        names: dict[type[exp.Expr], str] = {exp.GT: "max", exp.GTE: "max", exp.LT: "min", exp.LTE: "min"}
        name = names.get(type(term))
        if name is None or not isinstance(term, exp.Binary) or not isinstance(term.expression, exp.Literal):
            return ""
        source = self._grouped(select, term.this, others)
        value = exp.column(exp.to_identifier("v", quoted=True))
        shown = exp.Anonymous(this=name, expressions=[value])
        rows = self.probe.rows(exp.Select(expressions=[shown], from_=exp.From(this=source)))
        found = rows.values[0][0] if rows is not None and rows.values else None
        if found is None:
            return ""
        return f"; the {'largest' if name == 'max' else 'smallest'} {condition_text(term.this)} is {found}"


def _count() -> exp.Count:
    return exp.Count(this=exp.Star())


def _apart(select: exp.Select) -> tuple[exp.Select, list[exp.Expr], list[exp.Expr]]:
    """The SELECT with nothing but links in its inner joins; what links tables in WHERE; and all other conditions."""
    select = select.copy()
    terms: list[exp.Expr] = []
    for join in select.args.get("joins") or ():
        on = join.args.get("on")
        if on is None or join.side:
            continue
        stated = list(conjuncts(on))
        kept = [each for each in stated if _is_link(each)]
        if kept and len(kept) < len(stated):
            terms += [each.copy() for each in stated if not _is_link(each)]
            join.set("on", all_of([each.copy() for each in kept]))
    where = select.args.get("where")
    stated = [each.copy() for each in conjuncts(where.this)] if where is not None else []
    links = [each for each in stated if _is_link(each)]
    return select, links, [*[each for each in stated if not _is_link(each)], *terms]


def _is_link(term: exp.Expr) -> bool:
    return isinstance(bare(term), exp.EQ) and len(sources_used(term)) > 1 and term.find(exp.Query) is None
