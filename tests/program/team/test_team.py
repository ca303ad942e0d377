"""The stages in their order, what each is told, and when the team is done."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing

import dspy
import pytest
from scripted_lm import TOKENS, scripted
from team_shop import APPROVED, INTENTS, MISSPELT, OTHER, QUESTION, RIGHT, WELL, WRONG, refused

from sqlrag_dspy.program import open_database
from sqlrag_dspy.program.demonstrations import Demonstration

ALL = ["route", "intents", "coverage", "linked", "sql", "verdict", "told"]
"""Every stage once."""


def names(answer):
    return [step.name for step in answer.steps]


def test_every_stage_is_asked_once_and_in_order(ask):
    answer, script = ask()
    assert script.asked == ALL
    assert names(answer) == [
        *("link", "route", "sketch", "depth", "parse intents", "check intents", "link schema"),
        *("build sql", "check", "run", "critique sql", "explain sql", "answer"),
    ]
    assert answer.rows == [[10]]
    assert (answer.attempts, answer.flagged, answer.failure_source) == (1, False, None)
    assert answer.depth == "team"
    assert answer.explanation.endswith("counts the customers who live in Leiden")
    assert "'in' is their city" in answer.assumptions
    assert answer.usage.lm_calls == len(ALL)


def test_every_stage_has_a_context_of_its_own(ask):
    _, script = ask()
    told = dict(zip(script.asked, script.prompts))
    for task in ("intents", "coverage", "told"):
        assert "database_schema" not in told[task]
        assert "order_lines" not in told[task]
    assert "order_lines" in told["linked"]
    assert "order_lines" not in told["sql"]  # what was linked, and nothing else
    assert "only in Leiden" in told["sql"]
    assert "columns: customers.city" in told["sql"]
    assert "1 rows, columns:" in told["verdict"]
    assert "counts customers" in told["verdict"]


def test_intents_that_do_not_cover_the_question_are_parsed_once_more(ask):
    gap = json.dumps({"missing": ["in Leiden"]})
    answer, script = ask(coverage=gap)
    assert script.asked == ["route", "intents", "coverage", "intents", *ALL[3:]]
    assert "in Leiden" in script.prompts[3].rpartition("missed_before")[2]
    assert answer.rows == [[10]]


def test_a_critique_goes_to_the_repair_without_the_history(ask):
    answer, script = ask(sql=OTHER, verdict=[refused("the city is missing", 1), APPROVED], repair=RIGHT)
    assert script.asked == [*ALL[:6], "repair", "verdict", "told"]
    repair = script.prompts[6]
    assert "the city is missing" in repair
    assert "(asked: how many customers, only in Leiden)" in repair
    assert "approved" not in repair
    assert (answer.rows, answer.attempts, answer.flagged) == ([[10]], 2, False)


def test_what_costs_no_call_criticises_first(ask):
    answer, script = ask(sql=WRONG, repair=[MISSPELT, RIGHT])
    assert script.asked == [*ALL[:5], "repair", "repair", "verdict", "told"]
    assert "the stored value is 'Leiden'" in script.prompts[6]
    assert (answer.rows, answer.attempts, answer.flagged) == ([[10]], 3, False)
    assert (
        names(answer).count("run") == 1
    )  # a literal that is stored otherwise is looked up before anything runs


def test_a_statement_that_the_model_stands_by_goes_to_the_critic(ask):
    answer, script = ask(sql=MISSPELT, repair=MISSPELT)
    assert script.asked == [*ALL[:5], "repair", "verdict", "told"]
    assert (answer.rows, answer.attempts) == ([[0]], 1)
    assert any("Leiden" in warning for warning in answer.warnings)


def test_four_statements_and_the_best_of_them_is_answered_and_flagged(ask):
    issue = json.loads(refused())["issues"][0]
    twice = json.dumps({"issues": [issue, issue], "approved": False})
    answer, script = ask(
        sql=OTHER,
        repair=[f"{OTHER} WHERE id > {n}" for n in range(1, 9)],
        verdict=[twice, twice, refused(), refused()],
    )
    assert script.asked.count("sql") + script.asked.count("repair") == 4
    assert answer.attempts == 4
    assert (answer.flagged, answer.failure_source) == (True, "critic")
    assert answer.rows == [[28]]
    assert any("in every statement (4 tried)" in warning for warning in answer.warnings)


def test_an_intent_named_twice_is_parsed_again_and_the_statement_written_anew(ask):
    better = json.dumps([{"description": "number of customers who live in Leiden"}])
    answer, script = ask(
        intents=[INTENTS, better],
        sql=[OTHER, RIGHT],
        repair=f"{OTHER} WHERE id > 1",
        verdict=[refused("not only Leiden", 1), refused("still not", 1), APPROVED],
    )
    assert script.asked == [
        *ALL[:6], "repair", "verdict", "intents", "coverage", "sql", "verdict", "told",
    ]  # fmt: skip
    assert "still not" in script.prompts[8]
    assert "live in Leiden" in script.prompts[10]
    assert (answer.rows, answer.attempts, answer.flagged) == ([[10]], 3, False)


def test_a_fault_that_stays_with_an_intent_is_the_intents(ask):
    answer, _ = ask(
        sql=[OTHER, f"{OTHER} WHERE id > 7"],
        repair=[f"{OTHER} WHERE id > {n}" for n in range(1, 6)],
        verdict=refused("not only Leiden", 1),
    )
    assert (answer.attempts, answer.flagged, answer.failure_source) == (4, True, "intents")


def test_two_tables_bring_those_between_them(ask):
    linked = json.dumps({"tables": ["customers", "order_lines", "invoices"]})
    _, script = ask(linked=linked)
    assert script.asked[4] == "sql"
    schema = script.prompts[4].rpartition("[[ ## database_schema ## ]]")[2]
    assert all(f"table {name} (" in schema for name in ("customers", "orders", "order_lines"))
    assert "join: order_lines.order_id = orders.id" in script.prompts[4]
    assert "join: orders.customer_id = customers.id" in script.prompts[4]


def test_of_many_tables_the_likeliest_are_proposed(shop, program, tmp_path):
    path = tmp_path / "wide.db"
    shutil.copy(shop.settings.source.removeprefix("sqlite:///"), path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for number in range(40):
            connection.execute(
                f"CREATE TABLE machine_{number} (id INTEGER PRIMARY KEY, torque REAL, bolts INTEGER)"
            )
    settings = shop.settings.model_copy(
        update={"source": f"sqlite:///{path}", "store": str(tmp_path / "store")}
    )
    lm = scripted(**WELL)
    made = program(lm=lm, depth="team")
    with closing(open_database(settings)) as wide:
        made.databases = {"wide": wide}
        answer = made.ask(QUESTION)
    proposed = re.findall(r"^CREATE TABLE (\w+) ", lm.script.prompts[3], re.MULTILINE)
    assert "customers" in proposed
    assert len(proposed) <= 20
    assert re.findall(r"^table (\w+) ", lm.script.prompts[4], re.MULTILINE) == ["customers"]
    assert answer.rows == [[10]]


@pytest.mark.parametrize(
    ("part", "gone"),
    [
        ("intents", {"intents", "coverage"}),
        ("schema", {"linked"}),
        ("critic", {"verdict"}),
        ("explanation", {"told"}),
    ],
)
def test_a_part_that_is_left_out_is_not_asked(ask, part, gone):
    answer, script = ask(without=[part])
    assert script.asked == [task for task in ALL if task not in gone]
    assert answer.rows == [[10]]


def test_what_a_statement_assumes_is_told_without_a_call(ask):
    answer, script = ask(
        depth="call", sql="SELECT name FROM customers WHERE city = 'Leiden' ORDER BY id DESC LIMIT 1"
    )
    assert script.asked == ["route", "sql"]
    assert "'first' is taken as the highest id" in answer.assumptions
    assert answer.explanation


def test_without_grounding_a_literal_is_doubted_only_after_it_ran(ask):
    answer, _ = ask(without=["grounding"], sql=MISSPELT, repair=RIGHT)
    assert names(answer).count("run") == 2
    assert answer.rows == [[10]]


# --- depths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("depth", "asked"),
    [
        ("sketch", ["route"]),
        ("call", ["route", "sql"]),
        ("retry", ["route", "sql", "repair"]),
        ("team", [*ALL[:5], "repair", "verdict", "told"]),
    ],
)
def test_a_depth_that_is_told_is_kept_to(ask, depth, asked):
    answer, script = ask(depth=depth, sql=WRONG, repair=RIGHT)
    assert script.asked == asked
    assert answer.depth == (
        "sketch" if depth in ("sketch", "call") else depth
    )  # what stood in, after a refusal


def test_an_easy_question_costs_two_calls_and_none_when_the_sketch_is_sure(program, ask):
    answer, script = ask(depth=None)
    assert script.asked == ["route", "sql"]
    assert answer.usage.lm_calls == 2
    assert answer.depth == "call"
    lm = scripted(**WELL)
    sure = program(lm=lm)
    sure.thresholds.route = sure.thresholds.sql = 0.0
    assert sure.ask(QUESTION).usage.lm_calls == 0
    assert sure.ask(QUESTION).depth == "sketch"


def test_what_is_not_enough_is_escalated_and_said(program):
    lm = scripted(**WELL | {"sql": [WRONG, RIGHT], "repair": [f"{WRONG} LIMIT {n}" for n in range(9)]})
    made = program(lm=lm)
    made.depths.floor = 0.0
    answer = made.ask(QUESTION, trace=True)
    assert lm.script.asked == ["route", "sql", "repair", "repair", *ALL[1:]]
    assert (answer.rows, answer.attempts, answer.depth) == ([[10]], 4, "team")
    assert [step.output.split(",")[0].split(" ")[0] for step in answer.steps if step.name == "depth"] == [
        "call",
        "retry",
        "team",
    ]
    assert sum("was not enough" in warning for warning in answer.warnings) == 2
    assert not answer.flagged


def test_a_simple_question_never_pays_for_the_team(ask):
    answer, script = ask(depth=None, sql=WRONG, repair=[f"{WRONG} LIMIT {n}" for n in range(9)])
    assert script.asked == ["route", "sql", "repair", "repair", "repair"]
    assert answer.attempts == 4
    assert answer.failure_source == "check"


def test_a_small_model_checks_and_criticises(program):
    big, small = scripted(**WELL), scripted(**WELL)
    answer = program(lm=big, lm_small=small, depth="team").ask(QUESTION)
    assert small.script.asked == ["coverage", "verdict"]
    assert big.script.asked == [task for task in ALL if task not in small.script.asked]
    assert answer.usage.tokens_in == len(ALL) * TOKENS[0]
    assert not answer.flagged


def test_demonstrations_follow_the_compiled_ones_as_far_as_there_is_room(program, shop):
    lm = scripted(**WELL)
    made = program(lm=lm, depth="call")
    made.build_sql.demos = [dspy.Example(question="what is compiled in", sql="SELECT 7")]
    made.demonstrations.fill(
        [
            Demonstration(f"how many {'very ' * 250 * (number % 2)}old customers in place {number}", "how many", "sql",
                          shop.catalog.fingerprint, sql=f"SELECT {number}")
            for number in range(6)
        ]
    )  # fmt: skip
    made.ask(QUESTION)
    prompt = lm.script.prompts[1]
    assert prompt.index("what is compiled in") < prompt.index("old customers in place 0")
    assert sum(f"customers in place {number}" in prompt for number in range(6)) == 5
    assert len(made.build_sql.demos) == 1
