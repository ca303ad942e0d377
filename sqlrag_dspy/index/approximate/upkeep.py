"""Keeping an approximate index in step with the vectors of a table: made, extended, measured, or left out.

Leaves out: what it consists of (`clusters`), how it is tuned (`tuning`), and when a search uses it (`dense`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sqlrag_dspy.index import store
from sqlrag_dspy.index.approximate import clusters, dense
from sqlrag_dspy.index.approximate.tuning import QUESTIONS, tune
from sqlrag_dspy.index.contents import Ids
from sqlrag_dspy.index.embed import Embedder
from sqlrag_dspy.types import RowReader

_GROWN = 1.5
"""Times as many vectors as there were when the centres were learned, from which they are learned anew."""
_ADDED = 0.01
"""Share of vectors added since the recall was measured, from which it is measured again."""
_LENGTHS = (2, 4, 8)
"""Words of a short text that stands for a question."""
_LONGEST = 80
"""Characters of one, since some languages do not part their words."""


def keep(
    connection: sqlite3.Connection,
    path: Path,
    count: int,
    old: tuple[Path, Ids] | None,
    encoder: Embedder,
    texts: Sequence[str],
) -> None:
    """Writes the clusters of the new vector file `path` of `count` vectors, where it has enough of them.

    `old`: the vector file before, and which of its vectors come first in the new one. `texts`: short texts of the
    table, as people might ask.
    """
    known = clusters.read(connection, old[0]) if old else None
    if old:
        clusters.forget(connection, old[0].name)
    if count < dense.FROM:
        return
    index = store.read_vectors(path, count)
    matrix = store.matrix(index)
    is_kept = known is not None and known[0].rotation is not None  # else it is of an earlier version
    if old and known and is_kept and known[1].trained_on / _GROWN <= count <= known[1].trained_on * _GROWN:
        made = clusters.extend(known[0], matrix, old[1])
        setting = known[1]
        if abs(count - setting.measured_on) + (count - len(old[1])) <= _ADDED * count:
            clusters.write(connection, path, made, setting)
            return
        trained_on = setting.trained_on
    else:
        made, trained_on = clusters.cluster(matrix), count
    setting = tune(made, matrix, encoder(texts) if texts else matrix[:0], trained_on)
    clusters.write(connection, path, made, setting)


def short_texts(
    connection: sqlite3.Connection, table_id: int, spec: store.Spec, reader: RowReader, chunks: int
) -> list[str]:
    """A few words in a row from as many chunks as tuning asks for; the same ones for the same table."""
    if chunks < dense.FROM:
        return []
    chance = np.random.default_rng(chunks)
    wanted = np.sort(chance.choice(chunks, min(chunks, 2 * QUESTIONS), replace=False)).tolist()
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for chunk in wanted:
        found = connection.execute(
            "SELECT key, col, start, end FROM chunks JOIN rows ON rows.id = chunks.row "
            "WHERE chunks.table_id = ? AND chunks.id = ?",
            (table_id, chunk),
        ).fetchone()
        if found is not None:
            spans.setdefault(found[0], []).append(found[1:])
    texts: list[str] = []
    keys = [store.key_of(key) for key in spans]
    for values in reader.scan(spec.name, spec.columns, keys):
        row = dict(zip(spec.columns, values))
        for column, start, end in spans.get(store.key_json(tuple(row[name] for name in spec.key)), ()):
            words = str(row[spec.text[column]])[start:end].split()
            length = int(chance.choice(_LENGTHS))
            begin = int(chance.integers(max(1, len(words) - length + 1)))
            if text := " ".join(words[begin : begin + length])[:_LONGEST]:
                texts.append(text)
    return texts
