"""Bad input gets one clear line: thing, place and remedy; exit code 1, no traceback, nothing lost."""

from __future__ import annotations

import json
import sqlite3

import pytest

QUESTION = ("ask", "what do beekeepers do")


def set_source(folder, url):
    path = folder / "sqlrag.toml"
    path.write_text(path.read_text().replace("sqlite:///stories.db", url))


COMMANDS = [("index",), ("sql", "SELECT 1 AS x"), QUESTION]


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
class TestSources:
    def test_no_file(self, sqlrag, program, argv):
        set_source(program, "sqlite:///missing.db")
        sqlrag(*argv).refused("missing.db")

    def test_not_a_database(self, sqlrag, program, argv):
        (program / "notes.txt").write_text("hello, this is no database\n" * 10)
        set_source(program, "sqlite:///notes.txt")
        sqlrag(*argv).refused("notes.txt", "not a")

    def test_an_empty_file(self, sqlrag, program, argv):
        (program / "empty.db").write_bytes(b"")
        set_source(program, "sqlite:///empty.db")
        sqlrag(*argv).refused("empty.db")

    def test_a_corrupt_file(self, sqlrag, program, argv):
        # The header is whole and the rest is noise.
        whole = (program / "stories.db").read_bytes()
        (program / "corrupt.db").write_bytes(whole[:100] + b"\xa5" * (len(whole) - 100))
        set_source(program, "sqlite:///corrupt.db")
        sqlrag(*argv).refused("corrupt.db")

    def test_no_source_set(self, sqlrag, program, argv):
        set_source(program, "")
        sqlrag(*argv).refused("no source", "sqlrag init")


@pytest.mark.parametrize("argv", [("search", "bees"), QUESTION], ids=lambda argv: argv[0])
class TestIndexes:
    def test_a_missing_index(self, sqlrag, program, argv):
        for path in (program / ".sqlrag").glob("*"):
            path.unlink()
        sqlrag(*argv).refused("no index", "sqlrag index")

    def test_an_index_of_another_embedder(self, sqlrag, program, argv):
        path = program / "sqlrag.toml"
        path.write_text(path.read_text().replace('"wordllama"', '"use-multilingual"'))
        sqlrag(*argv).refused("wordllama", "use-multilingual", "sqlrag index")

    def test_an_unknown_embedder(self, sqlrag, program, argv):
        path = program / "sqlrag.toml"
        path.write_text(path.read_text().replace('"wordllama"', '"wordlama"'))
        sqlrag(*argv).refused("wordlama", "wordllama")

    def test_a_broken_index(self, sqlrag, program, argv):
        (program / ".sqlrag" / "index.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x07" * 5000)
        sqlrag(*argv).refused("index", "--rebuild")
        assert sqlrag("index", "--rebuild").code == 0
        assert sqlrag(*argv).code == 0

    def test_another_text_column(self, sqlrag, program, argv):
        path = program / "sqlrag.toml"
        path.write_text(path.read_text().replace('text = ["body"]', 'text = ["body", "title"]'))
        sqlrag(*argv).refused("sqlrag index")


class TestSettings:
    def test_bad_toml(self, sqlrag, program):
        (program / "sqlrag.toml").write_text('source = "x\n')
        sqlrag(*QUESTION).refused("sqlrag.toml is not valid TOML", "line 1")

    def test_an_unknown_key(self, sqlrag, program):
        (program / "sqlrag.toml").write_text('sorce = "x"\n')
        sqlrag(*QUESTION).refused("sorce", "source")

    def test_a_missing_file(self, sqlrag, program):
        sqlrag(*QUESTION, "--config", "none.toml").refused("none.toml")

    def test_a_folder(self, sqlrag, program):
        sqlrag(*QUESTION, "--config", ".").refused()

    def test_a_column_that_does_not_exist(self, sqlrag, program):
        path = program / "sqlrag.toml"
        path.write_text(path.read_text().replace('text = ["body"]', 'text = ["bdy"]'))
        sqlrag("index").refused("bdy")

    def test_an_unknown_model(self, sqlrag, program):
        sqlrag(*QUESTION, "--lm", "gemini/gemini-2.5-flash").refused("GEMINI_API_KEY")


class TestPrograms:
    def test_an_incomplete_folder(self, sqlrag, program):
        (program / "program" / "program.json").unlink()
        sqlrag(*QUESTION).refused("program.json is missing")
        (program / "program" / "card.json").unlink()
        sqlrag(*QUESTION).refused("card.json is missing")

    def test_a_folder_that_only_shares_the_name(self, sqlrag, program, monkeypatch):
        from sqlrag_dspy.program import artifact

        monkeypatch.setattr(artifact, "SHIPPED", program / "package")
        (program / "package" / "compiled").mkdir(parents=True)
        (program / "program").rename(program / "package" / "compiled" / "program")
        (program / "program").mkdir()
        assert sqlrag(*QUESTION).code == 0

    def test_a_newer_version(self, sqlrag, program):
        path = program / "program" / "card.json"
        card = json.loads(path.read_text())
        path.write_text(json.dumps({**card, "format": 99, "package": "9.9.9"}))
        sqlrag(*QUESTION).refused("9.9.9", "upgrade")

    def test_no_such_program(self, sqlrag, program):
        sqlrag(*QUESTION, "--program", "nowhere").refused("nowhere", "shipped")

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"router": 1}', "null"])
    def test_a_broken_program(self, sqlrag, program, content):
        (program / "program" / "program.json").write_text(content)
        sqlrag(*QUESTION).refused("program.json", "compile")

    def test_a_broken_card(self, sqlrag, program):
        (program / "program" / "card.json").write_text("{")
        sqlrag(*QUESTION).refused("card.json", "compile")


class TestLabels:
    def test_a_bad_line_has_its_number(self, sqlrag, program):
        good = {"id": "a", "database": "stories", "question": "q", "lang": "en", "route": "decline"}
        (program / "train.jsonl").write_text(json.dumps(good) + "\n" + '{"id": "b"}\n')
        sqlrag("eval", "--set", "train.jsonl").refused("train.jsonl, line 2")
        sqlrag("compile", "--train", "train.jsonl", "-o", "out").refused("train.jsonl, line 2")
        assert not (program / "out").exists()

    def test_no_such_file(self, sqlrag, program):
        sqlrag("eval", "--set", "none.jsonl").refused("none.jsonl")

    def test_no_source_beside_the_labels(self, sqlrag, program):
        good = {"id": "a", "database": "stories", "question": "q", "lang": "en", "route": "decline"}
        (program / "train.jsonl").write_text(json.dumps(good) + "\n")
        sqlrag("eval", "--set", "train.jsonl").refused("source.toml")


class TestBatches:
    @pytest.mark.parametrize("command", ["ask", "sql", "search"])
    def test_no_such_file(self, sqlrag, program, command):
        sqlrag(command, "--batch", "none.jsonl").refused("none.jsonl")


def test_a_locked_database_is_one_line(sqlrag, program):
    connection = sqlite3.connect(program / "stories.db", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        outcome = sqlrag("sql", "SELECT count(*) FROM story")
        if outcome.code:  # a catalog from the cache may do without the file's lock until rows are read
            outcome.refused("stories.db", "locked")
    finally:
        connection.close()
