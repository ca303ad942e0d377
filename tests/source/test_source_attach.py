"""URLs, and files that are missing, wrong, corrupt or locked: one clear line each."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sqlrag_dspy.errors import QueryFailed, SourceError
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.types import CheckedSql


def build(path: Path, rows: int = 3) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE n (x INTEGER PRIMARY KEY, s TEXT)")
    connection.executemany("INSERT INTO n VALUES (?,?)", [(i, f"row {i} " * 20) for i in range(rows)])
    connection.commit()
    connection.close()
    return path


def refused(url: str) -> str:
    with pytest.raises(SourceError) as caught:
        open_source(url, limits=Limits())
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "form", ["sqlite:///data.db", "sqlite:////{0}", "{0}", "data.db", "./data.db", "sqlite:///da%74a.db"]
)
def test_url_forms(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    path = build(tmp_path / "data.db")
    url = form.format(str(path).removeprefix("/") if form.startswith("sqlite") else path)
    with open_source(url, limits=Limits()) as source:
        assert source.url == url
        assert source.catalog.table("N").rows == 3


def test_the_kind_is_told_by_the_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "x.sqlite"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    with open_source(str(path), limits=Limits()) as source:
        assert source.catalog.dialect == "duckdb"


def test_files_that_are_no_database(tmp_path):
    (tmp_path / "notes.txt").write_text("some words, no database\n" * 20)
    (tmp_path / "empty.db").touch()
    (tmp_path / "cut.db").write_bytes(build(tmp_path / "whole.db").read_bytes()[:60])
    assert "no file" in refused(f"sqlite:///{tmp_path}/none.db")
    assert "is a folder" in refused(str(tmp_path))
    assert "not a SQLite or DuckDB database" in refused(str(tmp_path / "notes.txt"))
    assert "is empty" in refused(str(tmp_path / "empty.db"))
    assert "corrupt" in refused(str(tmp_path / "cut.db"))
    assert "no source is set" in refused("")


def test_a_missing_slash_is_explained(tmp_path, monkeypatch):
    path = build(tmp_path / "data.db")
    monkeypatch.chdir(tmp_path)
    assert "four slashes" in refused(f"sqlite://{path}")


@pytest.mark.parametrize("url", ["postgresql://localhost/x", "mysql://root@localhost/x", "oracle://x"])
def test_other_databases_are_named_as_not_read(url):
    assert url.split(":")[0] in refused(url)


def test_a_corrupt_file_is_one_line(tmp_path):
    path = build(tmp_path / "data.db", 5000)
    raw = bytearray(path.read_bytes())
    raw[100:4096] = b"\xff" * 3996
    path.write_bytes(raw)
    with (
        open_source(str(path), limits=Limits()) as source,
        pytest.raises(SourceError, match="corrupt") as caught,
    ):
        _ = source.catalog
    assert "\n" not in str(caught.value)


def test_corrupt_pages_are_one_line(tmp_path):
    path = build(tmp_path / "data.db", 5000)
    raw = bytearray(path.read_bytes())
    raw[8192:] = b"\xff" * (len(raw) - 8192)
    path.write_bytes(raw)
    with (
        open_source(str(path), limits=Limits()) as source,
        pytest.raises(SourceError, match="corrupt") as caught,
    ):
        _ = source.catalog
    assert "\n" not in str(caught.value)


LOCKER = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); "
    "c.execute('INSERT INTO n VALUES (99, 0)'); print('locked', flush=True); sys.stdin.read()"
)


def test_a_locked_file_is_one_line_and_works_when_free(tmp_path):
    path = build(tmp_path / "data.db")
    # Locks of one process are not seen by the same process: the writer must be another.
    locker = subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert locker.stdout.readline()
    with open_source(str(path), limits=Limits()) as source:
        with pytest.raises(SourceError, match="locked"):
            _ = source.catalog
        locker.kill()
        locker.communicate()
        assert source.catalog.table("n").rows == 3
        locker = subprocess.Popen(
            [sys.executable, "-c", LOCKER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert locker.stdout.readline()
        with pytest.raises(QueryFailed, match="locked"):
            source.execute(CheckedSql("SELECT count(*) FROM n", (), ()))
        locker.kill()
        locker.communicate()
        assert source.execute(CheckedSql("SELECT count(*) FROM n", (), ())).values == ((3,),)


def test_a_write_ahead_log_is_read(tmp_path):
    path = build(tmp_path / "data.db")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=wal")
    writer.execute("INSERT INTO n VALUES (50, 'in the log')")
    writer.commit()
    with open_source(str(path), limits=Limits()) as source:
        assert source.catalog.table("n").rows == 4
    writer.close()


def test_the_file_is_left_as_it_was(tmp_path):
    path = build(tmp_path / "data.db")
    before = path.read_bytes()
    with open_source(str(path), limits=Limits()) as source:
        list(source.scan("n", ["s"]))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["data.db"]


def test_no_table_at_all_is_one_line(tmp_path):
    path = tmp_path / "data.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE x (a); DROP TABLE x;")
    connection.close()
    with open_source(str(path), limits=Limits()) as source, pytest.raises(SourceError, match="no table"):
        _ = source.catalog


HALF_DONE = """
import os, signal, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("PRAGMA cache_spill = 1")
c.execute("BEGIN")
c.execute("CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
          "SELECT i, hex(randomblob(50)) FROM n")
c.execute("UPDATE n SET a = a + 1")
c.execute("UPDATE big SET i = i + 1")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL there")
def test_a_change_that_a_crash_left_half_done_is_one_line(tmp_path):
    path = tmp_path / "data.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE n (id INTEGER PRIMARY KEY, a INTEGER)")
    connection.executemany("INSERT INTO n VALUES (?, 0)", [(k,) for k in range(1000)])
    connection.commit()
    connection.close()
    subprocess.run([sys.executable, "-c", HALF_DONE, str(path)], check=False)
    assert path.with_name("data.db-journal").is_file()
    with (
        open_source(str(path), limits=Limits()) as source,
        pytest.raises(SourceError, match="unfinished change of a program that ended early; open it once"),
    ):
        _ = source.catalog
    sqlite3.connect(path).execute("SELECT count(*) FROM n").fetchone()
    with open_source(str(path), limits=Limits()) as source:
        assert source.catalog.table("n").rows == 1000
