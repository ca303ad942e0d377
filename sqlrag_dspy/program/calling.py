"""Whether a model may be asked, and what it means for a question when it fails."""

from __future__ import annotations

from sqlrag_dspy.program.inquiry import Inquiry
from sqlrag_dspy.program.parts import Parts

_LOST = "the model was lost: it failed to "
_LASTING = frozenset(
    {
        *("auth", "billing", "rate_limit", "timeout", "transport", "server"),
        *("unsupported_model", "configuration", "not_configured"),
    }
)
"""Codes of failures that DSPy has retried, or that no second call can mend."""


def can_ask(rag: Parts, inquiry: Inquiry) -> bool:
    """Whether there is an LM, it was not lost earlier in this question, and the question's budget is not spent.

    Each wait for a lost model costs as much again.
    """
    return rag.engine.is_set and not inquiry.has_lost_model and not inquiry.is_overdrawn()


def note_failure(
    inquiry: Inquiry, error: Exception, task: str, instead: str = "", *, is_small: bool = False
) -> bool:
    """Flags the answer: the model failed to do `task`, and what was done `instead`. Whether it is lost for good."""
    from sqlrag_dspy.lm import explain

    is_lost = str(getattr(error, "code", "")) in _LASTING
    if is_lost and not is_small:
        inquiry.has_lost_model = True
    told = f"{_LOST if is_lost else 'the model failed to '}{task} ({explain(error)})"
    inquiry.fail("lm", f"{told}; {instead}" if instead else told)
    return is_lost
