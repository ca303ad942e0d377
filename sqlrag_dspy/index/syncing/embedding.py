"""Texts of one sync to vectors, in the background: a batch is embedded while the next rows are read.

Equal texts are embedded once. Leaves out where texts come from and where vectors go (`table_sync`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b

import numpy as np

from sqlrag_dspy.index.embed import Embedder, Vectors

BATCH = 512
"""Texts embedded at once."""
AHEAD = 4
"""Batches that may wait to be embedded: beyond them, reading waits."""


class Embedding:
    """Numbers texts as they come and embeds them with every encoder. Close it, also after an error."""

    def __init__(self, encoders: Sequence[Embedder]) -> None:
        self._encoders = encoders
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._numbers: dict[bytes, int] = {}
        self._texts: list[str] = []
        self._lent: list[Sequence[Vectors]] = []
        self._done = 0
        self._waiting: deque[Future[list[Vectors]]] = deque()
        self._parts: list[list[Vectors]] = [[] for _ in encoders]
        """Vectors so far, for each encoder, in the order of the texts' numbers."""

    def number(self, text: str, lent: Sequence[Vectors] | None = None) -> int:
        """The number of this text's vectors; `lent`: what they are, for each encoder, where that is known."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._numbers.get(digest)
        if found is not None:
            return found
        number = self._numbers[digest] = len(self._numbers)
        if lent is not None:
            self._send()
            self._lent.append(lent)
        else:
            self._take_lent()
            self._texts.append(text)
            if len(self._texts) >= BATCH:
                self._send()
        return number

    @property
    def share(self) -> float:
        """How much of the texts so far has its vectors, 0 to 1."""
        return self._done / len(self._numbers) if self._numbers else 1.0

    def finish(self, told: Callable[[], object] = lambda: None) -> list[Vectors | None]:
        """For each encoder the vectors of all texts, row n that of number n; None when there were no texts.

        Calls `told` as `share` grows. Raises IndexUnusable when an encoder failed.
        """
        self._send()
        self._take_lent()
        while self._waiting:
            self._collect()
            told()
        found: list[Vectors | None] = []
        for parts in self._parts:
            found.append(np.concatenate(parts) if parts else None)
            parts.clear()
        return found

    def close(self) -> None:
        """Gives up what has not been begun."""
        self._thread.shutdown(cancel_futures=True)

    def _send(self) -> None:
        if self._texts:
            self._take_lent()
            while len(self._waiting) >= AHEAD:
                self._collect()
            self._waiting.append(self._thread.submit(self._embed, self._texts))
            self._texts = []

    def _embed(self, texts: list[str]) -> list[Vectors]:
        return [encoder(texts) for encoder in self._encoders]

    def _collect(self) -> None:
        self._keep(self._waiting.popleft().result())

    def _take_lent(self) -> None:
        if self._lent:
            while self._waiting:
                self._collect()
            self._keep([np.concatenate(parts) for parts in zip(*self._lent)])
            self._lent = []

    def _keep(self, vectors: Sequence[Vectors]) -> None:
        self._done += len(vectors[0])
        for parts, part in zip(self._parts, vectors):
            parts.append(part)
