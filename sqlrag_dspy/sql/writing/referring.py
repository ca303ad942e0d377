"""Rows of a table that refer to others of it (an employee to the manager): the other row's columns and restrictions."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.writing.predicates import Qualify, predicate
from sqlrag_dspy.types import Predicate, Table


def source(name: str) -> exp.Table:
    """A table as a source of rows."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def key_via(table: Table, via: str) -> str:
    """The key that a column refers to in its own table; SqlRejected when it refers to none."""
    for key in table.foreign_keys:
        if key.table == table.name and key.columns == (via,):
            return key.to_columns[0]
    raise SqlRejected(f"{via!r} of {table.name} refers to no other row of {table.name}")


def named_apart(table: str, via: str) -> str:
    """What the other row's table is called in a query."""
    return f"{table} by {via}"


def other_row(table: Table, via: str) -> exp.Join:
    """The join to the row that each one refers to."""
    key, alias = key_via(table, via), exp.to_identifier(named_apart(table.name, via), quoted=True)
    node = source(table.name)
    node.set("alias", exp.TableAlias(this=alias))
    here = exp.Column(
        this=exp.to_identifier(via, quoted=True), table=exp.to_identifier(table.name, quoted=True)
    )
    there = exp.Column(this=exp.to_identifier(key, quoted=True), table=alias.copy())
    return exp.Join(this=node, on=exp.EQ(this=here, expression=there))


def referring(each: Predicate, table: Table, qualify: Qualify, *, ignores_case: bool) -> exp.Expr:
    """That the row which is referred to satisfies a predicate: via IN (SELECT key …)."""

    def inner(_: str, name: str) -> exp.Column:
        return exp.Column(this=exp.to_identifier(name, quoted=True))

    wanted = predicate(replace(each, via=""), table, inner, ignores_case=ignores_case)
    query = exp.Select(
        expressions=[inner(table.name, key_via(table, each.via))],
        from_=exp.From(this=source(table.name)),
        where=exp.Where(this=wanted),
    )
    return exp.In(this=qualify(table.name, each.via), query=exp.Subquery(this=query))
