"""How many rows a FROM clause may make: sources that an equality joins, sources that any condition ties, and none.

An estimate from the sizes of the sources alone, to refuse what would multiply them beyond bounds; the rest is for
the time limit. A column that is the same in every row joins nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking import advice
from sqlrag_dspy.sql.kinds import Field
from sqlrag_dspy.sql.scopes import Scope, conjuncts, distinct
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.types import Catalog

MAX_PRODUCT = 1_000_000
"""Rows that joins without a condition may make."""
MAX_COMPARED = 1_000_000_000
"""Pairs of rows that joins by something else than an equality may compare."""

_CONSTANT = (exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Cast, exp.DataType, exp.Neg, exp.Binary)


@dataclass
class Links:
    """The sources that conditions bring together, by an equality between them or by anything else."""

    equal: list[set[str]] = field(default_factory=list)
    other: list[set[str]] = field(default_factory=list)

    def note(self, condition: exp.Expr) -> None:
        """Note each term of a condition that names more than one source."""
        for term in conjuncts(condition):
            used = _sources(term)
            if len(used) > 1:
                (self.equal if _is_equality(term) else self.other).append(used)


def _sources(*terms: exp.Expr) -> set[str]:
    """The sources whose columns are named, but for columns that a subquery gives as a literal."""
    return {
        node.meta["source"]
        for term in terms
        for node in nodes_of(term)
        if isinstance(node, exp.Column) and "source" in node.meta and not is_constant(node.meta["field"])
    }


def is_constant(found: Field) -> bool:
    """Whether a subquery gives this column as a literal, so that it is the same in every row."""
    if found.column is not None or not found.origins:
        return False
    return all(
        is_constant(each)
        if isinstance(each, Field)
        else all(isinstance(node, _CONSTANT) for node in nodes_of(each))
        for each in found.origins
    )


def _is_equality(term: exp.Expr) -> bool:
    """Whether a term sets something of one source equal to something of another, in each of its alternatives."""
    while isinstance(term, exp.Paren):
        term = term.this
    if isinstance(term, exp.Or):
        return _is_equality(term.this) and _is_equality(term.expression)
    if isinstance(term, exp.And):
        return any(_is_equality(each) for each in conjuncts(term))
    if isinstance(term, exp.In) and term.expressions:
        sides = _sources(term.this), _sources(*term.expressions)
    elif isinstance(term, exp.EQ | exp.NullSafeEQ | exp.Is):
        sides = _sources(term.this), _sources(term.expression)
    else:
        return False
    return bool(sides[0] and sides[1] and not sides[0] & sides[1])


def joined_rows(scope: Scope, links: Links, catalog: Catalog) -> float:
    """About how many rows the FROM clause makes; raises SqlRejected when sources multiply beyond bounds."""
    equal = {name: {name} for name in scope.sources}
    _merge(equal, links.equal)
    sizes = {name: max(scope.sources[each].rows for each in group) for name, group in equal.items()}
    compared = 1.0
    for group in distinct(equal):
        compared *= sizes[min(group)]
    if len(scope.sources) < 2 or compared <= MAX_PRODUCT:
        return compared
    tied = {name: set(group) for name, group in equal.items()}
    _merge(tied, [*links.equal, *links.other])
    groups = distinct(tied)
    product = 1.0
    for group in groups:
        product *= max(sizes[name] for name in group)
    if len(groups) > 1 and product > MAX_PRODUCT:
        names = " and ".join(repr(scope.sources[min(group)].alias) for group in groups[:2])
        raise SqlRejected(
            f"{names} are not joined by any condition, which would make {product:,.0f} rows; "
            f"add JOIN … ON{advice.join_hint(catalog, [s.alias for s in scope.sources.values()])}"
        )
    if len(distinct(equal)) > 1 and compared > MAX_COMPARED:
        names = " and ".join(repr(scope.sources[min(group)].alias) for group in distinct(equal)[:2])
        raise SqlRejected(
            f"{names} are joined by no equality, which would compare {compared:,.0f} rows; "
            f"add a condition with ={advice.join_hint(catalog, [s.alias for s in scope.sources.values()])}"
        )
    return product


def _merge(groups: dict[str, set[str]], links: list[set[str]]) -> None:
    for link in links:
        together = set().union(*(groups[name] for name in link if name in groups))
        for name in together:
            groups[name] = together
