"""What one SELECT can see, and the small questions that resolving names asks of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.kinds import Field


@dataclass
class Source:
    """What one FROM entry offers: its alias as written, its fields by folded name, and about how many rows.

    `shows_rowid` False: it has a row number that one can name, but that `*` and NATURAL leave out.
    """

    alias: str
    fields: dict[str, Field]
    rows: float = 1.0
    shows_rowid: bool = True

    def starred(self) -> list[tuple[str, Field]]:
        """The fields that `*` shows, by folded name."""
        return [(name, each) for name, each in self.fields.items() if name != "rowid" or self.shows_rowid]


@dataclass
class Scope:
    """The names one SELECT can use: sources by folded alias, its output names, and the query around it."""

    sources: dict[str, Source] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    outputs: dict[str, exp.Alias] = field(default_factory=dict)
    outer: Scope | None = None


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The terms of an AND chain, however long."""
    stack = [node]
    while stack:
        term = stack.pop()
        while isinstance(term, exp.Paren):
            term = term.this
        if isinstance(term, exp.And):
            stack += [term.expression, term.this]
        else:
            yield term


def children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            yield value
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, exp.Expr):
                    yield each


def has_own_aggregate(node: exp.Select) -> bool:
    return any(
        isinstance(found, exp.Count | exp.Sum | exp.Avg) and not isinstance(found.parent, exp.Window)
        for projection in node.expressions
        for found in [projection.unalias()]
    )


def inside_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Ordered):
        if isinstance(parent, exp.Count | exp.Sum | exp.Avg | exp.Anonymous):
            return True
        parent = parent.parent
    return False


def stands_for_text(node: exp.Column) -> bool:
    """Whether a quoted name that is no column stands where text is expected, as SQLite reads it."""
    parent = node.parent
    if isinstance(parent, exp.Binary):
        other = parent.expression if parent.this is node else parent.this
        if isinstance(parent, exp.DPipe):
            return True
        return not isinstance(other, exp.Literal) and not (
            parent.this is node and isinstance(other, exp.Column)
        )
    if isinstance(parent, exp.In | exp.Between):
        return parent.this is not node
    return isinstance(
        parent, exp.Anonymous | exp.Case | exp.If | exp.Coalesce | exp.Tuple | exp.Substring | exp.Nullif
    )


def by_name(fields: list[Field]) -> dict[str, Field]:
    return {each.name.casefold(): each for each in fields if each.name}


def renamed(fields: list[Field], alias: exp.Expr | None) -> list[Field]:
    columns = alias.columns if isinstance(alias, exp.TableAlias) else []
    for column in columns:
        quote(column)
    if len(columns) > len(fields):
        raise SqlRejected(f"{alias.name if alias else 'the query'} names more columns than it has")
    renamed = [
        Field(column.name, each.kind, each.table, each.column, (each,))
        for column, each in zip(columns, fields)
    ]
    return renamed + fields[len(columns) :]


def distinct(groups: dict[str, set[str]]) -> list[set[str]]:
    return list({id(group): group for group in groups.values()}.values())


def spell(identifier: exp.Expr, name: str) -> None:
    identifier.set("this", name)
    identifier.set("quoted", True)


def quote(identifier: exp.Expr | None) -> None:
    if isinstance(identifier, exp.Identifier):
        identifier.set("quoted", True)
