"""The fault matrix: everything that a model can do wrong, at every stage.

No cell may raise, try more than four statements, or lose the answer: what stands in for the stage, the best
statement or the sketch still answers, flagged, and `failure_source` names what failed first.
"""

from __future__ import annotations

import copy
import json

import dspy
import pytest
from scripted_lm import TOKENS, scripted
from team_shop import APPROVED, MISSPELT, OTHER, QUESTION, RIGHT, WELL, WRONG, refused

from sqlrag_dspy.program import inquiry
from sqlrag_dspy.settings import Budget

STAGES = ("route", "intents", "coverage", "linked", "sql", "repair", "verdict", "told")
TRUNCATED = {
    "intents": '[{"description": "how many cust',
    "coverage": '{"missing": ["in Lei',
    "linked": '{"tables": ["customers", "ord',
    "verdict": '{"issues": [{"kind": "filter", "said": "the ci',
    "told": '{"explanation": "counts the cus',
    "sql": "SELECT COUNT(*) FROM customers WHERE (",
    "repair": "SELECT COUNT(*) FROM customers WHERE (city",
    "route": "sq",
}
WRONG_TYPES = {
    "intents": '{"description": 7, "filters": {"a": 1}}',
    "coverage": '["missing", 7]',
    "linked": '[["customers"], 7]',
    "verdict": '{"issues": 7, "approved": "perhaps"}',
    "told": "[1, 2]",
    "sql": '{"sql": 7}',
    "repair": "7",
    "route": "maybe",
}
EMPTY = {"intents": "[]", "coverage": "{}", "linked": "{}", "verdict": "{}", "told": "{}"}
FAULTS = {
    "timeout": dspy.lm15.TimeoutError("no answer in 60 s"),
    "429": dspy.lm15.RateLimitError("too many requests"),
    "raises": RuntimeError("the engine is gone\nwith a second line"),
    "nothing": "raw:",
    "malformed": "raw:I am sorry, but }{ [[ ## ",
    "empty": EMPTY,
    "truncated": TRUNCATED,
    "wrong types": WRONG_TYPES,
}
LOST = ("timeout", "429")
"""Faults after which the model is not asked again."""
READABLE: dict[tuple[str, str], str | None] = {
    **{("empty", stage): None for stage in ("coverage", "told", "sql")},
    **{("truncated", stage): None for stage in ("intents", "coverage", "linked", "told", "sql")},
    ("wrong types", "sql"): None,
    ("empty", "intents"): "intents",
    ("empty", "linked"): "schema",
    ("empty", "repair"): "build",
    ("empty", "verdict"): "critic",
    ("truncated", "repair"): "check",
    ("wrong types", "repair"): "check",
    ("truncated", "verdict"): "critic",
}
"""What can be read, or mended, and the stage that fails by it; in every other cell it is the model (`lm`)."""


def reply(fault: str, stage: str):
    said = FAULTS[fault]
    return said.get(stage, "") if isinstance(said, dict) else said


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_a_stage(ask, fault, stage):
    first = {"sql": WRONG, "repair": RIGHT} if stage == "repair" else {"repair": RIGHT}
    answer, script = ask(**first | {stage: reply(fault, stage)})
    assert answer.rows == [[10]]
    assert answer.attempts <= 4
    source = READABLE.get((fault, stage), "lm")
    assert (answer.failure_source, answer.flagged) == (source, source is not None)
    assert all("\n" not in warning for warning in answer.warnings)
    assert script.asked.count(stage) <= 3
    if fault in LOST:
        assert script.asked[-1] == stage


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_model_that_decodes_under_a_schema(program, fault, stage):
    """JSON alone is spoken: nothing asks again but the stage itself."""
    first = {"sql": WRONG, "repair": RIGHT} if stage == "repair" else {"repair": RIGHT}
    said = {task: as_json(task, text) for task, text in (WELL | first).items()}
    lm = scripted(**said | {stage: as_json(stage, reply(fault, stage))})
    with dspy.context(adapter=dspy.JSONAdapter()):
        answer = program(lm=lm, depth="team").ask(QUESTION)
    assert answer.rows == [[10]]
    assert answer.attempts <= 4
    if (fault, stage) not in READABLE:
        assert (answer.failure_source, answer.flagged) == ("lm", True)
    assert lm.script.asked.count(stage) <= 3


