"""The LM tier compiled by DSPy's own optimizers, on scripted models; what was learned stays as it was."""

from __future__ import annotations

import time

import dspy
import pytest
from dspy.utils import DummyLM
from scripted_lm import scripted

from sqlrag_dspy import learn
from sqlrag_dspy.errors import LmError, SqlRagError
from sqlrag_dspy.learn.optimize import optimize, right
from sqlrag_dspy.program import SqlRag

LEARNED = ("router", "sketcher", "thresholds", "demonstrations")
COUNT = "how many travel articles are there"


@pytest.fixture(scope="module")
def examples(small):
    """Eight examples: four of sql, two of each search."""
    found = learn.labels.load(small.trainset, split="train")
    by_route = {route: [e for e in found if e.route == route] for route in ("sql", "vector", "hybrid")}
    return [*by_route["sql"][:4], *by_route["vector"][:2], *by_route["hybrid"][:2]]


@pytest.fixture
def gold(examples):
    """DSPy's dummy, that answers whatever is asked about an example with its gold."""

    def answers(example):
        return {
            "route": example.route,
            "sql": example.sql or "SELECT 1",
            "condition": example.filter_sql or "",
            "answer": "So it is said [1].",
        }

    return DummyLM({example.question: answers(example) for example in examples})


def learned(program) -> dict:
    state = program.dump_state()
    return {name: state[name] for name in LEARNED}


# --- DSPy's own, unmodified -------------------------------------------------------------------------


def test_bootstrap_runs_on_the_program_as_it_is(fresh, examples, gold):
    program = fresh(True, lm=gold)
    program.gate_open = False
    before = learned(program)
    bootstrap = dspy.BootstrapFewShot(
        metric=right(program), max_bootstrapped_demos=4, max_labeled_demos=0, max_rounds=1
    )
    compiled = bootstrap.compile(program.program, trainset=examples)
    assert learned(compiled) == learned(program) == before
    assert [d.question for d in compiled.build_sql.demos] == [e.question for e in examples[:4]]
    assert [d.sql for d in compiled.build_sql.demos] == [e.sql for e in examples[:4]]
    assert len(compiled.route_question.demos) == 4
    assert program.build_sql.demos == []


def test_with_the_gate_closed_every_call_is_traced(fresh, examples, gold):
    program = fresh(True, lm=gold)
    program.gate_open = False
    for example in examples:
        with dspy.context(trace=[]):
            calls = len(gold.history)
            prediction = program(**example.inputs())
            assert len(dspy.settings.trace) == prediction.usage["lm_calls"] == len(gold.history) - calls
            assert dspy.settings.trace[0][0] is program.route_question
        assert prediction.decided_by == "lm"


def test_with_the_gate_open_a_sure_program_calls_nothing(fresh, gold):
    program = fresh(True, lm=gold)
    with dspy.context(trace=[]):
        assert program(question=COUNT).usage["lm_calls"] == 0
        assert dspy.settings.trace == []


# --- through the learn room -------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["bootstrap", "random-search"])
def test_optimizing_compiles_prompts_and_changes_nothing_learned(
    fresh, examples, gold, optimizer, capsys, tmp_path
):
    program = fresh(True)
    before = learned(program)
    compiled = optimize(program, examples, gold, optimizer=optimizer, seed=0)
    assert learned(compiled) == before
    assert compiled.gate_open
    assert not compiled._compiled
    assert not compiled.engine.is_set
    assert compiled.route_question.demos or optimizer == "random-search"
    assert capsys.readouterr().out == ""
    assert dspy.settings.lm is None
    compiled.save(str(tmp_path / "program.json"))
    again = SqlRag()
    again.load(str(tmp_path / "program.json"))
    assert again.dump_state() == compiled.dump_state()


def test_a_compiled_program_can_be_compiled_again(fresh, examples, gold):
    once = optimize(fresh(True), examples, gold)
    twice = optimize(once, examples, gold)
    assert twice.build_sql.demos
    assert learned(twice) == learned(once)


def test_a_statement_that_had_to_be_repaired_is_no_demonstration(fresh, examples):
    sql = examples[0]
    lm = scripted(route="sql", sql="SELECT nothing FROM articles", repair=sql.sql)
    compiled = optimize(fresh(True), [sql], lm)
    assert lm.script.asked == ["route", "sql", "repair"]
    assert compiled.build_sql.demos == compiled.repair_sql.demos == []


def test_an_answer_of_the_learned_tier_is_no_demonstration(fresh, examples):
    hybrid = examples[-1]
    lm = scripted(route="hybrid", condition=RuntimeError("gone"), answer="So it is said [1].")
    assert optimize(fresh(True), [hybrid], lm).write_answer.demos == []


def test_the_metric_judges_whole_answers(fresh, examples, small_database):
    program = fresh(True)
    metric = right(program)
    sql = examples[0]
    good = program(**sql.inputs())
    assert metric(sql, good) == 1.0
    assert metric(sql, good, trace=[]) is True
    for worse in ({"rows": [[-1]]}, {"route": "vector"}, {"needs_model": True}):
        assert metric(sql, dspy.Prediction(**{**good.toDict(), **worse})) == 0.0
    for flawed in ({"flagged": True}, {"attempts": 2}):
        assert metric(sql, dspy.Prediction(**{**good.toDict(), **flawed}), trace=[]) is False


# --- what it may cost -------------------------------------------------------------------------------


def test_a_budget_of_calls_is_kept(fresh, examples, gold):
    program = fresh(True)
    compiled = optimize(program, examples, gold, budget={"calls": 5})
    assert len(gold.history) <= 5
    assert compiled.gate_open
    assert program.ask(COUNT).rows


def test_a_budget_of_calls_is_kept_by_a_search_as_well(fresh, examples, gold):
    optimize(fresh(True), examples, gold, optimizer="random-search", budget={"calls": 9})
    assert len(gold.history) <= 9 + 3  # questions under way are finished


def test_a_budget_of_minutes_is_kept(fresh, examples):
    def slow() -> str:
        time.sleep(0.2)
        return "decline"

    lm = scripted(route=slow)
    optimize(fresh(True), examples * 4, lm, budget={"minutes": 0.5 / 60})
    assert 1 <= len(lm.script.asked) <= 4


def test_a_model_that_never_answers_is_given_up(fresh, examples):
    lm = scripted(**dict.fromkeys(("route", "sql", "condition", "answer"), RuntimeError("quota used up")))
    program = fresh(True)
    before = learned(program)
    with pytest.raises(LmError, match="quota used up") as caught:
        optimize(program, examples * 10, lm)
    assert "\n" not in str(caught.value)
    assert len(lm.script.asked) == 3
    assert program.gate_open
    assert not program.engine.is_set
    assert learned(program) == before


def test_one_failed_call_among_others_stops_nothing(fresh, examples, gold):
    lm = scripted(route=[RuntimeError("busy"), "sql"], sql=examples[1].sql)
    compiled = optimize(fresh(True), [examples[1]] * 3, lm)
    assert compiled.build_sql.demos


def test_an_unknown_optimizer_is_named(fresh, examples, gold):
    with pytest.raises(SqlRagError, match="no optimizer 'magic'; choose one of bootstrap, random-search"):
        optimize(fresh(True), examples, gold, optimizer="magic")
