"""The declared tables as one session may see them: denied ones gone, hidden columns gone, rows and masks inside
what the table is read from.

This comes before anything is measured or any view is made, so profile, catalog, views, samples, keys, searches and
messages are all made of what the session may see, and of nothing else. Leaves out how a row condition is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from sqlrag_dspy.errors import PolicyError, SqlRejected
from sqlrag_dspy.source import quoting
from sqlrag_dspy.source.introspect import RawColumn, RawTable
from sqlrag_dspy.types import Declared, ForeignKey, Policy, WriteCondition

if TYPE_CHECKING:
    from sqlrag_dspy.settings import TableSettings

Kind = Literal["sqlite", "duckdb"]
EVERYTHING = 2**63 - 1
"""A limit that cuts nothing. DuckDB moves no condition of a query below a limit, so none is ever tried on a row
that the policy hides: its error message could hold that row's values."""
HASH_LENGTH = 16


def restrict(
    tables: Sequence[RawTable],
    policy: Policy,
    write: WriteCondition,
    kind: Kind,
    unreadable: Sequence[str] = (),
) -> list[RawTable]:
    """The tables that the policy shows, each reading only the rows and values that it shows.

    Tables that are there but `unreadable` may be named as well. Raises PolicyError when the policy names a table
    or column that is not there, or a condition does not fit: a rule that restricts nothing must not go unnoticed.
    """
    rules = _Rules(tables, policy, unreadable)
    declared = {table.name: _declared(table, kind) for table in tables}
    seen = []
    for table in tables:
        columns = rules.columns(table)
        if not rules.is_shown(table) or not columns:
            continue
        masks = tuple(
            (column.name, _masked(column, mask, policy.secret, kind))
            for column in columns
            if (mask := rules.masks.get((table.name, column.name))) is not None
        )
        condition = rules.rows.get(table.name)
        if condition is not None:
            try:
                condition = write(condition, declared[table.name], list(declared.values()), kind)
            except SqlRejected as error:
                raise PolicyError(f"[policy.rows] {table.name}: {error}") from error
        seen.append(_restricted(table, columns, masks, condition or "", rules, kind))
    return _referring(seen)


def settings_for(
    settings: Mapping[str, TableSettings], tables: Sequence[RawTable], seen: Sequence[RawTable]
) -> dict[str, TableSettings]:
    """The settings of tables without what the session does not see: they name it because others do.

    A key loses its meaning without one of its columns, and a masked column is no text to search.
    """
    known = {table.name.casefold() for table in tables}
    shown = {table.name.casefold(): table for table in seen}
    found = {}
    for name, own in settings.items():
        table = shown.get(name.casefold())
        if table is None:
            if name.casefold() not in known:
                found[name] = own  # a name that is nobody's is told as ever
            continue
        all_names = {
            column.name.casefold() for raw in tables if raw.name == table.name for column in raw.columns
        }
        masked = {column.casefold() for column, _ in table.masks}
        hidden = all_names - {column.name.casefold() for column in table.columns}
        changes: dict[str, object] = {}
        if own.key_columns and any(part.casefold() in hidden | _blank(table) for part in own.key_columns):
            changes["key"] = None
        if own.text is not None:
            changes["text"] = [part for part in own.text if part.casefold() not in hidden | masked]
        if own.filters is not None:
            changes["filters"] = [part for part in own.filters if part.casefold() not in hidden]
        changes["synonyms"] = {
            part: also for part, also in own.synonyms.items() if part.casefold() not in hidden
        }
        found[name] = own.model_copy(update=changes)
    return found


class _Rules:
    """A policy with its names as stored."""

    def __init__(self, tables: Sequence[RawTable], policy: Policy, unreadable: Sequence[str]) -> None:
        self._tables = {table.name.casefold(): table for table in tables}
        self._tables |= {name.casefold(): RawTable(name, "", ()) for name in unreadable}
        self._allowed = (
            None if policy.allow_tables is None else self._named(policy.allow_tables, "allow_tables")
        )
        self._denied = self._named(policy.deny_tables, "deny_tables")
        self._views = self._named(policy.allow_views, "allow_views")
        self._only = {self._column(name, "allow_columns") for name in policy.allow_columns}
        self._hidden = {self._column(name, "deny_columns") for name in policy.deny_columns}
        self._listed = {table for table, _ in self._only}
        self.masks = {self._column(name, "masks"): mask for name, mask in policy.masks}
        self.rows: dict[str, str] = {}
        for name, condition in policy.rows:
            (table,) = self._named([name], "rows")
            self.rows[table] = f"({self.rows[table]}) AND ({condition})" if table in self.rows else condition

    def is_shown(self, table: RawTable) -> bool:
        is_allowed = self._allowed is None or table.name in self._allowed
        return (
            is_allowed
            and table.name not in self._denied
            and (not table.is_derived or table.name in self._views)
        )

    def columns(self, table: RawTable) -> tuple[RawColumn, ...]:
        return tuple(
            column
            for column in table.columns
            if (table.name, column.name) not in self._hidden
            and (table.name not in self._listed or (table.name, column.name) in self._only)
        )

    def _named(self, names: Sequence[str], what: str) -> set[str]:
        found = set()
        for name in names:
            table = self._tables.get(name.casefold())
            if table is None:
                # No suggestion: it would tell names that the policy may hide.
                raise PolicyError(f"[policy] {what}: the source has no table {name!r}; correct the name")
            found.add(table.name)
        return found

    def _column(self, text: str, what: str) -> tuple[str, str]:
        for place in (place for place, letter in enumerate(text) if letter == "."):
            table = self._tables.get(text[:place].casefold())
            wanted = text[place + 1 :].casefold()
            if table is None:
                continue
            if not table.relation:
                return table.name, text[place + 1 :]
            for column in table.columns:
                if column.name.casefold() == wanted:
                    return table.name, column.name
        raise PolicyError(f"[policy] {what}: the source has no column {text!r}; correct the name")


