"""The generation parameters that every engine of this package takes; some take more."""

from __future__ import annotations

COMMON = frozenset(
    {
        "temperature",
        "max_tokens",
        "top_p",
        "top_k",
        "stop",
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "response_format",
        "stream",
    }
)
"""As `dspy.LM` names them."""
