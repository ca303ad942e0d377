"""What a Gemini call costs, by the price list that ships with DSPy.

Leaves out every other model: DSPy itself prices those in `lm.history[…]["cost"]`, but not a custom engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cost_usd(model: str, usage: Mapping[str, Any]) -> float | None:
    """US dollars of one call or of a sum of calls; None when the price is not known.

    `model` is as given to `connect`; `usage` as in `lm.history[…]["usage"]` or DSPy's usage tracker
    (prompt_tokens, completion_tokens, and their details). An estimate: tiers and discounts are left out.
    """
    if not model.startswith("gemini/") or "prompt_tokens" not in usage:
        return None
    from dspy import lm15
    from dspy.clients.costs import estimate_cost

    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    counted = lm15.Usage(
        input_tokens=usage["prompt_tokens"],
        # DSPy's price of Gemini adds thinking to the output by itself.
        output_tokens=max(0, (usage.get("completion_tokens") or 0) - thoughts),
        reasoning_tokens=thoughts,
        cache_read_tokens=cached,
    )
    name = model.removeprefix("gemini/")
    reply = lm15.Response(
        id=None, model=name, message=lm15.Message.assistant(""), finish_reason="stop", usage=counted
    )
    price, _ = estimate_cost(reply, provider="gemini", requested_model=name)
    return None if price is None else float(price)
