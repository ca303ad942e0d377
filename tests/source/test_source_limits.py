"""Runaway queries that the check lets through: they end at their limit, within it, and the next query works."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.source.execute import GRACE
from sqlrag_dspy.source.worker import MEMORY_SLACK
from sqlrag_dspy.sql import check

SECONDS = 1.0
MEMORY = 256 * 1000**2
NOISE = 0.5
"""Seconds that a busy machine may add."""
ROWS = 50_000

RUNAWAYS = {
    "a join on what nearly all rows share": "SELECT count(*) FROM big a JOIN big b ON a.kind = b.kind "
    "JOIN big c ON b.kind = c.kind",
    "a product of texts": "SELECT count(DISTINCT a.text || b.text) FROM big a JOIN big b ON a.kind = b.kind",
    "a sort of everything": "SELECT a.text, b.text FROM big a JOIN big b ON a.kind = b.kind "
    "ORDER BY b.text || a.text, a.id, b.id LIMIT 900 OFFSET 900000",
    "a window over a product": "SELECT sum(b.id) OVER (PARTITION BY a.kind ORDER BY a.id, b.id) FROM big a "
    "JOIN big b ON a.kind = b.kind",
    "a list of everything": "SELECT list(a.text || b.text) FROM big a JOIN big b ON a.kind = b.kind",
    "a correlated comparison": "SELECT a.id FROM big a WHERE (SELECT sum(length(b.text || a.text)) FROM big b "
    "WHERE b.id <> a.id) > 5",
    "distances of long texts": "SELECT sum(levenshtein(repeat(a.text, 90), repeat(a.kind, 900))) FROM big a",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "data.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE big (id INTEGER PRIMARY KEY, kind TEXT, text TEXT)")
        connection.executemany(
            "INSERT INTO big VALUES (?, ?, ?)",
            [(n, "xy"[n % 99 == 0], f"text number {n} " * 5) for n in range(ROWS)],
        )
    limits = Limits(seconds=SECONDS, memory="256MB", rows=1000, workers=1)
    with open_source(str(path), limits=limits) as opened:
        assert opened.catalog.table("big").rows == ROWS
        yield opened


def peak(pid: int) -> int:
    """The most memory a process ever held, in bytes; 0 when the system does not tell or the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


@pytest.mark.parametrize("name", RUNAWAYS)
def test_a_runaway_ends_at_its_limit_and_the_next_query_works(name, source):
    query = check(RUNAWAYS[name], source.catalog)
    assert source.execute(check("SELECT count(*) FROM big", source.catalog)).values == ((ROWS,),)
    pid = source._engine.pids[0]
    start = time.monotonic()
    with pytest.raises(QueryFailed) as stopped:
        source.execute(query)
    spent = time.monotonic() - start
    assert stopped.value.wall == "limit"
    assert spent < SECONDS + GRACE + NOISE  # interrupted at the limit, killed when that did not help
    assert peak(pid) < MEMORY + MEMORY_SLACK * 1.5
    assert source.execute(check("SELECT max(id) FROM big", source.catalog)).values == ((ROWS - 1,),)


def test_the_cross_join_of_the_largest_table_is_refused_before_it_runs(source):
    for join in (
        "big a, big b",
        "big a CROSS JOIN big b",
        "big a JOIN big b ON TRUE",
        "big a JOIN big b ON a.id < b.id",
    ):
        with pytest.raises(SqlRejected):
            check(f"SELECT count(*) FROM {join}", source.catalog)
