"""Fitting as a researcher does it: DSPy teleprompters that give the program back with one part fitted."""

from __future__ import annotations

import json
from dataclasses import asdict

import dspy
import numpy as np
import pytest
from dspy.teleprompt import Teleprompter

from sqlrag_dspy import learn
from sqlrag_dspy.errors import LabelError, ProgramError
from sqlrag_dspy.learn.fit import blended, lowest
from sqlrag_dspy.learn.linear import logistic, scores_of

LEARNED = ("router", "sketcher", "thresholds", "demonstrations")
COUNT = "how many travel articles are there"


@pytest.fixture(scope="module")
def examples(small):
    return learn.labels.load(small.trainset, split="train")


def test_a_router_is_fitted_as_the_documentation_says(fresh, examples):
    rag = fresh()
    program = learn.FitRouter(seed=0).compile(rag.program, trainset=examples)
    assert program is rag
    assert not program._compiled
    assert program.router.is_fitted
    assert program.ask(COUNT).route == "sql"
    searches = {"vector", "hybrid"}  # told apart by filters, which nothing is fitted for yet
    routes = [(e.route, program(question=e.question).route) for e in examples]
    right = [told == gold or {told, gold} == searches for gold, told in routes]
    assert sum(right) / len(right) > 0.9
    assert [d.question for d in program.demonstrations.bank] == [e.question for e in examples]
    assert not program.sketcher.is_fitted
    answer = program.ask(COUNT)
    assert answer.needs_model


@pytest.mark.parametrize("name", ["FitRouter", "FitSketch", "FitThresholds"])
def test_each_is_a_teleprompter(name):
    assert issubclass(getattr(learn, name), Teleprompter)


def test_the_same_labels_and_seed_fit_the_same(fresh, examples):
    few = [*examples[:12], *examples[30:42]]
    states = [learn.FitRouter(seed=3).compile(fresh(), trainset=few).router.dump_state() for _ in range(2)]
    assert states[0] == states[1]
    assert json.loads(json.dumps(states[0])) == states[0]
    assert states[0]["seed"] == 3


def test_confidences_are_probabilities(fresh):
    program = fresh(True)
    for question in (COUNT, "carbon accounting, net zero reporting", "x", "?"):
        links = program.bound().link(question)
        from sqlrag_dspy.link import mask

        told = program.router(masked=mask(links))
        assert sum(told.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert told.confidence == max(told.probabilities.values())
        drafted = program.sketcher(links=links, masked=mask(links), catalog=program.bound().catalog)
        assert 0 <= drafted.confidence <= 1


def test_fitting_leaves_the_other_parts_alone(fresh, examples):
    program = fresh(True)
    before = program.dump_state()
    learn.FitRouter(seed=1).compile(program, trainset=examples[:40])
    after = program.dump_state()
    assert {name for name in before if before[name] != after[name]} == {"router", "demonstrations"}


def test_demonstrations_remember_schema_and_gold(fresh, examples, small_database):
    bank = {d.question: d for d in fresh(True).demonstrations.bank}
    for example in examples:
        found = asdict(bank[example.question])
        assert (found["sql"], found["condition"], found["route"]) == (
            example.sql,
            example.filter_sql,
            example.route,
        )
        assert found["schema"] == small_database.catalog.fingerprint


@pytest.mark.parametrize("name", ["FitRouter", "FitSketch", "FitThresholds"])
def test_nothing_to_fit_on_is_one_clear_line(fresh, name):
    with pytest.raises(LabelError, match="no labelled queries to fit on"):
        getattr(learn, name)().compile(fresh(True), trainset=[])


def test_a_sketcher_needs_sql_labels(fresh, examples):
    with pytest.raises(
        LabelError, match=r"too few sql labels have a gold query .* together with those of other databases"
    ):
        learn.FitSketch().compile(fresh(), trainset=[e for e in examples if e.route == "vector"])


@pytest.mark.parametrize(
    "asked",
    [
        {"how many articles are there": "SELECT count(*) FROM articles"},
        {"how many articles are there": "SELECT count(*) FROM articles", "count": "SELECT 144"},
        {
            "count everything": "SELECT count(*) FROM articles",
            "how much is it": "SELECT max(rowid) FROM articles",
        },
        {
            "how many travel articles are there": "SELECT count(*) FROM articles WHERE article_category = 'travel'",
            "articles per category": "SELECT article_category, count(*) FROM articles GROUP BY 1",
            "the newest article": "SELECT title FROM articles ORDER BY published_date DESC LIMIT 1",
        },
    ],
    ids=["one", "one within the grammar", "nothing linked", "three of different kinds"],
)
def test_a_handful_of_sql_labels_is_told_to_be_too_few(fresh, asked):
    few = [
        learn.labels.example(
            learn.labels.Label(id=q, database="articles", question=q, lang="en", route="sql", sql=sql)
        )
        for q, sql in asked.items()
    ]
    with pytest.raises(LabelError, match=r"too few sql labels .* together with those of other databases"):
        learn.FitSketch().compile(fresh(), trainset=few)


def test_a_label_of_a_database_that_is_not_bound_is_named(fresh, examples):
    astray = examples[0].copy(database="sales").with_inputs("question", "database")
    with pytest.raises(ProgramError, match="no database named 'sales' is bound; bound are: articles"):
        learn.FitRouter().compile(fresh(), trainset=[astray])


def test_an_optimizers_reset_clears_prompts_and_nothing_learned(fresh):
    program = fresh(True)
    program.build_sql.demos = [dspy.Example(question="q", sql="SELECT 1")]
    copied = program.reset_copy()
    assert copied.build_sql.demos == []
    for name in LEARNED:
        assert copied.dump_state()[name] == program.dump_state()[name]
    assert copied.ask(COUNT).rows == program.ask(COUNT).rows


def test_the_threshold_bounds_what_is_wrong_of_all_and_of_what_is_answered():
    trusted = (
        [(0.905, True)] * 8
        + [(0.805, False)]
        + [(0.705, True)] * 4
        + [(0.605, False)] * 3
        + [(0.205, False)] * 84
    )
    assert lowest(trusted, 0.02, len(trusted)) == pytest.approx(0.61)
    assert lowest(trusted, 0.02, len(trusted), 0.9) == pytest.approx(0.61)
    assert lowest(trusted, 0.05, len(trusted), 0.9) == pytest.approx(0.61)
    assert lowest(trusted, 0.05, len(trusted)) == pytest.approx(0.21)
    assert lowest(trusted, 0.05, len(trusted), 0.95) == pytest.approx(0.81)


def test_a_blended_head_gives_each_its_share_of_the_scores():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 5)).astype(np.float32)
    classes = ["sql" if row[0] > 0 else "vector" if row[1] > 0 else "decline" for row in features]
    quick, full = logistic(features[:, :3], classes, 8.0), logistic(features, classes, 2.0)
    found = scores_of(blended(full, quick, 0.2), features)
    wanted = 0.8 * scores_of(full, features) + 0.2 * scores_of(quick, features[:, :3])
    assert np.allclose(found, wanted, atol=0.01)
    assert np.array_equal(scores_of(blended(full, quick, 0.0), features), scores_of(full, features))
