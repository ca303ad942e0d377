"""The databases of trainsets: built whole or not at all, and opened once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sqlrag_dspy import Label
from sqlrag_dspy.errors import IndexUnusable, LabelError, SourceError, SqlRagError
from sqlrag_dspy.learn.databases import build, check_databases, open_all, open_trainset
from sqlrag_dspy.settings import Settings


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    """A trainset of three wells."""
    folder = tmp_path / "sets" / "wells"
    folder.mkdir(parents=True)
    (folder / "schema.sql").write_text("CREATE TABLE wells (id INTEGER PRIMARY KEY, name TEXT, report TEXT);")
    rows = [{"id": n, "name": f"W{n}", "report": f"Line\u2028two of well {n}. " * 20} for n in range(3)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "wells.jsonl").write_text(text, encoding="utf-8")
    (folder / "source.toml").write_text('schema = "schema.sql"\nrows = ["wells.jsonl"]\n')
    return folder


def test_a_database_is_built_once_indexed_and_named_for_its_folder(folder, tmp_path):
    settings = Settings(embedder=["wordllama"])
    database = open_trainset(folder, settings)
    try:
        assert database.name == "wells"
        assert database.catalog.table("wells").rows == 3
        assert database.search("well", "wells").documents
        assert database.today().isoformat() == "2024-01-15"
        (built,) = (tmp_path / "cache").rglob("wells.db")
        before = built.stat().st_mtime_ns
    finally:
        database.close()
    open_trainset(folder, settings).close()
    assert built.stat().st_mtime_ns == before
    (folder / "wells.jsonl").write_text(
        '{"id": 9, "name": "W9", "report": "Another well, deeper than any."}\n'
    )
    changed = open_trainset(folder, settings)
    assert changed.catalog.table("wells").rows == 1
    changed.close()


def test_texts_keep_their_line_separators(folder, tmp_path):
    build(folder, tmp_path / "deep" / "wells.db")
    connection = sqlite3.connect(tmp_path / "deep" / "wells.db")
    assert (
        connection.execute("SELECT report FROM wells WHERE id = 1").fetchone()[0].startswith("Line\u2028two")
    )
    connection.close()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("\n{", "line 2: not JSON"),
        ("[1, 2]", "line 1: not an object"),
        ("{}", "line 1: not an object"),
        ('{"id": 1, "colour": "red"}', "line 1: table wells has no column named colour"),
        ('{"id": 1}\n{"id": 1}', "line 2: UNIQUE constraint failed"),
        ('{"id": {"a": 1}}', "line 1: "),
        ('{"id": 99999999999999999999}', "line 1: "),
        (r'{"name": "\ud800"}', "line 1: "),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_left(folder, tmp_path, rows, said):
    (folder / "wells.jsonl").write_text(rows)
    out = tmp_path / "out" / "wells.db"
    with pytest.raises(LabelError) as caught:
        build(folder, out)
    assert f"wells.jsonl, {said}" in str(caught.value)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "names no database"),
        ('schema = "schema.sql"', "names no database"),
        ('schema = "schema.sql"\nrows = "wells.jsonl"', "names no database"),
        ('schema = "none.sql"\nrows = []', "names none.sql, which is not there"),
        ('schema = "wells.jsonl"\nrows = []', "cannot build the database"),
        ('script = "none.py"', "names none.py, which is not there"),
        ('script = "wells.jsonl"', "did not build its database: "),
        ("schema = ", "is not valid TOML"),
        ('source = "sqlite:///${NO_SUCH_VARIABLE_OF_OURS}/x.db"', "needs the environment variable NO_SUCH"),
        ('source = "sqlite:///$/x.db"', "write \\$\\$"),
        ('source = "sqlite:///nowhere/x.db"', "x.db"),
        (
            'schema = "schema.sql"\nrows = ["wells.jsonl"]\n[tables.wells]\ntexts = ["a"]',
            "tables.wells.texts",
        ),
        ('schema = "schema.sql"\nrows = ["wells.jsonl"]\n[tables.wells]\ntext = ["nothing"]', "nothing"),
    ],
)
def test_a_wrong_source_file_is_one_clear_line(folder, spec, said):
    (folder / "source.toml").write_text(spec)
    with pytest.raises(SqlRagError, match=said) as caught:
        open_trainset(folder, Settings(embedder=["wordllama"]))
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_source_file_is_named(tmp_path):
    with pytest.raises(LabelError, match=r"has no source\.toml"):
        open_trainset(tmp_path, Settings())


def test_what_was_opened_is_closed_when_another_fails(folder, tmp_path, monkeypatch):
    from sqlrag_dspy.program.database import Database

    closed = []
    close = Database.close
    monkeypatch.setattr(Database, "close", lambda self: (closed.append(self.name), close(self)))
    settings = Settings(embedder=["wordllama"])
    with pytest.raises(LabelError, match=r"has no source\.toml"):
        open_all([folder, tmp_path], settings)
    assert closed == ["wells"]

    def fail(self):
        raise IndexUnusable("the disk is full")

    monkeypatch.setattr(Database, "sync", fail)
    with pytest.raises(IndexUnusable):
        open_trainset(folder, settings)
    assert closed == ["wells", "wells"]


def test_labels_of_another_database_or_table_are_named(small_database):
    given = {"lang": "en", "question": "?", "route": "vector", "table": "articles"}
    opened = {"articles": small_database}
    check_databases([Label(id="a", database="articles", **given)], opened)
    with pytest.raises(LabelError, match="label b: its database 'sales' is not the folder of its file"):
        check_databases([Label(id="b", database="sales", **given)], opened)
    with pytest.raises(LabelError, match="label c: articles has no table 'sales'"):
        check_databases([Label(id="c", database="articles", **{**given, "table": "sales"})], opened)


def test_gold_needs_a_sqlite_file(small_database):
    from sqlrag_dspy.learn.databases import path_of

    class Elsewhere:
        name = "far"
        settings = Settings(source="postgresql://somewhere/x")

    assert path_of(small_database).is_file()
    with pytest.raises(LabelError, match="labels of far need a SQLite file"):
        path_of(Elsewhere())


def test_the_error_of_a_missing_variable_is_the_sources(folder):
    (folder / "source.toml").write_text('source = "sqlite:///${NO_SUCH_VARIABLE_OF_OURS}"')
    with pytest.raises(SourceError):
        open_trainset(folder, Settings())


# --- from the shell ---------------------------------------------------------------------------------

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def script(name, *argv, cwd):
    ran = subprocess.run(
        [sys.executable, str(SCRIPTS / name), *map(str, argv)], cwd=cwd, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_a_database_is_built_from_any_folder(tmp_path, folder):
    assert script("build_database.py", "tickets", "t.db", cwd=tmp_path) == (0, "", "")
    assert script("build_database.py", folder, "wells.db", cwd=tmp_path) == (0, "", "")
    with sqlite3.connect(tmp_path / "wells.db") as connection:
        assert connection.execute("SELECT count(*) FROM wells").fetchone() == (3,)


@pytest.mark.parametrize(
    ("name", "argv", "told"),
    [
        ("build_database.py", ["nowhere", "x.db"], "no trainset nowhere"),
        ("build_database.py", [".", "x.db"], "source.toml"),
        ("check_trainset.py", ["nowhere"], "nowhere"),
        ("count_labels.py", ["broken"], "broken"),
    ],
)
def test_what_a_script_cannot_do_is_said_in_one_line(tmp_path, name, argv, told):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "train.jsonl").write_text("no label\n")
    code, _, err = script(name, *argv, cwd=tmp_path)
    assert code == 1
    assert err.count("\n") == 1, err
    assert told in err
