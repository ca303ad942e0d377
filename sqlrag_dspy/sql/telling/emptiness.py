"""Why a query gave no rows: which condition emptied it, and the stored values nearest to what was asked.

Conditions are dropped and the rest is counted through `run`; nothing is guessed from the words. Halving finds the
few that matter among many. Joins, subqueries, HAVING and the parts of a set operation are looked into the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.statement import tree_of
from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.linting.contradiction import exclusive
from sqlrag_dspy.sql.linting.statement import meant, sources_used
from sqlrag_dspy.sql.probing import Probe, within
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.sql.telling.nearby import held_instead
from sqlrag_dspy.sql.telling.phrases import condition_text
from sqlrag_dspy.sql.writing.predicates import all_of
from sqlrag_dspy.types import Catalog, CheckedSql, Rows

Run = Callable[[CheckedSql], Rows]

MAX_CONDITIONS = 200
"""Conditions of one SELECT beyond which it is not looked into: every probe repeats them."""
_MAX_DEPTH = 3


@dataclass(frozen=True)
class Reason:
    """One line of why a result is empty, and the conditions of the statement that it tells of.

    `is_doubtful`: that no row passes one of them alone, or that they exclude each other, so that the statement may
    not ask for what was meant; conditions that merely have no row in common are an answer.
    """

    line: str
    conditions: tuple[exp.Expr, ...] = ()
    is_doubtful: bool = False

    def after(self, words: str) -> Reason:
        """The same reason, introduced."""
        return Reason(f"{words}: {self.line}", self.conditions, self.is_doubtful)


def is_empty(rows: Rows) -> bool:
    """Whether a result says that nothing was found: no rows, or one of nothing but zero and NULL, as COUNT gives."""
    if not rows.values:
        return True
    return len(rows.values) == 1 and all(value is None or value == 0 for value in rows.values[0])


def explain_empty(query: CheckedSql, catalog: Catalog, run: Run) -> list[str]:
    """Lines that say which condition left no rows, most telling first; [] when rows pass, or it cannot be told.

    `run` executes a checked query; a probe that fails is left out, and none is run after one ran out of time.
    """
    return list(dict.fromkeys(reason.line for reason in reasons(query, catalog, run)))


def reasons(query: CheckedSql, catalog: Catalog, run: Run) -> list[Reason]:
    """The same lines, each with the conditions that it tells of."""
    try:
        tree = tree_of(query.text, catalog)
    except (SqlRejected, RecursionError):
        return []
    return _Explanation(catalog, Probe(tree, catalog, run)).of(tree, 0)


@dataclass(frozen=True)
class _Explanation:
    catalog: Catalog
    probe: Probe

    def of(self, tree: exp.Expr, depth: int) -> list[Reason]:
        """Why a query gives no rows."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.SetOperation):
            return self._of_parts(tree, depth)
        if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
            return []
        limit = tree.args.get("limit")
        if isinstance(limit, exp.Limit) and limit.expression.name == "0":
            return [Reason("LIMIT 0 shows no rows")]
        return self._of_select(tree, depth)

    def _of_parts(self, tree: exp.SetOperation, depth: int) -> list[Reason]:
        parts = {"first": tree.this, "second": tree.expression}
        looked_at = ["first"] if isinstance(tree, exp.Except) else list(parts)
        empty = [name for name in looked_at if self._rows_of(parts[name]) == 0]
        found: list[Reason] = []
        for name in empty:
            said = f"the {name} part of {tree.key.upper()} is empty"
            why = self.of(parts[name], depth + 1) if depth < _MAX_DEPTH else []
            found += [reason.after(said) for reason in why] or [Reason(said)]
        if found or self._rows_of(parts["first"]) is None:
            return found
        if isinstance(tree, exp.Intersect):
            return [Reason("both parts of INTERSECT have rows, but none in common")]
        if isinstance(tree, exp.Except):
            return [Reason("every row of the first part of EXCEPT is in the second")]
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

    def _of_select(self, select: exp.Select, depth: int) -> list[Reason]:
        select, links, terms = _apart(select)
        if len(terms) > MAX_CONDITIONS:
            return [Reason(f"the statement has {len(terms)} conditions, too many to tell which leave no row")]
        if self._count(select, links) == 0:
            return self._of_from(select, links, depth)
        if not terms:
            return self._of_groups(select, depth)
        passed = self._count(select, [*links, *terms])
        if passed:
            return self._of_groups(select, depth)
        if passed is None:
            return []
        needed = self._needed(select, links, terms)
        is_doubtful = len(needed) == 1 or any(True for _ in exclusive(needed))
        found: list[Reason] = []
        if len(terms) > 1:
            # Rows can pass only without one of `needed`: without any other, these still let none pass.
            for term in needed:
                others = [each for each in terms if each is not term]
                left = self._count(select, [*links, *others])
                if left:
                    rows = "1 row passes" if left == 1 else f"{left:,} rows pass"
                    said = f"without the condition {condition_text(term)}, {rows}"
                    found.append(self._instead(said, select, term, depth, is_doubtful))
        found = found or self._conflicts(select, links, terms, needed, depth)
        return found or [
            Reason(f"the {len(terms)} conditions let no row pass; which of them was not found out")
        ]

    def _count(self, select: exp.Select, terms: Sequence[exp.Expr]) -> int | None:
        return self.probe.number(within(select, [_count()], terms))

    def _needed(self, select: exp.Select, links: list[exp.Expr], terms: Sequence[exp.Expr]) -> list[exp.Expr]:
        """A smallest set of conditions that no row passes, of `terms` that none passes; [] when a probe fails.

        The last condition of the shortest prefix that no row passes is one of them; with it put first, the next is
        found in the same way. Each takes as many probes as `terms` can be halved.
        """
        needed: list[exp.Expr] = []
        rest = list(terms)
        while True:
            if needed and (left := self._count(select, [*links, *needed])) is None:
                return []
            if needed and not left:
                return [each for each in terms if any(each is other for other in needed)]
            low, high = 1, len(rest)
            while low < high:
                middle = (low + high) // 2
                left = self._count(select, [*links, *needed, *rest[:middle]])
                if left is None:
                    return []
                low, high = (middle + 1, high) if left else (low, middle)
            needed.append(rest[low - 1])
            rest = rest[: low - 1]
            if not rest:
                return [each for each in terms if any(each is other for other in needed)]

    def _conflicts(
        self,
        select: exp.Select,
        links: list[exp.Expr],
        terms: list[exp.Expr],
        needed: list[exp.Expr],
        depth: int,
    ) -> list[Reason]:
        """Sets of conditions that no row passes: `needed`, and the next among the others until rows pass."""
        found: list[Reason] = []
        rest = list(terms)
        while needed:
            if len(needed) == 1:
                said = f"no row passes: {condition_text(needed[0])}"
                found.append(self._instead(said, select, needed[0], depth, is_doubtful=True))
            else:
                together = " and ".join(condition_text(each) for each in needed)
                said = f"no row passes {together} together, though each alone lets some pass"
                excluding = next(exclusive(needed), None)
                found.append(Reason(excluding or said, tuple(needed), excluding is not None))
            rest = [each for each in rest if not any(each is other for other in needed)]
            is_empty = bool(rest) and self._count(select, [*links, *rest]) == 0
            needed = self._needed(select, links, rest) if is_empty else []
        return found

    def _instead(
        self, said: str, select: exp.Select, term: exp.Expr, depth: int, is_doubtful: bool
    ) -> Reason:
        """The line about a condition, and what it could have asked for."""
        for query in term.find_all(exp.Select):
            if depth < _MAX_DEPTH and self._rows_of(query) == 0:
                said += "; its subquery is empty"
                why = self.of(query, depth + 1)[:1]
                inner = why[0].after(said) if why else Reason(said)
                return Reason(inner.line, (term, *inner.conditions), is_doubtful)
        return Reason(said + held_instead(term, select, self.probe), (term,), is_doubtful)

    # --- FROM, GROUP BY, HAVING ---------------------------------------------------------------------

    def _of_from(self, select: exp.Select, links: list[exp.Expr], depth: int) -> list[Reason]:
        """Which table is empty, or from which join on nothing matches."""
        joins = list(select.args.get("joins") or ())
        found: list[Reason] = []
        for node in [select.args["from_"].this, *(join.this for join in joins)]:
            table = self.catalog.table(node.name) if isinstance(node, exp.Table) else None
            if table is not None and table.rows == 0:
                found.append(Reason(f"table {table.name!r} is empty"))
            elif isinstance(node, exp.Subquery) and depth < _MAX_DEPTH and self._rows_of(node.this) == 0:
                found.append(self._empty_source(f"the subquery {node.alias} is empty", node.this, depth))
            elif isinstance(node, exp.Table) and depth < _MAX_DEPTH and self._is_empty_name(node):
                query = self.probe.named(node.name) or node
                found.append(self._empty_source(f"{node.name} is empty", query, depth))
        if found:
            return found
        reached = {select.args["from_"].this.alias_or_name.casefold()}
        for place, join in enumerate(joins):
            reached.add(join.this.alias_or_name.casefold())
            fewer = select.copy()
            fewer.set("joins", [each.copy() for each in joins[: place + 1]])
            inside = [each for each in links if sources_used(each) <= reached]
            if self._count(fewer, inside) == 0:
                return [Reason(self._unmatched(join, inside))]
        return [Reason("the tables have no rows that match each other in the joins")] if joins else []

    def _empty_source(self, said: str, query: exp.Expr, depth: int) -> Reason:
        why = self.of(query, depth + 1)
        return why[0].after(said) if why else Reason(said)

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

    def _of_groups(self, select: exp.Select, depth: int) -> list[Reason]:
        """Which condition of HAVING no group passes; rows that pass WHERE there are."""
        having = select.args.get("having")
        if having is None:
            return []
        terms = list(conjuncts(having.this))
        if self._groups(select, terms) != 0:
            return []
        found = []
        for position, term in enumerate(terms):
            others = [each for at, each in enumerate(terms) if at != position]
            left = self._groups(select, others)
            if left:
                groups = "1 group passes" if left == 1 else f"{left:,} groups pass"
                told = f"without HAVING {condition_text(term)}, {groups}{self._extreme(select, term, others)}"
                found.append(Reason(told, (term,)))
        return found or [Reason("rows pass WHERE; no group of them passes HAVING")]

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
