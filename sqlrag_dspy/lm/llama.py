"""A GGUF file as an engine for `dspy.LM`: one attempt a call, through llama.cpp in this process.

Leaves out retries, caching, history and several candidates: DSPy's LM layer owns them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from typing import Any, ClassVar, Self

from dspy.clients.engines.base import validate_request

from sqlrag_dspy.lm import completion, gguf
from sqlrag_dspy.lm.gguf import SECONDS, ModelFile
from sqlrag_dspy.lm.parameters import COMMON


class _Engine:
    """What both engines share: the file, loaded with the first call, and the saved form."""

    supports_response_schema: ClassVar[bool] = True
    supports_function_calling: ClassVar[bool] = False
    supports_reasoning: ClassVar[bool] = False
    supported_params: ClassVar[frozenset[str]] = COMMON

    def __init__(self, file: ModelFile, *, timeout: float = SECONDS) -> None:
        """`timeout` is in seconds a call, from when its turn comes. Neither the file nor llama.cpp is touched."""
        self.file = file
        self.timeout = timeout
        self._model: gguf.Model | None = None

    @staticmethod
    def adapter() -> Any:
        """The DSPy adapter that serves small models best."""
        from sqlrag_dspy.lm.compact import CompactAdapter

        return CompactAdapter()

    def dump_state(self) -> dict[str, Any]:
        """Everything needed to build this engine again, as JSON values; the path, not the file."""
        return {
            "path": self.file.path,
            "context": self.file.context,
            "threads": self.file.threads,
            "timeout": self.timeout,
        }

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        """The engine of a `dump_state`.

        A missing file is no error here but with the first call, so that a program can be loaded and used without
        its model.
        """
        given = dict(state)
        timeout = float(given.pop("timeout", SECONDS))
        return cls(ModelFile(**given), timeout=timeout)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # programs are copied by optimizers; a loaded model is shared, not copied

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).load_state, (self.dump_state(),)

    def _chunks(self, request: Any) -> Iterator[dict[str, Any]]:
        validate_request(request)
        body = completion.body(request)
        self._model = gguf.loaded(self.file)
        return self._model.chunks(body, self.timeout)


class LlamaEngine(_Engine):
    """A GGUF file for synchronous calls; safe to share between threads, whose calls queue."""

    def complete(self, request: Any) -> Any:
        """The `dspy.lm15.Response` to a `dspy.lm15.Request`; expected failures raise `dspy.lm15` errors."""
        return completion.answer(request, self._chunks(request))

    def stream(self, request: Any) -> Iterator[Any]:
        """The same answer as `dspy.lm15` stream events; closing the iterator ends the call."""
        assembly = completion.Assembly(request)
        chunks = self._chunks(request)
        try:
            for chunk in chunks:
                yield from assembly.add(chunk)
        finally:
            chunks.close()  # type: ignore[attr-defined]
        yield assembly.end()

    def close(self) -> None:
        """Lets go of the model, which leaves memory when nobody else holds it; a later call loads it again."""
        self._model = None


class AsyncLlamaEngine(_Engine):
    """A GGUF file for asynchronous calls; it shares the loaded model, and the queue, with `LlamaEngine`."""

    async def complete(self, request: Any) -> Any:
        """As `LlamaEngine.complete`; cancelling the task ends the call."""
        chunks = [chunk async for chunk in self._awaited(request)]
        return completion.answer(request, iter(chunks))

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """As `LlamaEngine.stream`."""
        assembly = completion.Assembly(request)
        chunks = self._awaited(request)
        try:
            async for chunk in chunks:
                for event in assembly.add(chunk):
                    yield event
        finally:
            await chunks.aclose()  # type: ignore[attr-defined]
        yield assembly.end()

    async def _awaited(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        """The partial replies, pulled in a thread so that the event loop goes on."""
        loop, done = asyncio.get_running_loop(), object()
        heard: asyncio.Queue[Any] = asyncio.Queue()
        is_wanted = True

        def pull() -> None:
            try:
                with closing(self._chunks(request)) as chunks:  # type: ignore[type-var]
                    for chunk in chunks:
                        if not is_wanted:
                            return
                        loop.call_soon_threadsafe(heard.put_nowait, chunk)
                loop.call_soon_threadsafe(heard.put_nowait, done)
            except Exception as error:  # noqa: BLE001 - handed to the reader, who raises it
                if is_wanted:
                    loop.call_soon_threadsafe(heard.put_nowait, error)

        pulling = loop.run_in_executor(None, pull)
        try:
            while (item := await heard.get()) is not done:
                if isinstance(item, Exception):
                    raise item
                yield item
            await pulling
        finally:
            is_wanted = False

    async def aclose(self) -> None:
        """As `LlamaEngine.close`."""
        self._model = None
