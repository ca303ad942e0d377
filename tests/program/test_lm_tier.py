"""The LM tier on scripted models: what it decides, what it costs, and what is left when it fails."""

from __future__ import annotations

import re
from pathlib import Path

import dspy
import pytest
from dspy.clients.cache import Cache
from dspy.utils import DummyLM
from scripted_lm import TOKENS, scripted

import sqlrag_dspy
from sqlrag_dspy.errors import LmError
from sqlrag_dspy.program import load

CLOSED = {"route": 1.01, "sql": 1.01, "doubt": 1.01, "filters": 1.01}
"""Confidences that the learned tier never reaches."""
COUNT = "how many travel articles are there"
HYBRID = "did anyone write about refugees between february and april 2023"
RIGHT = "SELECT COUNT(*) FROM articles WHERE article_category = 'travel'"
WRONG = "SELECT COUNT(*) FROM articles WHERE section = 'travel'"
CONDITION = "published_date >= '2023-02-01' AND published_date < '2023-05-01'"
RUBBISH = "raw:I am sorry, but }{ [[ ## "


@pytest.fixture
def ask(make):
    """Asks a program whose LM decides everything, as scripted; gives the answer and the script."""

    def ask(question: str, **replies):
        lm = scripted(**replies)
        answer = make(lm=lm, thresholds=CLOSED).ask(question, trace=True)
        return answer, lm.script

    return ask


# --- what it decides --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "flagged"),
    [
        ("article_category = 'no such section'", True),
        ("article_category IS NULL AND lower(article_category) = 'travel'", True),
        ("article_category = 'travel' AND article_category = 'fashion'", True),
        ("article_category = 'travel'", False),
    ],
)
def test_a_statement_that_a_condition_emptied_is_flagged(ask, condition, flagged):
    written = f"SELECT COUNT(*) FROM articles WHERE {condition}"
    answer, _ = ask(COUNT, route="sql", sql=written)
    assert answer.flagged == flagged
    assert (answer.rows == [[0]]) == flagged


def test_half_a_character_in_a_filter_or_an_answer_can_be_written(ask):
    condition, said = f"{CONDITION} AND title <> '\ud83d'", "They did \ud83d [1]."
    answer, script = ask(HYBRID, route="hybrid", condition=condition, answer=said)
    assert script.asked == ["route", "condition", "answer"]
    assert answer.model_dump_json()
    assert answer.answer.startswith("They did ?")


def test_sql_by_a_model(ask, rag):
    answer, script = ask(COUNT, route="sql", sql=f"```sql\n{RIGHT};\n```")
    assert (answer.route, answer.decided_by) == ("sql", "lm")
    assert answer.rows == rag.ask(COUNT).rows
    assert script.asked == ["route", "sql"]
    assert (answer.attempts, answer.flagged, answer.failure_source) == (1, False, None)
    assert [step.name for step in answer.steps] == [
        "link",
        "route",
        "sketch",
        "depth",
        "build sql",
        "check",
        "run",
        "answer",
    ]


DOUBTFUL = "SELECT COUNT(*) FROM articles WHERE article_category = 'Sport'"


def test_a_statement_that_may_be_quietly_wrong_goes_back_once(ask):
    answer, script = ask(COUNT, route="sql", sql=DOUBTFUL, repair=RIGHT)
    assert script.asked == ["route", "sql", "repair"]
    assert "may not say what was asked" in script.prompts[-1]
    assert answer.rows == ask(COUNT, route="sql", sql=RIGHT)[0].rows
    assert not [said for said in answer.warnings if "Sport" in said]


@pytest.mark.parametrize("second", [DOUBTFUL, "SELECT COUNT( FROM", RuntimeError("gone")])
def test_a_second_thought_that_is_no_better_leaves_the_first_with_its_warning(ask, second):
    answer, script = ask(COUNT, route="sql", sql=DOUBTFUL, repair=second)
    assert script.asked == ["route", "sql", "repair"]
    assert answer.rows == [[0]]
    assert [said for said in answer.warnings if "Sport" in said]


