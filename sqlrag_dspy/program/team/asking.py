"""One call of one stage: within the budget, by the model meant for it, and never an exception.

Constrained decoding is the engine's and DSPy's; DSPy repairs JSON that is nearly right, and asks once more in
JSON when a chat reply cannot be read. Where it would not ask again, this does, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from sqlrag_dspy.program.calling import can_ask, note_failure
from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts

AGAIN = 1.0
"""Temperature of the second try: the first reply would only come again. Models that reason take no other."""


def ask(
    rag: Parts,
    inquiry: Inquiry,
    name: str,
    given: str,
    stage: Callable[..., Any],
    *,
    instead: str = "",
    is_small: bool = False,
    show: Callable[[Any], str] = str,
    **inputs: Any,
) -> Any | None:
    """What `stage(**inputs)` gives, as the step `name`; None when it failed or may not be asked, which is noted.

    `is_small` lets `lm_small` answer where one is set. `instead` says what is done when it fails, and `show`
    how the trace tells the reply.
    """
    lm = rag.engine.small if is_small and not inquiry.has_lost_small else None
    if lm is None and not can_ask(rag, inquiry):
        return None
    if inquiry.is_overdrawn():
        return None
    try:
        with inquiry.step(name, given) as step, rag.engine.serving(lm):
            said = _twice(stage, inquiry, inputs)
            step.output = show(said)
        return said
    except Exception as error:  # noqa: BLE001 - a model may fail in any way; something stands in for every stage
        is_lost = note_failure(inquiry, error, name, instead, is_small=lm is not None)
    if lm is not None and is_lost:  # the other model may still be there
        inquiry.has_lost_small = True
        return ask(rag, inquiry, name, given, stage, instead=instead, show=show, **inputs)
    return None


def _twice(stage: Callable[..., Any], inquiry: Inquiry, inputs: dict[str, Any]) -> Any:
    """The reply; asked for once more when it could not be read and DSPy has not done so."""
    calls = len(inquiry.meter.history)
    try:
        return stage(**inputs)
    except AdapterParseError:
        if len(inquiry.meter.history) - calls > 1 or inquiry.is_overdrawn():
            raise
    lm = dspy.settings.lm
    again = f"{lm.kwargs.get('rollout_id') or ''}again" if hasattr(lm, "kwargs") else "again"
    config = {**inputs.get("config", {}), "temperature": AGAIN, "rollout_id": again}
    return stage(**{**inputs, "config": config})
