"""A way to stop what runs in a database worker from another thread.

Entering a `Cancellation` makes it hold for everything that this thread (or asyncio task) asks of any source until
it is left. Leaves out what is stopped how: whoever waits says what to call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlrag_dspy.errors import Cancelled

_entered: ContextVar[tuple[Cancellation, ...]] = ContextVar("sqlrag_cancellations", default=())


class Cancellation:
    """Stops the queries of a thread when another thread says so.

        cancellation = Cancellation()
        with cancellation:              # in the thread that asks
            source.execute(query)       # raises Cancelled once cancelled, within milliseconds
        cancellation.cancel()           # in any other thread, at any time

    Several threads may be under the same one. Once cancelled it stays so: make a new one for the next question.
    Cancelling an outer one cancels those entered inside it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._stops: list[Callable[[], object]] = []

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        """Stop what runs or waits under this cancellation, and refuse whatever comes after."""
        with self._lock:
            self._is_cancelled = True
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Raises Cancelled when cancelled."""
        if self._is_cancelled:
            raise Cancelled("the query was cancelled")

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Calls `stop` if cancelled meanwhile; never after the block was left. Raises Cancelled at its start."""
        self.check()
        self._add(stop)
        try:
            yield
        finally:
            self._remove(stop)

    def __enter__(self) -> Cancellation:
        if (outer := current()) is not None:
            outer._add(self.cancel)
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])
        if (outer := current()) is not None:
            outer._remove(self.cancel)

    def _add(self, stop: Callable[[], object]) -> None:
        with self._lock:
            self._stops.append(stop)
            if self._is_cancelled:
                stop()

    def _remove(self, stop: Callable[[], object]) -> None:
        with self._lock:
            self._stops.remove(stop)


def current() -> Cancellation | None:
    """The cancellation that this thread is under."""
    entered = _entered.get()
    return entered[-1] if entered else None