def test_a_refused_statement_is_repaired_with_advice(ask, rag):
    answer, script = ask(COUNT, route="sql", sql=WRONG, repair=["SELECT COUNT( FROM", RIGHT])
    assert script.asked == ["route", "sql", "repair", "repair"]
    assert answer.rows == rag.ask(COUNT).rows
    assert (answer.attempts, answer.flagged) == (3, False)
    assert "no column 'section' in articles" in script.prompts[2]
    assert WRONG in script.prompts[2]
    refused = [step for step in answer.steps if step.name == "check" and step.error]
    assert len(refused) == 2


def test_a_statement_that_is_quietly_wrong_is_answered_with_warnings(ask):
    answer, _ = ask(COUNT, route="sql", sql=RIGHT.replace("travel", "travell"))
    assert answer.rows == [[0]]
    assert any("is 'travel'" in warning for warning in answer.warnings)
    assert any("no row passes" in warning for warning in answer.warnings)


def test_text_that_the_question_names_is_put_as_it_is_stored(ask, rag):
    answer, script = ask(COUNT, route="sql", sql=RIGHT.replace("travel", "Travel"))
    assert answer.rows == rag.ask(COUNT).rows
    assert script.asked == ["route", "sql"]
    assert any("changed to fit" in warning and "'travel'" in warning for warning in answer.warnings)


def test_four_statements_are_tried_and_no_more(ask):
    others = [f"{WRONG} LIMIT {number}" for number in range(1, 9)]
    answer, script = ask(COUNT, route="sql", sql=WRONG, repair=others)
    assert script.asked == ["route", "sql", "repair", "repair", "repair"]
    assert answer.attempts == 4
    assert answer.needs_model
    assert answer.flagged
    assert answer.failure_source == "check"
    assert any("4 attempts" in warning and "section" in warning for warning in answer.warnings)
    assert (answer.rows, answer.sql) == ([], None)


def test_a_statement_that_is_only_repeated_spends_no_attempt(ask):
    answer, script = ask(COUNT, route="sql", sql=WRONG, repair=[f" {WRONG.lower()} ;", WRONG])
    assert script.asked == ["route", "sql", "repair", "repair"]
    assert "You wrote this statement before" in script.prompts[-1]
    assert answer.attempts == 1
    assert (answer.needs_model, answer.flagged, answer.failure_source) == (True, True, "check")
    assert any("the same refused statement again" in warning for warning in answer.warnings)


def test_a_statement_that_would_change_data_is_refused(ask, rag):
    before = rag.ask(COUNT).rows
    answer, _ = ask(COUNT, route="sql", sql="DELETE FROM articles", repair="DROP TABLE articles")
    assert answer.failure_source == "check"
    assert rag.ask(COUNT).rows == before


def test_vector_by_a_model_cites_numbered_evidence(ask):
    answer, script = ask(
        "what about refugees", route="vector", condition="", answer="They came by sea [1]. They stayed [2]."
    )
    assert (answer.route, answer.decided_by) == ("vector", "lm")
    assert answer.answer == "They came by sea. They stayed."
    assert [answer.answer[slice(*c.answer_span)] for c in answer.citations] == [
        "They came by sea",
        "They stayed",
    ]
    assert all(c.kind == "passage" and c.key in answer.keys for c in answer.citations)
    assert not answer.flagged
    assert "<evidence>\n[1] " in script.prompts[-1]


def test_hybrid_by_a_model_searches_the_rows_of_its_condition(ask, rag):
    answer, script = ask(HYBRID, route="hybrid", condition=f"WHERE {CONDITION};", answer="Some did [1].")
    assert script.asked == ["route", "condition", "answer"]
    assert answer.route == "hybrid"
    assert answer.search.rows_allowed == rag.ask(HYBRID).search.rows_allowed
    assert "published_date" in answer.search.key_sql
    assert not answer.flagged


def test_a_condition_that_only_names_a_category_costs_no_sql(ask):
    answer, _ = ask(
        "second-hand clothes in fashion",
        route="vector",
        condition="article_category = 'fashion'",
        answer="Yes [1].",
    )
    assert answer.route == "vector"
    assert answer.search.filters == [["article_category", "fashion"]]
    assert answer.search.key_sql is None


