"""Filters of `sqlrag search`: texts to values of the column's type, and to the rows they allow.

A column that the index mirrors is filtered inside it; any other column, and --where, choose keys in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.types import Column, Key, Predicate, Table, Value

if TYPE_CHECKING:
    from sqlrag_dspy.program import Database


@dataclass
class Filters:
    """Values by column: `mirrored` for the index, `others` for SQL."""

    mirrored: dict[str, list[Value]] = field(default_factory=dict)
    others: dict[str, list[Value]] = field(default_factory=dict)

    @property
    def told(self) -> list[list[Value]]:
        """Every filter as a [column, value] pair."""
        both = [*self.mirrored.items(), *self.others.items()]
        return [[column, value] for column, values in both for value in values]


@dataclass
class Selection:
    """The keys that SQL allows (None: all), the SQL that chose them, and why there are none."""

    allowed: list[Key] | None = None
    key_sql: str | None = None
    notes: list[str] = field(default_factory=list)


def search_tables(database: Database, name: str | None) -> list[Table]:
    """The tables to search: the named one, or all with text, the largest first.

    Raises SqlRagError when there is none.
    """
    tables = database.text_tables
    if name is not None:
        table = database.catalog.table(name)
        if table is None:
            raise SqlRagError(
                f"no table {name!r} in {database.name}{_nearest(name, database.catalog.tables)}"
            )
        if not table.text_columns:
            searchable = ", ".join(t.name for t in tables) or "none"
            raise SqlRagError(
                f"table {table.name} has no text column to search by meaning (searchable: {searchable}); "
                f"name one under [tables.{table.name}] text in sqlrag.toml and run 'sqlrag index'"
            )
        return [table]
    if not tables:
        raise SqlRagError(
            f"no table of {database.name} has a text column, so nothing can be searched by meaning; "
            "name one under [tables.…] text in sqlrag.toml and run 'sqlrag index', or ask in SQL with 'sqlrag sql'"
        )
    return sorted(tables, key=lambda table: -table.rows)


def check_names(tables: Sequence[Table], given: Mapping[str, list[Any]]) -> None:
    """Raises SqlRagError for a filter on a column that none of several tables has, with what they have instead."""
    for name in given:
        if len(tables) == 1 or any(table.column(name) or table.column(name.strip()) for table in tables):
            continue
        columns = {column.name.casefold(): column for table in tables for column in table.columns}
        where = ", ".join(table.name for table in tables)
        raise SqlRagError(f"no column {name!r} in {where}{_nearest(name, tuple(columns.values()))}")


def read_filters(table: Table, given: Mapping[str, list[Any]]) -> Filters:
    """Filters with values of their columns' types. Raises SqlRagError naming a column or value that fails."""
    filters = Filters()
    for name, values in given.items():
        column = table.column(name) or table.column(name.strip())
        if column is None:
            raise SqlRagError(f"no column {name!r} in {table.name}{_nearest(name, table.columns)}")
        home = filters.mirrored if column.name in table.filter_columns else filters.others
        typed = [value_of(column, table, value) for value in values]
        home[column.name] = list(dict.fromkeys([*home.get(column.name, []), *typed]))
    return filters


def value_of(column: Column, table: Table, value: Any) -> Value:
    """A filter value as the column holds it: "3" is 3 in a number column, "true" is true in a boolean one."""
    where, found = f"{table.name}.{column.name}", column.profile.found
    if value is None:
        return None
    if not isinstance(value, str | int | float):
        raise SqlRagError(
            f"the filter on {where} is a {type(value).__name__}; give a text, a number or a list of them"
        )
    if found == "boolean":
        truth = {
            "true": True,
            "false": False,
            "1": True,
            "0": False,
            "yes": True,
            "no": False,
            "t": True,
            "f": False,
        }
        if str(value).strip().casefold() not in truth:
            raise SqlRagError(f"{where} is true or false, and the filter says {value!r}")
        return truth[str(value).strip().casefold()]
    if found in ("integer", "number"):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if number != number or number in (float("inf"), float("-inf")):
            raise SqlRagError(f"{where} is a number, and the filter says {value!r}")
        exact = str(value).strip()
        return (
            int(exact) if exact.lstrip("+-").isdecimal() else int(number) if number.is_integer() else number
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def narrowed(database: Database, table: Table, where: str | None, filters: Filters) -> Selection:
    """The keys of the rows that satisfy --where and the filters that the index does not mirror."""
    from sqlrag_dspy import sql

    selection = Selection()
    statements = []
    if where is not None:
        statements.append(sql.keys_where(table.name, where, database.catalog))
    if filters.others:
        alternatives = tuple(
            tuple(_equal(table.name, column, value) for value in values)
            for column, values in filters.others.items()
        )
        statements.append(sql.keys_query(table.name, alternatives, database.catalog))
    for statement in statements:
        query = database.check_keys(statement)
        keys = database.all_keys(query)
        if not keys and not selection.notes:
            selection.notes = list(sql.explain_empty(query, database.catalog, database.run))
        kept = set(keys)
        selection.allowed = keys if selection.allowed is None else [k for k in selection.allowed if k in kept]
        selection.key_sql = selection.key_sql or query.text
    return selection


def _equal(table: str, column: str, value: Value) -> Predicate:
    return Predicate(table, column, "null") if value is None else Predicate(table, column, "=", value)


def _nearest(name: str, known: tuple[Table, ...] | tuple[Column, ...]) -> str:
    names = {item.name.casefold(): item.name for item in known}
    close = get_close_matches(name.casefold(), names, n=1, cutoff=0.6)
    listed = ", ".join(item.name for item in known[:20]) or "none"
    return f"; did you mean {names[close[0]]!r}?" if close else f"; there are: {listed}"
