"""Whatever goes wrong between here and Gemini, as the error classes that DSPy retries and reports by.

Leaves out retrying: DSPy's LM layer does that for answers, `embed` for embeddings. Here every transient
failure only gets the wait that suits it (`retry_after`, in seconds).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Any

from dspy import lm15
from google.auth import exceptions as auth_errors
from google.genai import errors as genai_errors
from pydantic import ValidationError

from sqlrag_dspy.lm.account import HOW_TO_SIGN_IN

PROVIDER = "gemini"
LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more is not waited for."""

_BLOCKED = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "ESCALATION",
)


def wait_before(attempt: int, hint: float | None, first: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 0).

    The server's own `hint` plus up to a tenth of it; else `first` doubled every attempt, at most half
    of `LONGEST_WAIT`, of which a random half is cut, so that parallel callers do not return together.
    """
    if hint is not None:
        return hint * (1 + random.random() / 10)
    return min(first * 2.0**attempt, LONGEST_WAIT / 2) * (0.5 + random.random() / 2)


@contextmanager
def translated(key: str | None = None) -> Iterator[None]:
    """Failures of google-genai and the network inside the block become `dspy.lm15` errors, without `key`."""
    try:
        yield
    except lm15.LM15Error:
        raise
    except Exception as failure:
        error = _lm15_error(failure)
        if error is None:
            raise
        if key and key in error.message:
            error = type(error)(error.message.replace(key, "…"), provider=PROVIDER)
        raise error from failure


def _lm15_error(failure: Exception) -> Any:
    if isinstance(failure, genai_errors.APIError):
        return _from_status(failure)
    if isinstance(failure, genai_errors.UnknownApiResponseError | JSONDecodeError | ValidationError):
        return _server_error("Gemini's reply is not the JSON it should be")
    if isinstance(failure, auth_errors.TransportError):
        return lm15.TransportError(
            f"Google's sign-in service cannot be reached: {_line(failure)}", provider=PROVIDER
        )
    if isinstance(failure, auth_errors.GoogleAuthError):
        return lm15.NotConfiguredError(
            f"no Google credentials: {_line(failure)}; {HOW_TO_SIGN_IN}", provider=PROVIDER
        )
    # httpx, httpx2 and aiohttp may all carry the call; they share names, not classes.
    classes = type(failure).__mro__
    if isinstance(failure, TimeoutError) or any(cls.__name__ == "TimeoutException" for cls in classes):
        return lm15.TimeoutError("Gemini did not answer in time", provider=PROVIDER)
    roots = {cls.__module__.partition(".")[0] for cls in classes}
    if isinstance(failure, OSError) or roots & {
        "httpx",
        "httpx2",
        "httpcore",
        "httpcore2",
        "aiohttp",
        "requests",
    }:
        return lm15.TransportError(f"the connection to Gemini failed: {_line(failure)}", provider=PROVIDER)
    return None


def _from_status(failure: genai_errors.APIError) -> Any:
    code = failure.code if isinstance(failure.code, int) else 0
    status = str(failure.status or "")
    message = _line(failure.message or failure.details or f"HTTP {code}")
    reason = " ".join(str(detail.get("reason", "")) for detail in _details(failure))
    facts = {"provider": PROVIDER, "status": code or None, "provider_code": status or None}
    if code in (401, 403) or "API_KEY" in reason or "api key not valid" in message.lower():
        return lm15.AuthError(message, credential_hint=HOW_TO_SIGN_IN, **facts)
    if code == 429:
        return _over_quota(failure, message, facts)
    if code in (408, 504):
        return lm15.TimeoutError(message, retry_after=_hint(failure), **facts)
    if code >= 500:
        return lm15.ServerError(message, retry_after=_hint(failure), **facts)
    if code == 404:
        return lm15.UnsupportedModelError(message, **facts)
    if code == 402 or (status == "FAILED_PRECONDITION" and "billing" in message.lower()):
        return lm15.BillingError(message, **facts)
    if re.search(r"token.*(exceed|limit)|too long|context length", message.lower()):
        return lm15.ContextLengthError(message, **facts)
    if 400 <= code < 500:
        return lm15.InvalidRequestError(message, **facts)
    return lm15.ProviderError(message, **facts)


def _over_quota(failure: genai_errors.APIError, message: str, facts: dict[str, Any]) -> Any:
    hint = _hint(failure)
    quotas = " ".join(
        str(violation.get("quotaId", ""))
        for detail in _details(failure)
        for violation in detail.get("violations") or ()
        if isinstance(violation, dict)
    )
    # Waiting out a minute's quota helps; waiting out a day's would hang the caller.
    if "PerDay" in quotas or (hint is not None and hint > LONGEST_WAIT):
        return lm15.BillingError(f"quota used up: {message}", retry_after=hint, **facts)
    return lm15.RateLimitError(message, retry_after=hint, **facts)


def _details(failure: genai_errors.APIError) -> list[dict[str, Any]]:
    body = failure.details
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _hint(failure: genai_errors.APIError) -> float | None:
    """The wait the server asks for, in seconds: RetryInfo in the body, else the Retry-After header."""
    headers = getattr(failure.response, "headers", None) or {}
    stated = next((detail["retryDelay"] for detail in _details(failure) if "retryDelay" in detail), None)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*s?\s*", str(stated or headers.get("retry-after") or ""))
    return float(match[1]) if match else None


def refused_prompt(reason: str) -> Any:
    """The error of a prompt that Gemini will not read."""
    return lm15.InvalidRequestError(
        f"Gemini blocked the prompt ({reason}); ask in other words", provider=PROVIDER, provider_code=reason
    )


def unfinished(reason: str, message: str, *, has_text: bool) -> Any:
    """The error of an answer that ended for `reason` (a FinishReason name), or None when it is an answer."""
    if reason in _BLOCKED:
        note = f": {message}" if message else ""
        return lm15.InvalidRequestError(
            f"Gemini blocked its answer ({reason}){note}; ask in other words",
            provider=PROVIDER,
            provider_code=reason,
        )
    if reason == "MAX_TOKENS" and not has_text:
        return lm15.InvalidRequestError(
            "Gemini spent all of max_tokens before it wrote anything (thinking counts); raise max_tokens",
            provider=PROVIDER,
            provider_code=reason,
        )
    if reason not in ("STOP", "MAX_TOKENS"):
        return _server_error(f"Gemini stopped without an answer ({reason})", reason)
    return None if has_text else _server_error("Gemini returned an empty answer", reason)


def cut_short() -> Any:
    """The error of a stream that ended before the model was done."""
    return lm15.TransportError("the connection ended before Gemini's answer was complete", provider=PROVIDER)


def _server_error(message: str, reason: str | None = None) -> Any:
    return lm15.ServerError(message, provider=PROVIDER, provider_code=reason)


def _line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 500 else text[:499] + "…"
