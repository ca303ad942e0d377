"""Why a query gave no rows: which condition emptied it, and the stored values nearest to what was asked.

Conditions are dropped one at a time and the rest is counted through `run`; nothing is guessed from the words.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.sql.advice import nearest
from sqlrag_dspy.sql.checking import check, resolved
from sqlrag_dspy.sql.comparing import bare, string, uncased
from sqlrag_dspy.sql.grammar import render
from sqlrag_dspy.sql.kinds import Field, field_of, function_name
from sqlrag_dspy.sql.linting import stored_spelling
from sqlrag_dspy.sql.phrases import condition_text
from sqlrag_dspy.sql.predicates import all_of
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, CheckedSql, Rows

Run = Callable[[CheckedSql], Rows]

MAX_CONDITIONS = 8
_SAMPLED = 500


def explain_empty(query: CheckedSql, catalog: Catalog, run: Run) -> list[str]:
    """Lines that say which WHERE condition left no rows, most telling first; [] when that cannot be told.

    `run` executes a checked query; a probe that fails is left out. At most two probes a condition are run.
    """
    try:
        tree, _ = resolved(query.text, catalog, dialect="duckdb")
    except (SqlRejected, RecursionError):
        return []
    select = _main(tree)
    if select is None:
        return []
    probe = _Probe(select, catalog, run)
    where = select.args.get("where")
    if where is None:
        return [] if probe.count([]) != 0 else _empty_tables(query, catalog)
    terms = list(conjuncts(where.this))
    if len(terms) > MAX_CONDITIONS:
        return []
    total = probe.count([])
    if total == 0:
        return _empty_tables(query, catalog)
    passed = probe.count(terms)
    if passed:
        return (
            ["rows pass WHERE; no group of them passes HAVING"]
            if select.args.get("having") is not None
            else []
        )
    if len(terms) == 1:
        return [f"no row passes: {condition_text(terms[0])}{probe.nearest(terms[0])}"]
    lines = []
    for position, term in enumerate(terms):
        others = [each for at, each in enumerate(terms) if at != position]
        left = probe.count(others)
        if left:
            rows = "1 row passes" if left == 1 else f"{left:,} rows pass"
            lines.append(f"without the condition {condition_text(term)}, {rows}{probe.nearest(term)}")
    if lines:
        return lines
    alone = [term for term in terms if probe.count([term]) == 0]
    if alone:
        return [f"no row passes: {condition_text(term)}{probe.nearest(term)}" for term in alone]
    return ["each condition holds for some rows, but no row passes them all"]


def _main(tree: exp.Expr) -> exp.Select | None:
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) and tree.args.get("from_") is not None else None


def _empty_tables(query: CheckedSql, catalog: Catalog) -> list[str]:
    empty = [name for name in query.tables if (table := catalog.table(name)) is not None and table.rows == 0]
    if empty:
        return [f"table {name!r} is empty" for name in empty]
    return ["the tables have no rows that match each other in the joins"] if len(query.tables) > 1 else []


class _Probe:
    """The query's FROM clause with other conditions."""

    def __init__(self, select: exp.Select, catalog: Catalog, run: Run) -> None:
        self.select = select
        self.catalog = catalog
        self.run = run

    def _query(self, shown: list[exp.Expr], terms: list[exp.Expr]) -> exp.Select:
        kept = {key: self.select.args.get(key) for key in ("from_", "joins", "with_")}
        query = exp.Select(expressions=shown, **{key: _copied(value) for key, value in kept.items() if value})
        condition = all_of([term.copy() for term in terms])
        if condition is not None:
            query.set("where", exp.Where(this=condition))
        return query

    def _rows(self, query: exp.Select) -> Rows | None:
        try:
            return self.run(check(render(query), self.catalog, dialect="duckdb"))
        except (SqlRejected, QueryFailed):
            return None

    def count(self, terms: list[exp.Expr]) -> int | None:
        """Rows that pass; None when the probe failed."""
        rows = self._rows(self._query([exp.Count(this=exp.Star())], terms))
        if rows is None or not rows.values:
            return None
        value = rows.values[0][0]
        return int(value) if isinstance(value, int | float) else None

    def nearest(self, term: exp.Expr) -> str:
        """What the column of a failed comparison holds instead, as `; …`, or nothing."""
        found, said = _compared(term)
        if found is None or found.column is None:
            return ""
        profile = found.column.profile
        if profile.found != "text" or profile.date_formats:
            if profile.minimum is None or profile.found == "boolean":
                return ""
            return f"; {found.name!r} runs from {profile.minimum} to {profile.maximum}"
        if said is None:
            return ""
        meant = stored_spelling(said, found.column)
        if meant is None and not profile.is_categorical:
            column = exp.Column(this=exp.to_identifier(found.name, quoted=True))
            query = self._query([column], [])
            query.set("distinct", exp.Distinct())
            query.set("limit", exp.Limit(expression=exp.Literal.number(_SAMPLED)))
            rows = self._rows(query)
            stored = [str(row[0]) for row in rows.values if row[0] is not None] if rows is not None else []
            meant = nearest(said.strip("%"), stored, cutoff=80) if said not in stored else None
        if meant is not None:
            return f"; the nearest stored value of {found.name!r} is {meant!r}"
        if profile.is_categorical and not any(said == each for each, _ in profile.values):
            return f"; {found.name!r} holds {', '.join(repr(each) for each, _ in profile.values[:12])}"
        return ""


def _copied(value: object) -> object:
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value.copy() if isinstance(value, exp.Expr) else value


def _compared(term: exp.Expr) -> tuple[Field | None, str | None]:
    """The stored column of a simple comparison, and the text it is compared with."""
    term = bare(term)
    if isinstance(term, exp.Not):
        term = bare(term.this)
    if not isinstance(
        term, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE | exp.In | exp.Like | exp.ILike | exp.Between
    ):
        return None, None
    left = bare(term.this)
    while isinstance(left, exp.Cast) or function_name(left) in ("try_strptime", "lower", "strftime"):
        left = bare(left.this if isinstance(left, exp.Cast) else left.expressions[0])
    right = term.args.get("expression")
    if right is None and term.expressions:
        right = term.expressions[0]
    return field_of(left), string(uncased(right)) if right is not None else None
