"""The values that cross rooms. Frozen dataclasses; pydantic stays at the edges (settings, labels, answers)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

Value = str | int | float | bool | None
"""A JSON value: dates and timestamps are ISO text, decimals are floats, bytes and NaN never appear."""

Key = Value | tuple[Value, ...]
"""What identifies a row: one value, or a tuple for a composite key."""

Found = Literal["integer", "number", "boolean", "date", "datetime", "text", "empty"]
"""What a column really holds, whatever it was declared as."""

Route = Literal["sql", "vector", "hybrid", "decline"]
ROUTES: tuple[Route, ...] = ("sql", "vector", "hybrid", "decline")


# --- the database -----------------------------------------------------------------------------------


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


# --- who may see what -------------------------------------------------------------------------------

SessionValue = Value | tuple[Value, ...]
"""What a session parameter stands for: a value, or several for `IN :name`."""


@dataclass(frozen=True)
class Policy:
    """What one session may see of a source; see docs/security.md.

    Tables are named alone, columns as "table.column". `allow_tables` None allows every table; a table that
    `allow_columns` names shows those columns alone. `rows` are (table, condition), the condition with :name for
    the parameters of `session`; `masks` are (column, "hash" | "null" | "text:…"). Views and virtual tables of the
    source show what they were made from, so only those in `allow_views` are seen. `secret` keys the hashes.
    """

    allow_tables: tuple[str, ...] | None = None
    deny_tables: tuple[str, ...] = ()
    allow_views: tuple[str, ...] = ()
    allow_columns: tuple[str, ...] = ()
    deny_columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
    masks: tuple[tuple[str, str], ...] = ()
    session: tuple[tuple[str, SessionValue], ...] = ()
    secret: str = field(default="", repr=False)

    @property
    def digest(self) -> str:
        """A hash of all of it: what belongs to one session is kept under it."""
        shape = [
            self.allow_tables,
            *map(sorted, (self.deny_tables, self.allow_views, self.allow_columns, self.deny_columns)),
            *map(sorted, (self.rows, self.masks)),
            sorted((name, type(value).__name__, value) for name, value in self.session),
            self.secret,
        ]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Declared:
    """A table as the source declares it: `relation` is how the source's own SQL names it, `columns` are
    (name, declared type)."""

    name: str
    relation: str
    columns: tuple[tuple[str, str], ...]


WriteCondition = Callable[[str, Declared, Sequence[Declared], str], str]
"""A row condition of a policy, its table, all tables and the source's dialect to the source's own SQL, with the
parameters filled in. Raises SqlRejected."""


class RowReader(Protocol):
    """What the index and the linker need of a source: rows read in bulk."""

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """The named columns of every row, or of the rows with those keys, as clean JSON values."""
        ...


@runtime_checkable
class DigestReader(RowReader, Protocol):
    """A source that can also tell which rows changed without handing over their texts."""

    def digests(
        self, table: str, columns: Sequence[str], digested: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """What `scan` gives, and behind each row a text that differs when the columns `digested` do."""
        ...


@dataclass(frozen=True)
class CheckedSql:
    """A statement that passed `sql.check`, in DuckDB's dialect; nothing else runs from outside."""

    text: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """A result: column names and values row by row; `truncated` when a limit cut it."""

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    truncated: bool = False


# --- what a question says ---------------------------------------------------------------------------

LinkKind = Literal["table", "column", "value", "date", "number", "part"]


@dataclass(frozen=True)
class Link:
    """A stretch of the question tied to the database.

    `start`, `end`: half-open character span of the question. By kind:
    - table: `table`.
    - column: `table`, `column`; `concept` when a synonym or adjective ("longest") named it; `op` is "max" or
      "min" for a superlative; `grain` is what the column holds: number, date, text or bool. With `since`, and the
      grain "days", the days from that date column of the table to this one ("how long did it take").
    - value: `table`, `column`, `value` (as stored), `op` "=" or "!=" (negated: "not in sports"); `also` holds
      other stored values of that column that the stretch names as well (a surname that two people share,
      lists of people that hold the name); `concept` is category, person, title or other; or word, and then `value` is
      a pattern and `op` "like" or "not like" ("titles with the word bank"); or state, with `op` "null" or "not null"
      ("still open", told by closed_on).
    - date: `value` and `upper` are ISO dates, a half-open interval [value, upper); either may be None
      (open). `grain` is day, month, quarter, year or range. `table`/`column` when the question says which
      date column, else the table's only or main date column. `op` is "!=" when negated. `concept` states
      the year that was assumed, if any.
    - number: `value`, and `upper` for a closed range; `op` is "=", ">", ">=", "<", "<=", "between", or ""
      for a bare number (a top-k, say), or "nth" for a place in an order (2 for "second longest"). `column` when a
      unit or noun names one ("words"). `grain` "average" compares with the column's average ("longer than average");
      `value` is then None. With `since`, the number is one of days.
    - part: a date part asked for by name ("by year", "each month"): `grain` is the part, with its column. A
      named weekday ("on a Thursday", "at the weekend") has `value` 1 (Monday) to 7, `upper` the last of a
      range, and `op` "=" or "between".
    `score`: 0 to 1, how sure.
    """

    kind: LinkKind
    start: int
    end: int
    text: str
    table: str | None = None
    column: str | None = None
    op: str = ""
    value: Value = None
    upper: Value = None
    grain: str = ""
    concept: str = ""
    score: float = 1.0
    also: tuple[Value, ...] = ()
    since: str = ""


