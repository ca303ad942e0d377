"""The team in a saved program, in one that was saved before there was a team, and under DSPy's own tools."""

from __future__ import annotations

import json

import dspy
import pytest
from scripted_lm import scripted
from team_shop import QUESTION, RIGHT, WELL

from sqlrag_dspy.program import SqlRag, artifact
from sqlrag_dspy.program.parts import LATER


def saved(program, place):
    program.save(str(place))
    return json.loads(place.read_text(encoding="utf-8"))


def test_what_was_changed_in_the_team_is_loaded_as_it_was_saved(program, tmp_path):
    made = program()
    made.depths.team, made.depths.weights["tables"] = float("inf"), 2.5
    made.team.critic.critique.demos = [dspy.Example(question="q", sql="SELECT 1")]
    made.team.intents.parse.signature = made.team.intents.parse.signature.with_instructions("List them.")
    state = saved(made, tmp_path / "program.json")
    again = SqlRag()
    again.load(str(tmp_path / "program.json"))
    assert again.depths.team == float("inf")
    assert again.team.intents.parse.signature.instructions == "List them."
    assert saved(again, tmp_path / "again.json") == state


def test_a_program_saved_before_there_was_a_team_loads_with_its_defaults(program, small, tmp_path):
    state = {
        name: part
        for name, part in saved(program(), tmp_path / "now.json").items()
        if not name.startswith(LATER)
    }
    (tmp_path / "before.json").write_text(json.dumps(state), encoding="utf-8")
    again = SqlRag()
    again.load(str(tmp_path / "before.json"))
    assert again.dump_state() == SqlRag().dump_state() | {
        name: part for name, part in state.items() if name != "metadata"
    }
    card = artifact.read_card(small.program)
    artifact.write(again, tmp_path / "folder", card)
    for path in (tmp_path / "folder" / "program.json",):
        path.write_text(json.dumps(state), encoding="utf-8")
    card.digest = ""
    (tmp_path / "folder" / "card.json").write_text(card.model_dump_json(), encoding="utf-8")
    other = SqlRag()
    artifact.restore(other, tmp_path / "folder")
    assert other.dump_state() == again.dump_state()


def test_any_other_missing_part_is_an_error(program, tmp_path):
    state = saved(program(), tmp_path / "program.json")
    del state["sketcher"]
    with pytest.raises(KeyError, match="sketcher"):
        SqlRag().load_state(state)


def test_dspys_evaluation_and_bootstrap_run_on_it_as_it_is(program):
    lm = scripted(**WELL)
    made = program(lm="dspy", depth="team")
    examples = [dspy.Example(question=QUESTION, database=None).with_inputs("question", "database")]

    def metric(example, prediction, trace=None):
        return prediction.rows == [[10]]

    with dspy.context(lm=lm):
        scored = dspy.Evaluate(devset=examples, metric=metric, display_progress=False)(made.program)
        assert scored.score == 100.0
        compiler = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=0)
        compiled = compiler.compile(made, trainset=examples)
    shown = {name for name, part in compiled.named_predictors() if part.demos}
    assert shown == {
        *("route_question", "build_sql", "team.intents.parse", "team.coverage.check"),
        *("team.schema.link", "team.critic.critique", "team.explainer.explain"),
    }
    assert compiled.build_sql.demos[0].sql == RIGHT
    compiled.load_state(json.loads(json.dumps(compiled.dump_state())))
    with dspy.context(lm=lm):
        answer = compiled.ask(QUESTION)
    assert (answer.rows, answer.flagged) == ([[10]], False)
    assert RIGHT in next(prompt for prompt in reversed(lm.script.prompts) if "CritiqueSql" not in prompt)
