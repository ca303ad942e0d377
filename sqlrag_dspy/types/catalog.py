"""What is known of a database: tables, columns, references, and what was found in them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from sqlrag_dspy.types.values import Value

Found = Literal["integer", "number", "boolean", "date", "datetime", "text", "empty"]
"""What a column really holds, whatever it was declared as."""


@dataclass(frozen=True)
class Profile:
    """What was found in one column.

    `found` is the type that nearly all values have; values that do not fit it read as NULL (numbers,
    dates) and are counted in `misfits`. `null_share` counts NULL and blank text, 0 to 1. `values` holds
    every distinct value with its count, most frequent first, when the column is categorical; otherwise
    it is empty and `samples` shows a few. `date_formats` are strptime formats of a text column that
    holds dates, most frequent first ("%Y-%m-%d %H:%M:%S"). `mean_length` is in characters.
    """

    found: Found
    null_share: float = 0.0
    distinct: int = 0
    misfits: int = 0
    values: tuple[tuple[Value, int], ...] = ()
    samples: tuple[Value, ...] = ()
    minimum: Value = None
    maximum: Value = None
    mean_length: float = 0.0
    is_long_text: bool = False
    date_formats: tuple[str, ...] = ()

    @property
    def is_categorical(self) -> bool:
        return bool(self.values)


@dataclass(frozen=True)
class Column:
    """A column: its name as stored, the type it was declared with, and its profile.

    `ignores_case`: the source compares its text without letter case (SQLite's NOCASE).
    """

    name: str
    type: str
    profile: Profile
    ignores_case: bool = False

    @property
    def is_date(self) -> bool:
        return self.profile.found in ("date", "datetime")

    @property
    def is_number(self) -> bool:
        return self.profile.found in ("integer", "number")


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of this table refer to `to_columns` of `table`; inferred ones have `is_declared` False."""

    columns: tuple[str, ...]
    table: str
    to_columns: tuple[str, ...]
    is_declared: bool = True


@dataclass(frozen=True)
class Table:
    """A table or view. `key` identifies a row: column names, or ("rowid",) when nothing else does."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    text_columns: tuple[str, ...] = ()
    filter_columns: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int = 0
    is_view: bool = False

    def column(self, name: str) -> Column | None:
        """The column of that name, letter case aside; None when there is none."""
        wanted = name.casefold()
        return next((c for c in self.columns if c.name.casefold() == wanted), None)


@dataclass(frozen=True)
class Catalog:
    """Everything known about a database's structure. `broken` are tables that cannot be read, with why.

    `warnings` are lines about data that read as something else than was stored (misfits, bad bytes, mixed
    date encodings) or that compare in a way of their own.
    """

    tables: tuple[Table, ...]
    dialect: str = "sqlite"
    broken: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def table(self, name: str) -> Table | None:
        """The table of that name, letter case aside; None when there is none."""
        wanted = name.casefold()
        return next((t for t in self.tables if t.name.casefold() == wanted), None)

    @property
    def fingerprint(self) -> str:
        """A hash of table names, keys, column names and found types; data do not change it."""
        shape = [[t.name, t.key, [[c.name, c.profile.found] for c in t.columns]] for t in self.tables]
        return hashlib.sha256(json.dumps(shape, ensure_ascii=False).encode()).hexdigest()[:16]