@dataclass(frozen=True)
class Links:
    """All links of one question. `chosen` do not overlap and are in order; `others` lost to them."""

    question: str
    chosen: tuple[Link, ...]
    others: tuple[Link, ...] = ()


# --- what to compute --------------------------------------------------------------------------------

Aggregate = Literal["", "count", "count_distinct", "sum", "avg", "min", "max", "range"]
"""`range` is the greatest less the least; of dates, in days."""
Part = Literal["", "year", "month", "quarter", "day", "weekday", "year_month"]


@dataclass(frozen=True)
class Item:
    """One expression of a sketch: an aggregate over a column, a date part of it, or the days that lead to it.

    `column` None with aggregate "count" is COUNT(*). `since` names another date column of the table: the item is
    the days from that one to `column`, with fractions where either has a time of day.
    """

    table: str
    column: str | None
    aggregate: Aggregate = ""
    part: Part = ""
    since: str = ""


@dataclass(frozen=True)
class Predicate:
    """A restriction on one column. `op`: = != < <= > >= in, not in, like, not like, null, not null.

    Values of date columns are ISO dates, whatever the column's own format. `value` is a tuple for in / not in.
    `than` "average" compares with the average of the column over all rows of its table; `value` is then None.
    With `since`, the days from that date column to `column` are compared with `value`.
    """

    table: str
    column: str
    op: str
    value: Value | tuple[Value, ...] = None
    part: Part = ""
    than: Literal["", "average"] = ""
    since: str = ""


@dataclass(frozen=True)
class Absence:
    """That no row of `table` which passes `filters` belongs to the row in question.

    Rows belong together along foreign keys ("proposals without a review"); with `column`, `table` is the sketch's
    own and rows belong together by that column ("sections that published nothing in June").
    """

    table: str
    filters: tuple[tuple[Predicate, ...], ...] = ()
    column: str | None = None


@dataclass(frozen=True)
class Sketch:
    """A query as slots: what the learned tier predicts and `sql.build` writes.

    `filters` is a conjunction of alternatives: every inner tuple must have one true predicate.
    `share` set: the percentage (0-100, or 0-1 with `is_fraction`) of the filtered rows that also satisfy it, or of
    the amount `share_of` that they hold; `select` is then empty (or the group items come first). `each` set: order
    and limit hold within each of these, ties kept. `over`: the number of groups, or the mean of what each shows.
    """

    table: str
    select: tuple[Item, ...]
    distinct: bool = False
    filters: tuple[tuple[Predicate, ...], ...] = ()
    without: Absence | None = None
    share: tuple[tuple[Predicate, ...], ...] = ()
    is_fraction: bool = False
    share_of: Item | None = None
    group: tuple[Item, ...] = ()
    having: tuple[tuple[Item, str, Value], ...] = ()
    order: tuple[tuple[Item, bool], ...] = ()
    """(item, descending) pairs."""
    limit: int | None = None
    offset: int = 0
    """Rows left out before `limit` counts: 1, with a limit of 1, is the second."""
    each: tuple[Item, ...] = ()
    over: Literal["", "count", "avg"] = ""


# --- what was found ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passage:
    """A stretch of one text column; `start`, `end` are character offsets into the stored text."""

    column: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True)
class Document:
    """A row found by meaning, with its best passages, best first."""

    table: str
    key: Key
    score: float
    fields: dict[str, Value] = field(default_factory=dict)
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Search:
    """What was searched: rows that the filters allow, rows compared, and whether all of them were."""

    rows_allowed: int
    rows_searched: int
    exact: bool
    filters: tuple[tuple[str, Value], ...] = ()
    key_sql: str | None = None


@dataclass(frozen=True)
class Hits:
    """The result of one search: documents, best first, and how they were searched."""

    documents: tuple[Document, ...]
    search: Search
