"""Several workers of one source: grown under load, fair to short queries, and ended with their process."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_pools import ENDLESS, SCRIPT, SHORT, running, until

from sqlrag_dspy import Cancellation
from sqlrag_dspy.errors import Cancelled, QueryFailed, SourceBusy, SourceError
from sqlrag_dspy.source import pool
from sqlrag_dspy.source.pool import LEAST_MEMORY, byte_count, lease, shares
from sqlrag_dspy.types import CheckedSql, Policy


def test_one_question_after_another_needs_one_worker(over):
    source = over(workers=3)
    for _ in range(20):
        assert source.execute(SHORT).values == ((3,),)
    assert len(source._engine.pids) == 1


def test_short_queries_pass_slow_ones(over, background):
    source = over(workers=3)
    slow = [background(source.execute, ENDLESS) for _ in range(6)]
    until(lambda: running(source) >= 2)
    for _ in range(5):
        assert source.execute(SHORT).values == ((3,),)
    assert not any(each.done() for each in slow)
    assert len(source._engine.pids) <= 3
    source.close()
    assert all(isinstance(each.exception(), SourceError) for each in slow)


def test_a_query_that_overstays_in_the_quick_lane_is_answered_by_another_worker(over, background):
    source = over(workers=2)
    cancellation = Cancellation()

    def hold():
        with cancellation:
            source.execute(ENDLESS)

    holding = background(hold)
    until(lambda: running(source) == 1)
    long = background(
        source.execute, CheckedSql(f"SELECT count(*) FROM range({10**9}) a, range(4) b", (), ())
    )
    until(lambda: any(ticket.turn == 2 for ticket in source._engine._waiting))
    cancellation.cancel()
    assert long.result().values == ((4 * 10**9,),)
    assert isinstance(holding.exception(), Cancelled)


def test_a_worker_is_given_to_the_first_turns_in_the_quick_lane_and_else_in_order(over):
    engine = over(workers=2)._engine
    main, quick = engine._workers
    engine._idle = []
    tickets = [pool._Ticket(number) for number in range(4)]
    for ticket, turn in zip(tickets, (2, 1, 0, 0), strict=True):
        ticket.turn = turn
        engine._waiting.append(ticket)
    for worker in (quick, main, main, quick, quick):
        engine._take_back(worker)
    assert [ticket.worker for ticket in tickets] == [main, main, quick, quick]
    assert engine._idle == [quick]
    engine._idle = [main]


def test_a_query_that_no_worker_takes_in_time_says_so_once_and_clearly(over, background):
    source = over(workers=1, wait=0.2)
    background(source.execute, ENDLESS)
    until(lambda: running(source) == 1)
    with pytest.raises(SourceBusy, match=r"data\.db is busy: .*0\.2 s.*ask again later") as busy:
        source.execute(SHORT)
    assert busy.value.wall == "limit"
    assert not source._engine._waiting
    source.close()


@given(st.integers(1, 10**11), st.integers(1, 64))
def test_the_parts_of_the_workers_never_exceed_the_memory_limit(memory, workers):
    parts = shares(memory, workers)
    assert 1 <= len(parts) <= workers
    assert sum(parts) <= memory
    assert len(parts) == 1 or min(parts) >= LEAST_MEMORY // 2
    assert parts[0] == max(parts)


@given(st.floats(0.001, 10**6))
def test_a_lease_is_a_small_part_of_the_limit_within_bounds(seconds):
    assert 0.1 <= lease(seconds) <= 0.5
    assert lease(seconds) in (0.1, 0.5) or lease(seconds) == pytest.approx(seconds / 40)


def test_memory_is_told_in_any_unit():
    assert [byte_count(text) for text in ("1GB", "1.5 GiB", "300kb")] == [10**9, 3 << 29, 300_000]


def test_every_worker_is_jailed_and_has_the_views_of_the_session(over):
    source = over(policy=Policy(deny_columns=("n.s",)), workers=3)
    engine = source._engine
    for worker in engine._workers:
        worker.open(engine.prepare)
        limits = {"views": engine.views, "rows": 9, "bytes": 9999, "seconds": 9}
        assert worker.ask({"op": "checked", "sql": "SELECT * FROM n", **limits}, 9, ())["columns"] == ["x"]
        for statement in ("SELECT s FROM n", "SELECT * FROM src.main.n", "SELECT * FROM '/etc/passwd'"):
            with pytest.raises(QueryFailed):
                worker.ask({"op": "checked", "sql": statement, **limits}, 9, ())
        with pytest.raises(QueryFailed):
            worker.ask({"op": "trusted", "sql": "SET threads=7"}, 9, ())


def test_a_worker_whose_jail_leaks_is_never_used(over, background, tmp_path, monkeypatch):
    source = over(workers=2)
    leaky = tmp_path / "worker.py"
    text = pool.Worker.__init__.__globals__["WORKER"].read_text()
    leaky.write_text(text.replace('"SET enable_external_access=false",', ""))
    assert leaky.read_text() != text
    monkeypatch.setattr("sqlrag_dspy.source.execute.WORKER", leaky)
    background(source.execute, ENDLESS)
    until(lambda: running(source) == 1)
    waiting = background(source.execute, SHORT)
    until(lambda: source._engine._no_growth_before > 0)
    assert not waiting.done()
    assert len(source._engine.pids) == 1
    source.close()


def test_a_worker_that_ended_while_idle_is_replaced_unnoticed(over):
    source = over()
    (pid,) = source._engine.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: source._engine._workers[0]._process.child.poll() is not None)
    assert source.execute(SHORT).values == ((3,),)


def test_a_forked_copy_has_workers_of_its_own(over, tmp_path):
    source = over()
    assert source.execute(SHORT).values == ((3,),)
    told = tmp_path / "told"
    child = os.fork()
    if child == 0:
        try:
            told.write_text(str(source.execute(SHORT).values))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert told.read_text() == "((3,),)"
    assert source.execute(SHORT).values == ((3,),)


def has_ended(pid):
    """Whether a process is gone, or waits for a parent to take note of its end."""
    try:
        os.kill(pid, 0)
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return False


def test_workers_end_with_their_process_though_a_forked_copy_lives(tmp_path):
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.executescript(SCRIPT)
    code = (
        "import os, signal, time\nfrom sqlrag_dspy.settings import Limits\n"
        "from sqlrag_dspy.source import open_source\n"
        "source = open_source('data.db', limits=Limits())\nsource.catalog\n"
        "child = os.fork()\nif child == 0:\n    time.sleep(60)\n    os._exit(0)\n"
        "print(child, *source._engine.pids, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE) as started:
        copy, *workers = map(int, started.stdout.readline().split())
        try:
            assert workers
            until(lambda: all(map(has_ended, workers)))
            assert not has_ended(copy)
        finally:
            os.kill(copy, signal.SIGKILL)


def test_many_threads_get_their_own_results(over):
    source = over(workers=3)
    wrong = []

    def ask(number):
        for turn in range(20):
            rows = source.execute(
                CheckedSql(f"SELECT {number} AS a, {turn} AS b, x FROM n ORDER BY x", (), ())
            )
            if rows.values != tuple((number, turn, x) for x in (1, 2, 3)):
                wrong.append(rows)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    until(lambda: not running(source))
    assert not source._engine._waiting
