"""Gold rows and gold filters, as SQLite gives them."""

from __future__ import annotations

import sqlite3

import pytest

from sqlrag_dspy import Label
from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn import gold


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "odd?name%20#1.db"
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE "my ""t""" (a TEXT, b INTEGER)')
    connection.execute("INSERT INTO \"my \"\"t\"\"\" VALUES ('x', 1), ('y', 2), (CAST(x'ff' AS TEXT), 3)")
    connection.commit()
    connection.close()
    return path


def label(**given) -> Label:
    return Label(
        id="a-7", database="d", question="?", lang="en", **{"route": "sql", "sql": "SELECT 1", **given}
    )


def test_rows_are_those_of_sqlite_whatever_the_path(path):
    assert gold.rows(label(sql='SELECT a, b FROM "my ""t""" ORDER BY b'), path) == (
        ("x", 1),
        ("y", 2),
        ("\ufffd", 3),
    )


def test_keys_allowed_by_a_filter_or_all(path):
    wanted = label(route="hybrid", table='my "t"', filter_sql="b > 1")
    assert gold.allowed(wanted, path, ("b",)) == {2, 3}
    assert gold.allowed(wanted, path, ("a", "b")) == {("y", 2), ("\ufffd", 3)}
    assert gold.allowed(label(route="vector", table='my "t"'), path, ("b",)) == {1, 2, 3}


@pytest.mark.parametrize("sql", ["SELECT c FROM nothing", "SELECT 1; SELECT 2", 'DELETE FROM "my ""t"""'])
def test_a_gold_query_that_does_not_run_is_named(path, sql):
    with pytest.raises(LabelError, match="label a-7: the gold query fails"):
        gold.rows(label(sql=sql), path)
    with pytest.raises(LabelError, match="label a-7: the gold filter fails"):
        gold.allowed(label(route="vector", table="t", filter_sql="c = 1"), path, ("b",))


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY f(a) LIMIT 3)", False),
        (
            "WITH t AS (SELECT a, RANK() OVER (PARTITION BY b ORDER BY (c)) AS p FROM u) SELECT a FROM t",
            False,
        ),
        ("SELECT a FROM t WHERE b = 'order by (' AND \"order by\" = 1", False),
        ("SELECT a FROM (SELECT a FROM t ORDER BY 1) order  BY f(a)", True),
    ],
)
def test_rows_come_in_the_order_of_the_query_itself_alone(query, ordered):
    assert gold.is_ordered(query) is ordered
