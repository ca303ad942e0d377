"""The workers of one source: lent to whoever asks, first come first served, more of them only under load.

One of them is the quick lane. When every other worker is busy, a query runs there for a small part of its time
limit (`lease`), in two turns; one that overstays moves to the others' queue and starts again, which harms nothing
since all that is asked here only reads. So queries that take longer than that wait for each other, and short ones do
not wait for them. Leaves out how a worker runs a statement.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.errors import QueryFailed, SourceBusy, SqlRagError
from sqlrag_dspy.source import cancelling, failures
from sqlrag_dspy.source.attach import Place
from sqlrag_dspy.source.execute import Worker, closed

if TYPE_CHECKING:
    from sqlrag_dspy.settings import Limits

LEASE_SHARE = 0.025
"""Part of its time limit that a query may run in the quick lane: each worker that runs queries up to their limit
sends the next one here, so this is also the part of the quick lane's time that it costs."""
LEASE_BOUNDS = (0.1, 0.5)
FIRST_LEASE = 0.05
"""Seconds of its first turn; the second, after the first turns of all others, is the whole lease."""
LEASE_WAIT = 10
"""Times its lease that a query may stay in the quick lane. The lease is processor time, so that a short query stays
one on a busy machine; this is for those that wait for a disk."""
GROW_AFTER = 0.05
"""Seconds that a query waits for a worker before another is started."""
RETRY_AFTER = 5.0
"""Seconds without another try when one could not be started."""
LEAST_MEMORY = 64 * 1000**2
"""Bytes that a worker needs to be of use: a small limit has fewer workers."""
MAX_BYTES = 64 << 20
"""Characters, about, that one result may hold."""

_UNITS = {"K": 1000, "M": 1000**2, "G": 1000**3, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}


def byte_count(memory: str) -> int:
    """Bytes of a memory limit such as "1GB" or "512 MiB"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s?([KMG]I?)B", memory.strip().upper())
    return int(float(match[1]) * _UNITS[match[2]]) if match else _UNITS["G"]


def shares(memory: int, workers: int) -> list[int]:
    """Bytes of each worker, the quick lane second: a quarter at most is its, the others have equal parts."""
    workers = max(1, min(workers, memory // LEAST_MEMORY))
    if workers == 1:
        return [memory]
    quick = min(memory // 4, memory // workers)
    part = (memory - quick) // (workers - 1)
    return [part, quick] + [part] * (workers - 2)


def lease(seconds: float) -> float:
    """Seconds of processor time that a query with that time limit has in the quick lane."""
    least, most = LEASE_BOUNDS
    return min(max(LEASE_SHARE * seconds, least), most)


class _Ticket:
    """One query's place in the queue. `turn` counts those that it had in the quick lane; it has two at most."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.turn = 0
        self.worker: Worker | None = None
        self.called = threading.Event()
        """Set when it has a worker, and when it must stop waiting."""

    def fits(self, worker: Worker) -> bool:
        return self.turn < 2 or not worker.is_quick


