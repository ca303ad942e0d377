"""A JSON schema as pydantic writes it, in the part of JSON Schema that Gemini decodes under.

Leaves out checking answers against the schema: DSPy's adapter does that.
Source: the list of supported keywords of GenerationConfig.responseJsonSchema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT = (
    "type",
    "format",
    "title",
    "description",
    "enum",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "required",
)
_FORMATS = ("date-time", "date", "time")


def gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema with references inlined, `const` as a one-value enum and unknown keywords left out.

    `propertyOrdering` is added, so that the model writes fields in the order of the signature (reasoning
    before the answer). A schema that refers to itself keeps `$ref` and `$defs` for the recursive part.
    """
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    kept: set[str] = set()
    converted = _convert(schema, definitions, (), kept)
    done: dict[str, Any] = {}
    while missing := sorted(kept - done.keys()):
        for name in missing:
            done[name] = _convert(definitions[name], definitions, (name,), kept)
    if done:
        converted["$defs"] = done
    return converted


def _convert(
    schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...], kept: set[str]
) -> dict[str, Any]:
    if not isinstance(schema, Mapping):  # true and {} both allow anything
        return {}
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        if name in inside:
            kept.add(name)
            return {"$ref": f"#/$defs/{name}"}
        # Gemini refuses keywords beside $ref; pydantic puts a field's description there.
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        return _convert({**definitions.get(name, {}), **beside}, definitions, (*inside, name), kept)
    if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
        rest = {word: value for word, value in schema.items() if word != "allOf"}
        return _convert({**schema["allOf"][0], **rest}, definitions, inside, kept)
    result = {word: schema[word] for word in _KEPT if word in schema}
    if result.get("format") not in _FORMATS:
        result.pop("format", None)
    if "const" in schema:
        result["enum"] = [schema["const"]]
    if "enum" in result:
        result = _typed_enum(result)
    for word in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(schema.get(word), int) and schema.get("type") == "integer":
            result[word[9:].lower()] = schema[word] + (1 if word == "exclusiveMinimum" else -1)
    if isinstance(schema.get("properties"), Mapping):
        result["properties"] = {
            name: _convert(part, definitions, inside, kept) for name, part in schema["properties"].items()
        }
        result["propertyOrdering"] = list(result["properties"])
    if isinstance(schema.get("additionalProperties"), bool | Mapping):
        extra = schema["additionalProperties"]
        result["additionalProperties"] = (
            extra if isinstance(extra, bool) else _convert(extra, definitions, inside, kept)
        )
    if isinstance(schema.get("items"), bool | Mapping):
        result["items"] = _convert(schema["items"], definitions, inside, kept)
    if isinstance(schema.get("prefixItems"), list):
        result["prefixItems"] = [_convert(part, definitions, inside, kept) for part in schema["prefixItems"]]
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            result["anyOf"] = [_convert(part, definitions, inside, kept) for part in schema[word]]
    return _flat_optional(result)


def _typed_enum(schema: dict[str, Any]) -> dict[str, Any]:
    """Gemini's enum holds strings and numbers; one of booleans or null says no more than the type does."""
    values = schema["enum"]
    names = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
    found = list(dict.fromkeys(names[type(value)] for value in values if type(value) in names))
    if "type" not in schema and found:
        schema = {**schema, "type": found[0] if len(found) == 1 else found}
    if any(isinstance(value, bool) or value is None for value in values):
        usable = [value for value in values if not isinstance(value, bool) and value is not None]
        schema = {word: value for word, value in schema.items() if word != "enum"}
        if usable and not any(isinstance(value, bool) for value in values):
            variant = {"type": names[type(usable[0])], "enum": usable}
            rest = {word: value for word, value in schema.items() if word != "type"}
            schema = {**rest, "anyOf": [variant, {"type": "null"}]}
    return schema


def _flat_optional(schema: dict[str, Any]) -> dict[str, Any]:
    """`anyOf: [{type: X}, {type: null}]` as `type: [X, null]`, the form that Gemini documents."""
    variants = schema.get("anyOf")
    if not variants or len(variants) != 2 or {"type": "null"} not in variants:
        return schema
    other = next((part for part in variants if part != {"type": "null"}), None)
    if other is None or not isinstance(other.get("type"), str) or "enum" in other:
        return schema
    rest = {word: value for word, value in schema.items() if word != "anyOf"}
    return {**other, "type": [other["type"], "null"], **rest}
