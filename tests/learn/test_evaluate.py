"""Scores of a program: every metric of the contract, and judged as a user would judge."""

from __future__ import annotations

import json
import shutil

import dspy
import pytest

from sqlrag_dspy import Answer, Label, learn
from sqlrag_dspy.errors import LabelError, ProgramError, SourceError
from sqlrag_dspy.learn.evaluate import compare, evaluate_set, judge, run, summarise
from sqlrag_dspy.learn.report import write_html
from sqlrag_dspy.program.result import Citation, Document, Search, Usage

METRICS = {
    "n", "coverage", "route_accuracy", "accuracy_when_answered", "route_macro_f1", "confusion", "ece",
    "lm_calls_per_question", "execution_accuracy", "filter_exact", "recall_at_5", "recall_at_20", "mrr",
    "decline_precision", "decline_recall", "citation_valid", "sentences_supported", "answer_coverage",
    "seconds_p50", "seconds_p95", "tokens_per_question", "cost_usd",
}  # fmt: skip


@pytest.fixture
def told(small, cached):
    return evaluate_set(small.trainset, split="dev", program=small.program)


def checked(figures) -> None:
    """Every metric is there, and each that applies has an interval around it."""
    assert set(figures) >= METRICS
    for name in METRICS - {"n", "confusion"}:
        value = figures[name]
        if value is None:
            assert name not in figures["intervals"]
        else:
            low, high = figures["intervals"][name]
            assert low <= high
            assert low - 1e-9 <= value <= high + 1e-9 or name in ("ece", "route_macro_f1"), name


# --- a whole set ------------------------------------------------------------------------------------


def test_every_metric_of_the_contract_is_given_overall_by_route_and_by_language(told):
    json.dumps(told, allow_nan=False)
    checked(told)
    assert set(told["by_route"]) == {"sql", "vector", "hybrid", "decline"}
    for figures in (*told["by_route"].values(), *told["by_lang"].values()):
        checked(figures)
    assert sum(f["n"] for f in told["by_route"].values()) == told["n"] == 8
    assert sum(f["n"] for f in told["by_lang"].values()) == 8
    assert sum(sum(row.values()) for row in told["confusion"].values()) <= 8
    assert told["by_route"]["sql"]["recall_at_5"] is None
    assert told["by_route"]["vector"]["execution_accuracy"] is None
    assert all({"id", "lang", "tags"} <= set(failure) for failure in told["failures"])
    assert told["lm_calls_per_question"] == 0
    assert told["program"] == "small"


def test_a_whole_benchmark_is_scored_by_split_and_database(small, cached, trainset, monkeypatch):
    away = shutil.copytree(trainset, trainset.parent / "away")
    (away / "source.toml").write_text(
        'source = "sqlite:///${SQLRAG_NOWHERE}/away.sqlite"\n', encoding="utf-8"
    )
    monkeypatch.delenv("SQLRAG_NOWHERE", raising=False)
    said: list[str] = []
    told = evaluate_set(trainset.parent, program=small.program, progress=said.append)
    assert told["skipped"] == {"away": "set SQLRAG_NOWHERE to open it"}
    assert "left out away: set SQLRAG_NOWHERE to open it" in said
    assert {name: figures["n"] for name, figures in told["by_split"].items()} == {"train": 70, "dev": 8}
    assert told["by_database"]["articles"]["n"] == told["n"] == 78
    assert sum(figures["n"] for figures in told["by_split"]["train"]["by_lang"].values()) == 70
    for figures in (*told["by_split"].values(), *told["by_database"].values()):
        checked(figures)


def test_a_lone_set_that_cannot_be_opened_is_an_error(small, trainset, monkeypatch):
    (trainset / "source.toml").write_text('source = "sqlite:///${SQLRAG_NOWHERE}/x"\n', encoding="utf-8")
    monkeypatch.delenv("SQLRAG_NOWHERE", raising=False)
    with pytest.raises(SourceError, match="SQLRAG_NOWHERE"):
        evaluate_set(trainset, program=small.program)


