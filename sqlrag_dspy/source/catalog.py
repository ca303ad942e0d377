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

from sqlrag_dspy.errors import QueryFailed, SourceError, SqlRejected
from sqlrag_dspy.source import choose, quoting
from sqlrag_dspy.source.execute import refusal
from sqlrag_dspy.source.introspect import RawTable, read_tables
from sqlrag_dspy.source.measured import Measured
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.source.profile import measure
from sqlrag_dspy.source.reading import Reading
from sqlrag_dspy.source.references import infer
from sqlrag_dspy.source.restricting import restrict, settings_for
from sqlrag_dspy.source.shown_twice import without_copies
from sqlrag_dspy.types import (
    Catalog,
    Column,
    Declared,
    ForeignKey,
    Policy,
    Profile,
    Table,
    WriteCondition,
)

if TYPE_CHECKING:
    from sqlrag_dspy.settings import TableSettings

_FATAL = ("malformed", "not a database", "database is locked", "corrupt", "encrypted")


@dataclasses.dataclass(frozen=True)
class Built:
    """A catalog, and for each of its tables how it is read."""

    catalog: Catalog
    readings: tuple[Reading, ...]

    @property
    def views(self) -> tuple[str, ...]:
        return tuple(reading.view() for reading in self.readings)

    def reading(self, table: str) -> Reading:
        return next(reading for reading in self.readings if reading.table == table)


def build(
    engine: Engine,
    settings: Mapping[str, TableSettings],
    policy: Policy | None = None,
    write: WriteCondition | None = None,
) -> Built:
    """Read and profile what the policy shows of the source, with `write` for its row conditions.

    Raises SourceError when it cannot be read or settings do not fit, PolicyError when the policy does not.
    """
    try:
        raw, broken = read_tables(engine)
    except QueryFailed as error:
        raise refusal(engine.place, str(error)) from error
    if policy is not None:
        unreadable = [name for name, _ in broken]
        seen = restrict(raw, policy, write or _no_conditions, engine.place.kind, unreadable)
        settings = settings_for(settings, raw, seen)
        # What is said of tables that cannot be read names others.
        raw, broken = seen, []
    by_name = _settings_by_table(settings, raw, engine)
    tables: list[Table] = []
    readings: list[Reading] = []
    warnings: list[str] = []
    for table in raw:
        try:
            rows, columns = measure(engine, table)
            own = by_name.get(table.name)
            built, reading = _table(table, rows, columns, own)
            engine.trusted(reading.view())
            notes: list[str] = []
            if own is not None and own.key is not None:
                notes = _key_warning(engine, built) if rows else []
            elif _may_be_shared(built, columns) and _key_warning(engine, built):
                # Declared unique as stored: 1, '1' and x'31' are three values there and read as one.
                notes = [
                    f"the key {built.key[0]} of {table.name} reads alike in some rows (it holds values of several "
                    "types, as 1 and '1'), so it is not their key here"
                ]
                loose = tuple(dataclasses.replace(column, primary=0) for column in table.columns)
                built, reading = _table(
                    dataclasses.replace(table, columns=loose, unique=()), rows, columns, own
                )
                engine.trusted(reading.view())
        except QueryFailed as error:
            if any(word in str(error) for word in _FATAL):
                raise refusal(engine.place, str(error)) from error
            broken.append(
                (table.name, str(error) if policy is None else "it cannot be read as the policy shows it")
            )
            continue
        tables.append(built)
        readings.append(reading)
        warnings += [*table.warnings, *(warning for m in columns for warning in m.warnings)]
        warnings += [
            f"{table.name}.{m.raw.name} ignores letter case in the source (NOCASE), and does so here"
            for m in columns
            if m.raw.is_nocase
        ]
        warnings += notes
    engine.prepare = tuple(reading.view() for reading in readings)
    engine.views = tuple(reading.table for reading in readings)
    asked = {name for name, own in by_name.items() if own.text is not None}
    tables = infer(engine, without_copies(engine, tables, asked), readings)
    if not tables:
        reason = f" ({broken[0][0]}: {broken[0][1]})" if broken else ""
        raise SourceError(f"{engine.place.path} has no table that can be read{reason}; name another database")
    dialect = engine.place.kind
    return Built(Catalog(tuple(tables), dialect, tuple(broken), tuple(warnings)), tuple(readings))


def _no_conditions(condition: str, table: Declared, tables: Sequence[Declared], dialect: str) -> str:
    raise SqlRejected("nothing here can write row conditions; open the source with write_condition")


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
) -> tuple[Table, Reading]:
    key = choose.key_of(raw, columns, rows, settings)
    text = choose.text_columns(raw, columns, key, settings)
    filters = choose.filter_columns(raw, columns, key, text, rows, settings)
    table = Table(
        raw.name,
        key,
        tuple(Column(m.raw.name, m.raw.type, m.profile, m.raw.is_nocase) for m in columns),
        text,
        filters,
        raw.foreign_keys,
        rows,
        raw.is_view,
    )
    readings = tuple((m.raw.name, m.reading) for m in columns)
    shows_rowid = "rowid" in key and bool(raw.rowid)
    reading = Reading(
        raw.name, raw.relation, readings, raw.rowid, raw.is_plain, shows_rowid, raw.condition, raw.masks
    )
    return table, reading


def _may_be_shared(table: Table, columns: Sequence[Measured]) -> bool:
    """Whether a key of one column has to be counted to know that no two rows share it as it is read."""
    if not table.rows or len(table.key) != 1:
        return False
    return any(m.raw.name == table.key[0] and not m.is_unique for m in columns)


def _key_warning(engine: Engine, table: Table) -> list[str]:
    names = ", ".join(quoting.name(name) for name in table.key)
    whole, distinct = engine.trusted(
        f"SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT {names} FROM {quoting.name(table.name)})) "
        f"FROM {quoting.name(table.name)}"
    )[0]
    if whole == distinct:
        return []
    return [
        f"the key {', '.join(table.key)} of {table.name} is shared by some rows, as read (1 and '1' read alike); "
        f"an index needs one that tells rows apart under [tables.{table.name}]"
    ]


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
            Column(**{**c, "profile": Profile(**_with_tuples(c["profile"]))}) for c in table["columns"]
        )
        references = tuple(ForeignKey(**_with_tuples(f)) for f in table["foreign_keys"])
        rest = {k: v for k, v in _with_tuples(table).items() if k not in ("columns", "foreign_keys")}
        tables.append(Table(columns=columns, foreign_keys=references, **rest))
    broken = tuple((name, reason) for name, reason in written["broken"])
    return Catalog(tuple(tables), written["dialect"], broken, tuple(written["warnings"]))


def readings_from_json(written: Sequence[Mapping[str, Any]]) -> tuple[Reading, ...]:
    """How the tables are read, from `dataclasses.asdict` of each."""
    return tuple(Reading(**_with_tuples(one)) for one in written)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _tuple(v) if isinstance(v, list | tuple) else v for k, v in fields.items()}


def _tuple(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list | tuple) else item for item in items)
