"""A hosted embedder as a plain function from texts to vectors, for the index to be given.

Leaves out local embedders and the storing of vectors (both are the index's).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.errors import LmError
from sqlrag_dspy.lm.account import Account, account
from sqlrag_dspy.lm.explain import explain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 100
"""Texts a request; the Gemini API takes no more."""


def embed_function(
    model: str,
    *,
    environ: Mapping[str, str] | None = None,
    dimensions: int | None = None,
    task: str | None = None,
    timeout: float = 60.0,
    attempts: int = 5,
    first_wait: float = 1.0,
) -> Callable[[list[str]], NDArray[np.float32]]:
    """A function: n texts to an (n, dim) float32 array, in order; `model` is `gemini:MODEL`.

    Vectors are as the model gives them (unit length at the full dimension only). A blank text gets a row
    of zeros, since the API refuses it. `dimensions` asks for shorter vectors; `task` is the API's task type
    (RETRIEVAL_DOCUMENT, RETRIEVAL_QUERY, …). Transient failures are tried `attempts` times in all, with
    exponential waits from `first_wait` seconds or those that the server asks for.

    Raises LmError here for an unknown name or a missing key, and from the function when a request fails.
    """
    kind, _, name = model.partition(":")
    if kind != "gemini" or not name.strip():
        raise LmError(f"no hosted embedder {model!r}; write it like 'gemini:gemini-embedding-001'")
    who = account(environ, timeout=timeout)
    who.check(f"the embedder {model}")
    return _GeminiEmbedder(name.strip(), who, dimensions, task, max(1, attempts), first_wait).embed


class _GeminiEmbedder:
    """State of one embedding function: the client and the dimension, both known after the first request."""

    def __init__(
        self,
        name: str,
        who: Account,
        dimensions: int | None,
        task: str | None,
        attempts: int,
        first_wait: float,
    ) -> None:
        self._name = name
        self._account = who
        self._dimensions = dimensions
        self._task = task
        self._attempts = attempts
        self._first_wait = first_wait
        self._dim = dimensions or 0
        self._client: Any = None
        self._lock = threading.Lock()
        # Vertex AI takes one text a request for this family.
        self._batch = 1 if who.vertexai else BATCH

    def __deepcopy__(self, memo: dict[int, Any]) -> _GeminiEmbedder:
        return self  # a connection pool is shared, not copied

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        full = [place for place, text in enumerate(texts) if text.strip()]
        if texts and not full and not self._dim:
            self._request(["."])  # only to learn the dimension
        rows = []
        for start in range(0, len(full), self._batch):
            batch = (texts[place] for place in full[start : start + self._batch])
            # Half of a character, which a cut or badly decoded text can hold, cannot be sent.
            rows += self._request([text.encode("utf-8", "replace").decode("utf-8") for text in batch])
        vectors = np.zeros((len(texts), self._dim), dtype=np.float32)
        if rows:
            vectors[full] = np.asarray(rows, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise LmError(f"the embedder gemini:{self._name} returned numbers that are not finite; try again")
        return vectors

    def _request(self, batch: Sequence[str]) -> list[list[float]]:
        from dspy import lm15

        from sqlrag_dspy.lm import failures

        transient = (lm15.RateLimitError, lm15.ServerError, lm15.TimeoutError, lm15.TransportError)
        for attempt in range(self._attempts):
            try:
                with failures.translated(self._account.api_key):
                    return self._once(list(batch))
            except transient as error:
                if attempt + 1 == self._attempts:
                    raise self._failed(error) from error
                time.sleep(failures.wait_before(attempt, error.retry_after, self._first_wait))
            except lm15.LM15Error as error:
                raise self._failed(error) from error
        raise LmError(f"the embedder gemini:{self._name} was not asked")

    def _once(self, batch: list[str]) -> list[list[float]]:
        from google.genai import types

        with self._lock:
            if self._client is None:
                self._client = self._account.client()
        config = types.EmbedContentConfig(task_type=self._task, output_dimensionality=self._dimensions)
        reply = self._client.models.embed_content(model=self._name, contents=batch, config=config)
        rows = [list(found.values or []) for found in reply.embeddings or []]
        widths = {len(row) for row in rows}
        expected = self._dim or (min(widths) if widths else 0)
        if len(rows) != len(batch) or widths != {expected} or not expected:
            raise LmError(
                f"the embedder gemini:{self._name} returned {len(rows)} vectors of {sorted(widths)} numbers "
                f"for {len(batch)} texts of {expected or 'some'} numbers each; check the model's name"
            )
        self._dim = expected
        return rows

    def _failed(self, error: BaseException) -> LmError:
        return explain(error, f"the embedder gemini:{self._name}")