def _declared(table: RawTable, kind: Kind) -> Declared:
    relation = quoting.name(table.name) if kind == "sqlite" else table.relation
    return Declared(table.name, relation, tuple((column.name, column.type) for column in table.columns))


def _masked(column: RawColumn, mask: str, secret: str, kind: Kind) -> str:
    """The expression that a masked column is read as, over the stored one."""
    if mask == "null":
        return f"CAST(NULL AS {'VARCHAR' if kind == 'sqlite' else _as_shown(column, mask, kind).type})"
    if mask != "hash":
        return quoting.text(mask.removeprefix("text:"))
    stored = quoting.name(column.name)
    if kind == "duckdb":
        stored = f"COALESCE(TRY(decode({stored})), hex({stored}))" if column.type == "BLOB" else stored
        stored = f"CAST({stored} AS VARCHAR)"
    keyed = f"{quoting.text(secret)} || chr(31) || {quoting.clean(stored)}"
    # The mark keeps a hash from looking like a number or a date.
    return f"CASE WHEN {stored} IS NOT NULL THEN '#' || left(sha256({keyed}), {HASH_LENGTH}) END"


def _blank(table: RawTable) -> set[str]:
    """Columns, case folded, whose mask is one value for all rows: they tell no rows apart."""
    return {name.casefold() for name, expression in table.masks if not expression.startswith("CASE")}


def _restricted(
    table: RawTable,
    columns: tuple[RawColumn, ...],
    masks: tuple[tuple[str, str], ...],
    condition: str,
    rules: _Rules,
    kind: Kind,
) -> RawTable:
    has_all = len(columns) == len(table.columns)
    if has_all and not masks and not condition:
        return table
    stored = [quoting.name(column.name) for column in columns]
    numbered = [f"{table.rowid} AS rowid"] if table.rowid == "rowid" else []
    relation = table.relation
    if condition and kind == "sqlite":
        # SQLite itself leaves the other rows out: they never get into the engine that runs the queries.
        listed = ", ".join([*stored, *numbered]) or "1"
        select = f"SELECT {listed} FROM {quoting.name(table.name)} WHERE {condition}"
        relation = f"sqlite_query('src', {quoting.text(select)})"
    elif condition:
        listed = ", ".join([*stored, *numbered])
        relation = (
            f"(SELECT {listed} FROM {table.relation} AS {quoting.name(table.name)} WHERE {condition} "
            f"LIMIT {EVERYTHING})"
        )
    as_masked = dict(masks)
    if masks:
        items = [
            f"{as_masked.get(column.name, quoting.name(column.name))} AS {quoting.name(column.name)}"
            for column in columns
        ]
        relation = f"(SELECT {', '.join([*items, *numbered])} FROM {relation})"
    shown = tuple(_as_shown(column, rules.masks.get((table.name, column.name)), kind) for column in columns)
    told = replace(table, columns=shown, masks=masks, relation=relation, condition=condition, warnings=())
    blank, names = _blank(told), {column.name for column in columns}
    lost = {column.name for column in table.columns} - names
    is_keyed = not any(part in lost or part.casefold() in blank for part in table.primary)
    return replace(
        told,
        columns=shown if is_keyed else tuple(replace(column, primary=0) for column in shown),
        unique=tuple(
            parts
            for parts in table.unique
            if names.issuperset(parts) and not any(part.casefold() in blank for part in parts)
        ),
        foreign_keys=tuple(
            reference
            for reference in table.foreign_keys
            if names.issuperset(reference.columns)
            and not any(part.casefold() in blank for part in reference.columns)
        ),
    )


def _as_shown(column: RawColumn, mask: str | None, kind: Kind) -> RawColumn:
    """A column as its mask leaves it: a text, or nothing of its own type (unless that lists values: an ENUM)."""
    if mask is None or (mask == "null" and "(" not in column.type):
        return column
    return replace(column, type="TEXT" if kind == "sqlite" else "VARCHAR", is_nocase=False)


def _referring(seen: Sequence[RawTable]) -> list[RawTable]:
    """The tables with references to what is seen alone, hashed columns to hashed ones."""
    by_name = {table.name: table for table in seen}

    def holds(table: RawTable, reference: ForeignKey) -> bool:
        other = by_name.get(reference.table)
        if other is None or not {column.name for column in other.columns}.issuperset(reference.to_columns):
            return False
        here, there = dict(table.masks), dict(other.masks)
        return all(
            (a in here) == (b in there) and b.casefold() not in _blank(other)
            for a, b in zip(reference.columns, reference.to_columns)
        )

    return [
        replace(table, foreign_keys=tuple(r for r in table.foreign_keys if holds(table, r))) for table in seen
    ]
