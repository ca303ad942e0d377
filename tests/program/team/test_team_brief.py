"""What is done for small models: told little, asked in another way rather than advised, judged by what they miss."""

from __future__ import annotations

import dspy
import pytest
from team_shop import OTHER, QUESTION, RIGHT

from sqlrag_dspy.program.prompt import describe_schema, hint
from sqlrag_dspy.program.team.missed import missed

LINKING = "SELECT product FROM customers WHERE city = 'Leiden'"
ELSEWHERE = "SELECT COUNT(*) FROM customers WHERE name = 'leiden'"


class Brief(dspy.ChatAdapter):
    is_brief = True


@pytest.fixture
def ask_briefly(ask):
    def ask_briefly(**replies):
        with dspy.context(adapter=Brief()):
            return ask(**{"depth": "retry"} | replies)

    return ask_briefly


def test_a_statement_that_misses_a_value_is_asked_for_in_another_way(ask_briefly):
    answer, script = ask_briefly(sql=[OTHER, RIGHT])
    assert script.asked == ["sql", "sql"]
    assert answer.rows == [[10]]
    first, second = script.prompts
    assert "CREATE TABLE customers (" in first
    assert "Use the tables customers. Stored values: customers.city = 'Leiden'." in first
    assert "Stored values" not in second


def test_what_the_statement_misses_is_warned_of_when_no_other_is_better(ask_briefly):
    others = [f"{OTHER} WHERE id <= {n}" for n in range(1, 5)]
    answer, script = ask_briefly(sql=[OTHER, *others])
    assert script.asked.count("sql") == 4
    assert answer.rows == [[30]]
    assert any("'Leiden' of the question is customers.city" in warning for warning in answer.warnings)


def test_what_a_small_model_says_twice_is_what_it_means(ask_briefly):
    answer, script = ask_briefly(sql=OTHER)
    assert script.asked.count("sql") == 2
    assert answer.rows == [[30]]


def test_coverage_can_be_left_out(ask_briefly):
    answer, script = ask_briefly(sql=OTHER, without=["coverage"])
    assert script.asked == ["sql"]
    assert answer.rows == [[30]]


def test_a_small_model_gets_no_deeper_than_retries(program):
    from scripted_lm import scripted

    lm = scripted(route="sql", sql=OTHER)
    made = program(lm=lm, without=["sketch"])
    made.depths.retry = made.depths.team = made.depths.floor = 0.0
    with dspy.context(adapter=Brief()):
        answer = made.ask(QUESTION)
    assert answer.depth == "retry"
    assert set(lm.script.asked) == {"sql"}


def test_a_sketch_with_fewer_doubts_stands_in_for_what_a_small_model_wrote(ask_briefly):
    answer, script = ask_briefly(depth=None, sql=OTHER)
    assert script.asked == ["sql", "sql"]
    assert (answer.rows, answer.depth) == ([[10]], "sketch")


def test_where_nothing_can_be_searched_a_question_is_computed(ask):
    answer, _ = ask(depth="call", route="vector")
    assert (answer.route, answer.rows) == ("sql", [[10]])


def test_a_sure_sketch_that_misses_something_goes_to_the_model(program, monkeypatch):
    from scripted_lm import scripted

    from sqlrag_dspy.program import write_sql

    lm = scripted(route="sql", sql=RIGHT)
    made = program(lm=lm)
    made.thresholds.route = made.thresholds.sql = 0.0
    assert made.ask(QUESTION).depth == "sketch"
    monkeypatch.setattr(write_sql, "missed", lambda *given: ["'Leiden'"])
    assert made.ask(QUESTION).depth == "call"
    assert lm.script.asked == ["sql"]


def test_a_join_left_out_costs_no_call_and_is_told(ask):
    answer, script = ask(depth="retry", sql=LINKING)
    assert script.asked == ["route", "sql"]
    assert "JOIN" in answer.sql
    assert answer.attempts == 1
    assert any("joined order_lines on" in warning for warning in answer.warnings)


def test_mending_can_be_left_out(ask):
    answer, script = ask(depth="retry", sql=LINKING, repair=RIGHT, without=["mending"])
    assert script.asked == ["route", "sql", "repair"]
    assert answer.rows == [[10]]


def test_a_value_looked_for_in_the_wrong_column_is_put_right(ask):
    answer, script = ask(depth="retry", sql=ELSEWHERE)
    assert script.asked == ["route", "sql"]
    assert answer.rows == [[10]]


def test_what_a_statement_misses(shop):
    links = shop.link("how many of the 25 orders of customers in Leiden")
    assert missed(links, shop.check("SELECT COUNT(*) FROM orders WHERE id <= 25"), shop.catalog)[
        -1
    ].startswith("'Leiden'")
    full = "SELECT COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'Leiden' LIMIT 25"
    assert missed(links, shop.check(full), shop.catalog) == []


def test_the_hint_names_tables_and_stored_values(shop):
    assert hint(shop.link("customers in leiden")) == (
        "Use the tables customers. Stored values: customers.city = 'Leiden'."
    )
    assert hint(shop.link("hello there")) == "nothing"


def test_a_brief_schema_declares_tables(shop):
    told = describe_schema(shop.catalog, is_brief=True, only=["orders"])
    assert told.startswith("CREATE TABLE orders (\n  id INTEGER PRIMARY KEY,\n  customer_id INTEGER,")
    assert "FOREIGN KEY (customer_id) REFERENCES customers (id)" in told
    assert told.endswith("(2 more tables left out)")
