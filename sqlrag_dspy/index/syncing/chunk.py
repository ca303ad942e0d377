"""A long text to overlapping stretches, as character offsets.

Cuts fall on paragraph or sentence ends where the text has them; neighbours overlap by about a sentence, so
a fact that straddles a cut is whole in one of them. Leaves out: cleaning, embedding, and any copy of text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semantic_text_splitter import TextSplitter

SIZE = 800
"""Characters in a chunk, at most."""
OVERLAP = 160
"""Characters shared by neighbouring chunks, at most."""

WINDOW = 20_000
"""Characters given to the splitter at once: its time is quadratic in the length of a run without spaces."""


@lru_cache(maxsize=4)
def _splitter(size: int, overlap: int) -> TextSplitter:
    from semantic_text_splitter import TextSplitter

    return TextSplitter(size, overlap=overlap)


def split(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """Half-open character spans of the chunks of `text`, in order; none for blank text.

    Every character that is not white space lies in at least one span.
    """
    if not text.strip():
        return []
    if len(text) <= size:
        return [(len(text) - len(text.lstrip()), len(text.rstrip()))]
    # The splitter takes UTF-8 only; a lone surrogate becomes one "?", so offsets stay those of `text`.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    splitter = _splitter(size, overlap)
    spans: list[tuple[int, int]] = []
    base = 0
    while True:
        found = splitter.chunk_indices(clean[base : base + WINDOW])
        window = [(base + start, base + start + len(piece)) for start, piece in found]
        if base + WINDOW >= len(clean):
            return spans + window
        # The last chunk was cut by the window's end: the next window takes it up from its start.
        spans += window[:-1]
        base = window[-1][0] if len(window) > 1 else base + WINDOW
