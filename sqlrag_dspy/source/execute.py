"""One worker process seen from here: started in the background, asked one thing at a time, replaced when lost.

A statement that overstays is interrupted by the worker; when that comes too late the worker is killed, and another
started. One under which the engine crashes is asked once more of a new worker, since a crash may be chance.
Leaves out who gets which worker (`pool`) and what is asked (`catalog`, `scan`, `database`).
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from sqlrag_dspy.errors import QueryFailed, SourceError, SqlRagError
from sqlrag_dspy.source import cancelling
from sqlrag_dspy.source.attach import Place, scanner_path

WORKER = Path(__file__).with_name("worker.py")
EXIT_MEMORY = 86
GRACE = 0.5
"""Seconds an interrupted statement has to end before its process is killed."""
CRASHES = frozenset({-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT})
"""Exit codes of a process whose engine failed by itself; nobody killed it."""
START_SECONDS = 60.0


class _Process:
    """One running worker, with a thread that collects its replies."""

    def __init__(self, place: Place, memory: int, threads: int) -> None:
        self.owner = os.getpid()
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        # -P: no folder is put before the standard library, so files beside the script cannot shadow it.
        self.child = subprocess.Popen(
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            close_fds=True,
        )
        self.replies: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_collect, args=(self.child.stdout, self.replies), daemon=True).start()
        self.is_ready = False
        self.ends: weakref.finalize[..., Any] | None = None
        """Ends the process when its worker is forgotten."""
        self.send(
            {
                "kind": place.kind,
                "path": str(place.path),
                "extension": scanner_path() if place.kind == "sqlite" else "",
                "memory": f"{memory}B",
                "ceiling": memory,
                "threads": threads,
            }
        )

    def send(self, message: dict[str, Any]) -> None:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
        except (BrokenPipeError, ValueError):
            # It has ended; the empty reply that follows says so, with its exit code.
            pass

    def receive(self, seconds: float | None) -> dict[str, Any] | None:
        """The next reply; None when the process has ended. Raises queue.Empty when time is up."""
        line = self.replies.get(timeout=seconds)
        if not line:
            return None
        reply: dict[str, Any] = json.loads(line)
        return reply

    def end(self) -> None:
        """Stop it for good."""
        if self.ends is not None:
            self.ends.detach()
        _end(self.child, self.owner)
        self.errors.close()

    def last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else ""


def _collect(source: IO[bytes] | None, replies: queue.Queue[bytes]) -> None:
    assert source is not None
    try:
        for line in iter(source.readline, b""):
            replies.put(line)
    except (OSError, ValueError):
        pass
    replies.put(b"")


def _end(child: subprocess.Popen[bytes], owner: int) -> None:
    """Stop a worker for good, unless this is a forked copy of the process that started it."""
    if os.getpid() != owner:
        return
    if child.poll() is None:
        child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class Worker:
    """One worker process for whoever holds it: started when needed, asked one thing at a time, replaced when lost.

    `memory` is in bytes. Only `start`, `stop` and `close` may be called by others than the holder.
    """

    def __init__(
        self, place: Place, *, memory: int, threads: int, number: int = 0, is_quick: bool = False
    ) -> None:
        self.place = place
        self.memory = memory
        self.threads = threads
        self.number = number
        self.is_quick = is_quick
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The process's number; None while there is none."""
        process = self._process
        return None if process is None else process.child.pid

    def start(self) -> None:
        """Start a process without waiting for it, unless there is one."""
        with self._lock:
            if self._is_closed:
                raise closed(self.place)
            if self._process is None:
                self._process = _Process(self.place, self.memory, self.threads)
                self._process.ends = weakref.finalize(self, _end, self._process.child, self._process.owner)

    def stop(self) -> None:
        """Kill the process whatever it does; its holder gets an error."""
        process = self._process
        if process is not None and process.owner == os.getpid():
            process.child.kill()

    def close(self) -> None:
        """End for good. Its holder gets a SourceError."""
        with self._lock:
            self._is_closed = True
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def _replace(self) -> None:
        """Kill the process without waiting for its end, and start another, to be ready when it is needed."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.child.kill()
            # Giving back much memory takes the system a while.
            threading.Thread(target=process.end, daemon=True).start()
        with contextlib.suppress(SourceError):
            self.start()

    def ask(self, request: dict[str, Any], seconds: float | None, prepare: Sequence[str]) -> dict[str, Any]:
        """The reply; a new process first runs `prepare`.

        Raises QueryFailed, SourceError when the source cannot be opened or was closed, and Cancelled.
        """
        cancellation = cancelling.current()
        if cancellation is None:
            return self._ask(request, seconds, prepare)
        killed: list[_Process | None] = []

        def stop() -> None:
            killed.append(self._process)
            self.stop()

        try:
            with cancellation.stopping(stop):
                return self._ask(request, seconds, prepare)
        except SqlRagError:
            cancellation.check()
            raise
        finally:
            if killed and self._process in killed:
                self._replace()

    def open(self, prepare: Sequence[str]) -> None:
        """Wait until a process has opened the source and run `prepare`. Raises SourceError or QueryFailed."""
        self._ready(prepare)

    def _ask(
        self, request: dict[str, Any], seconds: float | None, prepare: Sequence[str], *, is_last: bool = False
    ) -> dict[str, Any]:
        process = self._ready(prepare)
        began = time.monotonic()
        process.send(request)
        try:
            reply = process.receive(None if seconds is None else seconds + GRACE)
        except queue.Empty:
            self._replace()
            raise _overstayed(seconds or 0) from None
        except BaseException:
            # Ctrl-C while waiting: the reply would be taken for the next one's.
            self._drop()
            raise
        if reply is None:
            lost = self._lost(process)
            left = None if seconds is None else seconds - (time.monotonic() - began)
            if is_last or process.child.returncode not in CRASHES or (left is not None and left <= 0):
                raise lost
            again = request if left is None else {**request, "seconds": left}
            return self._ask(again, left, prepare, is_last=True)
        if "error" in reply:
            raise self._failure(reply, seconds)
        return reply

    def _ready(self, prepare: Sequence[str]) -> _Process:
        process = self._process
        if process is not None and process.child.poll() is not None and process.is_ready:
            # It ended while nobody asked it (the system was short of memory, say).
            self._drop()
        self.start()
        process = self._process
        if process is None:
            raise closed(self.place)
        if process.is_ready:
            return process
        try:
            reply = process.receive(START_SECONDS)
        except queue.Empty:
            self._drop()
            raise SourceError(
                f"{self.place.path}: the worker did not start within {START_SECONDS:.0f} s"
            ) from None
        except BaseException:
            self._drop()
            raise
        if reply is None:
            if self._is_closed:
                raise closed(self.place)
            words = process.last_words()
            self._drop()
            raise SourceError(f"{self.place.path}: the worker could not start ({words}); run 'sqlrag doctor'")
        if "error" in reply:
            self._drop()
            raise refusal(self.place, reply["error"], reply["reason"])
        process.is_ready = True
        for sql in prepare:
            try:
                self._ask({"op": "trusted", "sql": sql}, None, (), is_last=True)
            except QueryFailed as error:
                # A table that is gone since it was profiled fails alone; a lock or a crash fails all.
                if self._process is not process or "locked" in str(error):
                    self._drop()
                    raise
        return process

    def _lost(self, process: _Process) -> SqlRagError:
        if self._is_closed:
            return closed(self.place)
        code = process.child.wait()
        self._replace()
        if code == EXIT_MEMORY:
            return _too_much(self.memory)
        return QueryFailed(
            "the query ended the database worker; write it more simply (a new worker is ready)"
        )

    def _failure(self, reply: dict[str, Any], seconds: float | None) -> QueryFailed:
        reason, error = reply["reason"], reply["error"]
        if reason == "fatal":
            self._replace()
        if reason == "time":
            return _overstayed(seconds or 0)
        if reason == "memory":
            return _too_much(self.memory)
        if "database is locked" in error:
            return QueryFailed(f"{self.place.path} is locked by another program; try again when it is done")
        return QueryFailed(error)


def _overstayed(seconds: float) -> QueryFailed:
    return QueryFailed(
        f"the query was stopped at the limit of {seconds:g} s; filter to fewer rows or simplify it",
        wall="limit",
    )


def _too_much(memory: int) -> QueryFailed:
    return QueryFailed(
        f"the query needs more than the {memory / 1000**2:.0f} MB of memory that one query may use; "
        "filter to fewer rows or simplify it",
        wall="limit",
    )


def closed(place: Place) -> SourceError:
    """What a source that was closed says."""
    return SourceError(f"{place.path} was closed; open it again")


def refusal(place: Place, error: str, reason: str = "open") -> SourceError:
    """The one line for a source that cannot be opened or read."""
    low = error.lower()
    if reason == "jail":
        return SourceError(f"refusing to serve {place.path}: {error}; check the installed duckdb version")
    if "lock" in low:
        return SourceError(f"{place.path} is locked by another program; close it there, or copy the file")
    if "attempt to write a readonly database" in low:
        return SourceError(
            f"{place.path} holds the unfinished change of a program that ended early; open it once with that "
            "program or with sqlite3, which undoes the change"
        )
    if "malformed" in low or "not a database" in low or "corrupt" in low or "checksum" in low:
        return SourceError(f"{place.path} is corrupt or encrypted ({error[:120]}); restore it from a backup")
    return SourceError(f"{place.path} cannot be opened: {error}")
