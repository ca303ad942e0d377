"""Reading in bulk: verbatim, streamed, by keys, and equal to what a query gives."""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import islice
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sqlrag_dspy.errors import SourceError
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.source import scan as scanning
from sqlrag_dspy.types import CheckedSql


def test_a_5_mb_document_comes_whole(make):
    big = "ÿ€𝄞 word " * 600_000
    source = make(
        "CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT)",
        {"INSERT INTO doc VALUES (?,?)": [(1, "short"), (2, big), (3, None)]},
    )
    assert len(big.encode()) > 5_000_000
    assert list(source.scan("doc", ["body"])) == [("short",), (big,), (None,)]
    assert list(source.scan("doc", ["id", "body"], [2])) == [(2, big)]


def test_a_5_mb_document_with_a_bad_byte_is_mended(make):
    raw = ("héllo " * 800_000).encode() + b"\xff" + b"end"
    source = make("CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT)")
    source.close()
    path = Path(source.url.removeprefix("sqlite:///"))
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO doc VALUES (1, CAST(? AS TEXT))", (raw,))
    connection.commit()
    connection.close()
    with open_source(str(path), limits=Limits()) as source:
        assert list(source.scan("doc", ["body"])) == [(raw.decode("utf-8", "replace"),)]


def test_a_text_spoilt_after_the_profile_reads_as_one_mark_until_it_is_profiled_anew(make, run, tmp_path):
    rows = "INSERT INTO t VALUES (1, 'good'), (2, NULL), (3, 'ok')"
    source = make(f"CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT); {rows};")
    assert [row[0] for row in source.scan("t", ["body"])] == ["good", None, "ok"]
    writer = sqlite3.connect(tmp_path / "data.db")
    writer.execute("UPDATE t SET body = CAST(x'6f6bff6f6b' AS TEXT) WHERE id = 3")
    writer.commit()
    writer.close()
    assert run(source, "SELECT body FROM t ORDER BY id") == [("good",), (None,), ("\ufffd",)]
    assert [row[0] for row in source.scan("t", ["body"], [3])] == ["\ufffd"]
    with open_source(str(tmp_path / "data.db"), limits=Limits()) as again:
        assert run(again, "SELECT body FROM t WHERE id = 3") == [("ok\ufffdok",)]


def test_many_rows_in_pages_and_thousands_of_keys(make, monkeypatch):
    rows = [(i * 2, f"value {i}") for i in range(60_000)]
    source = make("CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)", {"INSERT INTO t VALUES (?,?)": rows})
    assert list(source.scan("t", ["id", "s"])) == rows
    keys = [key for key, _ in rows[:7000]] + [1, 3]
    assert sorted(source.scan("t", ["id", "s"], keys)) == rows[:7000]
    assert list(source.scan("t", ["s"], [])) == []
    monkeypatch.setattr(scanning, "PAGE_ROWS", 7)
    assert list(islice(source.scan("t", ["id"]), 100)) == [(i * 2,) for i in range(100)]


def test_pages_of_a_view_and_of_a_table_without_row_numbers(make, monkeypatch):
    monkeypatch.setattr(scanning, "PAGE_ROWS", 7)
    rows = [(f"k{i:03}", i) for i in range(100)]
    source = make(
        "CREATE TABLE w (k TEXT PRIMARY KEY, n INT) WITHOUT ROWID; CREATE VIEW v AS SELECT k, n + 1 AS m FROM w",
        {"INSERT INTO w VALUES (?,?)": rows},
    )
    assert list(source.scan("w", ["k", "n"])) == rows
    assert list(source.scan("v", ["k", "m"])) == [(k, n + 1) for k, n in rows]


def test_queries_run_between_pages(make, monkeypatch):
    monkeypatch.setattr(scanning, "PAGE_ROWS", 2)
    source = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY)", {"INSERT INTO t VALUES (?)": [(i,) for i in range(7)]}
    )
    for (number,) in source.scan("t", ["id"]):
        assert source.execute(CheckedSql(f"SELECT {number}", (), ())).values == ((number,),)


def test_a_key_stored_as_text_in_a_number_column_is_found(make):
    source = make(
        "CREATE TABLE t (k, s TEXT)",
        {"INSERT INTO t VALUES (?,?)": [*((i, f"s{i}") for i in range(30)), ("77", "as text")]},
    )
    assert source.catalog.table("t").key == ("k",)
    assert sorted(source.scan("t", ["k", "s"], [5, 77])) == [(5, "s5"), (77, "as text")]