def as_json(task: str, said):
    """The reply as an object of the one field that is asked for; what is no text stands as it is."""
    if not isinstance(said, str) or said.startswith("raw:"):
        return said
    name = "sql" if task == "repair" else task
    return "raw:" + (f'{{"{name}": {said}}}' if said[:1] in "[{" and said else json.dumps({name: said}))


@pytest.mark.parametrize("depth", ["call", "retry", "team"])
def test_a_statement_without_end_is_refused_before_it_is_read(ask, monkeypatch, shop, depth):
    read = []
    check = type(shop).check
    monkeypatch.setattr(type(shop), "check", lambda self, sql: read.append(sql) or check(self, sql))
    answer, script = ask(sql="SELECT " + "1+" * 100_000 + "1", repair=RIGHT, depth=depth)
    assert all(len(sql) < 20_000 for sql in read)
    assert answer.rows == [[10]]
    assert all(len(prompt) < 40_000 for prompt in script.prompts)
    (refusal,) = [step.output for step in answer.steps if step.output and "200,008 characters" in step.output]
    assert refusal.startswith("refused: ")


HALF = "\ud83d"
HALVES = {
    "intents": json.dumps([{"description": f"customers {HALF}", "filters": [f"in Leiden {HALF}"]}]),
    "coverage": json.dumps({"missing": [f"in Leiden {HALF}"]}),
    "linked": json.dumps({"tables": ["customers", HALF], "values": [f"customers.city = '{HALF}'"]}),
    "sql": f"SELECT COUNT(*) AS \"{HALF}\" FROM customers WHERE city = 'Leiden{HALF}'",
    "repair": RIGHT.replace("*)", f'*) AS "{HALF}"'),
    "verdict": refused(f"the city {HALF} is missing"),
    "told": json.dumps({"explanation": f"counts {HALF}", "assumptions": [f"'in' {HALF} is their city"]}),
}
"""Texts that nothing can encode, escaped as JSON has them or as they stand."""


@pytest.mark.parametrize("stage", [*HALVES, "all", "raw"])
def test_half_a_character_of_a_model_leaves_an_answer_that_can_be_written(ask, stage):
    said = {"all": HALVES, "raw": dict.fromkeys(HALVES, f"raw:{HALF} }}{{ [[ ## ")}.get(stage)
    answer, _ = ask(**{"sql": MISSPELT, "repair": RIGHT} | (said or {stage: HALVES[stage]}))
    assert answer.model_dump_json()
    assert answer.rows == [[10]]


# --- models that answer well formed, and wrongly -----------------------------------------------------


def test_a_critic_that_always_approves_leaves_what_costs_no_call(ask):
    answer, _ = ask(sql=MISSPELT, repair=RIGHT, verdict=APPROVED)
    assert (answer.rows, answer.failure_source) == ([[10]], None)


def test_a_critic_that_never_approves_is_bounded(ask):
    answer, script = ask(verdict=refused(), repair=[RIGHT.replace("*)", f"*) AS n{n}") for n in range(9)])
    assert script.asked.count("verdict") == answer.attempts == 4
    assert (answer.rows, answer.flagged, answer.failure_source) == ([[10]], True, "critic")


def test_a_checker_that_is_never_content_costs_one_more_reading(ask):
    answer, script = ask(coverage=json.dumps({"missing": ["everything"]}))
    assert (script.asked.count("intents"), script.asked.count("coverage")) == (2, 1)
    assert (answer.rows, answer.failure_source) == ([[10]], None)


def test_a_linker_that_links_everything_and_more_leaves_the_schema(ask):
    answer, _ = ask(linked=json.dumps({"tables": ["customers", "orders", "order_lines", "unicorns"]}))
    assert (answer.rows, answer.failure_source) == ([[10]], None)