class Engine:
    """Runs statements in the workers of one source, from any thread; one worker unless several are needed."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.place = place
        self.limits = limits
        self.prepare: tuple[str, ...] = ()
        """Statements that each new worker runs first: the views."""
        self.views: tuple[str, ...] = ()
        """Their names: all that SQL from outside may read."""
        self._is_closed = False
        self._numbers = itertools.count()
        self._own = threading.local()
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._workers = [
            Worker(
                self.place, memory=memory, threads=self.limits.threads, number=number, is_quick=number == 1
            )
            for number, memory in enumerate(shares(byte_count(self.limits.memory), self.limits.workers))
        ]
        self._idle = self._workers[:1]
        self._absent = self._workers[1:]
        self._starting: list[Worker] = []
        self._no_growth_before = 0.0

    def start(self) -> None:
        """Start the first worker without waiting for it."""
        self._workers[0].start()

    def close(self) -> None:
        """End all workers, also those that run something: whoever waits gets a SourceError."""
        with self._lock:
            self._is_closed = True
            for ticket in self._waiting:
                ticket.called.set()
        for worker in self._workers:
            worker.close()

    @property
    def pids(self) -> list[int]:
        """The numbers of the worker processes that there are."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def trusted(
        self, sql: str, params: Sequence[Any] = (), *, seconds: float | None = None
    ) -> list[list[Any]]:
        """Rows of a statement written by this room. Raises QueryFailed; wall says why."""
        request = {"op": "trusted", "sql": sql, "params": list(params), "seconds": seconds}
        rows: list[list[Any]] = self._ask(request, seconds)["rows"]
        return rows

    def checked(self, sql: str, *, seconds: float, rows: int) -> dict[str, Any]:
        """Columns, rows and truncated of one SELECT from outside, within time, row and byte limits.

        Raises QueryFailed, in words for whoever wrote it.
        """
        request = {
            "op": "checked", "sql": sql, "views": self.views, "seconds": seconds, "rows": rows, "bytes": MAX_BYTES,
        }  # fmt: skip
        try:
            return self._ask(request, seconds)
        except QueryFailed as error:
            raise QueryFailed(failures.advised(str(error)), wall=error.wall) from error

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """One worker for all that this thread asks meanwhile: for statements that leave something behind."""
        ticket = _Ticket(next(self._numbers))
        ticket.turn = 2
        worker = self._lend(ticket)
        self._own.worker = worker
        try:
            yield
        finally:
            self._own.worker = None
            self._take_back(worker)

    def _ask(self, request: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        pinned: Worker | None = getattr(self._own, "worker", None)
        if pinned is not None:
            return pinned.ask(request, seconds, self.prepare)
        ticket = _Ticket(next(self._numbers))
        whole = lease(self.limits.seconds if seconds is None else seconds)
        while True:
            worker = self._lend(ticket)
            try:
                if not worker.is_quick:
                    return worker.ask(request, seconds, self.prepare)
                processor = whole if ticket.turn else FIRST_LEASE
                stay = LEASE_WAIT * processor if seconds is None else min(LEASE_WAIT * processor, seconds)
                try:
                    return worker.ask(
                        {**request, "seconds": stay, "processor": processor}, stay, self.prepare
                    )
                except QueryFailed as error:
                    # Time or memory of the quick lane: the others have more of both.
                    if error.wall != "limit":
                        raise
            finally:
                self._take_back(worker)
            ticket.turn += 1

    # --- lending ---

    def _lend(self, ticket: _Ticket) -> Worker:
        """A worker for this ticket. Raises SourceBusy when none is free in time, SourceError when closed."""
        if self._owner != os.getpid():
            self._begin()  # a forked copy: the workers are its parent's
        with self._lock:
            self._check_open()
            fitting = [worker for worker in self._idle if ticket.fits(worker)]
            if fitting:
                worker = min(fitting, key=lambda each: (each.is_quick, each.number))
                self._idle.remove(worker)
                return worker
            ticket.worker = None
            ticket.called.clear()
            self._waiting.append(ticket)
        cancellation = cancelling.current()
        try:
            with cancellation.stopping(ticket.called.set) if cancellation else nullcontext():
                return self._wait(ticket)
        except BaseException:
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
            if ticket.worker is not None:
                self._take_back(ticket.worker)
            raise

    def _wait(self, ticket: _Ticket) -> Worker:
        end = time.monotonic() + self.limits.wait
        pause = GROW_AFTER
        while (left := end - time.monotonic()) > 0:
            if ticket.called.wait(min(pause, left)):
                if ticket.worker is not None:
                    return ticket.worker
                if (cancellation := cancelling.current()) is not None:
                    cancellation.check()
                self._check_open()
            self._grow(ticket)
            pause = 10 * GROW_AFTER
        raise SourceBusy(
            f"{self.place.path} is busy: its workers had other queries for {self.limits.wait:g} s; "
            "ask again later, or raise workers or wait under [limits]"
        )

    def _take_back(self, worker: Worker) -> None:
        """Hand a worker to the next in the queue that it fits."""
        with self._lock:
            if self._is_closed or worker not in self._workers:
                return
            fitting = [ticket for ticket in self._waiting if ticket.fits(worker)]
            if not fitting:
                self._idle.append(worker)
                return
            # In the quick lane first turns go first; else whoever came first does.
            ticket = min(fitting, key=lambda each: (each.turn if worker.is_quick else 0, each.number))
            self._waiting.remove(ticket)
            ticket.worker = worker
            ticket.called.set()

    def _check_open(self) -> None:
        if self._is_closed:
            raise closed(self.place)

    # --- growing ---

    def _grow(self, ticket: _Ticket) -> None:
        """Start one more worker that fits, unless all are there or one is on its way."""
        with self._lock:
            if self._is_closed or time.monotonic() < self._no_growth_before:
                return
            if any(ticket.fits(worker) for worker in self._starting):
                return
            worker = next((each for each in self._absent if ticket.fits(each)), None)
            if worker is None:
                return
            self._absent.remove(worker)
            self._starting.append(worker)
        threading.Thread(target=self._bring_up, args=(worker,), daemon=True).start()

    def _bring_up(self, worker: Worker) -> None:
        try:
            worker.open(self.prepare)
        except SqlRagError:
            # Those that run go on. Whoever asks them learns what is wrong with the source.
            with self._lock:
                self._starting.remove(worker)
                self._absent.insert(0, worker)
                self._no_growth_before = time.monotonic() + RETRY_AFTER
            return
        with self._lock:
            self._starting.remove(worker)
        self._take_back(worker)