def test_decline_by_a_model(ask):
    answer, script = ask(COUNT, route="decline")
    assert (answer.route, answer.decided_by, script.asked) == ("decline", "lm", ["route"])
    assert answer.decline_reason


def test_all_routes_work_with_dspys_own_dummy(make):
    dummy = DummyLM(
        {
            "`[[ ## route ## ]]`": {"route": "hybrid"},
            "`[[ ## condition ## ]]`": {"condition": CONDITION},
            "`[[ ## answer ## ]]`": {"answer": "Some did [1]."},
        }
    )
    answer = make(lm=dummy, thresholds=CLOSED).ask(HYBRID)
    assert (answer.route, answer.answer, answer.decided_by) == ("hybrid", "Some did.", "lm")
    assert answer.usage.lm_calls == 3


def test_the_learned_tier_decides_where_it_is_sure(make):
    lm = scripted()
    answer = make(lm=lm, thresholds={"route": 0.0, "sql": 0.0}).ask(COUNT)
    assert (answer.decided_by, answer.usage.lm_calls, lm.script.asked) == ("learned", 0, [])
    assert answer.rows


def test_what_the_sketch_assumed_is_not_said_of_what_a_model_wrote(ask, rag):
    question = "how many articles per author"
    written = "SELECT authors, COUNT(*) FROM articles GROUP BY authors"
    assert rag.ask(question).assumptions == ["rows without authors are left out"]
    answer, _ = ask(question, route="sql", sql=written)
    assert None in [author for author, _ in answer.rows]
    assert answer.assumptions == []


def test_compiled_and_retrieved_demonstrations_are_both_shown(make):
    lm = scripted(route="decline")
    program = make(lm=lm, thresholds=CLOSED)
    shown = dspy.Example(database_schema="table wells", question="what is compiled in", route="sql")
    program.route_question.demos = [shown]
    program.ask(COUNT)
    assert "what is compiled in" in lm.script.prompts[0]
    assert "how many technology articles are there" in lm.script.prompts[0]
    assert program.route_question.demos == [shown]


# --- what it costs ----------------------------------------------------------------------------------


def test_calls_and_tokens_are_counted_by_question_and_by_step(ask):
    answer, _ = ask(COUNT, route="sql", sql=WRONG, repair=RIGHT)
    assert (answer.usage.lm_calls, answer.usage.cached_calls) == (3, 0)
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (3 * TOKENS[0], 3 * TOKENS[1])
    calls = {step.name: (step.lm_calls, step.tokens_in) for step in answer.steps if step.lm_calls}
    assert calls == dict.fromkeys(("route", "build sql", "repair sql"), (1, TOKENS[0]))


def test_an_answer_from_the_cache_is_counted_as_such_and_costs_nothing(make, monkeypatch):
    in_memory = Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir="")
    monkeypatch.setattr(dspy, "cache", in_memory)
    lm = scripted(cache=True, route="sql", sql=RIGHT)
    program = make(lm=lm, thresholds=CLOSED)
    first, second = program.ask(COUNT), program.ask(COUNT)
    assert (first.usage.lm_calls, first.usage.cached_calls) == (2, 0)
    assert (second.usage.lm_calls, second.usage.cached_calls) == (0, 2)
    assert (second.usage.tokens_in, second.usage.cost_usd) == (0, 0.0)
    assert second.rows == first.rows


def test_calls_of_other_threads_and_of_the_application_are_not_counted(make):
    from concurrent.futures import ThreadPoolExecutor

    lm = scripted(route="sql", sql=RIGHT)
    program = make(lm=lm, thresholds=CLOSED)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(program.ask, [COUNT] * 12))
    with dspy.context(lm=lm):
        dspy.Predict("question -> route")(question="something else")
    assert [answer.usage.lm_calls for answer in answers] == [2] * 12


# --- what is left when it fails ---------------------------------------------------------------------

