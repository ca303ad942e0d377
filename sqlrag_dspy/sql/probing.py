"""Questions put to the data about a query: its own FROM and WHERE with something else shown or demanded.

What a profile only suspects (a missing value, two rows of one name) is seen here in the rows themselves. A probe is
checked like any SQL from outside; one that is refused or fails gives None, and is never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.sql.checking.grammar import render
from sqlrag_dspy.sql.checking.statement import check
from sqlrag_dspy.sql.writing.predicates import all_of
from sqlrag_dspy.types import Catalog, CheckedSql, Rows

Run = Callable[[CheckedSql], Rows]

MOST = 40
"""Probes that are run for one statement."""


class Probe:
    """Runs probes for one statement; none after one has run out of time, so that advice never costs much."""

    def __init__(self, tree: exp.Expr, catalog: Catalog, run: Run | None) -> None:
        self.catalog = catalog
        self._with = tree.args.get("with_")
        self._run = run
        self._left = MOST

    @property
    def can_run(self) -> bool:
        """Whether a further probe may be run at all."""
        return self._run is not None and self._left > 0

    def named(self, name: str) -> exp.Query | None:
        """The query that a WITH clause of the statement calls so."""
        clauses = self._with.expressions if self._with is not None else []
        return next((each.this for each in clauses if each.alias.casefold() == name.casefold()), None)

    def rows(self, query: exp.Query | str) -> Rows | None:
        """What the query gives; None when it is refused, fails, or may not be run."""
        if self._run is None or self._left <= 0:
            return None
        self._left -= 1
        try:
            text = query if isinstance(query, str) else render(self._named(query))
            return self._run(check(text, self.catalog, dialect="duckdb"))
        except SqlRejected:
            return None  # it leans on a query around it
        except QueryFailed as error:
            if error.wall == "limit":
                self._left = 0
            return None

    def number(self, query: exp.Query | str) -> int | None:
        """The single number that the query gives."""
        rows = self.rows(query)
        value = rows.values[0][0] if rows is not None and rows.values else None
        return int(value) if isinstance(value, int | float) else None

    def has_rows(self, query: exp.Query | str) -> bool | None:
        """Whether the query gives any row."""
        rows = self.rows(query)
        return None if rows is None else bool(rows.values)

    def _named(self, query: exp.Query) -> exp.Query:
        """The query after the WITH clause of the statement, which its tables may come from."""
        if self._with is None or query.args.get("with_"):
            return query
        query = query.copy()
        query.set("with_", self._with.copy())
        return query


def within(select: exp.Select, shown: Sequence[exp.Expr], terms: Sequence[exp.Expr]) -> exp.Select:
    """A new query over the same FROM clause, showing `shown`, with `terms` for its whole WHERE."""
    kept = {key: copied(value) for key in ("from_", "joins") if (value := select.args.get(key))}
    query = exp.Select(expressions=[each.copy() for each in shown], **kept)
    condition = all_of([term.copy() for term in terms])
    if condition is not None:
        query.set("where", exp.Where(this=condition))
    return query


def first(query: exp.Select, rows: int = 1) -> exp.Select:
    """The query, with LIMIT."""
    query.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    return query


def copied(value: object) -> object:
    """A deep copy of one argument of a node."""
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value.copy() if isinstance(value, exp.Expr) else value
