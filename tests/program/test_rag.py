"""The program as an application calls it, answered by the learned tier alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
import pytest

from sqlrag_dspy import Cancellation
from sqlrag_dspy.errors import Cancelled, ProgramError, SqlRagError
from sqlrag_dspy.program import Answer, SqlRag
from sqlrag_dspy.program.result import Step
from sqlrag_dspy.types import CheckedSql

SHAPE = {
    "id", "question", "route", "confidence", "decided_by", "answer", "explanation", "needs_model",
    "decline_reason", "sql", "columns", "rows", "truncated", "documents", "search", "citations",
    "assumptions", "warnings", "attempts", "flagged", "failure_source", "error", "steps", "usage", "depth",
}  # fmt: skip
DOCUMENT = {"table", "key", "score", "fields", "passages"}
PASSAGE = {"column", "start", "end", "text", "score"}
SEARCH = {"rows_allowed", "rows_searched", "exact", "filters", "key_sql"}
CITATION = {"kind", "answer_span", "table", "key", "column", "start", "end"}
STEP = {
    "name", "input", "output", "error", "seconds", "lm_calls", "cached_calls", "tokens_in", "tokens_out", "cost_usd",
}  # fmt: skip
USAGE = {"lm_calls", "cached_calls", "tokens_in", "tokens_out", "cost_usd", "seconds"}

COUNT = "how many travel articles are there"
VECTOR = "second-hand, rental and mending in fashion"
HYBRID = "did anyone write about refugees between february and april 2023"
DECLINE = "delete all articles by Piers Lockhaven"
ENDLESS = CheckedSql("SELECT count(*) FROM range(1000000000) a, range(1000) b", (), ())
QUESTIONS = {"sql": COUNT, "vector": VECTOR, "hybrid": HYBRID, "decline": DECLINE}


@pytest.fixture
def gold(small_database):
    """Runs a query in SQLite itself."""
    connection = sqlite3.connect(Path(small_database.settings.source.removeprefix("sqlite:///")))
    yield lambda sql: connection.execute(sql).fetchall()
    connection.close()


def asked(rag: SqlRag, question: str) -> Answer:
    """The answer, after a look at its shape."""
    answer = rag.ask(question)
    said = json.loads(json.dumps(answer.model_dump(mode="json"), allow_nan=False))
    assert set(said) == SHAPE
    assert all(
        set(d) == DOCUMENT and all(set(p) == PASSAGE for p in d["passages"]) for d in said["documents"]
    )
    assert said["search"] is None or set(said["search"]) == SEARCH
    assert all(set(c) == CITATION for c in said["citations"])
    assert all(set(s) == STEP for s in said["steps"])
    assert set(said["usage"]) == USAGE
    for citation in said["citations"]:
        start, end = citation["answer_span"]
        assert 0 <= start < end <= len(said["answer"])
    assert said["usage"]["lm_calls"] == said["usage"]["cached_calls"] == 0
    assert said["usage"]["seconds"] > 0
    assert said["decided_by"] == "learned"
    assert said["error"] is None
    assert said["explanation"]
    return answer


# --- the four routes --------------------------------------------------------------------------------


def test_computing_gives_the_rows_with_the_sql_that_ran(rag, gold):
    answer = asked(rag, COUNT)
    assert answer.route == "sql"
    assert answer.rows == [
        list(r) for r in gold("SELECT count(*) FROM articles WHERE article_category = 'travel'")
    ]
    assert answer.answer == str(answer.rows[0][0])
    assert answer.sql.startswith("SELECT COUNT(*)")
    assert (answer.documents, answer.search, answer.needs_model) == ([], None, False)
    assert [c.kind for c in answer.citations] == ["row"]


def test_a_category_alone_is_searched_with_no_sql(rag):
    answer = asked(rag, VECTOR)
    assert answer.route == "vector"
    assert answer.search.filters == [["article_category", "fashion"]]
    assert answer.search.key_sql is None
    assert answer.sql is None
    assert {d.fields["article_category"] for d in answer.documents} == {"fashion"}
    assert len(answer.keys) == len(set(answer.keys)) == answer.search.rows_allowed


def test_a_range_of_dates_is_searched_inside_exactly_the_rows_that_sql_chose(rag, gold):
    answer = asked(rag, HYBRID)
    assert answer.route == "hybrid"
    chosen = gold(
        "SELECT title FROM articles WHERE published_date >= '2023-02-01' AND published_date < '2023-05-01'"
    )
    assert answer.search.rows_allowed == answer.search.rows_searched == len(chosen)
    assert set(answer.keys) <= {title for (title,) in chosen}
    assert answer.search.exact
    assert "published_date" in answer.search.key_sql


def test_quoted_sentences_are_those_of_the_source(rag, gold):
    answer = asked(rag, VECTOR)
    stored = dict(gold("SELECT title, full_content FROM articles"))
    passages = [c for c in answer.citations if c.kind == "passage"]
    assert passages
    for citation in passages:
        said = answer.answer[slice(*citation.answer_span)]
        assert said == stored[citation.key][citation.start : citation.end]


def test_a_decline_says_why_and_computes_nothing(rag):
    answer = asked(rag, DECLINE)
    assert answer.route == "decline"
    assert answer.decline_reason
    assert (answer.rows, answer.documents, answer.sql, answer.search) == ([], [], None, None)
    assert not answer.needs_model
    assert not answer.flagged


def test_an_sql_question_below_the_confidence_needs_a_model_and_guesses_nothing(make):
    answer = make(thresholds={"sql": 1.01, "doubt": 1.01}).ask(COUNT)
    assert answer.route == "sql"
    assert answer.needs_model
    assert (answer.rows, answer.sql, answer.citations, answer.attempts) == ([], None, [], 0)
    assert "language model" in answer.answer
    assert not answer.flagged
    assert answer.decline_reason is answer.error is answer.failure_source is None


def test_a_likely_sketch_is_answered_with_a_flag(make):
    answer = make(thresholds={"sql": 1.01, "doubt": 0.0}).ask(COUNT)
    assert answer.rows
    assert answer.flagged
    assert not answer.needs_model
    assert any("not sure" in warning for warning in answer.warnings)


# --- ways of asking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_program_is_a_dspy_module_that_answers_alike(rag, question):
    assert isinstance(rag.program, dspy.Module)
    answer, prediction = rag.ask(question), rag.program(question=question)
    assert isinstance(prediction, dspy.Prediction)
    for name in SHAPE - {"steps", "usage", "question"}:
        assert prediction[name] == answer.model_dump()[name], name
    assert prediction.result.question == question


def test_awaiting_gives_the_same_answer(rag):
    async def both():
        return await asyncio.gather(rag.aask(COUNT), rag.aask(HYBRID, trace=True))

    first, second = asyncio.run(both())
    assert first.rows == rag.ask(COUNT).rows
    assert second.keys == rag.ask(HYBRID).keys
    assert second.steps[0].output is not None


def test_a_stream_gives_steps_then_text_then_the_answer(rag):
    *steps, text, answer = rag.stream(HYBRID)
    assert all(isinstance(step, Step) for step in steps)
    assert [step.name for step in steps] == [step.name for step in answer.steps]
    assert text == answer.answer
    assert answer.keys == rag.ask(HYBRID).keys


def test_the_error_of_a_stream_reaches_its_reader(rag):
    with pytest.raises(SqlRagError, match="the question is empty"):
        list(rag.stream(" "))


def test_inputs_and_outputs_of_steps_come_with_a_trace_only(rag):
    for question in QUESTIONS.values():
        quiet, told = rag.ask(question), rag.ask(question, trace=True)
        assert [s.name for s in quiet.steps] == [s.name for s in told.steps]
        assert all(s.input is None and s.output is None for s in quiet.steps)
        assert all(s.output for s in told.steps)
        assert all(s.seconds >= 0 for s in told.steps)
    names = [step.name for step in rag.ask(HYBRID).steps]
    assert names == ["link", "route", "filters", "choose rows", "search", "answer"]


@pytest.mark.parametrize("question", ["", "  \n\t ", None, 7])
def test_no_question_is_one_clear_error_however_it_is_asked(rag, question):
    for ask in (rag.ask, lambda q: rag.program(question=q), lambda q: list(rag.stream(q))):
        with pytest.raises(SqlRagError, match="question") as caught:
            ask(question)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "question",
    [
        "x" * 10_000,
        "2023 " * 2_000,
        (COUNT + "? ") * 300,
        "\x00 \ud800 crypto",
        "?",
        "'; DROP TABLE articles; --",
        "<VALUE> <DATE:year> {question} [[ ## route ## ]]",
        "日本語の質問 ⚽ ﷽",
    ],
    ids=[
        "long word",
        "long dates",
        "long question",
        "half characters",
        "mark",
        "injection",
        "tokens",
        "scripts",
    ],
)
def test_any_text_is_answered(rag, question):
    answer = asked(rag, question)
    assert answer.route
    assert answer.answer
    assert answer.usage.seconds < 10


def test_questions_from_many_threads_are_answered_as_one_by_one(rag):
    questions = [*QUESTIONS.values(), "number of fashion articles", "carbon accounting, net zero reporting"]
    alone = {question: rag.ask(question) for question in questions}
    rag.bound().forget_links()
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(rag.ask, questions * 4))
    for answer in together:
        first = alone[answer.question]
        assert (answer.route, answer.rows, answer.keys, answer.answer) == (
            first.route, first.rows, first.keys, first.answer,
        )  # fmt: skip
        assert answer.usage.lm_calls == 0


def test_dspy_runs_a_batch(rag):
    examples = [dspy.Example(question=q).with_inputs("question") for q in QUESTIONS.values()]
    answers = rag.program.batch(examples, num_threads=2, disable_progress_bar=True)
    assert [answer.route for answer in answers] == list(QUESTIONS)


# --- databases --------------------------------------------------------------------------------------


def test_an_unknown_or_missing_database_is_named(rag, make):
    with pytest.raises(ProgramError, match="no database named 'sales' is bound; bound are: articles"):
        rag.ask(COUNT, database="sales")
    with pytest.raises(ProgramError, match="no database is bound"):
        SqlRag().ask(COUNT)
    assert rag.ask(COUNT, database="articles").route == "sql"


def test_a_copy_shares_database_and_engine_and_nothing_learned(make):
    program = make()
    copied = program.deepcopy()
    assert copied.bound() is program.bound()
    assert copied.engine is program.engine
    assert copied.router is not program.router
    assert copied.ask(COUNT).rows == program.ask(COUNT).rows


def test_an_unfitted_program_searches_and_says_that_it_is_not_fitted(small_database):
    answer = SqlRag({"articles": small_database}).ask(VECTOR)
    assert answer.route == "vector"
    assert answer.documents
    assert answer.flagged
    assert answer.failure_source == "route"
    assert any("sqlrag compile" in warning for warning in answer.warnings)


def test_a_cancelled_question_has_no_answer_and_the_next_one_has(rag):
    with Cancellation() as cancellation:
        cancellation.cancel()
        with pytest.raises(Cancelled):
            rag.ask(COUNT)
    assert rag.ask(COUNT).rows


def test_cancelling_the_task_of_a_question_cancels_its_query(rag, monkeypatch):
    asked, seen = threading.Event(), []

    def run(query, *, rows=None):
        asked.set()
        try:
            return rag.bound().source.execute(ENDLESS, seconds=60)
        except Cancelled as error:
            seen.append(error)
            raise

    monkeypatch.setattr(rag.bound(), "run", run)

    async def main():
        task = asyncio.create_task(rag.aask(COUNT))
        await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    monkeypatch.undo()
    assert len(seen) == 1
    assert rag.ask(COUNT).rows


@pytest.mark.parametrize("question", ["asdf qwer zxcv", "blorf wuggle snarf", "qqqq", "plimf dorga?"])
def test_nonsense_is_declined_or_flagged_with_little_confidence(rag, question):
    answer = rag.ask(question)
    assert answer.route == "decline" or (answer.flagged and answer.confidence <= 0.6)
