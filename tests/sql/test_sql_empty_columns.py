"""A column that has no value yet is what it was declared as, in SQLite and in DuckDB, whatever is asked of it."""

from __future__ import annotations

import sqlite3

import duckdb
import pytest

from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.sql import check

COLUMNS = "i INTEGER, r DOUBLE, n DECIMAL(10, 2), b BOOLEAN, d DATE, m TIMESTAMP, s VARCHAR(10)"
ASKED = [
    ("SELECT sum(i), avg(r), max(n), total(i), sum(s), median(r) FROM t", [None, None, None, 0.0, None, None]),
    ("SELECT sum(coalesce(i, 1)), sum(coalesce(r, 1.5)), sum(coalesce(n, 1)) FROM t", [2, 3, 2]),
    ("SELECT max(i + 1), max(r / 2), max(i % 2), max(abs(n)), max(round(r, 1)) FROM t", [None] * 5),
    ("SELECT sum(CASE WHEN i IS NULL THEN 0 ELSE i END), max(iif(r > 1, r, 2)) FROM t", [0, 2]),
    ("SELECT count(*) FROM t WHERE i > 3 OR r = '2' OR n BETWEEN 1 AND 2 OR i IN (1, '2') OR s = 4", [0]),
    ("SELECT count(*) FROM t WHERE b = 1 OR b IS TRUE OR d >= '2024-01-01' OR m < '2024-01-01 10:00'", [0]),
    ("SELECT max(strftime('%Y', d)), max(date(m, '+1 day')), max(substr(d, 1, 4)) FROM t", [None] * 3),
    ("SELECT avg(m - d), max(d - d), max(julianday(m) - julianday(d)) FROM t", [None] * 3),
    ("SELECT max(coalesce(d, '2024-01-01')), max(coalesce(s, 'x')), max(s || i) FROM t", ["2024-01-01", "x", None]),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def source(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / f"data.{request.param}"
    connection = sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(str(path))
    connection.execute(f"CREATE TABLE t ({COLUMNS})")
    connection.execute("INSERT INTO t (i) VALUES (NULL), (NULL)")
    connection.commit()
    connection.close()
    with open_source(f"{request.param}:///{path}", limits=Limits()) as opened:
        yield opened


@pytest.mark.parametrize(("statement", "row"), ASKED)
def test_nothing_is_computed_from_nothing_without_an_error(statement, row, source):
    query = check(statement, source.catalog)
    assert check(query.text, source.catalog) == query
    assert list(source.execute(query).values) == [tuple(row)]
