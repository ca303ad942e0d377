"""Grouping by a name that several rows share, which adds up what belongs to different things."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.grouping import plain_aggregates
from sqlrag_dspy.sql.joins import is_unique, quoted
from sqlrag_dspy.sql.linting.statement import Statement, meant, place_of, table_sources, terms_of
from sqlrag_dspy.sql.words import words
from sqlrag_dspy.types import Table, Value

NAMES = frozenset(words("name title label headline naam titel nombre título titulo apellido achternaam"))
SHARE = 0.5
"""Distinct values by rows from which a column called a name tells rows apart, if not always."""


def namesakes(statement: Statement) -> Iterator[str]:
    """GROUP BY a name of a table that is joined by its key, where two of its rows have the same name."""
    for select in statement.selects():
        group = select.args.get("group")
        if group is None or not select.args.get("joins") or not _aggregates(select):
            continue
        grouped: dict[str, list[str]] = {}
        for each in group.expressions:
            place = place_of(meant(each, select))
            if place is not None:
                grouped.setdefault(place[0], []).append(place[1])
        sources = table_sources(select, statement.catalog)
        joined = _joined_columns(select)
        for source, names in grouped.items():
            table = sources.get(source)
            if not isinstance(table, Table) or table.key == ("rowid",) or is_unique(table, tuple(names)):
                continue
            if not {key.casefold() for key in table.key} <= joined.get(source, set()):
                continue
            if joined[source] & {name.casefold() for name in names} or not _are_names(table, names):
                continue
            seen, example = _shared(statement, table, names)
            if not seen:
                continue
            shown = f", such as {example!r}" if example is not None else ""
            yield (
                f"several rows of {table.name} have the same {' and '.join(names)}{shown}, and are added up here; "
                f"group by {', '.join(quoted(key) for key in table.key)} as well"
            )


def _aggregates(select: exp.Select) -> bool:
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return any(plain_aggregates(each) for each in parts if isinstance(each, exp.Expr))


def _joined_columns(select: exp.Select) -> dict[str, set[str]]:
    """By source, the columns that a join compares with another source."""
    found: dict[str, set[str]] = {}
    terms = list(terms_of(select))
    before = [select.args["from_"].this.alias_or_name.casefold()]
    for join in select.args.get("joins") or ():
        here = join.this.alias_or_name.casefold()
        if join.side and join.args.get("on") is not None:
            terms += [join.args["on"]]
        for node in join.args.get("using") or ():
            for source in (*before, here):
                found.setdefault(source, set()).add(node.name.casefold())
        before.append(here)
    for term in terms:
        for node in term.find_all(exp.EQ):
            one, two = place_of(node.this), place_of(node.expression)
            if one is not None and two is not None and one[0] != two[0]:
                for source, name in (one, two):
                    found.setdefault(source, set()).add(name.casefold())
    return found


def _are_names(table: Table, names: list[str]) -> bool:
    """Whether one of the columns is called a name and nearly tells the rows of the table apart."""
    for each in names:
        column = table.column(each)
        if column is None or column.profile.found != "text":
            continue
        parts = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).casefold())
        ends_so = any(word.endswith(("name", "naam", "nombre", "title")) for word in parts)
        if (ends_so or NAMES & set(parts)) and column.profile.distinct >= SHARE * table.rows:
            return True
    return False


def _shared(statement: Statement, table: Table, names: list[str]) -> tuple[bool, Value]:
    """Whether rows share the names, and a value that they share; by distinct counts when it cannot be asked."""
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in names]
    several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    query = exp.Select(
        expressions=[column.copy() for column in columns],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(table.name, quoted=True))),
        where=exp.Where(this=exp.Not(this=exp.Is(this=columns[0].copy(), expression=exp.Null()))),
        group=exp.Group(expressions=columns),
        having=exp.Having(this=several),
        order=exp.Order(
            expressions=[
                exp.Ordered(this=exp.Count(this=exp.Star()), desc=True),
                exp.Ordered(this=columns[0].copy()),
            ]
        ),
        limit=exp.Limit(expression=exp.Literal.number(1)),
    )
    rows = statement.probe.rows(query)
    if rows is not None:
        return bool(rows.values), rows.values[0][0] if rows.values else None
    column = table.column(names[0])
    return len(names) == 1 and column is not None and column.profile.distinct < table.rows, None
