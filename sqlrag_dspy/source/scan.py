"""Rows read in bulk for the index and the linker: streamed in pages, by key, or as distinct values.

The SQL is written here, over the same views that checked SQL sees, so a value read here equals the value that
a query gives. Leaves out limits of time and rows: what is read here was asked for by this program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlrag_dspy.errors import SourceError
from sqlrag_dspy.source import quoting
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.source.reading import Reading, keys_condition
from sqlrag_dspy.types import Catalog, Key, Table, Value

PAGE_ROWS = 20_000
PAGE_BYTES = 8 << 20
"""Characters, about, that one page may hold: a page of long documents has fewer rows."""
KEY_BATCH = 500


def table_of(catalog: Catalog, name: str) -> Table:
    """The table of that name. Raises SourceError."""
    table = catalog.table(name)
    if table is None:
        raise SourceError(f"no table '{name}'; it has {', '.join(t.name for t in catalog.tables)[:200]}")
    return table


def _columns(table: Table, names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        column = table.column(name)
        if column is None and not (name == "rowid" and "rowid" in table.key):
            raise SourceError(
                f"no column '{name}' in {table.name}; it has {', '.join(c.name for c in table.columns)}"
            )
        found.append(column.name if column else name)
    return found


def scan(
    engine: Engine,
    table: Table,
    reading: Reading,
    columns: Sequence[str],
    keys: Sequence[Key] | None,
    digested: Sequence[str] = (),
) -> Iterator[tuple[Value, ...]]:
    """The columns of every row in stored order, or of the rows with those keys, in no given order.

    With `digested`, a digest of those columns follows.
    """
    names, digested = _columns(table, columns), _columns(table, digested)
    if keys is None:
        yield from _all(engine, table, reading, names, digested)
        return
    unique = list(dict.fromkeys(keys))
    for start in range(0, len(unique), KEY_BATCH):
        yield from _some(engine, table, reading, names, unique[start : start + KEY_BATCH], digested)


def _items(names: Sequence[str], digested: Sequence[str]) -> str:
    """What to select from a table's view."""
    items = [quoting.name(name) for name in names]
    if digested:
        items.append(quoting.digest([quoting.name(name) for name in digested]))
    return ", ".join(items) or "1"


def _some(
    engine: Engine,
    table: Table,
    reading: Reading,
    names: Sequence[str],
    keys: Sequence[Key],
    digested: Sequence[str],
) -> Iterator[tuple[Value, ...]]:
    # A masked key is not what is stored: asked of SQLite, it would tell which values are.
    is_masked = any(name in table.key for name, _ in reading.masks)
    condition = keys_condition(table.key, keys) if reading.is_partial and not is_masked else None
    if condition is not None:
        rows = engine.trusted(reading.part(names, condition, digested=digested))
        if len(rows) >= len(keys):
            yield from (tuple(row[:-1]) for row in rows)
            return
    # A key that SQLite did not find may be stored as something that reads like it (text in a number column).
    where, params = _where_keys(table, keys)
    items = _items(names, digested)
    for row in engine.trusted(f"SELECT {items} FROM {quoting.name(table.name)} WHERE {where}", params):
        yield tuple(row)


def _where_keys(table: Table, keys: Sequence[Key]) -> tuple[str, list[list[Value]]]:
    parts = [
        [key[place] if isinstance(key, tuple) else key for key in keys] for place in range(len(table.key))
    ]
    names = ", ".join(quoting.name(name) for name in table.key)
    marks = ", ".join(f"unnest(CAST(? AS {_kind(table, name)}[]))" for name in table.key)
    return f"({names}) IN (SELECT {marks})", parts


def _kind(table: Table, name: str) -> str:
    """The DuckDB type that a key column's view has, so that keys are bound by type and not as text."""
    column = table.column(name)
    if column is None:
        return "BIGINT"
    found, is_text = column.profile.found, bool(column.profile.date_formats)
    if is_text:
        return "VARCHAR"
    kinds = {
        "integer": "BIGINT",
        "number": "DOUBLE",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "datetime": "TIMESTAMP",
    }
    return kinds.get(found, "VARCHAR")


def _all(
    engine: Engine, table: Table, reading: Reading, names: Sequence[str], digested: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    length = sum(column.profile.mean_length for name in names if (column := table.column(name)))
    size = max(1, min(PAGE_ROWS, int(PAGE_BYTES / (length + 16 * len(names) + 1))))
    items = _items(names, digested)
    start, last = 0, -(2**63)
    while True:
        if reading.is_partial:
            after = f"rowid > {last}" if last > -(2**63) else ""
            rows = engine.trusted(reading.part(names, after, f"ORDER BY rowid LIMIT {size}", digested))
            yield from (tuple(row[:-1]) for row in rows)
            last = rows[-1][-1] if rows else last
        else:
            # Stored order is kept, so a page is the same rows whenever it is asked for, even of a new worker.
            rows = engine.trusted(
                f"SELECT {items} FROM {quoting.name(table.name)} LIMIT {size} OFFSET {start}"
            )
            yield from (tuple(row) for row in rows)
        if len(rows) < size:
            return
        start += size


def distinct(engine: Engine, table: Table, column: str, limit: int) -> list[tuple[Value, int]]:
    """The most frequent values, with their counts; NULL and blank left out."""
    (name,) = _columns(table, [column])
    quoted, relation = quoting.name(name), quoting.name(table.name)
    blank = f"trim(CAST({quoted} AS VARCHAR)) <> ''"
    rows = engine.trusted(
        f"SELECT {quoted}, count(*) AS n FROM {relation} WHERE {quoted} IS NOT NULL AND {blank} "
        f"GROUP BY 1 ORDER BY n DESC, 1 LIMIT {int(limit)}"
    )
    return [(value, int(count)) for value, count in rows]


def matching(engine: Engine, table: Table, column: str, text: str, limit: int) -> list[Value]:
    """Distinct values that contain the text, letter case and accents aside; shortest first."""
    (name,) = _columns(table, [column])
    quoted, relation = quoting.name(name), quoting.name(table.name)
    as_text = f"CAST({quoted} AS VARCHAR)"
    rows = engine.trusted(
        f"SELECT {quoted} FROM (SELECT DISTINCT {quoted} FROM {relation} WHERE "
        f"contains(strip_accents(lower({as_text})), strip_accents(lower(CAST(? AS VARCHAR))))) "
        f"ORDER BY length({as_text}), {quoted} LIMIT {int(limit)}",
        [text],
    )
    return [row[0] for row in rows]
