"""Gemini as an engine for `dspy.LM`: one attempt a call, through google-genai.

Leaves out retries, caching, history and several candidates: DSPy's LM layer owns them. A transient failure
is raised as an error that DSPy retries, carrying the wait (`retry_after`) that DSPy then keeps.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dspy import lm15
from dspy.clients.engines.base import validate_request
from dspy.clients.engines.lifecycle import (
    aclosing_stream,
    closing_stream,
)

from sqlrag_dspy.lm import failures, messages
from sqlrag_dspy.lm.account import HOW_TO_SIGN_IN, Account, account
from sqlrag_dspy.lm.parameters import COMMON

if TYPE_CHECKING:
    from google.genai import Client

_TRANSIENT = (lm15.RateLimitError, lm15.ServerError, lm15.TimeoutError, lm15.TransportError)

# DSPy repeats a call with the same Request object in the same thread or task, so that pair counts attempts.
_last: ContextVar[tuple[Any, int] | None] = ContextVar("sqlrag_gemini_attempt", default=None)


class _Engine:
    """What both engines share: the account, the client made of it on first use, and its saved form."""

    supports_response_schema: ClassVar[bool] = True
    supports_function_calling: ClassVar[bool] = False
    supports_reasoning: ClassVar[bool] = False
    supported_params: ClassVar[frozenset[str]] = COMMON | {"reasoning_effort"}

    def __init__(
        self, who: Account | None = None, *, first_wait: float = 1.0, environ: Mapping[str, str] | None = None
    ) -> None:
        """`who` defaults to the environment's account; `first_wait` (seconds) follows one failure."""
        self.account = who if who is not None else account(environ)
        self.first_wait = first_wait
        self._made: Client | None = None
        self._lock = threading.Lock()

    def dump_state(self) -> dict[str, Any]:
        """Everything needed to build this engine again but the key, as JSON values."""
        return {**self.account.state(), "first_wait": self.first_wait}

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        """The engine of a `dump_state`; the key comes from the environment, at the latest on the first call.

        A missing key is no error here, so that a program can be loaded and used without its model.
        """
        given = dict(state)
        first_wait = float(given.pop("first_wait", 1.0))
        return cls(account(**given), first_wait=first_wait)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # programs are copied by optimizers; a connection pool is shared, not copied

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).load_state, (self.dump_state(),)

    def _client(self) -> Client:
        with self._lock:
            if not self.account.is_complete:
                # The key may have been set since this engine was loaded.
                self.account = account(**self.account.state())
            if not self.account.is_complete:
                raise lm15.NotConfiguredError(
                    f"no key for Gemini; {HOW_TO_SIGN_IN}", provider=failures.PROVIDER
                )
            if self._made is None:
                self._made = self.account.client()
            return self._made

    @contextmanager
    def _attempt(self, request: Any) -> Iterator[None]:
        """Translates failures, and gives transient ones the wait for this attempt number."""
        previous = _last.get()
        attempt = previous[1] + 1 if previous is not None and previous[0] is request else 0
        try:
            with failures.translated(self.account.api_key):
                yield
        except _TRANSIENT as error:
            _last.set((request, attempt))
            error.retry_after = failures.wait_before(attempt, error.retry_after, self.first_wait)
            raise
        else:
            _last.set(None)


class GenaiEngine(_Engine):
    """Gemini for synchronous calls; safe to share between threads."""

    def complete(self, request: Any) -> Any:
        """The `dspy.lm15.Response` to a `dspy.lm15.Request`; expected failures raise `dspy.lm15` errors."""
        validate_request(request)
        turns, config = messages.contents(request), messages.config(request)
        with self._attempt(request):
            client = self._client()
            reply = client.models.generate_content(
                model=messages.model_name(request.model), contents=turns, config=config
            )
            return messages.answer(request, reply)

    def stream(self, request: Any) -> Iterator[Any]:
        """The same answer as `dspy.lm15` stream events; a stream that is cut raises a TransportError."""
        validate_request(request)
        turns, config = messages.contents(request), messages.config(request)
        assembly = messages.Assembly(request)
        with self._attempt(request):
            client = self._client()
            chunks = client.models.generate_content_stream(
                model=messages.model_name(request.model), contents=turns, config=config
            )
            with closing_stream(chunks):
                for chunk in chunks:
                    yield from assembly.add(chunk)
            yield assembly.end()

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()


class AsyncGenaiEngine(_Engine):
    """Gemini for asynchronous calls; safe to share between tasks and event loops."""

    async def complete(self, request: Any) -> Any:
        """As `GenaiEngine.complete`."""
        validate_request(request)
        turns, config = messages.contents(request), messages.config(request)
        with self._attempt(request):
            client = self._client()
            reply = await client.aio.models.generate_content(
                model=messages.model_name(request.model), contents=turns, config=config
            )
            return messages.answer(request, reply)

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """As `GenaiEngine.stream`."""
        validate_request(request)
        turns, config = messages.contents(request), messages.config(request)
        assembly = messages.Assembly(request)
        with self._attempt(request):
            client = self._client()
            chunks = await client.aio.models.generate_content_stream(
                model=messages.model_name(request.model), contents=turns, config=config
            )
            async with aclosing_stream(chunks):
                async for chunk in chunks:
                    for event in assembly.add(chunk):
                        yield event
            yield assembly.end()

    async def aclose(self) -> None:
        """Closes this event loop's connections; a later call opens new ones."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            await made.aio.aclose()