FAILURES = {
    "raises": RuntimeError("the engine is gone\nwith a second line"),
    "times out": TimeoutError("no answer in 60 s"),
    "refuses": "raw:I cannot help with that.",
    "rubbish": RUBBISH,
    "nothing": "raw:",
    "wrong type": "raw:[[ ## route ## ]]\nmaybe\n\n[[ ## sql ## ]]\n\n[[ ## completed ## ]]",
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_model_that_cannot_route_leaves_the_learned_tier(ask, rag, failure):
    for question in (COUNT, HYBRID, "delete all articles by Piers Lockhaven"):
        answer, _ = ask(question, route=failure, sql=RIGHT, condition=CONDITION, answer="Yes [1].")
        assert answer.route == rag.ask(question).route
        assert answer.decided_by == "learned"
        assert answer.flagged
        assert answer.failure_source == "lm"
        assert any("route" in warning and "\n" not in warning for warning in answer.warnings)


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_model_that_writes_no_sql_leaves_the_sketch(make, rag, failure):
    lm = scripted(route="sql", sql=failure, repair=failure)
    answer = make(lm=lm, thresholds={**CLOSED, "doubt": 0.0}).ask(COUNT)
    assert answer.rows == rag.ask(COUNT).rows
    assert answer.flagged
    assert answer.failure_source == ("build" if failure == FAILURES["wrong type"] else "lm")
    assert answer.warnings
    assert not answer.needs_model


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (dspy.lm15.TransportError("connection refused"), "the one that is set did not answer"),
        ("SELECT COUNT( FROM", "No statement could be written that runs."),
    ],
)
def test_without_a_sketch_the_answer_says_whether_the_model_was_lost(ask, failure, said):
    answer, _ = ask(COUNT, route="sql", sql=failure, repair=failure)
    assert (answer.needs_model, answer.flagged) == (True, True)
    assert said in answer.answer


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_model_that_fails_to_repair_leaves_the_sketch(make, rag, failure):
    lm = scripted(route="sql", sql=WRONG, repair=failure)
    answer = make(lm=lm, thresholds={**CLOSED, "doubt": 0.0}).ask(COUNT)
    assert answer.rows == rag.ask(COUNT).rows
    assert answer.flagged
    assert answer.failure_source == ("build" if failure == FAILURES["wrong type"] else "lm")


@pytest.mark.parametrize("failure", [*FAILURES.values(), "no_such_column = 3", "1); DROP TABLE articles; --"])
def test_a_model_that_chooses_no_rows_leaves_the_linked_filters(ask, rag, failure):
    answer, _ = ask(HYBRID, route="hybrid", condition=failure, answer="Some did [1].")
    assert answer.route == "hybrid"
    assert answer.search.rows_allowed == rag.ask(HYBRID).search.rows_allowed
    if failure != "raw:":
        assert answer.flagged
        assert answer.failure_source == "lm"
        assert any("row filter" in warning for warning in answer.warnings)


@pytest.mark.parametrize(
    "failure", [*FAILURES.values(), "They came by sea.", "They came by sea [99].", "[1]"]
)
def test_a_model_that_writes_no_supported_answer_leaves_quotations(ask, rag, failure):
    answer, _ = ask(HYBRID, route="hybrid", condition=CONDITION, answer=failure)
    assert answer.answer == rag.ask(HYBRID).answer
    assert answer.citations
    assert answer.flagged
    assert answer.failure_source in ("lm", "answer")
    assert answer.warnings


def test_sentences_without_evidence_are_flagged(ask):
    answer, _ = ask(
        HYBRID, route="hybrid", condition=CONDITION, answer="They came by sea [1]. All were happy."
    )
    assert answer.answer == "They came by sea. All were happy."
    assert answer.flagged
    assert any("1 sentence" in warning for warning in answer.warnings)


def test_failures_in_the_middle_are_told_in_the_trace(ask):
    answer, _ = ask(COUNT, route="sql", sql=RuntimeError("the engine is gone"))
    step = next(step for step in answer.steps if step.name == "build sql")
    assert "the engine is gone" in step.error


