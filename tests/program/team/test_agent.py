"""The agent: hops that depend on each other, their bound, and answers that cite what was found."""

from __future__ import annotations

import json

import dspy
import pytest
from scripted_lm import scripted
from team_shop import OTHER, QUESTION, WELL

from sqlrag_dspy.program.team import work
from sqlrag_dspy.settings import Budget

HOPS = "which category had most articles in March 2023, and what do its articles say about work"


def hop(tool: str, question: str = "", thought: str = "next") -> str:
    """One turn of the agent."""
    args = json.dumps({"question": question} if question else {})
    return (
        f"raw:[[ ## next_thought ## ]]\n{thought}\n\n[[ ## next_tool_name ## ]]\n{tool}\n\n"
        f"[[ ## next_tool_args ## ]]\n{args}\n\n[[ ## completed ## ]]"
    )


def end(answer: str) -> str:
    return f"raw:[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"


COUNT = hop("search_database", "number of articles per category in March 2023")
READ = hop("search_documents", "mending clothes in fashion")
DONE = hop("finish")
ANSWER = end("Fashion had some [1]. They mend clothes [9].")


@pytest.fixture
def agent(make):
    """`agent(turns, reasoning=…)`: the answer of a program that is told to use its agent, and the script."""

    def agent(*turns, question=HOPS, **replies):
        lm = scripted(**{"route": "sql", "next_thought": list(turns), "reasoning": ANSWER} | replies)
        program = make(lm=lm, depth="agent")
        return program.ask(question, trace=True), lm.script

    return agent


def test_each_hop_is_served_by_the_cheap_depths_and_cited(agent, rag):
    answer, script = agent(COUNT, READ, DONE)
    assert script.asked == ["next_thought"] * 3 + ["reasoning"]
    assert answer.depth == "agent"
    assert answer.answer == "Fashion had some. They mend clothes."
    assert answer.rows == rag.ask("number of articles per category in March 2023").rows
    assert {document.fields["article_category"] for document in answer.documents} == {"fashion"}
    assert [citation.kind for citation in answer.citations] == ["row", "passage"]
    assert answer.citations[0].key == 0
    assert answer.citations[1].key in answer.keys
    assert (answer.flagged, answer.failure_source) == (False, None)
    assert "searched texts by meaning" in answer.explanation
    tools = [step for step in answer.steps if step.name in ("search_database", "search_documents")]
    assert [step.lm_calls for step in tools] == [0, 0]
    assert sum(step.lm_calls for step in answer.steps) == answer.usage.lm_calls == 4


def test_a_later_hop_sees_what_an_earlier_one_found(agent):
    _, script = agent(COUNT, READ, DONE)
    assert "[1] article_category:" in script.prompts[1]
    assert "<evidence>" in script.prompts[1]


def test_the_tools_say_what_each_is_for(make):
    told = make().team.agent.react.react.signature.instructions
    assert "It never reads what long texts say" in told
    assert "It never counts" in told


def test_rows_of_an_earlier_statement_are_cited_as_a_query(agent):
    more = hop("search_database", "how many travel articles are there")
    answer, _ = agent(COUNT, more, DONE, reasoning=end("Many [1]. Some travel [9]."))
    assert [citation.kind for citation in answer.citations] == ["query", "row"]
    assert len(answer.rows) == 1


def test_the_same_hop_again_is_not_run_again(agent):
    answer, script = agent(COUNT, COUNT, DONE)
    assert "You asked that before" in script.prompts[2]
    assert sum(step.name == "run" for step in answer.steps) == 1


def test_hops_are_bounded(agent):
    turns = [hop("search_documents", f"mending clothes in fashion {n}") for n in range(20)]
    answer, script = agent(*turns)
    assert script.asked.count("next_thought") == 5
    assert answer.documents


@pytest.mark.parametrize("said", ["They mend clothes.", "They mend [99].", ""])
def test_an_answer_that_cites_nothing_gives_way_to_what_was_found(agent, said):
    answer, _ = agent(COUNT, READ, DONE, reasoning=end(said))
    assert answer.citations
    assert all(citation.kind == "passage" for citation in answer.citations)
    assert (answer.flagged, answer.failure_source) == (True, "answer")


