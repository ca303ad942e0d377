"""Checked SQL in the worker: values, limits, the jail, crashes and threads."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sqlrag_dspy.errors import QueryFailed, SourceError, SqlRagError
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.types import CheckedSql

SCRIPT = "CREATE TABLE n (x INTEGER PRIMARY KEY, s TEXT); INSERT INTO n VALUES (1,'a'),(2,'b'),(3,NULL);"


def checked(sql: str) -> CheckedSql:
    return CheckedSql(sql, (), ())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """One source for the whole file: whatever a test does to its worker, the next one must find it working."""
    path = tmp_path_factory.mktemp("execute") / "data.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCRIPT)
    with open_source(str(path), limits=Limits(seconds=1, rows=5, memory="700MB")) as opened:
        yield opened


def failure(source, sql, **options) -> QueryFailed:
    with pytest.raises(QueryFailed) as caught:
        source.execute(checked(sql), **options)
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("DATE '2023-04-17'", "2023-04-17"),
        ("TIMESTAMP '2023-04-17 10:00:00'", "2023-04-17 10:00:00"),
        ("TIMESTAMPTZ '2023-04-17 10:00:00+02'", "2023-04-17 08:00:00+00"),
        ("TIME '10:00:00'", "10:00:00"),
        ("INTERVAL 1 DAY", "1 day"),
        ("1.5::DECIMAL(10,2)", 1.5),
        ("sum(9223372036854775807)", 9223372036854775807),
        ("9223372036854775807::HUGEINT * 4", 36893488147419103228),
        ("'NaN'::DOUBLE", None),
        ("'-inf'::DOUBLE", None),
        ("'\\xFF\\x00'::BLOB", "ff00"),
        ("'abc'::BLOB", "abc"),
        ("[1, 2]", "[1, 2]"),
        ("{'a': DATE '2020-01-01'}", "{'a': 2020-01-01}"),
        ("true", True),
        ("NULL", None),
        ("'é' || chr(8232) || chr(10) || 'x'", "é\u2028\nx"),
        ("'a'::ENUM('a', 'b')", "a"),
    ],
)
def test_values_are_json(source, sql, value):
    (row,) = source.execute(checked(f"SELECT {sql} AS v")).values
    assert row == (value,)
    assert type(row[0]) is type(value)


def test_columns_and_order_are_those_of_the_statement(source):
    rows = source.execute(checked('SELECT x AS a, s AS "b c", x + 1 FROM n ORDER BY x DESC LIMIT 2'))
    assert rows.columns == ("a", "b c", "(x + 1)")
    assert rows.values == ((3, None, 4), (2, "b", 3))
    assert not rows.truncated


def test_rows_are_cut_at_the_limit_and_said_so(source):
    rows = source.execute(checked("SELECT i FROM range(1000) r(i) ORDER BY i DESC"))
    assert rows.values == tuple((i,) for i in range(999, 994, -1))
    assert rows.truncated
    assert not source.execute(checked("SELECT i FROM range(5) r(i)")).truncated
    assert len(source.execute(checked("SELECT i FROM range(1000) r(i)"), rows=50).values) == 50


def test_a_wide_result_is_cut_by_size(source):
    rows = source.execute(checked("SELECT repeat('x', 30000000) FROM range(5)"), seconds=20)
    assert rows.truncated
    assert 1 <= len(rows.values) < 5


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x) SELECT count(*) FROM x",
        "SELECT count(*) FROM range(1000000000) a, range(1000) b",
        "SELECT length(repeat('x', 2000000000))",
        "SELECT list(i) FROM range(300000000) r(i)",
    ],
)
def test_endless_and_huge_queries_end_at_the_limit(source, sql):
    source.execute(checked("SELECT 1"))
    start = time.monotonic()
    error = failure(source, sql)
    assert error.wall == "limit"
    assert time.monotonic() - start < 1 + 2
    assert source.execute(checked("SELECT count(*) FROM n a, n b")).values == ((9,),)


def test_a_wrong_statement_says_what_is_wrong(source):
    error = failure(source, "SELECT y FROM n")
    assert error.wall == "connection"
    assert 'column "y" not found' in str(error)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "ATTACH '/etc/passwd' AS o",
        "COPY (SELECT 1) TO '/tmp/sqlrag_should_not_exist.csv'",
        "SET threads = 8",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "INSERT INTO src.main.n VALUES (9, 'x')",
        "CREATE TABLE src.main.evil (x INT)",
        "DELETE FROM src.main.n",
        "CREATE VIEW n AS SELECT 1",
        "DROP VIEW n",
        "SELECT 1; SELECT 2",
        "EXPLAIN SELECT 1",
        "",
    ],
)
def test_the_jail_refuses_whatever_the_check_let_through(source, sql):
    failure(source, sql)
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((3,),)
    assert not Path("/tmp/sqlrag_should_not_exist.csv").exists()


def test_a_crash_costs_one_query(source):
    source.execute(checked("SELECT 1"))
    (pid, *_) = source._engine.pids
    threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
    assert "worker" in str(
        failure(source, "SELECT count(*) FROM range(1000000000) a, range(1000) b", seconds=5)
    )
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((3,),)
    assert list(source.scan("n", ["x"])) == [(1,), (2,), (3,)]


SLOW = "SELECT count(*) FROM range(100000) a, range(1500) b WHERE (a.range * b.range) % 7 = 3"


@pytest.mark.parametrize("fault", [signal.SIGSEGV, signal.SIGABRT])
def test_a_statement_under_which_the_engine_crashes_once_is_asked_again(source, fault):
    source.execute(checked("SELECT 1"))
    (pid, *_) = source._engine.pids
    threading.Timer(0.1, os.kill, (pid, fault)).start()
    assert source.execute(checked(SLOW), seconds=20).values[0][0] > 0
    assert pid not in source._engine.pids


def test_a_statement_under_which_the_engine_always_crashes_is_refused(source):
    source.execute(checked("SELECT 1"))
    done = threading.Event()

    def crash() -> None:
        while not done.wait(0.05):
            for pid in source._engine.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSEGV)

    crashing = threading.Thread(target=crash)
    crashing.start()
    try:
        with pytest.raises(SqlRagError, match="worker"):
            source.execute(checked("SELECT count(*) FROM range(1000000000) a, range(1000) b"), seconds=5)
    finally:
        done.set()
        crashing.join()
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((3,),)


def test_many_threads_share_a_source(source):
    results: dict[int, object] = {}

    def ask(number: int) -> None:
        for _ in range(5):
            results[number] = source.execute(checked(f"SELECT {number} + x FROM n ORDER BY x")).values
            assert list(source.scan("n", ["x"])) == [(1,), (2,), (3,)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: ((number + 1,), (number + 2,), (number + 3,)) for number in range(8)}


def test_a_copy_is_the_source_itself(source):
    assert copy.deepcopy(source) is source
    assert copy.copy(source) is source


def test_a_closed_source_says_so(make):
    with make(SCRIPT) as source:
        assert source.catalog.table("n").rows == 3
        (pid,) = source._engine.pids
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(SourceError, match="was closed"):
        source.execute(checked("SELECT 1"))


def test_new_rows_are_seen_without_reopening(make, tmp_path):
    source = make(SCRIPT)
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((3,),)
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.execute("INSERT INTO n VALUES (4, 'd')")
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((4,),)
    assert list(source.scan("n", ["s"], [4])) == [("d",)]


def test_a_table_dropped_since_fails_alone(make, tmp_path):
    source = make(SCRIPT + "CREATE TABLE old (y INTEGER PRIMARY KEY, t TEXT);")
    assert source.catalog.table("old") is not None
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.execute("DROP TABLE old")
    process = source._engine._workers[0]._process.child
    process.kill()
    process.wait()
    assert source.execute(checked("SELECT count(*) FROM n")).values == ((3,),)
    failure(source, "SELECT * FROM old")


def test_an_application_needs_no_main_guard_and_the_worker_ends_with_it(tmp_path):
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.executescript(SCRIPT)
    script = tmp_path / "app.py"
    # Files that would shadow the standard library if the worker looked beside itself or here.
    (tmp_path / "queue.py").write_text("raise RuntimeError('shadowed')")
    script.write_text(
        "from sqlrag_dspy.settings import Limits\nfrom sqlrag_dspy.source import open_source\n"
        "source = open_source('sqlite:///data.db', limits=Limits())\n"
        "print(source.catalog.table('n').rows, source._engine.pids[0], flush=True)\n"
        "import os; os._exit(0)\n"
    )
    (tmp_path / "queue.py").unlink()
    out = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert out.stderr == ""
    rows, pid = map(int, out.stdout.split())
    assert rows == 3
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent")


def test_the_main_process_never_imports_duckdb(tmp_path):
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.executescript(SCRIPT)
    code = (
        "import sys; from sqlrag_dspy.settings import Limits; from sqlrag_dspy.source import open_source\n"
        "s = open_source('data.db', limits=Limits()); s.catalog; list(s.scan('n', ['x'])); "
        "print('duckdb' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert out.stdout.strip() == "False", out.stderr


def test_opening_is_quick_and_lazy(make, tmp_path):
    cache = tmp_path / "cache.json"
    _ = make(SCRIPT, cache=cache).catalog
    start = time.monotonic()
    source = open_source(str(tmp_path / "data.db"), limits=Limits(), cache=cache)
    opened = time.monotonic() - start
    assert source.catalog.table("n").rows == 3
    source.execute(checked("SELECT 1"))
    source.close()
    assert opened < 0.1
    assert time.monotonic() - start < 2
