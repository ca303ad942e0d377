"""Compiled programs on disk: the same answers elsewhere, and one clear line for a folder that is not one."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sqlrag_dspy.errors import ProgramError
from sqlrag_dspy.program import Card, SqlRag, artifact, load
from sqlrag_dspy.program.database import open_database
from sqlrag_dspy.program.demonstrations import Demonstration

QUESTIONS = [
    "how many travel articles are there",
    "number of articles per category in March 2023",
    "second-hand, rental and mending in fashion",
    "did anyone write about refugees between february and april 2023",
    "delete all articles by Piers Lockhaven",
    "years, please",
]

ASK = """
import builtins, json, pickle, sys
program, settings, questions, is_loaded = json.load(sys.stdin)

def refuse(*_, **__):
    raise AssertionError("loading runs no code")

from sqlrag_dspy.settings import Settings
from sqlrag_dspy.program import SqlRag, load, open_database

settings = Settings.model_validate(settings)
pickle.load = pickle.loads = pickle.Unpickler = refuse
if is_loaded:
    rag = load(program, settings=settings)
else:
    rag = SqlRag()
    rag.load(program + "/program.json")
    rag.bind(open_database(settings))
assert "sklearn" not in sys.modules, "an application imports no training code"
assert "sqlrag_dspy.learn" not in sys.modules
with rag:
    told = [rag.ask(question).model_dump(mode="json", exclude={"steps", "usage"}) for question in questions]
