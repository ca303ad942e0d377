"""Word lists that read as text: data beside the code that uses them."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    """The words of `text`, in order."""
    return tuple(text.split())
