"""Language models and hosted embedders: names to `dspy.LM` objects and embedding functions.

Leaves out prompts, programs and caching of answers (DSPy does that), and never calls `dspy.configure`.
Importing this package imports neither dspy nor google-genai; both come with the first call that needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlrag_dspy.lm.account import Account, account
from sqlrag_dspy.lm.connect import adapter_of, connect
from sqlrag_dspy.lm.cost import cost_usd
from sqlrag_dspy.lm.embed import embed_function
from sqlrag_dspy.lm.explain import explain

if TYPE_CHECKING:
    from sqlrag_dspy.lm.genai import AsyncGenaiEngine, GenaiEngine
    from sqlrag_dspy.lm.llama import AsyncLlamaEngine, LlamaEngine

__all__ = [
    "Account",
    "AsyncGenaiEngine",
    "AsyncLlamaEngine",
    "GenaiEngine",
    "LlamaEngine",
    "account",
    "adapter_of",
    "connect",
    "cost_usd",
    "embed_function",
    "explain",
]


def __getattr__(name: str) -> Any:
    if name in ("AsyncGenaiEngine", "GenaiEngine"):
        from sqlrag_dspy.lm import genai

        return getattr(genai, name)
    if name in ("AsyncLlamaEngine", "LlamaEngine"):
        from sqlrag_dspy.lm import llama

        return getattr(llama, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