def test_wrong_names_get_one_line(make):
    source = make("CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)")
    with pytest.raises(SourceError, match="no table 'u'"):
        source.scan("u", ["s"])
    with pytest.raises(SourceError, match="no column 'z' in t"):
        list(source.scan("t", ["z"]))


def test_distinct_and_matching(make):
    texts = ["Renée Zellweger", "RENEE SMITH", "Ada", "Ada", "", None, "100% O'Brien_x"]
    source = make("CREATE TABLE t (s TEXT)", {"INSERT INTO t VALUES (?)": [(t,) for t in texts]})
    assert source.distinct("t", "s", 2) == [("Ada", 2), ("100% O'Brien_x", 1)]
    assert source.matching("t", "s", "renee", 10) == ["RENEE SMITH", "Renée Zellweger"]
    assert source.matching("t", "s", "% o'", 10) == ["100% O'Brien_x"]
    assert source.matching("t", "s", "_", 10) == ["100% O'Brien_x"]


stored = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.sampled_from(["2024-01-02", "20240102", "0", "1", "true", "1e5", " 7 ", "007", "", "3.10"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(kind="DATE", values=[0])
@given(
    kind=st.sampled_from(["", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "DATE", "TIMESTAMP", "BOOLEAN"]),
    values=st.lists(stored, max_size=12),
)
def test_scan_gives_what_a_query_gives_whatever_is_stored(tmp_path_factory, kind, values):
    path = tmp_path_factory.mktemp("any") / "data.db"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {kind})")
    connection.executemany("INSERT INTO t(v) VALUES (?)", [(v,) for v in values])
    connection.commit()
    connection.close()
    with open_source(str(path), limits=Limits()) as source:
        table = source.catalog.table("t")
        assert table is not None
        queried = source.execute(CheckedSql("SELECT id, v FROM t ORDER BY id", (), ())).values
        assert tuple(source.scan("t", ["id", "v"])) == queried
        by_key = source.scan("t", ["id", "v"], [key for key, _ in queried])
        assert tuple(sorted(by_key, key=lambda row: row[0])) == queried
        assert len(queried) == len(values)
        assert sum(v is None for v in values) <= sum(v is None for _, v in queried)


VALUES = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.sampled_from(["", "-", "1:", "a", "7", "Inf", "-inf", "1e400", "nan", "1e5"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=20))
def test_digests_are_equal_for_equal_rows_alone(make, rows):
    rows = [tuple(v.replace("\x00", "") if v else v for v in row) for row in rows]
    source = make(
        "CREATE TABLE doc (id INTEGER PRIMARY KEY, a TEXT, b TEXT);"
        "CREATE VIEW shown AS SELECT id, a, b FROM doc",
        {"INSERT INTO doc (a, b) VALUES (?, ?)": rows},
        name=f"{uuid4().hex}.db",
    )
    told = [digest for _, digest in source.digests("doc", ["id"], ["a", "b"])]
    read = list(source.execute(CheckedSql("SELECT a, b FROM doc ORDER BY id", (), ())).values)
    assert len(set(told)) == len(set(read))
    # Texts may read as numbers (blank ones then as NULL), but no two alike, and none as NULL that says something.
    for place in (0, 1):
        said = {
            (row[place], shown[place])
            for row, shown in zip(rows, read)
            if (row[place] or "").strip(" \t\r\n")
        }
        assert len({shown for _, shown in said} - {None}) == len(said)
    # The same row has the same digest however it is read: by key, or through a view.
    by_key = dict(source.digests("doc", ["id"], ["a", "b"], [(1,), (2,)]))
    assert by_key == {1: told[0], 2: told[1]}
    assert [digest for _, digest in source.digests("shown", ["id"], ["a", "b"])] == told
    assert [row[:2] for row in source.digests("doc", ["a", "b"], ["id"])] == read


def test_the_state_tells_a_changed_file(make):
    source = make(
        "CREATE TABLE doc (id INTEGER PRIMARY KEY, a TEXT)", {"INSERT INTO doc VALUES (?,?)": [(1, "x")]}
    )
    path = Path(source.url.removeprefix("sqlite:///"))
    os.utime(path, (time.time() + 60, time.time() + 60))
    assert source.state is None  # written a moment ago, or later: the next change may have the same time
    os.utime(path, (1_600_000_000, 1_600_000_000))
    first, second = (open_source(str(path), limits=Limits()) for _ in range(2))
    assert first.state == second.state is not None
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO doc VALUES (2, 'y')")
    connection.commit()
    connection.close()
    os.utime(path, (1_600_000_100, 1_600_000_100))
    assert first.state is None  # what it knows of the columns is older than the file
    with open_source(str(path), limits=Limits()) as third:
        assert third.state not in (None, second.state)
    first.close()
    second.close()
