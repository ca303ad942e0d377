"""A table's rows as the index compares them: their texts, what introduces them, their filter values, and hashes.

Where the source can tell by digests which rows changed, only those are handed over. Leaves out what is done
with a changed row (`table_sync`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import store
from sqlrag_dspy.types import DigestReader, Key, RowReader, Value

CONTEXT_LENGTH = 300
"""Characters of a row's short texts that go in front of each of its chunks, at most."""
FEW = 0.1
"""Share of the rows up to which changed ones are asked for by their keys."""
PAGE = 2_000
"""Changed rows asked for at once."""
READINGS = 3
"""Readings of a table that must meet a key twice before it is one that two rows share."""


@dataclass(frozen=True)
class Row:
    """One row as read; `digest` is the source's own, None when it gives none."""

    key: str
    texts: tuple[str, ...]
    contexts: tuple[str, ...]
    filters: tuple[Value, ...]
    hashes: tuple[str, ...]
    digest: str | None = None

    @property
    def filter_text(self) -> str:
        return " . ".join(value for value in self.filters if isinstance(value, str))


def read_rows(reader: RowReader, spec: store.Spec, keys: Sequence[Key] | None = None) -> Iterator[Row]:
    """All rows of a table, or those with these keys, ready to compare with what the index knows of them."""
    columns = spec.columns
    row = _row_of(spec)
    if isinstance(reader, DigestReader):
        for values in reader.digests(spec.name, columns, columns, keys):
            yield row(values, str(values[-1]))
    else:
        for values in reader.scan(spec.name, columns, keys):
            yield row(values, None)


def _row_of(spec: store.Spec) -> Callable[[Sequence[Value], str | None], Row]:
    """What makes a row of the values of `spec.columns` and a digest."""
    place = {name: at for at, name in enumerate(spec.columns)}
    keys, filters, texts = ([place[name] for name in names] for names in (spec.key, spec.filters, spec.text))
    contexts = [[place[name] for name in spec.context if name != text] for text in spec.text]

    def row(values: Sequence[Value], digest: str | None) -> Row:
        own = tuple([_text(values[at]) for at in texts])
        introduced = tuple(
            [
                " . ".join([t for at in places if (t := _text(values[at]).strip())])[:CONTEXT_LENGTH]
                for places in contexts
            ]
        )
        filtered = tuple([values[at] for at in filters])
        hashes = [
            _hash(text + "\0" + context) if text.strip() else "" for text, context in zip(own, introduced)
        ]
        key = store.key_json(tuple([values[at] for at in keys]))
        return Row(key, own, introduced, filtered, (*hashes, _hash(json.dumps(filtered))), digest)

    return row


def _text(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@dataclass(frozen=True)
class Comparison:
    """The keys of all rows that were seen, and the rows among them that may have changed."""

    seen: dict[str, None]
    rows: Iterator[Row]


def compare(reader: RowReader, spec: store.Spec, known: Mapping[str, str | None]) -> Comparison:
    """The rows whose digests are not those of `known` (key -> digest).

    `seen` is complete when `rows` has been read to its end. Raises IndexUnusable when two rows share a key.
    """
    seen: dict[str, None] = {}
    if not known or not isinstance(reader, DigestReader):
        return Comparison(seen, _all_rows(reader, spec, known, seen))
    count = 0
    changed: dict[str, Key] = {}
    doubled: set[str] = set()
    spelt, noted = store.key_json, known.get
    for values in reader.digests(spec.name, spec.key, spec.columns):
        key: Key = values[:-1]
        name = spelt(key)
        if name in seen:
            doubled.add(name)
            changed[name] = key
        seen[name] = None
        count += 1
        if noted(name) != values[-1] or values[-1] is None:
            changed[name] = key
    _refuse_shared(reader, spec, doubled)
    if len(changed) > FEW * count or any(None in key for key in changed.values() if isinstance(key, tuple)):
        seen.clear()
        return Comparison(seen, _all_rows(reader, spec, known, seen))
    return Comparison(seen, _some_rows(reader, spec, known, seen, changed))


def _some_rows(
    reader: RowReader,
    spec: store.Spec,
    known: Mapping[str, str | None],
    seen: dict[str, None],
    changed: Mapping[str, Key],
) -> Iterator[Row]:
    keys = list(changed.values())
    found: set[str] = set()
    for start in range(0, len(keys), PAGE):
        for row in read_rows(reader, spec, keys[start : start + PAGE]):
            if row.key in found:
                raise _shared(spec, row.key)
            found.add(row.key)
            yield row
    missing = changed.keys() - found
    if missing:
        # Gone in between, or a key that does not find its row (a float, a text that was mended).
        for name in missing:
            del seen[name]
        for row in read_rows(reader, spec):
            if row.key in missing:
                seen[row.key] = None
                yield row


def _all_rows(
    reader: RowReader, spec: store.Spec, known: Mapping[str, str | None], seen: dict[str, None]
) -> Iterator[Row]:
    again: dict[str, Key] = {}
    for row in read_rows(reader, spec):
        if row.key in seen:
            key = store.key_of(row.key)
            again[row.key] = key if isinstance(key, tuple) else (key,)
            continue
        seen[row.key] = None
        if row.digest is None or known.get(row.key) != row.digest:
            yield row
    if again:
        _refuse_shared(reader, spec, again.keys())
        found: set[str] = set()
        for row in read_rows(reader, spec, list(again.values())):
            if row.key in found:
                raise _shared(spec, row.key)
            found.add(row.key)
            yield row
        for name in again.keys() - found:
            raise _shared(spec, name)


def _refuse_shared(reader: RowReader, spec: store.Spec, names: Collection[str]) -> None:
    """Raises IndexUnusable when two rows share one of these keys.

    A row that was replaced while the table was read is met twice; two rows with one key stay two. They are told
    apart by reading all keys: asked for by its key, of two rows that differ in its type (1 and '1' in a SQLite
    column that holds both) the database may give one.
    """
    for _ in range(READINGS):
        if not names:
            return
        met: set[str] = set()
        twice: set[str] = set()
        for values in reader.scan(spec.name, spec.key):
            name = store.key_json(tuple(values))
            if name in names:
                (twice if name in met else met).add(name)
        names = twice
    if names:
        raise _shared(spec, min(names))


def _shared(spec: store.Spec, key: str) -> IndexUnusable:
    return IndexUnusable(
        f"two rows of {spec.name} have the key {', '.join(spec.key)} = {key}; set a "
        f"key that tells rows apart under [tables.{spec.name}] in sqlrag.toml"
    )
