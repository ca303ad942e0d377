"""The catalog of a source: every table profiled, its key, texts, filters and references chosen, and the views
through which it is read. Also how a catalog is written as JSON, for the cache and for `sqlrag schema`.

A view has the table's own name and one column for each of the table's, cast by its profile, so that checked
SQL names plain tables and sees numbers as numbers; text stays as stored.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.errors import QueryFailed, SourceError
from sqlrag_dspy.source import choose, quoting
from sqlrag_dspy.source.execute import Engine, refusal
from sqlrag_dspy.source.introspect import RawTable, read_tables
from sqlrag_dspy.source.profile import Measured, measure
from sqlrag_dspy.types import Catalog, Column, ForeignKey, Profile, Table

if TYPE_CHECKING:
    from sqlrag_dspy.settings import TableSettings

_FATAL = ("malformed", "not a database", "database is locked", "corrupt", "encrypted")


@dataclasses.dataclass(frozen=True)
class Built:
    """A catalog, and for each table the statement that makes its view."""

    catalog: Catalog
    views: tuple[str, ...]


def build(engine: Engine, settings: Mapping[str, TableSettings]) -> Built:
    """Read and profile the whole source. Raises SourceError when it cannot be read or settings do not fit."""
    try:
        raw, broken = read_tables(engine)
    except QueryFailed as error:
        raise refusal(engine.place, str(error)) from error
    by_name = _settings_by_table(settings, raw, engine)
    tables: list[Table] = []
    views: list[str] = []
    warnings: list[str] = []
    for table in raw:
        try:
            rows, columns = measure(engine, table)
            own = by_name.get(table.name)
            built, view = _table(table, rows, columns, own)
            engine.trusted(view)
        except QueryFailed as error:
            if any(word in str(error) for word in _FATAL):
                raise refusal(engine.place, str(error)) from error
            broken.append((table.name, str(error)))
            continue
        tables.append(built)
        views.append(view)
        warnings += [warning for m in columns for warning in m.warnings]
        warnings += [
            f"{table.name}.{m.raw.name} ignores letter case in the source (NOCASE), and does so here"
            for m in columns
            if m.raw.is_nocase
        ]
        if own is not None and own.key is not None and rows:
            warnings += _key_warning(engine, built)
    engine.prepare = tuple(views)
    tables = [_inferred(engine, table, tables) for table in tables]
    if not tables:
        reason = f" ({broken[0][0]}: {broken[0][1]})" if broken else ""
        raise SourceError(f"{engine.place.path} has no table that can be read{reason}; name another database")
    dialect = engine.place.kind
    return Built(Catalog(tuple(tables), dialect, tuple(broken), tuple(warnings)), tuple(views))


def _settings_by_table(
    settings: Mapping[str, TableSettings], raw: Sequence[RawTable], engine: Engine
) -> dict[str, TableSettings]:
    stored = {table.name.casefold(): table.name for table in raw}
    found = {}
    for name, own in settings.items():
        match = stored.get(name.casefold())
        if match is None:
            near = difflib.get_close_matches(name, list(stored.values()), 1, 0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(stored.values())[:200]}"
            raise SourceError(f"[tables.{name}]: no table '{name}' in {engine.place.path}; {hint}")
        found[match] = own
    return found


def _table(
    raw: RawTable, rows: int, columns: Sequence[Measured], settings: TableSettings | None
) -> tuple[Table, str]:
    key = choose.key_of(raw, columns, rows, settings)
    text = choose.text_columns(raw, columns, key, settings)
    filters = choose.filter_columns(raw, columns, key, text, rows, settings)
    table = Table(
        raw.name,
        key,
        tuple(Column(m.raw.name, m.raw.type, m.profile) for m in columns),
        text,
        filters,
        raw.foreign_keys,
        rows,
        raw.is_view,
    )
    items = [f"{m.reading} AS {quoting.name(m.raw.name)}" for m in columns]
    if "rowid" in key and raw.rowid:
        items.append(f"{raw.rowid} AS rowid")
    return (
        table,
        f"CREATE OR REPLACE VIEW {quoting.name(raw.name)} AS SELECT {', '.join(items)} FROM {raw.relation}",
    )


def _key_warning(engine: Engine, table: Table) -> list[str]:
    names = ", ".join(quoting.name(name) for name in table.key)
    whole, distinct = engine.trusted(
        f"SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT {names} FROM {quoting.name(table.name)})) "
        f"FROM {quoting.name(table.name)}"
    )[0]
    if whole == distinct:
        return []
    return [
        f"the key {', '.join(table.key)} of {table.name} is shared by some rows; only one of them is found"
    ]


# --- references that are not declared ---------------------------------------------------------------


def _inferred(engine: Engine, table: Table, tables: Sequence[Table]) -> Table:
    """The table with references added that its names suggest and its values confirm."""
    known = {name.casefold() for reference in table.foreign_keys for name in reference.columns}
    found = list(table.foreign_keys)
    for column in table.columns:
        profile = column.profile
        if (
            column.name.casefold() in known
            or profile.found not in ("integer", "text")
            or profile.is_long_text
        ):
            continue
        if table.key == (column.name,):
            continue
        for other in tables:
            if other.name == table.name or other.is_view or table.is_view or len(other.key) != 1:
                continue
            target = other.column(other.key[0])
            if target is None or target.profile.found != profile.found or not _suggests(column.name, other):
                continue
            if _is_contained(engine, table, column.name, other):
                found.append(ForeignKey((column.name,), other.name, other.key, is_declared=False))
                break
    return dataclasses.replace(table, foreign_keys=tuple(found))


def _suggests(name: str, other: Table) -> bool:
    low, key, owner = name.casefold(), other.key[0].casefold(), other.name.casefold()
    stems = {owner, owner.removesuffix("s"), owner.removesuffix("es"), owner.removesuffix("ies") + "y"}
    return low == key or any(low in (stem, f"{stem}_{key}", f"{stem}{key}", f"{stem}_id") for stem in stems)


def _is_contained(engine: Engine, table: Table, column: str, other: Table) -> bool:
    """Whether nearly all values of the column are keys of the other table."""
    here, there = quoting.name(column), quoting.name(other.key[0])
    try:
        distinct, missing = engine.trusted(
            f"SELECT count(*), count(*) FILTER (NOT is_key) FROM (SELECT v, v IN (SELECT {there} FROM "
            f"{quoting.name(other.name)} WHERE {there} IS NOT NULL) AS is_key FROM (SELECT DISTINCT {here} AS v "
            f"FROM {quoting.name(table.name)} WHERE {here} IS NOT NULL))"
        )[0]
    except QueryFailed:
        return False
    return bool(distinct) and missing <= 0.02 * distinct


# --- JSON -------------------------------------------------------------------------------------------


def schema_json(catalog: Catalog) -> dict[str, Any]:
    """The catalog with its profile as JSON values: what `sqlrag schema --json` prints."""
    written = dataclasses.asdict(catalog)
    written["fingerprint"] = catalog.fingerprint
    return written


def from_json(written: Mapping[str, Any]) -> Catalog:
    """The catalog that `schema_json` wrote. Raises KeyError or TypeError when it is not one."""
    tables = []
    for table in written["tables"]:
        columns = tuple(
            Column(c["name"], c["type"], Profile(**_with_tuples(c["profile"]))) for c in table["columns"]
        )
        references = tuple(ForeignKey(**_with_tuples(f)) for f in table["foreign_keys"])
        rest = {k: v for k, v in _with_tuples(table).items() if k not in ("columns", "foreign_keys")}
        tables.append(Table(columns=columns, foreign_keys=references, **rest))
    broken = tuple((name, reason) for name, reason in written["broken"])
    return Catalog(tuple(tables), written["dialect"], broken, tuple(written["warnings"]))


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _tuple(v) if isinstance(v, list | tuple) else v for k, v in fields.items()}


def _tuple(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list | tuple) else item for item in items)