FAULTS = {
    "timeout": (dspy.lm15.TimeoutError("no answer in 60 s"), "lm"),
    "429": (dspy.lm15.RateLimitError("too many requests"), "lm"),
    "raises": (RuntimeError("gone"), "lm"),
    "nothing": ("raw:", "lm"),
    "malformed": ("raw:}{ [[ ## ", "lm"),
    "truncated": ("raw:[[ ## next_thought ## ]]\nI will", "lm"),
    "an unknown tool": (hop("drop_table", "articles"), "lm"),
}


@pytest.mark.parametrize(("fault", "source"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("after", [0, 1])
def test_a_fault_of_the_agent_leaves_what_was_found_or_the_other_depths(agent, fault, source, after):
    answer, _ = agent(*[COUNT][:after], fault, sql="SELECT COUNT(*) FROM articles", reasoning=fault)
    assert answer.rows or answer.documents
    assert answer.attempts <= 4
    assert (answer.flagged, answer.failure_source) == (True, source)
    assert answer.depth == ("agent" if after else answer.depth)


def test_wrong_arguments_are_told_to_the_agent(agent):
    wrong = hop("search_documents").replace("{}", '{"text": 7}')
    answer, script = agent(wrong, READ, DONE, reasoning=end("They mend clothes [1]."))
    assert "Execution error" in script.prompts[1]
    assert answer.answer == "They mend clothes."


def test_statements_of_all_hops_share_one_bound(agent):
    turns = [
        hop("search_database", f"compare the moons of planet {n} with those of {n + 1}") for n in range(5)
    ]
    answer, script = agent(
        *turns,
        sql=[f"SELECT a{n} FROM articles" for n in range(20)],
        repair=[f"SELECT b{n} FROM articles" for n in range(20)],
    )
    assert script.asked.count("sql") + script.asked.count("repair") <= 4
    assert answer.attempts <= 4
    assert answer.flagged


def test_a_budget_bounds_the_agent(make, small_database):
    import copy

    lm = scripted(route="sql", next_thought=[COUNT, READ, DONE], reasoning=end("Some [1]."))
    program = make(lm=lm, depth="agent")
    database = copy.copy(small_database)
    database.settings = small_database.settings.model_copy(update={"budget": Budget(calls=2)})
    program.databases = {"articles": database}
    answer = program.ask(HOPS)
    assert lm.script.asked == ["next_thought", "reasoning"]
    assert answer.rows


@pytest.mark.parametrize("torn", [0.0, 1.0])
def test_a_question_whose_intents_need_rows_and_texts_goes_to_the_agent(make, monkeypatch, torn):
    """At once where the router is torn between the two, else when the team has parsed them."""
    monkeypatch.setattr(work, "TORN", torn)
    intents = json.dumps(
        [
            {"description": "the category with most articles"},
            {"description": "what they say", "source": "texts"},
        ]
    )
    lm = scripted(
        route="sql", intents=intents, coverage="{}", next_thought=[COUNT, READ, DONE], reasoning=ANSWER
    )
    program = make(lm=lm, thresholds={"route": 1.01, "sql": 1.01, "doubt": 1.01, "filters": 0.0})
    program.depths.team = 0.0
    answer = program.ask(HOPS)
    assert lm.script.asked[:4] == ["route", "intents", "coverage", "next_thought"]
    assert answer.depth == "agent"
    assert any("team was not enough" in warning for warning in answer.warnings) == (torn > 0)


def test_where_nothing_has_long_text_no_question_goes_there(ask):
    intents = json.dumps([{"description": "how many"}, {"description": "what they say", "source": "texts"}])
    answer, script = ask(QUESTION, depth=None, intents=intents, sql=OTHER)
    assert "next_thought" not in script.asked
    assert answer.rows == [[30]]
    assert set(script.asked) <= {*WELL}
