"""SQL that runs but is quietly wrong, told from the catalog alone: nothing is probed.

Each rule looks at one kind of mistake and says what to write instead. Certain mistakes are repaired or refused
by `check`; these are only likely, so the query runs and the advice goes with the answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.advice import nearest
from sqlrag_dspy.sql.checking import resolved
from sqlrag_dspy.sql.comparing import bare, ignores_case, string, uncased
from sqlrag_dspy.sql.dates import ISO_DATE, ISO_PART, has_time, sorts_as_text, text_date
from sqlrag_dspy.sql.joins import is_unique
from sqlrag_dspy.sql.kinds import Field, field_of, function_name
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Catalog, CheckedSql, Column, Table

_LISTED = 12


def lint(query: CheckedSql, catalog: Catalog) -> tuple[str, ...]:
    """Advice on a checked query, most serious first, each once; () when nothing looks wrong."""
    try:
        tree, _ = resolved(query.text, catalog, dialect="duckdb")
    except (SqlRejected, RecursionError):
        return ()
    found: dict[str, None] = {}
    for rule in (
        _fan_out,
        _values,
        _null_comparisons,
        _date_texts,
        _date_order,
        _integer_division,
        _lost_nulls,
    ):
        for advice in rule(tree):
            found.setdefault(advice)
    return tuple(found)


def fold(value: str) -> str:
    """The text without letter case, accents and outer space."""
    apart = unicodedata.normalize("NFKD", value.strip().casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def stored_spelling(value: str, column: Column) -> str | None:
    """The stored value that `value` most likely means: equal but for case and accents, or spelt much alike."""
    stored = [each for each, _ in column.profile.values if isinstance(each, str)]
    if value in stored:
        return None
    same = next((each for each in stored if fold(each) == fold(value)), None)
    return same or nearest(value, stored, cutoff=80)


def _said(found: Field) -> str:
    table = f"{found.table.name}." if found.table else ""
    return f"{table}{found.column.name if found.column else found.name}"


def _literals(tree: exp.Expr) -> Iterator[tuple[exp.Expr, Field, str]]:
    """(comparison, column, text) for each equality or list of a stored column and literal text."""
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        if isinstance(node, exp.In):
            pairs = [(node.this, each) for each in node.expressions]
        else:
            pairs = [(node.this, node.expression), (node.expression, node.this)]
        for left, right in pairs:
            found, said = field_of(uncased(left)), string(uncased(right))
            if found is not None and found.column is not None and said is not None:
                yield node, found, said


def _values(tree: exp.Expr) -> Iterator[str]:
    for _, found, said in _literals(tree):
        column = found.column
        if column is None or not column.profile.is_categorical or column.profile.found != "text":
            continue
        stored = [each for each, _ in column.profile.values if isinstance(each, str)]
        if said in stored or (ignores_case(column) and fold(said) in map(fold, stored)):
            continue
        meant = stored_spelling(said, column)
        if meant is not None:
            yield f"no row has {_said(found)} = {said!r}; the stored value is {meant!r}"
        elif len(stored) <= _LISTED:
            yield f"no row has {_said(found)} = {said!r}; it holds {', '.join(map(repr, stored))}"
        else:
            yield f"no row has {_said(found)} = {said!r}"


def _null_comparisons(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.EQ, exp.NEQ):
        if isinstance(bare(node.expression), exp.Null) or isinstance(bare(node.this), exp.Null):
            yield "a comparison with NULL is never true; write IS NULL or IS NOT NULL"


def _lost_nulls(tree: exp.Expr) -> Iterator[str]:
    kept = {
        (found.table.name, found.name)
        for node in tree.find_all(exp.Is)
        if (found := field_of(node.this)) is not None and found.table is not None
    }
    for node in tree.find_all(exp.NEQ, exp.Not):
        inner = bare(node.this) if isinstance(node, exp.Not) else node
        if isinstance(inner, exp.In) and (query := inner.args.get("query")) is not None:
            yield from _null_in_query(query)
        if not isinstance(inner, exp.NEQ | exp.EQ | exp.In | exp.Like | exp.ILike):
            continue
        if isinstance(inner, exp.In) and any(isinstance(bare(each), exp.Null) for each in inner.expressions):
            yield "NOT IN over a list with NULL is never true; leave NULL out of the list"
        for side in (inner.this, inner.args.get("expression")):
            found = field_of(side) if side is not None else None
            if (
                found is None
                or found.column is None
                or found.table is None
                or not found.column.profile.null_share
            ):
                continue
            if (found.table.name, found.name) not in kept:
                yield (
                    f"rows where {_said(found)} is missing are left out by this negation; add "
                    f'OR "{found.name}" IS NULL if they are wanted'
                )


def _null_in_query(query: exp.Expr) -> Iterator[str]:
    fields = query.meta.get("fields") or (
        query.this.meta.get("fields") if isinstance(query.this, exp.Expr) else None
    )
    for each in fields or ():
        if isinstance(each, Field) and each.column is not None and each.column.profile.null_share:
            yield (
                f"NOT IN is never true when the subquery gives a NULL, and {_said(each)} has some; add "
                f'WHERE "{each.name}" IS NOT NULL to it'
            )


def _date_texts(tree: exp.Expr) -> Iterator[str]:
    kinds = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
    for node in tree.find_all(*kinds):
        column = text_date(bare(node.this))
        if column is None:
            continue
        said = [
            string(each) for each in (node.args.get("expression"), node.args.get("high")) if each is not None
        ]
        said += [string(each) for each in node.expressions]
        form = column.profile.date_formats[0]
        for value in said:
            if value is None:
                continue
            if sorts_as_text(column) and not (ISO_DATE.match(value) or ISO_PART.fullmatch(value)):
                yield f"{column.name!r} stores dates as {form}, so comparing it with {value!r} finds nothing useful"
            elif not has_time(column) or not ISO_DATE.fullmatch(value):
                continue
            elif isinstance(node, exp.EQ | exp.In):
                yield (
                    f"{column.name!r} stores a time after the date, so it never equals {value!r}; "
                    f"use >= {value!r} and < the day after"
                )
            elif isinstance(node, exp.LTE | exp.Between):
                yield (
                    f"{column.name!r} stores a time after the date, so {value!r} itself is left out; "
                    "use < the day after"
                )


def _date_order(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.Ordered, exp.Anonymous):
        if isinstance(node, exp.Anonymous):
            if function_name(node) not in ("min", "max") or not node.expressions:
                continue
            subject = node.expressions[0]
        else:
            subject = node.this
        column = text_date(bare(subject))
        if column is not None and not sorts_as_text(column):
            form = column.profile.date_formats[0]
            yield (
                f"{column.name!r} stores dates as {form}, which do not sort as text; "
                f"use strptime(\"{column.name}\", '{form}')"
            )


def _integer_division(tree: exp.Expr) -> Iterator[str]:
    for node in tree.find_all(exp.IntDiv):
        if not isinstance(bare(node.expression), exp.Literal):
            yield "whole numbers are divided and the fraction is cut off; multiply by 1.0 first if it is wanted"


# --- joins that multiply ----------------------------------------------------------------------------


def _fan_out(tree: exp.Expr) -> Iterator[str]:
    for select in tree.find_all(exp.Select):
        if not select.args.get("joins"):
            continue
        links = list(_links(select))
        for call in select.find_all(exp.Sum, exp.Avg, exp.Count):
            if call.find_ancestor(exp.Select) is not select:
                continue
            inner = call.this
            found = field_of(inner) if isinstance(inner, exp.Expr) else None
            if found is None or found.table is None:
                continue
            if isinstance(call, exp.Count) and (found.name,) != found.table.key:
                continue
            source = bare(inner).meta.get("source")
            other = _multiplier(str(source), links)
            if other is not None:
                what = "counted" if isinstance(call, exp.Count) else "added"
                remedy = (
                    "COUNT(DISTINCT …)" if isinstance(call, exp.Count) else "WHERE … IN (SELECT …) or EXISTS"
                )
                yield (
                    f"each row of {found.table.name} is {what} once for every matching row of {other}; "
                    f"use {remedy} instead of the join if it should count once"
                )


Link = tuple[str, str, str, bool]
"""(source, other source, other table's name, whether one row meets several of the other)."""


def _links(select: exp.Select) -> Iterator[Link]:
    terms: list[exp.Expr] = []
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            terms += conjuncts(join.args["on"])
    where = select.args.get("where")
    terms += conjuncts(where.this) if where is not None else []
    sides: dict[tuple[str, str], list[tuple[Table, str]]] = {}
    for term in terms:
        if not isinstance(term, exp.EQ):
            continue
        left, right = bare(term.this), bare(term.expression)
        a, b = field_of(left), field_of(right)
        if a is None or b is None or a.table is None or b.table is None:
            continue
        one, two = str(left.meta.get("source")), str(right.meta.get("source"))
        if one != two:
            sides.setdefault((one, two), []).append((b.table, b.name))
            sides.setdefault((two, one), []).append((a.table, a.name))
    for (here, there), columns in sides.items():
        table = columns[0][0]
        yield here, there, table.name, not is_unique(table, tuple(name for _, name in columns))


def _multiplier(source: str, links: list[Link]) -> str | None:
    """The table that makes several rows of one row of `source`, if any."""
    reached, stack = {source}, [source]
    while stack:
        here = stack.pop()
        for start, goal, name, many in links:
            if start == here and goal not in reached:
                if many:
                    return name
                reached.add(goal)
                stack.append(goal)
    return None
