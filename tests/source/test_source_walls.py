"""The worker's own wall, with the check removed: nothing but the views can be read, whatever the statement says."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.types import CheckedSql, Policy

SCRIPT = """
CREATE TABLE n (x INTEGER PRIMARY KEY, s TEXT, owner TEXT);
INSERT INTO n VALUES (1, 'a', 'me'), (2, 'topsecret', 'you'), (3, 'c', 'me');
CREATE TABLE hidden (x INTEGER, word TEXT);
INSERT INTO hidden VALUES (1, 'topsecret');
CREATE VIEW twice AS SELECT x, s FROM n;
CREATE VIRTUAL TABLE found USING fts5(word);
INSERT INTO found VALUES ('topsecret');
"""
KEY = "5a17ed" * 8


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def source(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("walls")
    path = folder / "data.db"
    script = SCRIPT if request.param == "sqlite" else SCRIPT[: SCRIPT.index("CREATE VIRTUAL")]
    with sqlite3.connect(folder / "other.db") as other:
        other.executescript("CREATE TABLE t (word TEXT); INSERT INTO t VALUES ('topsecret');")
    if request.param == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.executescript(script)
    else:
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.execute(script)
    policy = Policy(
        deny_tables=("hidden",), rows=(("n", "owner = 'me'"),), masks=(("n.s", "hash"),), secret=KEY
    )
    with open_source(
        str(path), limits=Limits(), policy=policy, write_condition=lambda said, *_: said
    ) as opened:
        opened.catalog  # noqa: B018
        yield opened


WAYS_ROUND = [
    "SELECT * FROM src.main.n",
    "SELECT * FROM src.n",
    'SELECT * FROM "src"."main"."hidden"',
    "SELECT * FROM hidden",
    "SELECT * FROM main.n",
    "SELECT * FROM memory.main.n",
    "SELECT * FROM twice",
    "SELECT * FROM found",
    "SELECT (SELECT max(word) FROM src.main.hidden)",
    "SELECT x FROM n WHERE x IN (SELECT x FROM src.main.hidden)",
    "SELECT x FROM n ORDER BY (SELECT count(*) FROM src.main.hidden)",
    "SELECT x FROM n LIMIT (SELECT count(*) FROM src.main.hidden)",
    "SELECT * FROM n JOIN src.main.hidden USING (x)",
    "SELECT * FROM n, LATERAL (SELECT word FROM src.main.hidden) w",
    "SELECT x FROM n UNION ALL SELECT x FROM src.main.n",
    "WITH a AS (SELECT * FROM src.main.n) SELECT * FROM a",
    "FROM (FROM src.main.n)",
    "VALUES ((SELECT max(word) FROM src.main.hidden))",
    "SELECT [w FOR w IN (SELECT list(word) FROM src.main.hidden)]",
    "SELECT * FROM sqlite_scan('{other}', 't')",
    "SELECT * FROM sqlite_query('src', 'SELECT * FROM hidden')",
    "SELECT * FROM query('SELECT * FROM src.main.hidden')",
    "SELECT * FROM query_table('hidden')",
    "SELECT * FROM '{other}'",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_views",
    "SELECT sql FROM sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_table_info('src.main.hidden')",
    "SELECT pg_get_viewdef((SELECT max(x) FROM n))",
    "SELECT current_setting('temp_directory')",
    "FROM (DESCRIBE src.main.hidden)",
    "FROM (SHOW ALL TABLES)",
    "FROM (SUMMARIZE src.main.hidden)",
    "SELECT * FROM (PIVOT src.main.hidden ON x USING max(word))",
    "WITH duckdb_views AS (SELECT * FROM duckdb_views) SELECT * FROM duckdb_views",
    "WITH RECURSIVE duckdb_views AS (SELECT sql FROM duckdb_views UNION ALL SELECT sql FROM duckdb_views) "
    "SELECT * FROM duckdb_views",
    "SELECT * FROM duckdb_views, (WITH duckdb_views AS (SELECT 1) SELECT 1) x",
    "DESCRIBE src.main.hidden",
    "CALL duckdb_views()",
    "EXPLAIN SELECT * FROM src.main.hidden",
]


@pytest.mark.parametrize("statement", WAYS_ROUND)
def test_nothing_but_the_views_can_be_read(source, statement):
    other = Path(source.place.path).with_name("other.db")
    with pytest.raises(QueryFailed) as caught:
        source.execute(CheckedSql(statement.replace("{other}", str(other)), (), ()))
    assert "topsecret" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT x FROM n ORDER BY x", [(1,), (3,)]),
        ("SELECT a.x FROM n a JOIN N b ON a.x < b.x", [(1,)]),
        ("WITH hidden AS (SELECT 7 AS x), b AS (SELECT x + 1 AS x FROM hidden) SELECT x FROM b", [(8,)]),
        ("SELECT i FROM range(2) r(i) UNION ALL SELECT unnest([5])", [(0,), (1,), (5,)]),
        ("SELECT * FROM (VALUES (1), (2)) v(x) WHERE EXISTS (SELECT 1 FROM n WHERE n.x = v.x)", [(1,)]),
        (
            "WITH RECURSIVE up(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM up WHERE i < 3) SELECT max(i) FROM up",
            [(3,)],
        ),
        ("SELECT count(*) FILTER (WHERE owner = 'you') FROM n", [(0,)]),
    ],
)
def test_what_only_reads_them_runs(source, statement, rows):
    assert list(source.execute(CheckedSql(statement, (), ())).values) == rows


def test_a_condition_of_the_query_is_never_tried_on_a_hidden_row(source):
    """The cast fails on the hidden row alone; its message would hold the value."""
    tried = "SELECT x FROM n WHERE CASE WHEN owner = 'you' THEN s::INTEGER = 1 ELSE true END ORDER BY x"
    assert list(source.execute(CheckedSql(tried, (), ())).values) == [(1,), (3,)]


def test_masked_values_are_all_that_is_sorted_compared_and_counted(source):
    hashes = [row[0] for row in source.execute(CheckedSql("SELECT s FROM n ORDER BY s", (), ())).values]
    assert hashes == sorted(hashes)
    assert all(value.startswith("#") and len(value) == 17 for value in hashes)
    assert not source.execute(CheckedSql("SELECT 1 FROM n WHERE s IN ('a', 'c')", (), ())).values
    column = source.catalog.table("n").column("s")
    assert {value for value, _ in column.profile.values} == set(hashes)
