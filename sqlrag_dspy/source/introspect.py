"""What the source says of itself: its tables, columns, keys and references.

SQLite is asked through its own catalogue (sqlite_master and pragmas), since one view that no longer works
spoils every listing that DuckDB offers. Leaves out what the data say: see `profile`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.source import quoting
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.types import ForeignKey

_SHADOWS = (
    "data",
    "idx",
    "content",
    "docsize",
    "config",
    "segments",
    "segdir",
    "stat",
    "node",
    "parent",
    "rowid",
)
_VECTOR_SHADOWS = re.compile(
    r"_(chunks|info|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+)$"
)


@dataclass(frozen=True)
class RawColumn:
    """A column as declared. `primary` is its place in the primary key, from 1; 0 when it is not in it."""

    name: str
    type: str
    primary: int = 0
    is_nocase: bool = False


@dataclass(frozen=True)
class RawTable:
    """A table as declared. `relation` is what to read it from; it has no column `rowid` when `rowid` is ""."""

    name: str
    relation: str
    columns: tuple[RawColumn, ...]
    is_view: bool = False
    rowid: str = ""
    foreign_keys: tuple[ForeignKey, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    is_plain: bool = False
    """An ordinary SQLite table, whose rows SQLite finds fast by number."""
    warnings: tuple[str, ...] = ()
    is_derived: bool = False
    """A view, or a virtual table: it shows what it was made from, whatever is said of that."""
    condition: str = ""
    """Which rows the policy shows, in the source's own SQL; `relation` already holds it."""
    masks: tuple[tuple[str, str], ...] = ()
    """Columns that `relation` shows masked, with the expression over the stored one."""

    @property
    def primary(self) -> tuple[str, ...]:
        parts = sorted((c.primary, c.name) for c in self.columns if c.primary)
        return tuple(name for _, name in parts)


def read_tables(engine: Engine) -> tuple[list[RawTable], list[tuple[str, str]]]:
    """Every readable table and view by name, and the unreadable ones with the reason."""
    if engine.place.kind == "sqlite":
        return _read_sqlite(engine)
    return _read_duckdb(engine)


def pragma(engine: Engine, sql: str) -> list[list[str | None]]:
    """Rows of a statement that SQLite itself runs; all values are text."""
    return engine.trusted(f"SELECT * FROM sqlite_query('src', {quoting.text(sql)})")


class _Pragmas:
    """What SQLite's pragmas say of each table: of all ordinary ones by one statement, of any other by its own.

    Each time that it is asked, SQLite reads the whole schema.
    """

    def __init__(self, engine: Engine, ordinary: Collection[str]) -> None:
        self._engine = engine
        self._ordinary = frozenset(ordinary)
        self._told: dict[str, dict[str, list[list[str | None]]] | None] = {}

    def of(self, kind: str, table: str) -> list[list[str | None]]:
        """The rows of one pragma of one table. Raises QueryFailed."""
        if kind not in self._told:
            self._told[kind] = self._all(kind)
        told = self._told[kind]
        if told is None or table not in self._ordinary:
            return pragma(self._engine, f"PRAGMA {kind}({quoting.name(table)})")
        return told.get(table, [])

    def _all(self, kind: str) -> dict[str, list[list[str | None]]] | None:
        names = ", ".join(quoting.text(name) for name in sorted(self._ordinary))
        try:
            rows = pragma(
                self._engine,
                f"SELECT m.name AS of_table, p.* FROM sqlite_master AS m, pragma_{kind}(m.name) AS p "
                f"WHERE m.type = 'table' AND m.name IN ({names})",
            )
        except QueryFailed:
            # One table that cannot be read spoils the statement: each is asked for itself, and that one fails alone.
            return None
        told: dict[str, list[list[str | None]]] = {}
        for table, *row in rows:
            told.setdefault(str(table), []).append(row)
        return told


