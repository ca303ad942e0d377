"""A dspy.LM whose replies are scripted by what is asked for, and that counts tokens as a provider would."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy import lm15

Reply = str | BaseException | Callable[[], str]
TOKENS = (100, 7)
"""Tokens in and out of every call."""


class Scripted:
    """An engine. `replies` maps a task to its replies, of which the last serves for ever.

    Tasks are the output fields route, sql, condition and answer; "repair" is the sql of a repair. A reply is a
    field's value; "raw:…" is sent as it stands; an exception is raised; a function is called.
    """

    def __init__(self, replies: Mapping[str, Reply | list[Reply]]) -> None:
        self.left = {task: list(r) if isinstance(r, list) else [r] for task, r in replies.items()}
        self.asked: list[str] = []
        self.prompts: list[str] = []

    def complete(self, request: Any) -> Any:
        prompt = request.messages[-1].text or ""
        field = re.findall(r"`\[\[ ## (\w+) ## \]\]`|fields: `(\w+)`", prompt)[0]
        name = next(part for part in field if part)
        task = "repair" if "[[ ## refused_sql ## ]]" in prompt else name
        self.asked.append(task)
        self.prompts.append("\n".join(m.text or "" for m in request.messages))
        replies = self.left.get(task) or [RuntimeError(f"nothing is scripted for {task}")]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if isinstance(reply, BaseException):
            raise reply
        text = reply if isinstance(reply, str) else reply()
        is_raw = text.startswith("raw:")
        text = text[4:] if is_raw else f"[[ ## {name} ## ]]\n{text}\n\n[[ ## completed ## ]]"
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(text)]),
            finish_reason="stop",
            usage=lm15.Usage(input_tokens=TOKENS[0], output_tokens=TOKENS[1], total_tokens=sum(TOKENS)),
        )


def scripted(*, cache: bool = False, **replies: Any) -> Any:
    """A dspy.LM over a Scripted engine, which is its `script`."""
    engine = Scripted(replies)
    lm = dspy.LM("scripted/model", engine=engine, cache=cache, num_retries=0)
    lm.script = engine
    return lm
