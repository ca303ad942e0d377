"""Bounds from which depth was enough, and the records that tell it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from scripted_lm import scripted

from sqlrag_dspy import learn
from sqlrag_dspy.learn.fit_depth import FitDepth, Record, observe
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.team.depth import NEVER

PLAIN = {"tables": 0.0, "conditions": 1.0}
HARD = {"tables": 3.0, "conditions": 3.0}


def fitted(*records: Record):
    return FitDepth(records).compile(SqlRag()).depths


def test_the_team_begins_where_it_was_needed():
    depths = fitted(*[Record.of(PLAIN, "call")] * 10, *[Record.of(HARD, "team")] * 6)
    assert depths(features=PLAIN).depth == "call"
    assert depths(features=HARD).depth == "team"
    assert depths.reaches("team", depths(features=HARD).complexity)
    assert not depths.reaches("team", depths(features=PLAIN).complexity)


@pytest.mark.parametrize("enough", ["call", "retry", None])
def test_a_team_that_brings_nothing_is_never_chosen(enough):
    depths = fitted(*[Record.of(PLAIN, "call")] * 5, *[Record.of(HARD, enough)] * 5)
    assert (depths.team, depths.floor) == (NEVER, NEVER)
    assert depths(features=HARD).depth in ("call", "retry")


def test_a_team_that_loses_where_retries_were_right_is_never_chosen():
    worse = Record(HARD, {"retry": True, "team": False})
    better = Record(HARD, {"retry": False, "team": True})
    assert fitted(*[worse] * 4, *[better] * 4).team == NEVER
    assert fitted(*[worse] * 4, *[better] * 4).floor < NEVER  # after retries failed it still pays


def test_one_lucky_question_is_noise():
    assert fitted(*[Record.of(PLAIN, "call")] * 9, Record.of(HARD, "team")).team == NEVER


def test_a_gain_is_weighed_against_its_calls():
    records = [Record(HARD, {"retry": n % 5 > 0, "team": True}) for n in range(40)]
    assert FitDepth(records).compile(SqlRag()).depths.team < NEVER
    assert FitDepth(records, price=0.05).compile(SqlRag()).depths.team == NEVER


def test_no_records_change_nothing():
    assert fitted().dump_state() == SqlRag().depths.dump_state()


def test_bounds_are_saved_and_never_mark_the_program(tmp_path):
    program = FitDepth([Record.of(PLAIN, "call")] * 3).compile(SqlRag())
    assert not getattr(program, "_compiled", False)
    program.save(str(tmp_path / "program.json"))
    again = SqlRag()
    again.load(str(tmp_path / "program.json"))
    assert again.depths.dump_state() == program.depths.dump_state()
    assert "Infinity" not in (tmp_path / "program.json").read_text(encoding="utf-8")
    json.loads((tmp_path / "program.json").read_text(encoding="utf-8"))


def test_every_compared_depth_is_asked_and_judged(fresh, small):
    examples = learn.labels.load(small.trainset, split="train")
    lm = scripted(
        route="sql", sql="SELECT COUNT(*) FROM articles WHERE article_category = 'business'",
        repair="SELECT 1", intents='[{"description": "how many"}]', coverage="{}",
        verdict='{"issues": [], "approved": true}', told="{}",
    )  # fmt: skip
    program = fresh(True)
    chosen = [example for example in examples if "business articles" in example.question and example.sql][:1]
    records = observe(program, [*chosen, *[e for e in examples if e.route == "vector"]], lm, most=3)
    assert [dict(record.right) for record in records] == [{"retry": True, "team": True}]
    assert records[0].calls["team"] > records[0].calls["retry"]
    assert records[0].features["conditions"] == 1.0
    counted = Counter(lm.script.asked)
    assert (counted["sql"], counted["verdict"]) == (2, 1)
    assert (program.depth, program.engine.lm) == (None, None)
