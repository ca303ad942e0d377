from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import TOY, MemoryRows, ToyEmbedder, column, note, notes, notes_table

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import contents, open_index, store, sync
from sqlrag_dspy.index.words import lexical
from sqlrag_dspy.types import Key, Table, Value

PARTS = st.one_of(st.integers(-50, 50), st.sampled_from(["a", "b", "1", "2"]), st.sampled_from([0.5, 2.0]))


def build(folder: Path, keys: Sequence[tuple[Value, ...]]) -> sqlite3.Connection:
    names = tuple(f"k{at}" for at in range(len(keys[0]) if keys else 1))
    table = Table(
        "logs", names, (*(column(n, "integer") for n in names), column("text", length=900)), ("text",)
    )
    rows: list[dict[str, Value]] = [{**dict(zip(names, key)), "text": "kite"} for key in keys]
    sync(
        folder,
        MemoryRows({"logs": rows}, {"logs": names}),
        [table],
        TOY,
        embed_functions={"toy": ToyEmbedder()},
    )
    return store.open_for_reading(folder)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.one_of(
        st.lists(st.tuples(st.integers(-50, 50)), unique=True),
        st.lists(st.tuples(PARTS), unique_by=lambda key: store.key_json(key)),
        st.lists(st.tuples(PARTS, PARTS), unique_by=lambda key: store.key_json(key)),
    ),
    asked=st.lists(st.one_of(PARTS, st.tuples(PARTS), st.tuples(PARTS, PARTS), st.lists(PARTS, min_size=2))),
    few=st.sampled_from([0, 20_000]),
)
def test_keys_are_found_however_they_are_read(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[Value, ...]], asked: list[Key], few: int
) -> None:
    connection = build(tmp_path_factory.mktemp("store"), keys)
    expected = {
        key[0] if len(key) == 1 else key: at for at, key in enumerate(sorted(keys, key=store.key_json))
    }
    plain = {
        (key[0] if len(key) == 1 else tuple(key)) if isinstance(key, (list, tuple)) else key for key in asked
    }
    before = contents.FEW_ROWS
    contents.FEW_ROWS = few
    try:
        opened = contents.read(connection, 1)
        positions, unseen = opened.find(asked)
        assert positions.tolist() == sorted({expected[key] for key in plain & expected.keys()})
        assert len(unseen) == len(set(unseen))
        assert set(unseen) == plain - expected.keys()
        assert opened.keys_at(np.arange(len(keys))[::-1]) == sorted(expected, key=expected.__getitem__)[::-1]
    finally:
        contents.FEW_ROWS = before
        connection.close()


def test_without_packed_arrays_the_tables_are_read(tmp_path: Path) -> None:
    rows = [note(n, f"red kite {n}" * (n % 3)) for n in range(40)]
    reader = notes(*rows)
    functions = {"toy": ToyEmbedder()}
    sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions)
    reader.tables["notes"][3:9] = [note(n, "a blue kite") for n in range(5, 12)]
    del reader.tables["notes"][10:]
    sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions)

    def found() -> list[object]:
        index = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions)
        hits = index.search("a kite", "notes", k=20, allowed=range(8), reader=reader)
        index.close()
        return [(document.key, document.score, document.passages) for document in hits.documents]

    packed = found()
    for statement in ("UPDATE arrays SET file = 'vectors-of-another-generation'", "DROP TABLE arrays"):
        with sqlite3.connect(tmp_path / store.DATABASE) as connection:
            connection.execute(statement)
        assert found() == packed


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE arrays SET content = zeroblob(length(content)) WHERE name = 'chunk_start'",
        "UPDATE arrays SET content = substr(content, 1, length(content) - 1) WHERE name = 'chunk_row'",
        "UPDATE arrays SET content = substr(content, 1, length(content) / 2) WHERE name = 'row_ids'",
        "UPDATE arrays SET content = 'text' WHERE name = 'chunk_end'",
    ],
)
@pytest.mark.parametrize("is_noted", [True, False])
def test_packed_arrays_that_are_damaged(tmp_path: Path, statement: str, is_noted: bool) -> None:
    reader, functions = notes(*(note(n, f"kite {n}. " * 300) for n in range(20))), {"toy": ToyEmbedder()}
    sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions)
    with sqlite3.connect(tmp_path / store.DATABASE) as connection:
        if not is_noted:  # as an earlier version left it
            connection.execute("DELETE FROM meta WHERE name LIKE 'checksums %'")
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions)
    assert index.search("kite", "notes", reader=reader).documents
    index.close()
    with sqlite3.connect(tmp_path / store.DATABASE) as connection:
        connection.execute(statement)
    if not is_noted and "zeroblob" in statement:
        return  # nothing tells
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions)
    with pytest.raises(IndexUnusable, match=r"packed beside .* is damaged; run 'sqlrag index --rebuild'"):
        index.search("kite", "notes", reader=reader)
    index.close()


def test_chunks_of_rows(tmp_path: Path) -> None:
    sizes = [0, 3, 1, 2, 0, 5, 1] * 12
    arrays: dict[str, np.ndarray] = {
        "row_ids": np.arange(len(sizes)),
        "chunk_row": np.random.default_rng(0).permutation(np.r_[np.repeat(np.arange(84), sizes), [-1] * 9]),
        **{name: np.zeros(0, dtype=int) for name in ("chunk_column", "chunk_start", "chunk_end")},
    }
    opened = contents.Contents(sqlite3.connect(":memory:"), 1, arrays)
    for rows in ([], [1], [0, 4], [1, 5, 83], list(range(84)), list(range(0, 84, 2))):
        expected = np.flatnonzero(np.isin(arrays["chunk_row"], rows))
        assert opened.chunks_of(np.array(rows, dtype=int)).tolist() == expected.tolist()
    assert len(opened.chunks_of(None)) == sum(sizes)


def test_words_in_many_allowed_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = notes(*(note(n, "a red kite" if n % 2 else f"a red kite over town {n}") for n in range(60)))
    functions = {"toy": ToyEmbedder()}
    sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions)

    def found(allowed: Sequence[int]) -> list[object]:
        index = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions)
        hits = index.search("town 14", "notes", k=60, allowed=allowed, reader=reader)
        index.close()
        return [(document.key, document.score) for document in hits.documents]

    for allowed in (range(60), range(0, 60, 7), [14], [59, 60, 61]):
        few = found(allowed)
        monkeypatch.setattr(lexical, "_MANY", 0)
        assert found(allowed) == few
        monkeypatch.undo()
