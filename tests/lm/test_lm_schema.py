"""JSON schemas as Gemini takes them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.lm.schema import gemini_schema

SUPPORTED = {
    *("type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
    *("propertyOrdering", "$ref", "$defs"),
}


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Part(pydantic.BaseModel):
    color: Color = pydantic.Field(description="which")
    weight: float | None = None


class Whole(pydantic.BaseModel):
    kind: Literal["whole"]
    parts: list[Part]
    first: Part = pydantic.Field(description="the first part")
    size: Annotated[int, pydantic.Field(gt=0, lt=10)] = 1
    code: Annotated[str, pydantic.Field(pattern="^a", max_length=3)] = "a"
    maybe: Literal["x", None] = None
    pair: tuple[int, str] = (1, "a")
    scores: dict[str, float] = {}


class Tree(pydantic.BaseModel):
    name: str
    children: list[Tree]


def words(schema: Any) -> set[str]:
    """Every keyword used, names of properties and definitions left out."""
    if isinstance(schema, list):
        return set().union(*(words(part) for part in schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for word, value in schema.items():
        if word in ("properties", "$defs"):
            found |= set().union(*(words(part) for part in value.values()))
        elif word not in ("enum", "required", "propertyOrdering"):
            found |= words(value)
    return found


def test_a_nested_model_is_inlined() -> None:
    schema = gemini_schema(Whole.model_json_schema())
    assert words(schema) <= SUPPORTED - {"$ref", "$defs"}
    fields = schema["properties"]
    assert fields["kind"]["enum"] == ["whole"]
    assert fields["first"]["description"] == "the first part"
    assert fields["first"]["properties"]["color"]["enum"] == ["red", "blue"]
    assert fields["first"]["properties"]["color"]["description"] == "which"
    assert fields["first"]["properties"]["weight"]["type"] == ["number", "null"]
    assert fields["parts"]["items"]["propertyOrdering"] == ["color", "weight"]
    assert (fields["size"]["minimum"], fields["size"]["maximum"]) == (1, 9)
    assert fields["maybe"]["anyOf"] == [{"type": "string", "enum": ["x"]}, {"type": "null"}]
    assert [part["type"] for part in fields["pair"]["prefixItems"]] == ["integer", "string"]
    assert fields["scores"]["additionalProperties"] == {"type": "number"}
    assert schema["propertyOrdering"] == list(Whole.model_fields)


def test_a_model_within_itself_keeps_its_reference() -> None:
    schema = gemini_schema(Tree.model_json_schema())
    assert words(schema) <= SUPPORTED
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_constant_is_a_boolean(value) -> None:
    assert gemini_schema({"const": value}) == {"type": "boolean"}


TYPES = st.recursive(
    st.sampled_from([str, int, float, bool, Color, Literal["a", "b"], Literal[1, 2], Any, Part]),
    lambda inner: st.one_of(
        inner.map(lambda t: list[t]), inner.map(lambda t: t | None), inner.map(lambda t: dict[str, t])
    ),
    max_leaves=4,
)


@given(st.lists(TYPES, min_size=1, max_size=4))
def test_any_model_becomes_a_schema_of_known_words_that_converts_to_itself(kinds) -> None:
    model = pydantic.create_model("Model", **{f"f{n}": (kind, ...) for n, kind in enumerate(kinds)})
    schema = gemini_schema(model.model_json_schema())
    assert words(schema) <= SUPPORTED
    assert gemini_schema(schema) == schema
