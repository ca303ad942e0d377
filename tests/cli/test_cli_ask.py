"""`sqlrag ask`: the answer for a person, for a program, and for a file of questions."""

from __future__ import annotations

import io
import json

import pytest

from sqlrag_dspy import Answer
from sqlrag_dspy.cli.answers import show
from sqlrag_dspy.cli.output import Screen


def test_an_answer_for_a_person(sqlrag, program):
    outcome = sqlrag("ask", "what do beekeepers do")
    assert outcome.code == 0, outcome.err
    assert "Beekeepers put forty hives" in outcome.out
    assert "route vector · confidence" in outcome.out
    assert "sources: story 4" in outcome.out
    assert "warning: " in outcome.out


def test_quiet_leaves_the_answer_alone(sqlrag, program):
    outcome = sqlrag("--quiet", "ask", "what do beekeepers do")
    assert "Beekeepers put forty hives" in outcome.out
    assert "route" not in outcome.out
    assert outcome.err == ""


def test_json_is_one_answer(sqlrag, program):
    told = sqlrag("ask", "what do beekeepers do", "--json").json
    assert told["question"] == "what do beekeepers do"
    assert told["route"] == "vector"
    assert told["documents"][0]["key"] == 4
    assert told["steps"]
    assert all(step["input"] is None and step["output"] is None for step in told["steps"])
    traced = sqlrag("ask", "what do beekeepers do", "--json", "--trace").json
    assert any(step["output"] for step in traced["steps"])


def test_a_trace_shows_steps_tools_and_documents(sqlrag, program):
    out = sqlrag("ask", "what do beekeepers do", "--trace").out
    for text in (
        "question: what do beekeepers do",
        "route (",
        "search (",
        "searched exactly 5 of 5 rows",
        "story 4",
    ):
        assert text in out


def test_by_lines_each_question_gets_its_answer(sqlrag, program):
    lines = [
        b'{"id": "one", "question": "what do beekeepers do"}',
        b"not json",
        b'{"id": [2], "question": "  "}',
        b'{"id": 3, "question": 42}',
        b'{"id": 4, "question": "\xff"}',
        b"",
        b'{"question": "night trains", "extra": true}',
    ]
    (program / "questions").write_bytes(b"\n".join(lines) + b"\n\n")
    outcome = sqlrag("ask", "--batch", "questions")
    assert outcome.code == 0
    found = outcome.lines
    assert [line["id"] for line in found] == ["one", None, [2], 3, None, None, None]
    assert [bool(line["error"]) for line in found] == [False, True, True, True, True, True, False]
    assert [line["question"] for line in found] == [
        "what do beekeepers do",
        "",
        "  ",
        "",
        "",
        "",
        "night trains",
    ]
    assert list(found[1]) == list(found[0])
    assert found[0]["documents"][0]["key"] == 4
    assert found[6]["documents"][0]["key"] == 1
    assert json.dumps(found[1]["rows"]) == "[]"


def test_a_program_may_be_named_on_the_command_line(sqlrag, program):
    (program / "program").rename(program / "moved")
    sqlrag("ask", "bees").refused("no compiled program 'program'")
    assert sqlrag("ask", "bees", "--program", "moved").code == 0


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_refused(sqlrag, program, question):
    sqlrag("ask", question).refused("the question is empty")


def test_odd_questions_are_answered(sqlrag, program):
    for question in (
        "bees " * 3000,
        "'; DROP TABLE story; --",
        "\x00\x1b[2J bees",
        "蜂",
        "?",
        "%s {x} [bold]",
    ):
        outcome = sqlrag("ask", question)
        assert outcome.code == 0, (question[:20], outcome.err)


def test_bytes_that_are_no_text_become_a_question(shell, program):
    outcome = shell("ask", b"bees \xff on roofs".decode("utf-8", "surrogateescape"), "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["question"] == "bees � on roofs"


@pytest.mark.parametrize(
    ("decided_by", "sql", "depth", "said"),
    [
        ("learned", "SELECT 1", "sketch", "· decided by learned tier ·"),
        ("learned", "SELECT 1", "call", "· route by learned tier · SQL by the language model ·"),
        ("lm", "SELECT 1", "agent", "· decided by the language model ·"),
        ("lm", "SELECT 1", "sketch", "· route by the language model · SQL by learned tier ·"),
        ("learned", None, "call", "· decided by learned tier ·"),
        ("lm", None, None, "· decided by the language model ·"),
    ],
)
def test_who_routed_and_who_wrote_the_sql_are_told_apart(decided_by, sql, depth, said):
    out = io.StringIO()
    show(Answer(question="?", route="sql", decided_by=decided_by, sql=sql, depth=depth), Screen(out=out))
    assert said in out.getvalue()
