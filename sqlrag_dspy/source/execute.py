"""The worker process seen from here: started in the background, asked one thing at a time, replaced when lost.

A statement that overstays is interrupted by the worker; when that comes too late the worker is killed. The
next question starts a new one. Leaves out what is asked: see `catalog`, `scan` and `source`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sqlrag_dspy.errors import QueryFailed, SourceError
from sqlrag_dspy.source.attach import Place, scanner_path

if TYPE_CHECKING:
    from sqlrag_dspy.settings import Limits

WORKER = Path(__file__).with_name("worker.py")
EXIT_MEMORY = 86
GRACE = 1.0
"""Seconds an interrupted statement has to end before its process is killed."""
START_SECONDS = 60.0
MAX_BYTES = 64 << 20
"""Characters, about, that one result may hold."""

_UNITS = {"K": 1000, "M": 1000**2, "G": 1000**3, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}


def byte_count(memory: str) -> int:
    """Bytes of a DuckDB memory limit such as "1GB" or "512 MiB"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s?([KMG]I?)B", memory.strip().upper())
    return int(float(match[1]) * _UNITS[match[2]]) if match else _UNITS["G"]


class _Process:
    """One running worker, with a thread that collects its replies."""

    def __init__(self, place: Place, limits: Limits) -> None:
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
        self.send(
            {
                "kind": place.kind,
                "path": str(place.path),
                "extension": scanner_path() if place.kind == "sqlite" else "",
                "memory": limits.memory,
                "ceiling": byte_count(limits.memory),
                "threads": limits.threads,
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


class Engine:
    """Runs statements in a worker, one at a time, from any thread; starts and replaces the worker as needed."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.place = place
        self.limits = limits
        self.prepare: tuple[str, ...] = ()
        """Statements that each new worker runs first: the views."""
        self.views: tuple[str, ...] = ()
        """Their names: all that SQL from outside may read."""
        self._lock = threading.RLock()
        self._process: _Process | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start the worker without waiting for it."""
        with self._lock:
            if self._process is None or self._process.owner != os.getpid():
                if self._is_closed:
                    raise SourceError(f"{self.place.path} was closed; open it again")
                process = _Process(self.place, self.limits)
                weakref.finalize(self, _end, process.child, process.owner)
                self._process = process

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._drop()

    def _drop(self) -> None:
        if self._process is not None:
            _end(self._process.child, self._process.owner)
            self._process.errors.close()
            self._process = None

    def trusted(
        self, sql: str, params: Sequence[Any] = (), *, seconds: float | None = None
    ) -> list[list[Any]]:
        """Rows of a statement written by this room. Raises QueryFailed; wall says why."""
        request = {"op": "trusted", "sql": sql, "params": list(params), "seconds": seconds}
        rows: list[list[Any]] = self._ask(request, seconds)["rows"]
        return rows

    def checked(self, sql: str, *, seconds: float, rows: int) -> dict[str, Any]:
        """Columns, rows and truncated of one SELECT from outside, within time, row and byte limits."""
        request = {
            "op": "checked", "sql": sql, "views": self.views, "seconds": seconds, "rows": rows, "bytes": MAX_BYTES,
        }  # fmt: skip
        return self._ask(request, seconds)

    def _ask(self, request: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        with self._lock:
            process = self._ready()
            process.send(request)
            try:
                reply = process.receive(None if seconds is None else seconds + GRACE)
            except queue.Empty:
                self._drop()
                raise _overstayed(seconds or 0) from None
            except BaseException:
                # Ctrl-C while waiting: the reply would be taken for the next one's.
                self._drop()
                raise
            if reply is None:
                raise self._lost()
            if "error" in reply:
                raise self._failure(reply, seconds)
            return reply

    def _ready(self) -> _Process:
        """A worker that has opened the source and made its views. Raises SourceError when it cannot."""
        self.start()
        process = self._process
        assert process is not None
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
            words = process.last_words()
            self._drop()
            raise SourceError(f"{self.place.path}: the worker could not start ({words}); run 'sqlrag doctor'")
        if "error" in reply:
            self._drop()
            raise refusal(self.place, reply["error"], reply["reason"])
        process.is_ready = True
        for sql in self.prepare:
            try:
                self._ask({"op": "trusted", "sql": sql}, None)
            except QueryFailed as error:
                # A table that is gone since it was profiled fails alone; a lock or a crash fails all.
                if self._process is not process or "locked" in str(error):
                    self._drop()
                    raise
        return process

    def _lost(self) -> QueryFailed:
        process = self._process
        assert process is not None
        code = process.child.wait()
        self._drop()
        if code == EXIT_MEMORY:
            return _too_much(self.limits.memory)
        return QueryFailed(
            "the query ended the database worker; write it more simply (a new worker is ready)"
        )

    def _failure(self, reply: dict[str, Any], seconds: float | None) -> QueryFailed:
        reason, error = reply["reason"], reply["error"]
        if reason == "fatal":
            self._drop()
        if reason == "time":
            return _overstayed(seconds or 0)
        if reason == "memory":
            return _too_much(self.limits.memory)
        if "database is locked" in error:
            return QueryFailed(f"{self.place.path} is locked by another program; try again when it is done")
        return QueryFailed(error)


def _overstayed(seconds: float) -> QueryFailed:
    return QueryFailed(
        f"the query was stopped at the limit of {seconds:g} s; filter to fewer rows or simplify it",
        wall="limit",
    )


def _too_much(memory: str) -> QueryFailed:
    return QueryFailed(
        f"the query needs more than the memory limit of {memory}; filter to fewer rows or simplify it",
        wall="limit",
    )


def refusal(place: Place, error: str, reason: str = "open") -> SourceError:
    """The one line for a source that cannot be opened or read."""
    low = error.lower()
    if reason == "jail":
        return SourceError(f"refusing to serve {place.path}: {error}; check the installed duckdb version")
    if "lock" in low:
        return SourceError(f"{place.path} is locked by another program; close it there, or copy the file")
    if "malformed" in low or "not a database" in low or "corrupt" in low or "checksum" in low:
        return SourceError(f"{place.path} is corrupt or encrypted ({error[:120]}); restore it from a backup")
    return SourceError(f"{place.path} cannot be opened: {error}")