def _read_sqlite(engine: Engine) -> tuple[list[RawTable], list[tuple[str, str]]]:
    listed = pragma(
        engine,
        "SELECT type, name, coalesce(sql, '') AS ddl FROM sqlite_master "
        "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    entries = [(str(kind), str(name), str(ddl)) for kind, name, ddl in listed]
    virtual = [name for _, name, ddl in entries if re.match(r"\s*CREATE\s+VIRTUAL", ddl, re.IGNORECASE)]
    pragmas = _Pragmas(engine, [name for kind, name, _ in entries if kind == "table" and name not in virtual])
    tables: list[RawTable] = []
    broken: list[tuple[str, str]] = []
    taken: dict[str, str] = {}
    for kind, name, ddl in entries:
        if any(_is_shadow(name, owner) for owner in virtual):
            continue
        if (other := taken.setdefault(name.casefold(), name)) != name:
            broken.append(
                (name, f"only letter case tells its name from {other!r}; give it another in a view")
            )
            continue
        try:
            tables.append(_sqlite_table(engine, pragmas, name, ddl, kind == "view"))
        except QueryFailed as error:
            broken.append((name, _reason(error)))
    return _resolve(tables), broken


def _is_shadow(name: str, owner: str) -> bool:
    low, prefix = name.casefold(), owner.casefold()
    if low == prefix or not low.startswith(prefix + "_"):
        return False
    return low[len(prefix) + 1 :] in _SHADOWS or bool(_VECTOR_SHADOWS.match(low[len(prefix) :]))


def _reason(error: QueryFailed) -> str:
    match = re.search(r'Failed to prepare query ".*": (.*)$', str(error), re.DOTALL)
    return match[1] if match else str(error)


def _sqlite_table(engine: Engine, pragmas: _Pragmas, name: str, ddl: str, is_view: bool) -> RawTable:
    info = pragmas.of("table_xinfo", name)
    nocase = _nocase_columns(ddl) if "nocase" in ddl.lower() else set()
    columns, warnings = _nameable(
        name,
        [
            RawColumn(str(row[1]), row[2] or "", int(row[5] or 0), str(row[1]).casefold() in nocase)
            for row in info
            if row[6] != "1"
        ],
    )
    names = {column.name.casefold() for column in columns}
    is_virtual = bool(re.match(r"\s*CREATE\s+VIRTUAL", ddl, re.IGNORECASE))
    has_rowid = not is_view and not re.search(r"\)\s*[^)]*WITHOUT\s+ROWID[^)]*$", ddl, re.IGNORECASE)
    relation, rowid = f"src.main.{quoting.name(name)}", ""
    if "rowid" not in names:
        rowid = "rowid" if has_rowid else "row_number() OVER ()"
    is_keyed = not is_view and not has_rowid
    if is_view or is_virtual or is_keyed or any(row[6] in ("2", "3") for row in info):
        # The scanner misses generated columns, shows hidden ones, and counts rows by rowid; SQLite itself does not.
        # The text of a view would be run by DuckDB, to which every stored value is a text.
        items = [quoting.name(column.name) for column in columns]
        if rowid == "rowid":
            items.append('rowid AS "rowid"')
        select = f"SELECT {', '.join(items)} FROM {quoting.name(name)}"
        relation = f"sqlite_query('src', {quoting.text(select)})"
    engine.trusted(f"SELECT 1 FROM {relation} LIMIT 1")
    return RawTable(
        name,
        relation,
        columns,
        is_view,
        rowid,
        _sqlite_references(pragmas, name, columns) if not is_view else (),
        _sqlite_unique(engine, pragmas, name, {column.name for column in columns}) if not is_view else (),
        has_rowid and rowid == "rowid" and not is_virtual,
        warnings,
        is_view or is_virtual,
    )


def _nameable(table: str, columns: Sequence[RawColumn]) -> tuple[tuple[RawColumn, ...], tuple[str, ...]]:
    """The columns that SQL can name, and a line on each of the others.

    SQLite tells É from é and allows a column without a name; DuckDB and this program do not.
    """
    kept: dict[str, RawColumn] = {}
    warnings = []
    for column in columns:
        other = kept.get(column.name.casefold())
        if not column.name:
            warnings.append(f"a column of {table} has no name and is left out; give it one in a view")
        elif other is not None:
            warnings.append(
                f"{table}.{column.name} is left out, since only letter case tells it from {other.name!r}; "
                "give it another name in a view"
            )
        else:
            kept[column.name.casefold()] = column
    if any(column.primary for column in columns if column not in kept.values()):
        kept = {name: replace(column, primary=0) for name, column in kept.items()}
    return tuple(kept.values()), tuple(warnings)


def _sqlite_references(
    pragmas: _Pragmas, name: str, columns: tuple[RawColumn, ...]
) -> tuple[ForeignKey, ...]:
    groups: dict[str, list[list[str | None]]] = {}
    for row in pragmas.of("foreign_key_list", name):
        groups.setdefault(str(row[0]), []).append(row)
    found = []
    stored = {column.name.casefold(): column.name for column in columns}
    for number in sorted(groups, key=int):
        rows = sorted(groups[number], key=lambda row: int(row[1] or 0))
        here = tuple(stored.get(str(row[3]).casefold(), str(row[3])) for row in rows)
        there = tuple(str(row[4]) for row in rows) if rows[0][4] is not None else ()
        found.append(ForeignKey(here, str(rows[0][2]), there))
    return tuple(found)


def _sqlite_unique(
    engine: Engine, pragmas: _Pragmas, name: str, columns: set[str]
) -> tuple[tuple[str, ...], ...]:
    found = []
    for row in pragmas.of("index_list", name):
        is_partial = len(row) > 4 and row[4] == "1"
        if row[2] != "1" or is_partial:
            continue
        parts = pragma(engine, f"PRAGMA index_info({quoting.name(str(row[1]))})")
        if all(part[2] in columns for part in parts):
            found.append(tuple(str(part[2]) for part in parts))
    return tuple(found)


def _nocase_columns(ddl: str) -> set[str]:
    """Names, case folded, of the columns that a CREATE TABLE declares COLLATE NOCASE."""
    found = set()
    body = ddl[ddl.find("(") + 1 : ddl.rfind(")")]
    # Nested brackets and texts may hold commas; they never hold a collation that counts.
    body = re.sub(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\([^()]*\)", " ", body, flags=re.DOTALL)
    for part in body.split(","):
        match = re.match(r'\s*(?:"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^\s(]+))', part)
        if match and re.search(r"\bCOLLATE\s+[\"'`\[]?NOCASE\b", part, re.IGNORECASE):
            found.add(
                next(group for group in match.groups() if group is not None).replace('""', '"').casefold()
            )
    return found


def _resolve(tables: list[RawTable]) -> list[RawTable]:
    """References to tables and columns by their stored names; those to nothing known are dropped."""
    by_name = {table.name.casefold(): table for table in tables}
    out = []
    for table in tables:
        kept = []
        for reference in table.foreign_keys:
            other = by_name.get(reference.table.casefold())
            if other is None:
                continue
            stored = {column.name.casefold(): column.name for column in other.columns}
            there = tuple(stored.get(name.casefold(), "") for name in reference.to_columns) or other.primary
            if "" not in there and len(there) == len(reference.columns):
                kept.append(ForeignKey(reference.columns, other.name, there))
        out.append(replace(table, foreign_keys=tuple(kept)))
    return out


def _read_duckdb(engine: Engine) -> tuple[list[RawTable], list[tuple[str, str]]]:
    listed = engine.trusted(
        "SELECT * FROM (SELECT schema_name AS s, table_name AS t, false AS v FROM duckdb_tables() "
        "WHERE database_name = 'src' AND NOT internal UNION ALL SELECT schema_name, view_name, true "
        "FROM duckdb_views() WHERE database_name = 'src' AND NOT internal) ORDER BY s <> 'main', s, t"
    )
    constraints = engine.trusted(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() WHERE database_name = 'src'"
    )
    tables: list[RawTable] = []
    broken: list[tuple[str, str]] = []
    taken: set[str] = set()
    for schema, name, is_view in listed:
        if name.casefold() in taken:
            broken.append(
                (f"{schema}.{name}", "another schema has a table of the same name; only that one is read")
            )
            continue
        taken.add(name.casefold())
        own = [row[2:] for row in constraints if row[0] == schema and row[1] == name]
        try:
            tables.append(_duckdb_table(engine, schema, name, is_view, own))
        except QueryFailed as error:
            broken.append((name, str(error)))
    return _resolve(tables), broken


def _duckdb_table(
    engine: Engine, schema: str, name: str, is_view: bool, constraints: list[list[object]]
) -> RawTable:
    relation = f"src.{quoting.name(schema)}.{quoting.name(name)}"
    described = engine.trusted(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {relation})")
    primary: list[str] = []
    references, unique = [], []
    for kind, names, table, there in constraints:
        own = _names(names)
        if kind == "PRIMARY KEY":
            primary = list(own)
        elif kind == "UNIQUE":
            unique.append(own)
        elif kind == "FOREIGN KEY":
            references.append(ForeignKey(own, str(table), _names(there)))
    columns = tuple(
        RawColumn(str(column), str(kind), primary.index(column) + 1 if column in primary else 0)
        for column, kind in described
    )
    has_own = any(column.name.casefold() == "rowid" for column in columns)
    rowid = "" if has_own else ("row_number() OVER ()" if is_view else "rowid")
    return RawTable(
        name, relation, columns, is_view, rowid, tuple(references), tuple(unique), is_derived=is_view
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
