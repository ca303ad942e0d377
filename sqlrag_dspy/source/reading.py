"""How one table is read: the expression that casts each column, as a view of the whole table, or as a select
over the part that SQLite itself finds by key or row number, which costs what the part costs.

Leaves out which expression suits a column: see `profile`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlrag_dspy.source import quoting
from sqlrag_dspy.types import Key, Value


@dataclass(frozen=True)
class Reading:
    """A table's columns with their expressions, over `relation`.

    `rowid` is the expression of the row number, "" when the table has a column of that name. `is_partial`: it
    is a plain SQLite table, so that parts of it can be asked for. `shows_rowid`: the key is the row number.
    `condition` and `masks` are those of a policy; `relation` holds them already, a part needs them anew.
    """

    table: str
    relation: str
    columns: tuple[tuple[str, str], ...]
    rowid: str = ""
    is_partial: bool = False
    shows_rowid: bool = False
    condition: str = ""
    masks: tuple[tuple[str, str], ...] = ()

    def view(self) -> str:
        """The statement that makes the view of the table's own name."""
        items = [f"{expression} AS {quoting.name(name)}" for name, expression in self.columns]
        if self.shows_rowid:
            items.append(f"CAST({self.rowid} AS BIGINT) AS rowid")
        return f"CREATE OR REPLACE VIEW {quoting.name(self.table)} AS SELECT {', '.join(items)} FROM {self.relation}"

    def part(
        self, names: Sequence[str], where: str = "", then: str = "", digested: Sequence[str] = ()
    ) -> str:
        """A select of the columns, then the row number, of the rows that a condition in SQLite's SQL leaves.

        `then` follows the condition: an order and a limit. A digest of the columns `digested`, if any, stands
        before the row number.
        """
        expressions, masks = dict(self.columns), dict(self.masks)
        read = [name for name in dict.fromkeys((*names, *digested)) if name in expressions]
        inner = ", ".join([*(quoting.name(name) for name in read), 'rowid AS "rowid"'])
        wanted = " AND ".join(f"({part})" for part in (self.condition, where) if part)
        found = f"SELECT {inner} FROM {quoting.name(self.table)}{f' WHERE {wanted}' if wanted else ''} {then}"
        source = f"sqlite_query('src', {quoting.text(found)})"
        if masks:
            shown = [f"{masks.get(name, quoting.name(name))} AS {quoting.name(name)}" for name in read]
            source = f"(SELECT {', '.join([*shown, 'rowid'])} FROM {source})"
        number = "CAST(rowid AS BIGINT)"
        items = [expressions.get(name, number) for name in names]
        if digested:
            items.append(quoting.digest([expressions.get(name, number) for name in digested]))
        return f"SELECT {', '.join([*items, number])} FROM {source}"


def keys_condition(key: Sequence[str], keys: Sequence[Key]) -> str | None:
    """The keys as a condition in SQLite's SQL; None when a value cannot be written as a literal."""
    rows = []
    for one in keys:
        parts = [_literal(value) for value in (one if isinstance(one, tuple) else (one,))]
        if None in parts or len(parts) != len(key):
            return None
        rows.append(", ".join(part for part in parts if part is not None))
    if len(key) == 1:
        return f"{quoting.name(key[0])} IN ({', '.join(rows)})"
    names = ", ".join(quoting.name(name) for name in key)
    return f"({names}) IN (VALUES {', '.join(f'({row})' for row in rows)})"


def _literal(value: Value) -> str | None:
    if isinstance(value, bool | float) or value is None:
        return None
    if isinstance(value, int):
        return str(value)
    # A replaced byte is not what is stored, and SQLite's SQL ends at a NUL.
    return None if "\ufffd" in value or "\x00" in value else quoting.text(value)