# --- whose model it is ------------------------------------------------------------------------------


def test_the_applications_model_serves_only_when_it_is_asked_to(make):
    lm = scripted(route="sql", sql=RIGHT)
    alone, shared = make(thresholds=CLOSED), make(lm="dspy", thresholds=CLOSED)
    assert shared.ask(COUNT).decided_by == "learned"
    with dspy.context(lm=lm):
        assert alone.ask(COUNT).decided_by == "learned"
        assert alone.ask(COUNT).needs_model
        assert lm.script.asked == []
        assert shared.ask(COUNT).decided_by == "lm"
        assert list(shared.stream(COUNT))[-1].decided_by == "lm"
    assert lm.script.asked == ["route", "sql"] * 2
    assert shared.ask(COUNT).needs_model


def test_its_own_model_leaves_the_applications_alone(make):
    own, other = scripted(route="sql", sql=RIGHT), scripted(route="decline")
    with dspy.context(lm=other):
        assert make(lm=own, thresholds=CLOSED).ask(COUNT).rows
        assert dspy.settings.lm is other
    assert other.script.asked == []
    assert dspy.settings.lm is None


def test_loading_takes_a_model_by_name_and_refuses_an_unknown_one(small, small_database, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    with load(small.program, settings=small_database.settings, lm="gemini/gemini-2.5-flash") as loaded:
        assert loaded.engine.current().model == "gemini/gemini-2.5-flash"
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(LmError, match="GEMINI_API_KEY"):
        load(small.program, settings=small_database.settings, lm="gemini/gemini-2.5-flash")


def test_nothing_but_the_command_line_configures_dspy():
    package = Path(sqlrag_dspy.__file__).parent
    calls = re.compile(r"(dspy|settings)\.configure\(")
    found = [str(path) for path in package.rglob("*.py") if calls.search(path.read_text(encoding="utf-8"))]
    assert [path for path in found if "/cli/" not in path] == []


# --- the form of a call -----------------------------------------------------------------------------


def test_a_model_is_spoken_to_in_the_form_that_serves_it_best(make, monkeypatch):
    from sqlrag_dspy.lm.compact import CompactAdapter

    def short_of(lm):
        with make(lm=lm).engine.running():
            return dspy.settings.adapter

    lm = scripted(route="sql")
    assert short_of(lm) is None
    monkeypatch.setattr(type(lm.script), "adapter", staticmethod(CompactAdapter), raising=False)
    assert isinstance(short_of(lm), CompactAdapter)
    with dspy.context(adapter=dspy.JSONAdapter()):
        assert isinstance(short_of(lm), dspy.JSONAdapter)  # the application's choice stands
    assert dspy.settings.adapter is None


@pytest.mark.parametrize(
    "said",
    [
        RIGHT,
        f"{RIGHT};",
        f"```sql\n{RIGHT};\n```",
        f"```{RIGHT}```",
        f"Certainly! This counts them:\n\n```sql\n{RIGHT};\n```\nIt uses COUNT.",
        f"```sqlite\n{RIGHT}",
    ],
)
def test_the_words_around_a_statement_are_left_out(ask, rag, said):
    answer, _ = ask(COUNT, route="sql", sql=said)
    assert answer.rows == rag.ask(COUNT).rows
    assert answer.attempts == 1


def test_a_fence_inside_a_string_is_text(ask):
    answer, _ = ask(COUNT, route="sql", sql="SELECT COUNT(*) FROM articles WHERE title LIKE '%```%'")
    assert answer.rows == [[0]]


def test_two_questions_meet_the_same_schema_in_the_same_order(make):
    script = scripted(route="decline").script
    lm = dspy.LM("scripted/model", engine=script, cache=False, num_retries=0)
    rag = make(lm=lm, thresholds=CLOSED)
    rag.ask(COUNT)
    rag.ask("who wrote about refugees")
    schemas = [
        prompt.rpartition("[[ ## database_schema ## ]]")[2].partition("[[ ## question ## ]]")[0]
        for prompt in script.prompts
    ]
    assert schemas[0] == schemas[1]
