"""`sqlrag compile` and `sqlrag eval`: what they hand to the learn room, and how results are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlrag_dspy.errors import GateRefused
from sqlrag_dspy.program import Card

FIGURES = {
    "n": 4,
    "route_accuracy": 0.75,
    "coverage": 1.0,
    "execution_accuracy": None,
    "intervals": {"route_accuracy": [0.5, 1.0]},
    "seconds_p50": 0.01,
    "seconds_p95": 0.02,
}


@pytest.fixture
def asked(monkeypatch):
    """Replaces both functions of the learn room; collects what they are called with."""
    calls = []

    def compile_program(train, dev, **options):
        calls.append({"train": train, "dev": dev, **options})
        if options["progress"]:
            options["progress"]("fitting the router")
        return Card(name="out", scores={"dev": FIGURES})

    def evaluate_set(path, **options):
        calls.append({"path": path, **options})
        gap = {"route_accuracy": {"difference": 0.25, "interval": [0.0, 0.5]}}
        failures = [{"id": "a"}]
        by_route = {"sql": {"n": 2, "route_accuracy": 0.5}}
        against = gap if options["against"] else None
        return {**FIGURES, "by_route": by_route, "by_lang": {}, "failures": failures, "against": against}

    monkeypatch.setattr("sqlrag_dspy.learn.compile.compile_program", compile_program)
    monkeypatch.setattr("sqlrag_dspy.learn.evaluate.evaluate_set", evaluate_set)
    return calls


def test_compile_hands_everything_on(sqlrag, stories, asked):
    argv = ["compile", "--train", "a.jsonl", "b", "--train", "c", "--dev", "d", "-o", "out"]
    argv += ["--optimizer", "gepa", "--from", "old", "--resume", "--force"]
    outcome = sqlrag(*argv, "--budget", "calls=40, minutes=2.5", "--seed", "3", "--lm", "some/lm")
    assert outcome.code == 0, outcome.err
    (call,) = asked
    assert call["train"] == [Path("a.jsonl"), Path("b"), Path("c")]
    assert (call["dev"], call["out"], call["start"]) == (Path("d"), Path("out"), Path("old"))
    assert call["budget"] == {"calls": 40.0, "minutes": 2.5}
    assert (call["optimizer"], call["seed"], call["lm"]) == ("gepa", 3, "some/lm")
    assert call["resume"]
    assert call["force"]
    assert call["settings"].source == "sqlite:///stories.db"
    assert "wrote out" in outcome.out
    assert "route accuracy" in outcome.out
    assert "fitting the router" in outcome.err
    assert sqlrag("compile", "--train", "a", "-o", "out", "--quiet").err == ""


def test_the_model_of_the_settings_is_the_default(sqlrag, stories, asked, monkeypatch):
    sqlrag("compile", "--train", "a", "-o", "out")
    monkeypatch.setenv("SQLRAG_LM", "some/lm")
    sqlrag("compile", "--train", "a", "-o", "out")
    sqlrag("eval", "--set", "a")
    assert [call["lm"] for call in asked] == [None, "some/lm", "some/lm"]


def test_compile_as_json_is_the_card(sqlrag, stories, asked):
    told = sqlrag("compile", "--train", "a", "-o", "out", "--json").json
    assert told["program"] == "out"
    assert told["card"]["scores"]["dev"]["n"] == 4


def test_a_worse_program_is_refused_in_one_line(sqlrag, stories, monkeypatch):
    def refuse(train, dev, **options):
        raise GateRefused("the new program scores 0.5 and the old one 0.6; it was kept")

    monkeypatch.setattr("sqlrag_dspy.learn.compile.compile_program", refuse)
    sqlrag("compile", "--train", "a", "-o", "out").refused("it was kept")


def test_eval_shows_scores_and_keeps_times_off_stdout(sqlrag, stories, asked):
    outcome = sqlrag("eval", "--set", "labels", "--split", "test", "--against", "old", "--program", "new")
    assert outcome.code == 0, outcome.err
    (call,) = asked
    assert (call["path"], call["split"], call["against"]) == (Path("labels"), "test", Path("old"))
    assert call["program"] == "new"
    for text in ("route accuracy", "0.750", "0.500–1.000", "sql: 2 labels", "+0.250"):
        assert text in outcome.out
    assert "seconds" not in outcome.out
    assert "seconds" in outcome.err


def test_eval_as_json_and_as_a_page(sqlrag, stories, asked):
    outcome = sqlrag("eval", "--set", "labels", "--json", "--report", "pages/report.html")
    assert outcome.json["route_accuracy"] == 0.75
    assert asked[0]["program"] == "program"
    assert "<html" in (stories / "pages" / "report.html").read_text()


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_page_that_cannot_be_written_does_not_cost_the_figures(sqlrag, stories, asked, how):
    outcome = sqlrag("eval", "--set", "a", "--report", "stories.db/page.html", *how)
    assert outcome.code == 1
    assert "0.75" in outcome.out
    assert "stories.db" in outcome.err
