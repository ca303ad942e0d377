"""DSPy's canonical request and answer, in the values that google-genai takes and gives.

Leaves out sending (`genai`) and failures other than an answer that is none (`failures` words those).
Text only: images, audio, tools and log probabilities are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dspy import lm15
from google.genai import types

from sqlrag_dspy.lm import failures
from sqlrag_dspy.lm.schema import gemini_schema

_BUDGETS = {
    "off": 0,
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 24576,
    "max": 24576,
}
_LEVELS = {"off": "minimal", "xhigh": "high", "max": "high"}


def model_name(model: str) -> str:
    """Gemini's own name of DSPy's `gemini/NAME`."""
    return model.removeprefix("gemini/")


def contents(request: Any) -> list[types.Content]:
    """The turns of a `dspy.lm15.Request`; assistant turns become the model's, all others the user's."""
    turns = []
    for message in request.messages:
        role = "model" if message.role == "assistant" else "user"
        parts = [types.Part(text=text) for text in _texts(message.parts, f"a {message.role} turn")]
        turns.append(types.Content(role=role, parts=parts))
    return turns


def config(request: Any) -> types.GenerateContentConfig:
    """System instruction, sampling, limits and answer format of a `dspy.lm15.Request`.

    Raises UnsupportedFeatureError for a setting that would otherwise be dropped.
    """
    asked = request.config
    if request.tools or asked.tool_choice is not None:
        raise _unsupported("tools", "native tool calls")
    for name in ("logprobs", "probabilities", "service_tier", "user_id", "store"):
        if getattr(asked, name) is not None:
            raise _unsupported(f"config.{name}", name)
    if asked.extensions:
        name = min(asked.extensions)
        raise _unsupported(f"config.{name}", f"the option {name!r}")
    system = request.system
    if system is not None and not isinstance(system, str):
        system = "\n\n".join(_texts(system, "the system prompt"))
    wanted = asked.response_format or {}
    return types.GenerateContentConfig(
        system_instruction=system or None,
        temperature=asked.temperature,
        top_p=asked.top_p,
        top_k=asked.top_k,
        max_output_tokens=asked.max_tokens,
        stop_sequences=list(asked.stop) or None,
        seed=asked.seed,
        frequency_penalty=asked.frequency_penalty,
        presence_penalty=asked.presence_penalty,
        response_mime_type="application/json" if wanted else None,
        response_json_schema=gemini_schema(wanted["schema"]) if wanted.get("type") == "json_schema" else None,
        thinking_config=_thinking(request.model, asked.reasoning),
    )


def answer(request: Any, reply: types.GenerateContentResponse) -> Any:
    """The `dspy.lm15.Response` of one whole reply; raises the error of a block or an empty one."""
    thoughts, text = _parts(reply)
    reason = finish_name(reply) or "STOP"
    _raise_if_none(reply, reason, bool(text))
    parts = [lm15.ThinkingPart(thoughts)] if thoughts else []
    return lm15.Response(
        id=reply.response_id or None,
        model=reply.model_version or model_name(request.model),
        message=lm15.Message.assistant([*parts, lm15.TextPart(text)]),
        finish_reason=_finish(reason),
        usage=usage(reply),
    )


class Assembly:
    """A stream of partial replies as canonical events: `start`, then text, then `end` once it is complete."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self._started = False
        self._has_text = False
        self._has_thoughts = False
        self._reason = ""
        self._last: types.GenerateContentResponse | None = None
        self._usage = lm15.Usage()

    def add(self, chunk: types.GenerateContentResponse) -> Iterator[Any]:
        """The events of one partial reply."""
        reason = finish_name(chunk)
        thoughts, text = _parts(chunk)
        self._has_text = self._has_text or bool(text)
        _raise_if_none(chunk, reason, self._has_text)
        self._reason = reason or self._reason
        if chunk.usage_metadata is not None:
            self._usage = usage(chunk)
        if not self._started:
            self._started = True
            name = chunk.model_version or model_name(self._request.model)
            yield lm15.StreamStartEvent(id=chunk.response_id or None, model=name)
        if thoughts:
            self._has_thoughts = True
            yield lm15.StreamDeltaEvent(delta=lm15.ThinkingDelta(text=thoughts, part_index=0))
        if text:
            yield lm15.StreamDeltaEvent(delta=lm15.TextDelta(text=text, part_index=1))

    def end(self) -> Any:
        """The last event; raises a TransportError when the model never said that it was done."""
        if not self._reason:
            raise failures.cut_short()
        return lm15.StreamEndEvent(finish_reason=_finish(self._reason), usage=self._usage)


def finish_name(reply: types.GenerateContentResponse) -> str:
    """The finish reason's name, "" when the reply has none (yet)."""
    candidate = reply.candidates[0] if reply.candidates else None
    reason = candidate.finish_reason if candidate is not None else None
    return "" if reason is None else str(getattr(reason, "value", reason))


def usage(reply: types.GenerateContentResponse) -> Any:
    """Token counts. Thinking counts as output too, as DSPy's own counters have it for this provider."""
    counted = reply.usage_metadata
    if counted is None:
        return lm15.Usage()
    thoughts = counted.thoughts_token_count
    return lm15.Usage(
        input_tokens=counted.prompt_token_count or 0,
        output_tokens=(counted.candidates_token_count or 0) + (thoughts or 0),
        total_tokens=counted.total_token_count,
        cache_read_tokens=counted.cached_content_token_count,
        reasoning_tokens=thoughts,
    )


def _raise_if_none(reply: types.GenerateContentResponse, reason: str, has_text: bool) -> None:
    feedback = reply.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        raise failures.refused_prompt(str(getattr(feedback.block_reason, "value", feedback.block_reason)))
    if reason:
        message = (reply.candidates[0].finish_message or "") if reply.candidates else ""
        if error := failures.unfinished(reason, message, has_text=has_text):
            raise error


def _parts(reply: types.GenerateContentResponse) -> tuple[str, str]:
    """(thoughts, text) of the first candidate."""
    content = reply.candidates[0].content if reply.candidates else None
    parts = (content.parts or []) if content is not None else []
    thoughts = "".join(part.text or "" for part in parts if part.thought)
    return thoughts, "".join(part.text or "" for part in parts if not part.thought)


def _texts(parts: Any, where: str) -> Iterator[str]:
    for part in parts:
        if part.type == "text":
            yield part.text
        elif part.type != "thinking":  # thoughts are not sent back
            raise _unsupported(f"messages.{part.type}", f"{part.type} in {where}")


def _thinking(model: str, reasoning: Any) -> types.ThinkingConfig | None:
    if reasoning is None:
        return None
    if reasoning.thinking_budget is not None:
        return types.ThinkingConfig(thinking_budget=reasoning.thinking_budget)
    if model_name(model).removeprefix("models/").startswith("gemini-3"):  # levels replaced budgets
        level = _LEVELS.get(reasoning.effort, reasoning.effort)
        return types.ThinkingConfig(thinking_level=types.ThinkingLevel(level.upper()))
    return types.ThinkingConfig(thinking_budget=_BUDGETS[reasoning.effort])


def _finish(reason: str) -> str:
    return "length" if reason == "MAX_TOKENS" else "stop"


def _unsupported(feature: str, what: str) -> Any:
    return lm15.UnsupportedFeatureError(
        f"the Gemini engine does not take {what}; leave it out", feature=feature, provider=failures.PROVIDER
    )
