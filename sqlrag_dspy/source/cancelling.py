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

CANCELLED = "the query was cancelled"

_entered: ContextVar[tuple[tuple[Cancellation, _Stop | None], ...]] = ContextVar(
    "sqlrag_cancellations", default=()
)
"""What this thread is under, the innermost last, each with how the one around it cancels it."""


class _Stop:
    """What to call when cancelled, until it is left. A lock of its own: no call runs on after that."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._is_left = False

    def run(self) -> None:
        with self._lock:
            if not self._is_left:
                self._call()

    def leave(self) -> None:
        with self._lock:
            self._is_left = True


class Cancellation:
    """Stops the queries of a thread when another thread says so.

        cancellation = Cancellation()
        with cancellation:              # in the thread that asks
            source.execute(query)       # raises Cancelled once cancelled, within milliseconds
        cancellation.cancel()           # in any other thread, at any time

    Several threads may be under the same one, and a thread may enter it again. Once cancelled it stays so: make a
    new one for the next question. Cancelling an outer one cancels those entered inside it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._stops: list[_Stop] = []

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        """Stop what runs or waits under this cancellation, and refuse whatever comes after."""
        with self._lock:
            if self._is_cancelled:
                return
            self._is_cancelled = True
            stops = list(self._stops)
        # Outside the lock: two that were entered inside each other cancel each other.
        for stop in stops:
            stop.run()

    def check(self) -> None:
        """Raises Cancelled when cancelled."""
        if self._is_cancelled:
            # A worker that was killed for it is reported as lost, which is no cause of anything.
            raise Cancelled(CANCELLED) from None

    @contextmanager
    def stopping(self, call: Callable[[], object]) -> Iterator[None]:
        """Calls `call` if cancelled meanwhile; never after the block was left, nor if cancelled before it.

        Raises Cancelled at its start.
        """
        if (stop := self._added(call)) is None:
            raise Cancelled(CANCELLED)
        try:
            yield
        finally:
            self._remove(stop)

    def __enter__(self) -> Cancellation:
        stop, outer = None, current()
        if outer is not None and outer is not self:
            stop = outer._added(self.cancel)
            if stop is None:
                self.cancel()
        _entered.set((*_entered.get(), (self, stop)))
        return self

    def __exit__(self, *_: object) -> None:
        *rest, (_self, stop) = _entered.get()
        _entered.set(tuple(rest))
        if stop is not None and (outer := current()) is not None:
            outer._remove(stop)

    def _added(self, call: Callable[[], object]) -> _Stop | None:
        """None when it is cancelled already."""
        with self._lock:
            if self._is_cancelled:
                return None
            self._stops.append(stop := _Stop(call))
        return stop

    def _remove(self, stop: _Stop) -> None:
        with self._lock:
            self._stops.remove(stop)
        stop.leave()


def current() -> Cancellation | None:
    """The cancellation that this thread is under."""
    entered = _entered.get()
    return entered[-1][0] if entered else None
