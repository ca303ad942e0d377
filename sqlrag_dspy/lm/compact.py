"""A short DSPy adapter for small models: what is long first, then the task, examples and the question.

A model that runs on this machine reads some dozens of tokens a second. So nothing about the format is explained
that decoding enforces anyway, long inputs (a schema, evidence) are said once and never repeated in
demonstrations, and they stand before everything that changes with the task and the question, where llama.cpp
need not read them again. Leaves out tools, histories and types of DSPy's own: those signatures go through
JSONAdapter as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dspy.adapters.json_adapter import JSONAdapter
from dspy.adapters.utils import format_field_value, serialize_for_json

LONG = 400
"""Characters from which an input belongs before the demonstrations."""


class CompactAdapter(JSONAdapter):
    """JSON decoded under the signature's schema, asked for in few words; one text field is written bare."""

    is_brief = True
    """Whoever writes prompts for a model behind this adapter should say little, too."""

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Messages: what is long and the task in the system turn, the examples, and the question last."""
        given = {
            name: format_field_value(field, inputs[name])
            for name, field in signature.input_fields.items()
            if name in inputs
        }
        if not all(isinstance(value, str) for value in given.values()):
            return super().format(signature, list(demos), dict(inputs))  # type: ignore[no-any-return]
        long = [name for name, value in given.items() if len(value) > LONG]
        if len(long) == len(given):
            long = long[:-1]  # something must be asked
        system = [f"{name}:\n{given[name]}" for name in long]
        system += [signature.instructions, *_described(signature)]
        turns = [{"role": "system", "content": "\n\n".join(system)}]
        for demo in demos:
            if any(demo.get(name) is None for name in signature.output_fields):
                continue
            shown = {
                name: format_field_value(field, demo[name])
                for name, field in signature.input_fields.items()
                if name in given and name not in long and demo.get(name) is not None
            }
            turns.append({"role": "user", "content": _asked(shown)})
            turns.append({"role": "assistant", "content": self._told(signature, demo)})
        short = {name: value for name, value in given.items() if name not in long}
        turns.append({"role": "user", "content": _asked(short)})
        return turns

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """The fields of an answer. Raises AdapterParseError when it is cut off inside its JSON."""
        if (name := _text_field(signature)) is not None:
            # Inputs are shown as "name: value", and a small model goes on in that form.
            return {name: re.sub(rf"\A\s*{name}\s*:", "", completion).strip()}
        return super().parse(signature, completion)  # type: ignore[no-any-return]

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        if _text_field(signature) is None:
            super()._prepare_response_format(lm, lm_kwargs, signature)

    def _told(self, signature: Any, demo: Mapping[str, Any]) -> str:
        if (name := _text_field(signature)) is not None:
            return str(demo[name])
        values = {name: serialize_for_json(demo[name]) for name in signature.output_fields}
        return json.dumps(values, ensure_ascii=False)


def _text_field(signature: Any) -> str | None:
    """The only output field, when it is text."""
    fields = list(signature.output_fields.items())
    return fields[0][0] if len(fields) == 1 and fields[0][1].annotation is str else None


def _described(signature: Any) -> list[str]:
    """What the output fields hold, where the signature says it."""
    text, told = _text_field(signature), []
    for name, field in signature.output_fields.items():
        said = (field.json_schema_extra or {}).get("desc") or ""
        if said and said != f"${{{name}}}":
            told.append(said if name == text else f"{name}: {said}")
    if text is not None:
        return [f"Answer with {told[0]}."] if told else []
    return ["Answer with\n" + "\n".join(told)] if told else []


def _asked(values: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in values.items())