@pytest.mark.parametrize("depth", ["call", "retry", "team", None])
def test_a_model_that_repeats_itself_is_not_run_again(ask, depth):
    answer, script = ask(depth=depth, sql=WRONG, repair=WRONG)
    assert script.asked.count("sql") + script.asked.count("repair") <= 3
    assert answer.attempts == 1
    assert (answer.rows, answer.failure_source, answer.flagged) == ([[10]], "check", True)


def test_a_model_that_repeats_what_the_critic_refused_is_stopped(ask):
    answer, script = ask(sql=OTHER, repair=OTHER, verdict=refused())
    assert script.asked[-4:] == ["verdict", "repair", "repair", "told"]
    assert (answer.attempts, answer.rows) == (1, [[30]])
    assert (answer.flagged, answer.failure_source) == (True, "critic")


def test_intents_that_are_repeated_do_not_turn_for_ever(ask):
    answer, script = ask(
        sql=OTHER, repair=[f"{OTHER} WHERE id > {n}" for n in range(9)], verdict=refused("no city", 1)
    )
    assert script.asked.count("intents") == 2
    assert answer.attempts <= 4
    assert (answer.flagged, answer.failure_source) == (True, "intents")


# --- a small model beside it -------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["coverage", "verdict"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_small_model(program, fault, stage):
    big, small = scripted(**WELL | {"repair": RIGHT}), scripted(**WELL | {stage: reply(fault, stage)})
    answer = program(lm=big, lm_small=small, depth="team").ask(QUESTION)
    assert answer.rows == [[10]]
    assert answer.attempts <= 4
    if fault in LOST:
        assert stage in big.script.asked  # the other model may still be there
        assert "told" in big.script.asked
    assert answer.failure_source == READABLE.get((fault, stage), "lm")


# --- budgets -----------------------------------------------------------------------------------------


@pytest.fixture
def limited(program, shop):
    """A program whose questions may cost no more than that."""

    def limited(lm, **limits):
        database = copy.copy(shop)
        database.settings = shop.settings.model_copy(update={"budget": Budget(**limits)})
        made = program(lm=lm, depth="team")
        made.databases = {shop.name: database}
        return made

    return limited


@pytest.mark.parametrize("calls", range(1, 9))
def test_calls_are_bounded_and_the_best_so_far_is_answered(limited, calls):
    lm = scripted(**WELL | {"sql": OTHER, "repair": RIGHT, "verdict": [refused(), APPROVED]})
    answer = limited(lm, calls=calls).ask(QUESTION)
    assert len(lm.script.asked) == answer.usage.lm_calls == calls
    assert (answer.flagged, answer.failure_source) == (True, "budget")
    assert any(
        f"the budget of the question is spent ({calls} calls)" in warning for warning in answer.warnings
    )
    assert answer.rows == ([[30]] if calls in (5, 6) else [[10]])
    assert answer.depth == ("sketch" if calls < 5 else "team")


@pytest.mark.parametrize("limits", [{"tokens": 5 * sum(TOKENS)}, {"seconds": 1e-9}, {"usd": 1e-9}])
def test_tokens_seconds_and_dollars_are_bounded(limited, limits, monkeypatch):
    monkeypatch.setattr(inquiry, "_cost", lambda entry, used: 0.01)
    lm = scripted(**WELL)
    answer = limited(lm, **limits).ask(QUESTION)
    assert len(lm.script.asked) < 6
    assert (answer.rows, answer.flagged, answer.failure_source) == ([[10]], True, "budget")


def test_every_step_carries_its_own_bill(ask):
    answer, _ = ask()
    paid = {
        step.name: (step.lm_calls, step.tokens_in, step.tokens_out) for step in answer.steps if step.lm_calls
    }
    stages = (
        "route",
        "parse intents",
        "check intents",
        "link schema",
        "build sql",
        "critique sql",
        "explain sql",
    )
    assert paid == dict.fromkeys(stages, (1, *TOKENS))
    assert answer.usage.lm_calls == len(paid)