def test_plain_routers_are_compared_on_the_same_labels(told):
    assert told["baselines"]["labels"] == 70
    for name in ("tfidf_svm", "nearest_neighbour"):
        low, high = told["baselines"][name]["interval"]
        assert low <= told["baselines"][name]["route_accuracy"] <= high


def test_scores_are_the_same_every_time(told, small):
    again = evaluate_set(small.trainset / "dev.jsonl", program=small.program)
    drop = ("seconds_p50", "seconds_p95", "intervals", "set", "by_route", "by_lang")
    assert {k: v for k, v in again.items() if k not in drop} == {
        k: v for k, v in told.items() if k not in drop
    }
    assert again["intervals"]["route_accuracy"] == told["intervals"]["route_accuracy"]


def test_a_program_against_itself_differs_in_nothing(small, cached):
    told = evaluate_set(small.trainset, split="dev", program=small.program, against=small.program)
    assert told["against"]["route_accuracy"] == {"difference": 0.0, "interval": [0.0, 0.0]}


def test_a_page_tells_the_scores(told, tmp_path):
    write_html({**told, "program": "<b>small</b>"}, tmp_path / "deep" / "report.html")
    page = (tmp_path / "deep" / "report.html").read_text()
    assert "&lt;b&gt;small&lt;/b&gt;" in page
    assert "<b>small</b>" not in page
    for said in ("Route accuracy", "hybrid", "tfidf_svm", "http-equiv=refresh"):
        assert (said in page) is (said != "http-equiv=refresh")
    assert "src=" not in page
    assert "href=" not in page


def test_what_is_missing_is_said_before_anything_is_opened(small, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ProgramError, match="no compiled program 'none'"):
        evaluate_set(small.trainset, program="none")
    with pytest.raises(ProgramError, match="no compiled program"):
        evaluate_set(small.trainset, program=small.program, against=tmp_path / "none")
    with pytest.raises(LabelError, match="no label file or folder"):
        evaluate_set(tmp_path / "labels", program=small.program)
    assert not (tmp_path / "cache").exists()


def test_a_label_of_another_database_is_named(trainset, small, cached):
    path = trainset / "dev.jsonl"
    path.write_text(path.read_text().replace('"database": "articles"', '"database": "sales"', 1))
    with pytest.raises(LabelError, match="its database 'sales' is not the folder of its file"):
        evaluate_set(trainset, split="dev", program=small.program)


def test_a_label_whose_gold_does_not_run_is_named(trainset, small, cached):
    path = trainset / "dev.jsonl"
    path.write_text(path.read_text().replace("FROM articles", "FROM nothing", 1))
    with pytest.raises(LabelError, match=r"label d-\d+: the gold query fails"):
        evaluate_set(path, program=small.program)


def test_a_set_without_labels_has_no_scores(trainset, small, cached):
    (trainset / "dev.jsonl").write_text("")
    told = evaluate_set(trainset, split="dev", program=small.program)
    assert (told["n"], told["route_accuracy"], told["failures"]) == (0, None, [])
    assert told["baselines"] == {}
    checked(told)


# --- one label --------------------------------------------------------------------------------------


def label(**given) -> Label:
    base = {"id": "x-1", "database": "articles", "question": "?", "lang": "en", "table": "articles"}
    return Label(**{**base, **given})


COUNTED = label(route="sql", sql="SELECT count(*) FROM articles WHERE article_category = 'travel'")


@pytest.fixture
def right(fresh):
    """The small program's answer to a question whose gold query is COUNTED."""
    return fresh(True).ask("how many travel articles are there")


