"""Queries stopped from outside: by a Cancellation, by closing, by Ctrl-C; the next one works."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
import traceback

import pytest
from source_pools import ENDLESS, LIMIT, SCRIPT, SHORT, running, until

import sqlrag_dspy
from sqlrag_dspy import Cancellation
from sqlrag_dspy.errors import Cancelled, SourceError


def test_cancelling_stops_what_runs_and_what_waits_and_the_next_query_works(over, background):
    source = over(workers=1)
    cancellation = Cancellation()

    def ask():
        with cancellation:
            source.execute(ENDLESS)

    asked = [background(ask) for _ in range(3)]
    until(lambda: running(source) == 1 and len(source._engine._waiting) == 2)
    start = time.monotonic()
    cancellation.cancel()
    assert all(isinstance(each.exception(), Cancelled) for each in asked)
    assert time.monotonic() - start < LIMIT / 4
    assert source.execute(SHORT).values == ((3,),)
    with cancellation, pytest.raises(Cancelled):
        source.execute(SHORT)
    assert source.execute(SHORT).values == ((3,),)


def test_cancelling_again_and_again_tells_of_nothing_but_the_cancelling(over, background):
    source = over(workers=1)
    for _ in range(3):  # the later ones may find a worker that has not yet started
        cancellation = Cancellation()

        def ask(cancellation=cancellation):
            with cancellation:
                source.execute(ENDLESS)

        asked = background(ask)
        until(lambda: running(source) == 1)
        cancellation.cancel()
        told = "".join(traceback.format_exception(asked.exception()))
        assert isinstance(asked.exception(), sqlrag_dspy.Cancelled)
        assert "the query was cancelled" in told
        assert "could not start" not in told
        assert "ended the database worker" not in told
    assert source.execute(SHORT).values == ((3,),)


def test_cancelling_stops_its_own_queries_alone(over, background):
    source = over(workers=2)
    cancellation = Cancellation()

    def ask(statement, seconds):
        with cancellation:
            return source.execute(statement, seconds=seconds)

    other = background(source.execute, ENDLESS, seconds=3)
    until(lambda: running(source) == 1)
    assert background(ask, SHORT, 3).result().values == ((3,),)
    cancellation.cancel()  # what it covered is over
    assert "3 s" in str(other.exception())


def test_an_outer_cancellation_cancels_the_inner_one(over):
    source = over()
    with Cancellation() as outer, Cancellation() as inner:
        source.execute(SHORT)
        outer.cancel()
        assert inner.is_cancelled
        with pytest.raises(Cancelled):
            source.execute(SHORT)
    assert source.execute(SHORT).values == ((3,),)


def test_a_cancellation_entered_again_is_cancelled_from_a_thread_and_from_a_task(over, background):
    source = over(workers=2)

    def ask(cancellation):
        with cancellation, Cancellation() as inner, cancellation, cancellation:
            assert inner is not cancellation
            source.execute(ENDLESS)

    cancellation = Cancellation()
    asked = [background(ask, cancellation) for _ in range(2)]
    until(lambda: running(source) == 2)
    background(cancellation.cancel).result(timeout=LIMIT / 4)
    assert all(isinstance(each.exception(timeout=LIMIT / 4), Cancelled) for each in asked)

    async def in_tasks():
        cancellation = Cancellation()
        with cancellation:
            tasks = [asyncio.create_task(asyncio.to_thread(ask, cancellation)) for _ in range(2)]
            while running(source) < 2:
                await asyncio.sleep(0.01)
            cancellation.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

    assert all(isinstance(each, Cancelled) for each in asyncio.run(in_tasks()))
    assert source.execute(SHORT).values == ((3,),)


def test_two_cancellations_entered_inside_each_other_are_both_cancelled_at_once(background):
    for _ in range(50):
        first, second = Cancellation(), Cancellation()
        with first, second, first:
            both = [background(first.cancel), background(second.cancel)]
            for each in both:
                each.result(timeout=LIMIT)
            assert first.is_cancelled
            assert second.is_cancelled


def test_what_was_cancelled_before_costs_no_worker(over):
    source = over(workers=1)
    source.execute(SHORT)
    pids = source._engine.pids
    cancellation = Cancellation()
    cancellation.cancel()
    for _ in range(3):
        with cancellation, pytest.raises(Cancelled):
            source.execute(SHORT)
    assert source.execute(SHORT).values == ((3,),)
    assert source._engine.pids == pids


def test_closing_ends_what_runs(over, background):
    source = over(workers=2)
    asked = [background(source.execute, ENDLESS) for _ in range(3)]
    until(lambda: running(source) == 2 and source._engine._waiting)
    pids = source._engine.pids
    source.close()
    for each in asked:
        with pytest.raises(SourceError, match="was closed"):
            each.result()
    assert source._engine.pids == []
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_ctrl_c_stops_the_query_and_the_next_one_works(tmp_path):
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.executescript(SCRIPT)
    code = (
        # A suite started in a shell's background passes on that Ctrl-C is ignored.
        "import os, signal, threading\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from sqlrag_dspy.settings import Limits\n"
        "from sqlrag_dspy.source import open_source\nfrom sqlrag_dspy.types import CheckedSql\n"
        "source = open_source('data.db', limits=Limits(seconds=60))\nsource.catalog\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"try:\n    source.execute(CheckedSql({ENDLESS.text!r}, (), ()))\n"
        "except KeyboardInterrupt:\n    print('stopped')\n"
        f"print(source.execute(CheckedSql({SHORT.text!r}, (), ())).values)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert done.stdout.splitlines() == ["stopped", "((3,),)"], done.stderr
