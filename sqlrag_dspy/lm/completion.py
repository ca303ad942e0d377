"""DSPy's canonical request and answer, in the values that llama.cpp's chat completion takes and gives.

Leaves out running it (`gguf`). Text only: images, audio, tools and log probabilities are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dspy import lm15

from sqlrag_dspy.lm.gguf import PROVIDER

MAX_TOKENS = 512
"""Tokens an answer may have when the request does not say."""

_SAMPLING = ("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")


def body(request: Any) -> dict[str, Any]:
    """A `dspy.lm15.Request` as a chat completion's JSON.

    Where no temperature is asked for it is 0: one question, one answer. Raises UnsupportedFeatureError for a
    setting that would otherwise be dropped.
    """
    asked = request.config
    if request.tools or asked.tool_choice is not None:
        raise _unsupported("tools", "native tool calls")
    for name in ("logprobs", "probabilities", "service_tier", "user_id", "store", "reasoning"):
        if getattr(asked, name) is not None:
            raise _unsupported(f"config.{name}", name)
    if asked.extensions:
        name = min(asked.extensions)
        raise _unsupported(f"config.{name}", f"the option {name!r}")
    turns = [{"role": _role(message), "content": "".join(_texts(message))} for message in request.messages]
    system = request.system
    if system is not None and not isinstance(system, str):
        system = "\n\n".join(part.text for part in system)
    made: dict[str, Any] = {
        "messages": [{"role": "system", "content": system}, *turns] if system else turns,
        "max_tokens": asked.max_tokens or MAX_TOKENS,
        "temperature": 0.0,
        "cache_prompt": True,
        "stream_options": {"include_usage": True},
    }
    made |= {name: getattr(asked, name) for name in _SAMPLING if getattr(asked, name) is not None}
    if asked.stop:
        made["stop"] = list(asked.stop)
    if asked.response_format:
        made["response_format"] = _format(asked.response_format)
    return made


class Assembly:
    """Partial replies as canonical events: `start`, then text, then `end` once the answer is complete."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self._started = False
        self._reason = ""
        self._usage = lm15.Usage()

    def add(self, chunk: Mapping[str, Any]) -> Iterator[Any]:
        """The events of one partial reply."""
        if not self._started:
            self._started = True
            yield lm15.StreamStartEvent(id=chunk.get("id"), model=self._request.model)
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        for choice in chunk.get("choices") or ():
            self._reason = choice.get("finish_reason") or self._reason
            if text := (choice.get("delta") or {}).get("content"):
                yield lm15.StreamDeltaEvent(delta=lm15.TextDelta(text=text, part_index=0))

    def end(self) -> Any:
        """The last event; raises a ServerError when the model never said that it was done."""
        if not self._reason:
            raise lm15.ServerError("the model stopped before its answer was complete", provider=PROVIDER)
        reason = "length" if self._reason == "length" else "stop"
        return lm15.StreamEndEvent(finish_reason=reason, usage=self._usage)


def answer(request: Any, chunks: Iterator[Mapping[str, Any]]) -> Any:
    """The `dspy.lm15.Response` that the partial replies add up to."""
    assembly, texts, model = Assembly(request), [], request.model
    for chunk in chunks:
        for event in assembly.add(chunk):
            if event.type == "delta":
                texts.append(event.delta.text)
    end = assembly.end()
    return lm15.Response(
        id=None,
        model=model,
        message=lm15.Message.assistant([lm15.TextPart("".join(texts))]),
        finish_reason=end.finish_reason,
        usage=end.usage,
    )


def _usage(counted: Mapping[str, Any]) -> Any:
    return lm15.Usage(
        input_tokens=counted.get("prompt_tokens"),
        output_tokens=counted.get("completion_tokens"),
        total_tokens=counted.get("total_tokens"),
        cache_read_tokens=(counted.get("prompt_tokens_details") or {}).get("cached_tokens"),
    )


def _role(message: Any) -> str:
    return message.role if message.role in ("assistant", "system") else "user"


def _texts(message: Any) -> Iterator[str]:
    for part in message.parts:
        if part.type == "text":
            yield part.text
        elif part.type != "thinking":  # thoughts are not sent back
            raise _unsupported(f"messages.{part.type}", f"{part.type} in a {message.role} turn")


def _format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """An answer format as llama.cpp takes it: any JSON object, or JSON under a schema."""
    if wanted.get("type") == "json_schema":
        schema = wanted.get("schema") or (wanted.get("json_schema") or {}).get("schema") or {}
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return {"type": "json_object"}


def _unsupported(feature: str, what: str) -> Any:
    return lm15.UnsupportedFeatureError(
        f"a GGUF model takes no {what}; leave it out", feature=feature, provider=PROVIDER
    )