def test_right_rows_score_and_others_do_not(right, small_database):
    scores = judge(COUNTED, right, small_database).scores
    assert (scores["route_accuracy"], scores["execution_accuracy"], scores["wrong_unflagged"]) == (1, 1, 0)
    wrong = right.model_copy(update={"rows": [[-1]]})
    judged = judge(COUNTED, wrong, small_database)
    assert (judged.scores["execution_accuracy"], judged.scores["wrong_unflagged"]) == (0, 1)
    assert judged.failure["sql"] == right.sql
    flagged = judge(COUNTED, wrong.model_copy(update={"flagged": True}), small_database).scores
    assert (flagged["execution_accuracy"], flagged["wrong_unflagged"]) == (0, 0)


def test_unanswered_and_failed_questions_count_as_wrong_and_uncovered(right, small_database):
    for update in (
        {"needs_model": True, "rows": []},
        {"error": "the index is gone", "route": None, "rows": []},
    ):
        scores = judge(COUNTED, right.model_copy(update=update), small_database).scores
        assert (scores["coverage"], scores["route_accuracy"], scores["execution_accuracy"]) == (0, 0, 0)
        assert scores["accuracy_when_answered"] is None


def test_a_route_that_is_as_good_counts(right, small_database):
    wanted = label(route="vector", also_ok=["sql"])
    assert judge(wanted, right, small_database).scores["route_accuracy"] == 1
    told = summarise([judge(wanted, right, small_database)])
    assert told["confusion"] == {"vector": {"sql": 0, "vector": 1, "hybrid": 0, "decline": 0}}


def test_without_keys_nothing_is_said_of_what_was_found(small_database):
    found = Answer(question="?", route="vector", search=Search(rows_allowed=1, rows_searched=1, exact=True))
    judged = judge(label(route="vector"), found, small_database)
    assert {judged.scores[name] for name in ("recall_at_5", "recall_at_20", "mrr")} == {None}
    assert judged.failure is None
    told = summarise([judged])
    assert (told["recall_at_5"], told["recall_at_20"], told["mrr"]) == (None, None, None)


def searched(**given) -> Answer:
    found = Search(rows_allowed=1, rows_searched=1, exact=True, **given)
    return Answer(question="?", route="vector", search=found)


def test_a_filter_is_right_when_it_allows_exactly_the_gold_rows(small_database):
    wanted = label(route="vector", filter_sql="article_category = 'fashion'")
    scores = {
        "the same column": searched(filters=[["article_category", "fashion"]]),
        "other words for it": searched(
            key_sql="SELECT title FROM articles WHERE article_category LIKE 'fash%'"
        ),
        "nothing": searched(),
        "another": searched(filters=[["article_category", "travel"]]),
    }
    told = {
        name: judge(wanted, answer, small_database).scores["filter_exact"] for name, answer in scores.items()
    }
    assert told == {"the same column": 1, "other words for it": 1, "nothing": 0, "another": 0}


def test_citations_are_valid_only_letter_by_letter(fresh, small_database):
    answer = fresh(True).ask("second-hand, rental and mending in fashion")
    wanted = label(route="vector", filter_sql="article_category = 'fashion'")
    assert judge(wanted, answer, small_database).scores["citation_valid"] == 1
    moved = [c.model_copy(update={"start": c.start + 1}) for c in answer.citations]
    assert (
        judge(wanted, answer.model_copy(update={"citations": moved}), small_database).scores["citation_valid"]
        == 0
    )
    gone = [
        Citation(
            kind="passage", answer_span=(0, 3), table="articles", key="none", column="url", start=0, end=3
        )
    ]
    assert (
        judge(wanted, answer.model_copy(update={"citations": gone}), small_database).scores["citation_valid"]
        == 0
    )
    unsupported = judge(wanted, answer.model_copy(update={"citations": []}), small_database).scores
    assert (unsupported["citation_valid"], unsupported["sentences_supported"]) == (None, 0)


