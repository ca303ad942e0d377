"""A failed model call as one line for a person.

Leaves out the handling itself: the caller catches, decides whether to degrade, and shows the line.
"""

from __future__ import annotations

from sqlrag_dspy.errors import LmError

_REMEDIES = {
    "auth": "check the model's key",
    "rate_limit": "wait, or raise the quota of that model",
    "billing": "check the quota and billing of that account",
    "timeout": "use a faster model, or give it more time in Python (sqlrag_dspy.lm.connect(…, timeout=SECONDS))",
    "transport": "check the network and the model's address",
    "server": "try again later",
    "context_window_exceeded": "ask about less text, or use a model with a larger context",
    "unsupported_model": "check the model's name",
}


def explain(failure: BaseException, model: str = "") -> LmError:
    """`failure` (any error out of a `dspy.LM` call or an adapter) as an LmError of one line with a remedy.

    The result is not raised and has no cause yet: `raise explain(failure, name) from failure`.
    """
    if isinstance(failure, LmError):
        return failure
    message = str(getattr(failure, "message", None) or failure).strip()
    first = message.splitlines()[0].strip() if message else type(failure).__name__
    name = model or str(getattr(failure, "model", None) or "the language model")
    if type(failure).__name__ == "AdapterParseError":
        return LmError(f"{name} answered in a form that cannot be read; try again, or use a stronger model")
    remedy = _REMEDIES.get(str(getattr(failure, "code", "")), "")
    line = first if len(first) <= 300 else first[:299] + "…"
    line = line if line.startswith((name, name.rpartition("/")[2])) else f"{name}: {line}"
    return LmError(f"{line.rstrip('.')}; {remedy}" if remedy and remedy not in line else line)
