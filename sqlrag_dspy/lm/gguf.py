"""A GGUF file as a model in this process: checked, loaded once, one call at a time, each within its time.

Leaves out DSPy (`llama`) and what a request means (`completion`). Everything raised here is a `dspy.lm15` error.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from dspy import lm15

from sqlrag_dspy.lm.gguf_header import MAGIC, fault

PROVIDER = "gguf"
INSTALL = "pip install xllamacpp"
CONTEXT = 8192
"""Tokens of prompt and answer together: twice what the program's budgets fill."""
SECONDS = 60.0
THREADS = 2
_BATCH = 256
"""Tokens read between two looks at the clock: some seconds on a slow machine."""
_KEPT = 256
"""MiB of read prompts kept beside the last one, so that the prompts of a question's steps do not evict each other."""
_REPEATS, _SHORTEST, _LONGEST = 5, 12, 120
"""An answer that repeats so many characters so many times says nothing more."""
_LOOK = 0.5
"""Seconds between two looks, while a call waits, at whether the one before it still goes on."""
_GRACE = 10.0
"""Seconds past the limit after which a call is left behind: it is reading a batch, or it hangs."""


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file and how to run it. `context` is in tokens; `threads` are processors."""

    path: str
    context: int = CONTEXT
    threads: int = THREADS

    def check(self) -> None:
        """Raises ConfigurationError, saying what to do, unless the file is there and as whole as its header says."""
        path = Path(self.path)
        try:
            with path.open("rb") as file:
                start = file.read(len(MAGIC))
            wrong = fault(path) if start == MAGIC else None
        except FileNotFoundError as error:
            raise _unusable(f"no model file {path}; put it there, or correct lm") from error
        except OSError as error:
            raise _unusable(f"the model file {path} cannot be read ({error.strerror})") from error
        if start != MAGIC:
            raise _unusable(
                f"{path} is not a GGUF file; name one (a model in another form must be converted first)"
            )
        if wrong is not None:
            raise _unusable(f"{path} cannot be loaded: {wrong}; fetch the file again")


class Model:
    """A loaded file. Threads may share it: calls queue, and a call's time begins with its turn."""

    def __init__(self, file: ModelFile) -> None:
        file.check()
        self.file = file
        self._turn = threading.Lock()
        self._call: _Call | None = None
        llama = library()
        params = llama.CommonParams()
        params.model.path = file.path
        params.n_ctx = file.context
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.cache_prompt = True
        params.cache_ram_mib = _KEPT
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = file.threads
        params.fit_params = False  # would shrink the context in silence
        params.warmup = False
        params.verbosity = -1  # standard error belongs to the caller
        # The library also listens on a local port; nobody but this process may use it.
        params.api_keys = [secrets.token_hex(32)]
        params.ui = False
        try:
            self._server = llama.Server(params)
        except RuntimeError as error:
            raise _unusable(_why_not_loaded(file)) from error

    def chunks(self, body: Mapping[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
        """The partial replies to one chat completion, in llama.cpp's own form; the last has usage.

        Closing the iterator ends the call. An answer that says the same over and over is ended there, as one that
        is too long. Raises TimeoutError after `seconds`, ContextLengthError for a prompt
        that is too long, and InvalidRequestError or ServerError for what else llama.cpp refuses.
        """
        while not self._turn.acquire(timeout=_LOOK):
            before = self._call
            if before is not None and time.monotonic() > before.until + _GRACE:
                raise _late(self.file, seconds, "hangs in an earlier call and could not answer")
        call = self._call = _Call(self._server, body, seconds, self._turn)
        call.start()
        try:
            while True:
                try:
                    item = call.said.get(timeout=max(0.0, call.until - time.monotonic()) + _GRACE)
                except queue.Empty:
                    raise _late(self.file, seconds, "did not respond") from None
                if item is None:
                    break
                if isinstance(item, Exception):
                    raise lm15.InvalidRequestError(_line(item), provider=PROVIDER) from item
                if "error" in item:
                    raise _refused(item["error"], self.file)
                yield item
            if call.is_late:
                raise _late(self.file, seconds, "was not done")
            if call.is_looping:
                yield call.cut()
        finally:
            call.is_wanted = False


class _Call(threading.Thread):
    """One completion in a thread of its own: llama.cpp pushes its replies, and iterators are pulled.

    Not a daemon: Python waits for it at exit, which takes no longer than the batch it is reading.
    """

    def __init__(self, server: Any, body: Mapping[str, Any], seconds: float, turn: threading.Lock) -> None:
        super().__init__(name="gguf call")
        self.said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.until = time.monotonic() + seconds
        self.is_late = self.is_looping = False
        self.is_wanted = True
        self._text, self._tokens, self._progress = "", 0, {"total": 0, "cache": 0}
        self._ask = (server, {**body, "stream": True, "return_progress": True})
        self._turn = turn

    def run(self) -> None:
        server, body = self._ask
        try:
            error = server.handle_chat_completions(body, self._hear)
            if isinstance(error, dict):
                self.said.put(error)
        except Exception as error:  # noqa: BLE001 - handed to the reader, who raises it
            self.said.put(error)
        finally:
            del self._ask, server
            self._turn.release()
            self.said.put(None)

    def _hear(self, chunk: Any) -> bool:
        """Takes one partial reply; True ends the call."""
        self.is_late = time.monotonic() > self.until
        for item in chunk if isinstance(chunk, list) else [chunk]:
            self._count(item)
            if self.is_wanted:
                self.said.put(item)
        return self.is_late or self.is_looping or not self.is_wanted

    def _count(self, item: Mapping[str, Any]) -> None:
        self._progress = item.get("prompt_progress") or self._progress
        for choice in item.get("choices") or ():
            if text := (choice.get("delta") or {}).get("content"):
                self._tokens += 1
                self._text = (self._text + text)[-_REPEATS * _LONGEST :]
                self.is_looping = loops(self._text)

    def cut(self) -> dict[str, Any]:
        """The last partial reply of a call that was ended early, which llama.cpp does not send then."""
        counts = {
            "prompt_tokens": self._progress["total"],
            "completion_tokens": self._tokens,
            "total_tokens": self._progress["total"] + self._tokens,
            "prompt_tokens_details": {"cached_tokens": self._progress["cache"]},
        }
        return {"choices": [{"delta": {}, "finish_reason": "length"}], "usage": counts}


def loops(text: str) -> bool:
    """Whether `text` ends in the same stretch again and again: small models fall into that and never leave it."""
    return any(
        text.endswith(text[-size:] * _REPEATS) for size in range(_SHORTEST, min(_LONGEST, len(text)) + 1)
    )


_loading = threading.Lock()
_loaded: WeakValueDictionary[tuple[Any, ...], Model] = WeakValueDictionary()


def loaded(file: ModelFile) -> Model:
    """The model of that file, loaded once a process for as long as somebody holds it.

    A file that was replaced since is loaded anew. Raises ConfigurationError when it cannot be loaded.
    """
    with _loading:
        key = (file, identity(file.path))
        model = _loaded.get(key)
        if model is None:
            model = _loaded[key] = Model(file)
        return model


def identity(path: str) -> str:
    """Which file is at that path now: its size and time of change; "" when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_size:x}-{found.st_mtime_ns:x}"


def library() -> Any:
    """The xllamacpp module. Raises ConfigurationError when it is not installed or does not load."""
    # A thread that spins while it waits takes the processor that its fellow needs: with another program on two
    # cores, writing was eight times slower. OpenMP reads this once, when it is loaded.
    switch = "OMP_WAIT_POLICY"
    was_set = switch in os.environ
    os.environ.setdefault(switch, "passive")
    try:
        return import_module("xllamacpp")
    except ModuleNotFoundError as error:
        raise _unusable(f"a GGUF file needs xllamacpp; install it with: {INSTALL}") from error
    except ImportError as error:
        raise _unusable(
            f"xllamacpp does not load ({_line(error)}); install what it misses (libgomp1, say), or reinstall it"
        ) from error
    finally:
        if not was_set:
            os.environ.pop(switch, None)


def _why_not_loaded(file: ModelFile) -> str:
    needed, free = os.stat(file.path).st_size, _free_memory()
    if free is not None and needed > free:
        return (
            f"{file.path} does not fit into memory: it has {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; "
            "use a smaller model or a smaller quantization"
        )
    return (
        f"{file.path} cannot be loaded: it is cut short, of a kind that this llama.cpp does not know, or a context "
        f"of {file.context} tokens does not fit into memory; fetch the file again, update xllamacpp, or lower context"
    )


def _free_memory() -> int | None:
    """Bytes that can be had without swapping; None where that cannot be read."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("MemAvailable:")), None)
    return int(found.split()[1]) * 1024 if found else None


def _refused(error: Mapping[str, Any], file: ModelFile) -> lm15.LM15Error:
    message = _line(error.get("message") or error)
    if error.get("type") == "exceed_context_size_error":
        asked = error.get("n_prompt_tokens")
        return lm15.ContextLengthError(
            f"the prompt has {asked} tokens and the context {error.get('n_ctx') or file.context}",
            provider=PROVIDER,
        )
    if int(error.get("code") or 500) < 500:
        return lm15.InvalidRequestError(message, provider=PROVIDER)
    return lm15.ServerError(message, provider=PROVIDER)


def _late(file: ModelFile, seconds: float, what: str) -> lm15.LM15Error:
    return lm15.TimeoutError(
        f"{Path(file.path).name} {what} in {seconds:g} seconds",
        provider=PROVIDER,
    )


def _unusable(message: str) -> lm15.LM15Error:
    return lm15.ConfigurationError(message, provider=PROVIDER)


def _line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 300 else text[:299] + "…"
