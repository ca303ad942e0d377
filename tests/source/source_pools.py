"""A small source, queries that end and that do not, and waiting: for tests of several workers."""

from __future__ import annotations

import time

from sqlrag_dspy.types import CheckedSql

SCRIPT = "CREATE TABLE n (x INTEGER PRIMARY KEY, s TEXT); INSERT INTO n VALUES (1,'a'),(2,'b'),(3,NULL);"
ENDLESS = CheckedSql("SELECT count(*) FROM range(1000000000) a, range(1000) b", (), ())
SHORT = CheckedSql("SELECT count(*) FROM n", (), ())
LIMIT = 60.0
"""Seconds that an endless query may run: what ends sooner was ended by what is tested."""


def until(condition, seconds=30.0):
    """Wait for a condition, as long as a busy machine may need."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def running(source):
    """How many workers are lent."""
    engine = source._engine
    return len(engine._workers) - len(engine._idle) - len(engine._absent) - len(engine._starting)
