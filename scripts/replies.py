"""A model's replies written down, so that a measurement that asks the same again costs no time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dspy import lm15


class Remembering:
    """An engine that writes its replies down; while it `recalls`, a request known to it costs no time.

    Baselines and the program are timed and always ask; depths and parts left out mostly ask what was asked before.
    """

    def __init__(self, engine: Any, place: Path) -> None:
        self.engine = engine
        self.place = place
        self.recalls = False
        self.known: dict[str, dict[str, Any]] = {}
        if place.is_file():
            for line in place.read_text(encoding="utf-8").splitlines():
                self.known.update(json.loads(line))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def complete(self, request: Any) -> Any:
        """The engine's reply, or the one of an earlier run."""
        turns = [request.system, *((turn.role, turn.text) for turn in request.messages)]
        key = hashlib.sha256(repr([turns, request.config]).encode()).hexdigest()
        if self.recalls and key in self.known:
            kept = self.known[key]
            message = lm15.Message.assistant([lm15.TextPart(kept["text"])])
            usage = lm15.Usage(**kept["usage"])
            return lm15.Response(
                id=None, model=request.model, message=message, finish_reason=kept["finish"], usage=usage
            )
        said = self.engine.complete(request)
        names = ("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens")
        usage = {name: getattr(said.usage, name) for name in names}
        self.known[key] = {"text": said.text or "", "finish": said.finish_reason, "usage": usage}
        with self.place.open("a", encoding="utf-8") as file:
            file.write(json.dumps({key: self.known[key]}, ensure_ascii=False) + "\n")
        return said