print(json.dumps(told))
"""


def elsewhere(program: Path, database, *, is_loaded: bool) -> list[dict]:
    """What the questions are answered in another process."""
    settings = database.settings.model_dump()
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps([str(program), settings, QUESTIONS, is_loaded]),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=program,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(rag: SqlRag) -> list[dict]:
    return [rag.ask(q).model_dump(mode="json", exclude={"steps", "usage"}) for q in QUESTIONS]


@pytest.fixture
def copy(small, tmp_path):
    """A copy of the small program in another folder."""
    return shutil.copytree(small.program, tmp_path / "copied program")


# --- saved and loaded -------------------------------------------------------------------------------


def test_dspys_own_save_and_load_give_identical_answers_in_another_folder_and_process(
    make, small_database, tmp_path
):
    program = make(thresholds={"sql": 0.123})
    program.save(str(tmp_path / "program.json"))
    assert elsewhere(tmp_path, small_database, is_loaded=False) == told(program)


def test_a_copied_folder_gives_identical_answers_in_another_process(rag, copy, small_database):
    assert elsewhere(copy, small_database, is_loaded=True) == told(rag)


def test_a_file_that_save_wrote_is_loaded_like_a_folder(make, rag, small, small_database, tmp_path):
    path = tmp_path / "mine.json"
    make(thresholds={"sql": 0.123}).save(str(path))
    with load(path, settings=small_database.settings) as again:
        assert again.thresholds.sql == 0.123
        assert again.left_out == []
        assert [again.ask(each).answer for each in QUESTIONS] == [rag.ask(each).answer for each in QUESTIONS]
    assert artifact.find(str(small.program / "program.json")) == small.program
    path.write_text(path.read_text()[:99])
    with pytest.raises(ProgramError, match=r"mine\.json does not fit"):
        load(path, settings=small_database.settings)


def test_state_survives_exactly(make, tmp_path):
    program = make()
    program.save(str(tmp_path / "program.json"))
    again = SqlRag()
    again.load(str(tmp_path / "program.json"))
    assert again.dump_state() == program.dump_state()
    again.save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "program.json").read_bytes()


def test_a_folder_holds_plain_json_alone(small):
    assert {path.name for path in small.program.iterdir()} == {"program.json", "card.json", "report.html"}
    state = json.loads((small.program / "program.json").read_text())
    parts = {
        "router",
        "sketcher",
        "thresholds",
        "demonstrations",
        "route_question",
        "build_sql",
        "repair_sql",
    }
    team = {"intents.parse", "coverage.check", "schema.link", "critic.critique", "explainer.explain"}
    team |= {"agent.react.react", "agent.react.extract.predict"}
    parts |= {f"team.{stage}" for stage in team} | {"depths"}
    assert set(state) == parts | {"choose_rows", "write_answer", "metadata"}


def test_the_card_tells_what_the_program_was_made_from(small, small_database):
    card = artifact.read_card(small.program)
    assert card.format == artifact.FORMAT
    assert card.schemas == {"articles": small_database.catalog.fingerprint}
    assert {"dspy", "duckdb", "sqlglot", "numpy"} <= set(card.versions)
    assert set(card.signatures) == {
        *("RouteQuestion", "BuildSql", "RepairSql", "ChooseRows", "WriteAnswer"),
        *("ParseIntents", "CheckIntents", "LinkSchema", "CritiqueSql", "ExplainSql", "AnswerInHops"),
    }
    assert card.signatures == artifact.signature_hashes()
    assert [Path(name).name for name in card.trainsets] == ["train.jsonl"]
    assert card.embedder == ["wordllama", "use-multilingual"]
    assert (card.seed, card.lm, card.optimizer) == (0, None, None)
    assert card.scores["dev"]["n"] == 8


def test_a_program_is_found_by_folder_and_an_unknown_name_lists_those_known(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert artifact.find(str(small.program)) == small.program
    with pytest.raises(
        ProgramError, match="no compiled program 'artikles': neither a folder nor a shipped name"
    ):
        artifact.find("artikles")


def test_a_folder_of_the_same_name_that_is_no_program_does_not_hide_a_shipped_one(
    small, tmp_path, monkeypatch
):
    monkeypatch.setattr(artifact, "SHIPPED", tmp_path / "package")
    shipped = shutil.copytree(small.program, tmp_path / "package" / "compiled" / "tiny")
    (tmp_path / "tiny").mkdir()
    monkeypatch.chdir(tmp_path)
    assert artifact.find("tiny") == shipped


# --- broken folders ---------------------------------------------------------------------------------


def edit(path: Path, change) -> None:
    """Changes a JSON file; the card of an edited program is made to know of it."""
    value = json.loads(path.read_text())
    path.write_text(json.dumps(change(value) or value))
    card = path.parent / "card.json"
    if path.name == "program.json":
        card.write_text(json.dumps({**json.loads(card.read_text()), "digest": ""}))


def remove(name):
    return lambda folder: (folder / name).unlink()


def truncate(name):
    def cut(folder):
        text = (folder / name).read_bytes()
        (folder / name).write_bytes(text[: len(text) // 2])

    return cut


def rename_field(folder):
    def change(state):
        fields = state["build_sql"]["signature"]["fields"]
        fields[0], fields[1] = fields[1], fields[0]

    edit(folder / "program.json", change)


BROKEN = {
    "no card": (remove("card.json"), "not a complete program: card.json is missing"),
    "no program": (remove("program.json"), "not a complete program: program.json is missing"),
    "half a program": (truncate("program.json"), "program.json is not the file that its card.json describes"),
    "half a card": (truncate("card.json"), "card.json is not valid JSON"),
    "an edited program": (
        lambda f: (f / "program.json").write_text(
            (f / "program.json").read_text().replace('"Sql:"', '"Query:"')
        ),
        "it was edited, or copied in part",
    ),
    "half an unknown program": (
        lambda f: (edit(f / "program.json", lambda s: None), truncate("program.json")(f)),
        "program.json does not fit sqlrag_dspy",
    ),
    "a card of bytes": (
        lambda f: (f / "card.json").write_bytes(b"\xff\xfe{}"),
        "card.json is not valid JSON",
    ),
    "a card without a name": (
        lambda f: edit(f / "card.json", lambda c: c.pop("name") and None),
        "card.json: name",
    ),
    "a card that is a list": (lambda f: (f / "card.json").write_text("[]"), "card.json: card"),
    "a newer format": (
        lambda f: edit(f / "card.json", lambda c: {"format": 99, "package": "7.1", "something": "new"}),
        rf"newer version \(format 99, sqlrag_dspy 7.1\); this one reads format {artifact.FORMAT}: upgrade",
    ),
    "fields in another order": (rename_field, "the fields of build_sql were Database Schema: Dialect:"),
    "a missing part": (
        lambda f: edit(f / "program.json", lambda s: s.pop("router") and None),
        "KeyError: 'router'",
    ),
    "weights cut short": (
        lambda f: edit(f / "program.json", lambda s: s["router"]["quick"].update(bias="AAAA")),
        "program.json does not fit",
    ),
    "a list": (lambda f: edit(f / "program.json", lambda s: [s]), "program.json does not fit"),
    "a field of a demonstration renamed": (
        lambda f: edit(f / "program.json", lambda s: s["demonstrations"]["bank"][0].update(query=1)),
        "unexpected keyword argument 'query'",
    ),
    "a model class of its own": (
        lambda f: edit(
            f / "program.json",
            lambda s: s["build_sql"].update(lm={"_dspy_lm_class": "os.system", "model": "x"}),
        ),
        "Refusing to import custom serialized LM class",
    ),
}


@pytest.mark.parametrize(("harm", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_one_clear_line(copy, small_database, harm, said):
    harm(copy)
    with pytest.raises(ProgramError, match=said) as caught:
        load(copy, settings=small_database.settings)
    assert "\n" not in str(caught.value)
    assert any(remedy in str(caught.value) for remedy in ("compile", "upgrade"))


def test_a_folder_that_is_none_is_one_clear_line(tmp_path, small_database):
    with pytest.raises(ProgramError, match=r"not a complete program: card\.json is missing"):
        load(tmp_path, settings=small_database.settings)


def test_a_model_named_in_the_file_is_not_taken_over(copy, small_database):
    edit(copy / "program.json", lambda s: s["build_sql"].update(lm={"model": "openai/gpt-4o-mini"}))
    with load(copy, settings=small_database.settings) as rag:
        assert rag.build_sql.lm is None
        assert not rag.engine.is_set


def test_a_line_ending_of_another_system_is_no_edit(copy, small_database):
    path = copy / "program.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with load(copy, settings=small_database.settings) as rag:
        assert rag.ask(QUESTIONS[0]).rows


def test_an_interrupted_write_leaves_the_old_program(copy, make, monkeypatch):
    before = (copy / "program.json").read_bytes()

    def fail(self, path, **options):
        Path(path).write_text("{")
        raise OSError("disk full")

    monkeypatch.setattr(SqlRag, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        artifact.write(make(), copy, Card(name="new"))
    assert (copy / "program.json").read_bytes() == before
    assert artifact.read_card(copy).name == "small"


# --- demonstrations and the schema ------------------------------------------------------------------


@pytest.fixture
def changed(small_database, tmp_path):
    """Settings of a copy of the database, of the same name, after SQL of the caller's."""

    def changed(sql: str, name: str = "articles"):
        path = tmp_path / f"{name}.db"
        shutil.copy(small_database.settings.source.removeprefix("sqlite:///"), path)
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        connection.close()
        return small_database.settings.model_copy(
            update={"source": f"sqlite:///{path}", "store": str(tmp_path / "store"), "tables": {}}
        )

    return changed


