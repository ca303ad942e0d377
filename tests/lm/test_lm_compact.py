"""The short adapter: what stands where in its prompts, and that answers come back through it."""

from __future__ import annotations

from typing import Any, Literal

import dspy
import pytest
from dspy import lm15
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy.lm.compact import LONG, CompactAdapter


class Route(dspy.Signature):
    """Choose a way."""

    database_schema: str = dspy.InputField()
    question: str = dspy.InputField()
    route: Literal["sql", "vector"] = dspy.OutputField()


class Write(dspy.Signature):
    """Write a statement."""

    database_schema: str = dspy.InputField()
    question: str = dspy.InputField()
    sql: str = dspy.OutputField(desc="one SELECT statement")


class Says:
    """An engine with one reply that remembers what it was asked."""

    supports_response_schema = True
    supported_params = frozenset({"response_format"})

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[Any] = []

    def complete(self, request: Any) -> Any:
        self.asked.append(request)
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(self.reply)]),
            finish_reason="stop",
            usage=lm15.Usage(),
        )


def run(signature: Any, reply: str, **inputs: Any) -> tuple[Any, Any]:
    engine = Says(reply)
    lm = dspy.LM("says/it", engine=engine, cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=CompactAdapter()):
        said = dspy.Predict(signature)(**inputs)
    return said, engine


SCHEMA = "table t (a, b) " * 60
DEMO = dspy.Example(database_schema="(as below)", question="how many?", route="sql", sql="SELECT 1")


def test_a_choice_is_json_under_the_schema() -> None:
    said, engine = run(Route, '{"route": "vector"}', database_schema=SCHEMA, question="q", demos=[DEMO])
    assert said.route == "vector"
    asked = engine.asked[0]
    assert asked.config.response_format["schema"]["properties"]["route"]["enum"] == ["sql", "vector"]
    assert [(m.role, m.text) for m in asked.messages] == [
        ("user", "question: how many?"),
        ("assistant", '{"route": "sql"}'),
        ("user", "question: q"),
    ]
    assert str(asked.system).count(SCHEMA.strip()) == 1
    assert "Choose a way." in str(asked.system)


@pytest.mark.parametrize("reply", ["SELECT 2", " SELECT 2\n", "sql: SELECT 2", "sql:\nSELECT 2"])
def test_one_text_field_is_written_bare_and_unconstrained(reply) -> None:
    said, engine = run(Write, reply, database_schema=SCHEMA, question="q", demos=[DEMO])
    assert said.sql == "SELECT 2"
    asked = engine.asked[0]
    assert asked.config.response_format is None
    assert asked.messages[1].text == "SELECT 1"
    assert "Answer with one SELECT statement." in str(asked.system)


def test_what_is_long_comes_first_so_that_tasks_and_questions_share_a_start() -> None:
    prompts = []
    for signature, reply in ((Route, '{"route": "sql"}'), (Write, "SELECT 1")):
        for question in ("one", "two"):
            _, engine = run(signature, reply, database_schema=SCHEMA, question=question)
            prompts.append(str(engine.asked[0].system))
    assert prompts[0] == prompts[1]
    assert all(prompt.startswith(f"database_schema:\n{SCHEMA}".rstrip()) for prompt in prompts)


def test_a_demonstration_never_repeats_what_is_long_and_one_without_an_answer_is_left_out() -> None:
    long = dspy.Example(database_schema=SCHEMA, question="how many?", route="sql")
    open_ended = dspy.Example(database_schema="s", question="and?")
    _, engine = run(Route, '{"route": "sql"}', database_schema=SCHEMA, question="q", demos=[long, open_ended])
    assert [m.text for m in engine.asked[0].messages] == [
        "question: how many?",
        '{"route": "sql"}',
        "question: q",
    ]


def test_what_is_short_stays_with_the_question() -> None:
    _, engine = run(Route, '{"route": "sql"}', database_schema="t(a)", question="q")
    assert engine.asked[0].messages[-1].text == "database_schema: t(a)\nquestion: q"


def test_an_answer_cut_off_inside_its_json_is_a_failed_call_and_not_asked_again() -> None:
    engine = Says('{"rou')
    lm = dspy.LM("says/it", engine=engine, cache=False, num_retries=0)
    with (
        dspy.context(lm=lm, adapter=CompactAdapter()),
        pytest.raises(dspy.utils.exceptions.AdapterParseError),
    ):
        dspy.Predict(Route)(database_schema="s", question="q")
    assert len(engine.asked) == 1


@given(schema=st.text(max_size=3 * LONG), question=st.text(max_size=3 * LONG))
def test_every_input_is_said_once_and_something_is_always_asked(schema: str, question: str) -> None:
    inputs = {"database_schema": f"<{schema}>", "question": f"[{question}]"}
    turns = CompactAdapter().format(Write, [], inputs)
    whole = "\n".join(turn["content"] for turn in turns)
    for name, value in inputs.items():
        assert f"{name}: {value}" in whole or f"{name}:\n{value}" in whole
    assert len(whole) < len(schema) + len(question) + 200
    assert [turn["role"] for turn in turns] == ["system", "user"]
    assert turns[1]["content"]
