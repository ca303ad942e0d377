"""Ranked rows to documents: their passages and fields, read from the source at the moment they are shown.

Leaves out: any text of its own. A row that has gone since the index was built is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from sqlrag_dspy.index import store
from sqlrag_dspy.index.ranking import Ranked, TableIndex
from sqlrag_dspy.types import Document, Key, Passage, RowReader, Value


def read_documents(
    index: TableIndex, ranked: Iterator[Ranked], k: int, reader: RowReader
) -> tuple[Document, ...]:
    """The first `k` ranked rows that still exist, with text exactly as stored."""
    documents: list[Document] = []
    while batch := list(islice(ranked, k - len(documents))):
        stored = _read(index.spec, [row.key for row in batch], reader)
        for row in batch:
            values = stored.get(store.key_json(row.key))
            if values is not None:
                documents.append(_document(index.spec, row, values))
    return tuple(documents)


def _read(spec: store.Spec, keys: Sequence[Key], reader: RowReader) -> dict[str, Mapping[str, Value]]:
    columns = spec.columns
    found: dict[str, Mapping[str, Value]] = {}
    for values in reader.scan(spec.name, columns, keys):
        row = dict(zip(columns, values))
        found[store.key_json(tuple(row[name] for name in spec.key))] = row
    return found


def _document(spec: store.Spec, row: Ranked, values: Mapping[str, Value]) -> Document:
    passages = []
    for column, start, end, score in join(row.chunks):
        name = spec.text[column]
        value = values[name]
        text = (value if isinstance(value, str) else "" if value is None else str(value))[start:end]
        if text.strip():
            passages.append(Passage(name, start, start + len(text), text, score))
    fields = {name: values[name] for name in dict.fromkeys((*spec.key, *spec.filters))}
    return Document(spec.name, row.key, round(row.score, 4), fields, tuple(passages))


def join(chunks: Sequence[tuple[int, int, int, float]]) -> list[tuple[int, int, int, float]]:
    """Stretches (column, start, end, score) with neighbours of one column made one, best first."""
    joined: list[tuple[int, int, int, float]] = []
    for column, start, end, score in sorted(chunks):
        if joined and joined[-1][0] == column and start <= joined[-1][2] + 2:
            _, first, last, best = joined[-1]
            joined[-1] = (column, first, max(last, end), max(best, score))
        else:
            joined.append((column, start, end, score))
    return sorted(joined, key=lambda stretch: -stretch[3])