def test_the_same_schema_leaves_nothing_out(rag, small):
    state = json.loads((small.program / "program.json").read_text())
    assert rag.left_out == []
    assert rag.demonstrations.dump_state() == state["demonstrations"]


def test_a_demonstration_with_a_column_that_is_gone_is_refused_by_name(small, changed):
    settings = changed("ALTER TABLE articles RENAME COLUMN article_category TO section")
    with pytest.raises(ProgramError) as caught:
        load(small.program, settings=settings)
    said = str(caught.value)
    assert "how many business articles are there" in said
    assert "does not fit articles: no column 'article_category' in articles" in said
    assert "compile the program again" in said
    assert "\n" not in said


def test_demonstrations_of_a_table_that_is_gone_are_left_out_with_a_line_each(small, changed):
    settings = changed("ALTER TABLE articles RENAME TO stories")
    with load(small.program, settings=settings) as rag:
        first = rag.left_out[0]
        assert "'how many business articles are there' does not fit articles: no table 'articles'" in first
        assert not any(d.sql for d in rag.demonstrations.bank)
        assert len(rag.demonstrations.bank) + len(rag.left_out) == 70


def test_another_database_of_the_same_name_is_taken_for_another(small, changed):
    other = "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, section TEXT, body TEXT, price REAL);"
    settings = changed(f"DROP TABLE articles; {other} INSERT INTO articles VALUES (1, 'A', 'b', 'C d.', 2)")
    with load(small.program, settings=settings) as rag:
        assert any("no column 'article_category'" in line for line in rag.left_out)
        assert rag.ask("how many articles are there").route


def test_demonstrations_that_still_fit_move_to_the_new_schema(small, changed):
    settings = changed("ALTER TABLE articles ADD COLUMN editor TEXT")
    with load(small.program, settings=settings) as rag:
        assert rag.left_out == []
        assert {d.schema for d in rag.demonstrations.bank} == {rag.bound().catalog.fingerprint}
        shown = rag.demonstrations(
            "how many", rag.router.vocabulary, k=3, schema=rag.bound().catalog.fingerprint
        )
        assert len(shown) == 3


def test_a_database_of_another_name_shows_no_demonstrations_of_the_first(small, changed, monkeypatch):
    settings = changed("ALTER TABLE articles RENAME COLUMN article_category TO section", name="gazette")
    with load(small.program, settings=settings) as rag:
        assert rag.left_out == []
        assert len(rag.demonstrations.bank) == 70
        found = rag.demonstrations(
            "how many", rag.router.vocabulary, k=3, schema=rag.bound().catalog.fingerprint
        )
        assert found == []


def test_a_condition_is_checked_on_its_table(small_database):
    program = SqlRag()
    old = Demonstration("which, and when", "which", "hybrid", "then", condition="word_count > 3")
    program.demonstrations.fill([old, replace(old, table="articles"), replace(old, condition="1 = ")])
    (line,) = program.demonstrations.move("then", small_database)
    assert "which, and when" in line
    assert [d.schema for d in program.demonstrations.bank] == [small_database.catalog.fingerprint] * 2


def test_opening_a_source_that_is_none_leaves_no_worker(small, small_database, tmp_path):
    settings = small_database.settings.model_copy(update={"source": f"sqlite:///{tmp_path}/none.db"})
    with pytest.raises(Exception, match=r"none\.db"):
        load(small.program, settings=settings)
    database = open_database(small_database.settings)
    database.close()
    database.close()


def test_a_program_whose_skeletons_have_fewer_fields_answers(small, small_database, tmp_path):
    program = SqlRag({small_database.name: small_database})
    artifact.restore(program, small.program)
    state = program.sketcher.dump_state()
    assert all(text.count("|") == 7 for text in state["skeletons"])
    state["skeletons"] = {
        text.rsplit("|", 1)[0]: n for text, n in state["skeletons"].items() if text.endswith("|no")
    }
    program.sketcher.load_state(state)
    assert program.ask("how many business articles are there").error is None