def test_facts_of_the_label_are_looked_for_in_the_answer(small_database):
    wanted = label(route="vector", answer=["Osaka", "90 euros"])
    answer = Answer(question="?", route="vector", answer="A night in osaka.", documents=[])
    assert judge(wanted, answer, small_database).scores["answer_coverage"] == 0.5
    assert judge(wanted, answer, small_database).scores["answer_false"] is None


def test_any_wording_of_a_fact_will_do_and_wrong_claims_are_counted(small_database):
    stated = {"facts": ["90 euros | ninety euros", "Osaka"], "never": ["Kyoto", "osaka | nara"]}
    wanted = label(route="vector", answer=stated)
    answer = Answer(question="?", route="vector", answer="Ninety euros a night in Osaka.", documents=[])
    scores = judge(wanted, answer, small_database).scores
    assert scores["answer_coverage"] == 1.0
    assert scores["answer_false"] == 0.5


def test_costs_are_means_over_questions(small_database):
    usage = Usage(lm_calls=2, cached_calls=1, tokens_in=10, tokens_out=5, cost_usd=0.5, seconds=2)
    judged = [
        judge(label(route="decline"), Answer(question="?", route="decline", usage=used), small_database)
        for used in (usage, Usage())
    ]
    told = summarise(judged)
    assert (told["lm_calls_per_question"], told["tokens_per_question"], told["cost_usd"]) == (1.5, 7.5, 0.25)
    assert (told["decline_precision"], told["decline_recall"]) == (1, 1)


def test_intervals_are_drawn_among_the_labels_that_a_metric_applies_to(right, small_database):
    declined = Answer(question="?", route="decline")
    judged = [judge(label(route="decline"), declined, small_database)] * 30
    told = summarise([*judged, judge(COUNTED, right, small_database)])
    assert told["execution_accuracy"] == 1
    assert told["intervals"]["execution_accuracy"] == [1, 1]


def test_one_document_found_twice_does_not_count_twice(small_database):
    document = Document(table="articles", key="a", score=1)
    answer = Answer(question="?", route="vector", documents=[document, document])
    wanted = label(route="vector", keys=["a", "b"])
    assert judge(wanted, answer, small_database).scores["recall_at_5"] == 0.5


def test_an_error_of_one_question_becomes_an_answer(fresh, monkeypatch, small_database):
    program = fresh(True)
    monkeypatch.setattr(
        type(program), "ask", lambda self, *_, **__: (_ for _ in ()).throw(LabelError("no luck"))
    )
    (judged,) = run(program, [COUNTED])
    assert judged.answer.error == "no luck"
    assert judged.scores["coverage"] == 0


def test_paired_differences_pair_by_question(right, small_database):
    wrong = right.model_copy(update={"rows": []})
    first = [judge(COUNTED, answer, small_database) for answer in (right, right, wrong)]
    second = [judge(COUNTED, answer, small_database) for answer in (right, wrong, wrong)]
    gap = compare(first, second)["execution_accuracy"]
    assert gap["difference"] == 0.3333
    assert gap["interval"][0] == 0
    assert "recall_at_5" not in compare(first, second)


# --- DSPy's own -------------------------------------------------------------------------------------


def test_dspys_own_evaluation_runs_on_the_program_as_it_is(small, fresh):
    dev = learn.labels.load(small.trainset, split="dev")
    evaluate = dspy.Evaluate(devset=dev, metric=learn.metrics.route, num_threads=2, display_progress=False)
    program = fresh(True)
    told = summarise(run(program, [example.gold for example in dev]))
    assert evaluate(program.program).score == pytest.approx(100 * told["route_accuracy"], abs=0.01)


def test_a_label_folder_of_another_name_opens_its_own_database(trainset, small, cached):
    other = shutil.move(trainset, trainset.parent / "gazette")
    path = other / "dev.jsonl"
    path.write_text(path.read_text().replace('"database": "articles"', '"database": "gazette"'))
    told = evaluate_set(other, split="dev", program=small.program)
    assert told["n"] == 8
