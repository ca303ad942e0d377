"""What a top-k query ranks by."""

from __future__ import annotations

import sqlite3

import pytest

from sqlrag_dspy.sql import ranking


@pytest.fixture
def rows():
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE t (name TEXT, kind TEXT, n INTEGER);"
        "INSERT INTO t VALUES ('a', 'x', 3), ('b', 'x', 2), ('c', 'y', 2), ('d', 'z', 1), ('e', 'z', 0);"
    )
    return lambda sql: connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("sql", "limit", "values"),
    [
        ("SELECT name FROM t ORDER BY n DESC LIMIT 1", 1, [(3,), (2,)]),
        ("SELECT name FROM t ORDER BY n DESC LIMIT 2", 2, [(3,), (2,), (2,)]),
        ("SELECT kind, COUNT(*) AS c FROM t GROUP BY kind ORDER BY c DESC LIMIT 1", 1, [(2,), (2,)]),
        ("SELECT kind, SUM(n) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1", 1, [(5,), (2,)]),
        ("SELECT DISTINCT kind FROM t ORDER BY kind LIMIT 1", 1, [("x",), ("y",)]),
        ("SELECT name FROM t ORDER BY n DESC LIMIT 1 OFFSET 1", 2, [(3,), (2,), (2,)]),
        ("SELECT name FROM t ORDER BY n DESC, name LIMIT 2", 2, [(3, "a"), (2, "b"), (2, "c")]),
    ],
)
def test_the_values_it_ranks_by_for_one_row_more(rows, sql, limit, values):
    found = ranking(sql)
    assert found is not None
    assert found[0] == limit
    assert rows(found[1]) == values


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM t",
        "SELECT name FROM t ORDER BY n",
        "SELECT name FROM t LIMIT 2",
        "SELECT name FROM t ORDER BY n LIMIT 1 OFFSET (SELECT 1)",
        "SELECT name FROM t UNION SELECT kind FROM t ORDER BY 1 LIMIT 1",
    ],
)
def test_other_queries_rank_nothing(sql):
    assert ranking(sql) is None
