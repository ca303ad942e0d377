"""Compiling through the gate. The learned tier is taken over from the small program, as after an interruption."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scripted_lm import scripted

from sqlrag_dspy.errors import GateRefused, LabelError, LmError, ProgramError, SqlRagError
from sqlrag_dspy.learn import compile as compiling
from sqlrag_dspy.learn.compile import compile_program
from sqlrag_dspy.program import SqlRag, artifact
from sqlrag_dspy.settings import Settings


@pytest.fixture
def out(tmp_path):
    return tmp_path / "compiled" / "mine"


@pytest.fixture
def compile_(small, cached, out):
    """Compiles the small trainset; gives the card, the notes of progress in `told`."""

    def compile_(**options):
        compile_.told = []
        given = {"settings": Settings(), "progress": compile_.told.append, "resume": True, **options}
        return compile_program([small.trainset], given.pop("dev", small.trainset), out=out, **given)

    return compile_


@pytest.fixture
def interrupted(small, out):
    """Puts a program where an interrupted run leaves its learned tier."""

    def interrupted(change=None):
        partial = out.with_name("mine.partial")
        shutil.copytree(small.program, partial, dirs_exist_ok=True)
        if change is not None:
            program = SqlRag()
            artifact.restore(program, partial)
            change(program)
            artifact.write(program, partial, artifact.read_card(partial))
        return partial

    return interrupted


def route_nothing(program) -> None:
    """Makes a program worse: everything is a decline."""
    for head in (program.router.quick, program.router.full):
        head.weights = np.zeros_like(head.weights)
        head.bias = np.array([9.0 if name == "decline" else 0.0 for name in head.classes], np.float32)


def state(folder) -> dict:
    return json.loads((folder / "program.json").read_text())


@pytest.fixture
def never_fitted(monkeypatch):
    """Fails when anything is fitted."""

    def refuse(self, *_, **__):
        raise AssertionError("nothing should be fitted")

    monkeypatch.setattr(compiling.FitRouter, "compile", refuse)


# --- whole runs -------------------------------------------------------------------------------------


def test_a_run_from_nothing_leaves_program_card_and_page_and_nothing_else(small):
    folder = small.program
    assert sorted(p.name for p in folder.parent.iterdir()) == ["small"]
    assert sorted(p.name for p in folder.iterdir()) == ["card.json", "program.json", "report.html"]
    assert small.card.scores["dev"]["n"] == 8
    assert "failures" not in small.card.scores["dev"]
    assert "Route accuracy" in (folder / "report.html").read_text()


def test_resuming_takes_over_what_was_fitted(compile_, interrupted, out, small, never_fitted):
    partial = interrupted()
    card = compile_()
    assert any("already fitted" in line for line in compile_.told)
    assert state(out) == state(small.program)
    assert card.scores["dev"]["n"] == 8
    assert artifact.read_card(out).name == "mine"
    assert not partial.exists()


@pytest.mark.parametrize(
    "harm", ["other labels", "another seed", "another schema", "cut short", "no card", "nothing"]
)
def test_what_was_fitted_on_something_else_is_not_taken_over(compile_, interrupted, monkeypatch, harm):
    partial = interrupted()
    card = artifact.read_card(partial)
    if harm == "other labels":
        card.trainsets["other.jsonl"] = "0" * 16
    elif harm == "another seed":
        card.seed = 7
    elif harm == "another schema":
        card.schemas["articles"] = "0" * 16
    (partial / "card.json").write_text(card.model_dump_json())
    if harm == "cut short":
        (partial / "program.json").write_text("{")
    elif harm == "no card":
        (partial / "card.json").unlink()
    elif harm == "nothing":
        shutil.rmtree(partial)

    class Begun(Exception):
        pass

    def begin(self, *_, **__):
        raise Begun

    monkeypatch.setattr(compiling.FitRouter, "compile", begin)
    with pytest.raises(Begun):
        compile_()


# --- the gate ---------------------------------------------------------------------------------------


def test_a_worse_program_is_refused_and_the_old_one_kept(compile_, interrupted, out, never_fitted):
    interrupted()
    compile_()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    partial = interrupted(route_nothing)
    with pytest.raises(GateRefused, match=r"the new program scores 0\.\d+ .* it was kept") as caught:
        compile_()
    assert "\n" not in str(caught.value)
    assert str(partial) in str(caught.value)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert artifact.read_card(partial).scores["dev"]["route_accuracy"] < 0.5


def test_force_replaces_a_better_program(compile_, interrupted, out, never_fitted):
    interrupted()
    compile_()
    interrupted(route_nothing)
    card = compile_(force=True)
    assert card.scores["dev"]["route_accuracy"] < 0.5
    assert artifact.read_card(out).scores["dev"] == json.loads(json.dumps(card.scores["dev"]))


def test_a_program_that_is_as_good_or_better_replaces(compile_, interrupted, out, small, never_fitted):
    interrupted(route_nothing)
    compile_()
    interrupted()
    compile_()
    assert state(out) == state(small.program)


def test_without_dev_labels_no_program_is_replaced_unseen(compile_, interrupted, out, never_fitted):
    interrupted()
    compile_(dev=None)
    assert artifact.read_card(out).scores == {}
    interrupted()
    with pytest.raises(GateRefused, match="no dev labels to compare with it; pass --dev, or --force"):
        compile_(dev=None)
    compile_(dev=None, force=True)


@pytest.mark.parametrize("name", ["program.json", "card.json"])
def test_a_broken_program_does_not_stand_in_the_way(compile_, interrupted, out, small, never_fitted, name):
    interrupted()
    compile_()
    (out / name).write_text("{")
    interrupted()
    compile_()
    assert any("no longer loads" in line for line in compile_.told)
    assert state(out) == state(small.program)


def test_a_program_of_a_newer_version_is_not_replaced(compile_, interrupted, out, never_fitted):
    interrupted()
    compile_()
    card = json.loads((out / "card.json").read_text())
    (out / "card.json").write_text(json.dumps({**card, "format": 99}))
    interrupted()
    with pytest.raises(ProgramError, match="newer version"):
        compile_()
    assert json.loads((out / "card.json").read_text())["format"] == 99


# --- prompts ----------------------------------------------------------------------------------------


@pytest.fixture
def model(monkeypatch):
    """The model that any name connects to."""
    lm = scripted(route="sql", sql="SELECT COUNT(*) FROM articles WHERE article_category = 'business'")
    monkeypatch.setattr("sqlrag_dspy.lm.connect", lambda name: lm)
    return lm


def test_prompts_are_compiled_for_a_model_within_the_budget(
    compile_, interrupted, out, small, model, never_fitted
):
    interrupted()
    card = compile_(lm="any/model", budget={"calls": 4})
    assert (card.lm, card.optimizer) == ("any/model", "bootstrap")
    assert 1 <= len(model.script.asked) <= 4
    compiled, before = state(out), state(small.program)
    assert compiled["build_sql"]["demos"][0]["question"] == "how many business articles are there"
    for name in ("router", "sketcher", "thresholds", "demonstrations"):
        assert compiled[name] == before[name]
    assert not any(part.get("lm") for part in compiled.values())


def test_prompts_of_another_program_are_taken_over(compile_, interrupted, out, model, monkeypatch, tmp_path):
    interrupted()
    compile_(lm="any/model", budget={"calls": 4}, dev=None)
    start = shutil.copytree(out, tmp_path / "start")
    learned = state(start)["router"]

    class Fitted:
        def __init__(self, **_):
            self.outcomes = self.trusted = self.routed = []

        def compile(self, program, **_):
            return program

    for name in ("FitRouter", "FitSketch", "FitThresholds"):
        monkeypatch.setattr(compiling, name, Fitted)
    compile_(start=start, resume=False, force=True)
    assert state(out)["build_sql"]["demos"]
    assert state(out)["router"] == learned


def test_folders_of_one_name_cannot_be_told_apart(trainset, compile_, interrupted):
    interrupted()
    with pytest.raises(LabelError, match="two label folders are called articles"):
        compile_(dev=trainset)


def test_one_folder_may_be_named_in_two_ways(small, compile_, interrupted, monkeypatch, never_fitted):
    monkeypatch.chdir(small.trainset.parent)
    interrupted()
    assert compile_(dev=Path("articles")).scores["dev"]["n"] == 8


# --- said before it takes time ----------------------------------------------------------------------


def test_what_is_wrong_is_said_before_anything_is_opened(small, out, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "train.jsonl").write_text("\n")
    wrong = [
        ({"lm": "gemini/gemini-2.5-flash"}, LmError, "GEMINI_API_KEY"),
        ({"optimizer": "magic", "lm": "x/y"}, SqlRagError, "no optimizer 'magic'"),
        ({"optimizer": "bootstrap"}, SqlRagError, "no model is set; name one with --lm"),
        ({"start": tmp_path / "none"}, ProgramError, "no compiled program"),
        ({"start": empty}, ProgramError, "card.json is missing"),
        ({"train": [tmp_path / "none"]}, LabelError, "no label file or folder"),
        ({"train": [empty]}, LabelError, "there are no labels in"),
        ({"dev": empty}, LabelError, "holds no dev.jsonl"),
        ({"out": empty / "train.jsonl"}, ProgramError, "no program can be saved in"),
        ({"out": empty / "train.jsonl" / "mine"}, ProgramError, "no program can be saved in"),
        ({"out": Path("/proc/mine")}, ProgramError, "no program can be saved in"),
    ]
    for options, kind, said in wrong:
        given = {"train": [small.trainset], "dev": small.trainset, "out": out, **options}
        with pytest.raises(kind) as caught:
            compile_program(given.pop("train"), given.pop("dev"), settings=Settings(), **given)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache").exists()
    assert not out.parent.exists()
