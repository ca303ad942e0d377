"""The command line as its users call it: in a folder of its own, with a small database."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sqlrag_dspy.cli import main

ROWS = [
    (
        1,
        "Night trains return",
        "travel",
        "2023-03-02",
        410,
        "Sleeper trains run again between the two capitals.",
    ),
    (
        2,
        "A lock for the canal",
        "politics",
        "2023-04-17",
        800,
        "The council voted to repair the old canal lock.",
    ),
    (
        3,
        "Sourdough at altitude",
        "food",
        "2022-11-05",
        350,
        "Bread rises faster in the mountains, bakers found.",
    ),
    (
        4,
        "Bees on the roof",
        "food",
        "2023-06-30",
        520,
        "Beekeepers put forty hives on the roofs of the town.",
    ),
    (5, "Ferry strike ends", "travel", None, 290, "The ferry crews accepted the offer and sail again."),
]


@dataclass
class Outcome:
    """What one call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON values on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def refused(self, *told: str) -> str:
        """The one line of a user's error, which holds every text of `told`."""
        assert self.code == 1, (self.code, self.out, self.err)
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("sqlrag: "), self.err
        assert not self.err.startswith("sqlrag: unexpected"), self.err
        for text in told:
            assert text in self.err, self.err
        return self.err


Sqlrag = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in an empty folder, without settings from the environment."""
    for name in list(os.environ):
        if name.startswith("SQLRAG_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sqlrag(capsys: pytest.CaptureFixture[str]) -> Sqlrag:
    """Calls the command in this process."""

    def call(*argv: str) -> Outcome:
        capsys.readouterr()
        code = main(list(argv))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def shell(folder: Path) -> Sqlrag:
    """Calls the command in a process of its own."""

    def call(*argv: str, stdin: bytes | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "sqlrag_dspy.cli", *argv],
            input=stdin,
            capture_output=True,
            cwd=folder,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def make_database(path: Path) -> Path:
    """Five short articles."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE story (id INTEGER PRIMARY KEY, title TEXT, category TEXT, day TEXT, words INTEGER, body TEXT)"
    )
    connection.executemany("INSERT INTO story VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return path


SETTINGS = """\
source = "sqlite:///stories.db"
program = "program"
embedder = "wordllama"
[tables.story]
key = "id"
text = ["body"]
filters = ["category"]
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database, its settings, its index and a program, made once; tests work on copies."""
    from sqlrag_dspy.program import Card, SqlRag, artifact

    place = tmp_path_factory.mktemp("made")
    make_database(place / "stories.db")
    (place / "sqlrag.toml").write_text(SETTINGS)
    # Saved without being fitted, it takes every question as a topic.
    artifact.write(SqlRag(), place / "program", Card(name="program"))
    done = subprocess.run([sys.executable, "-m", "sqlrag_dspy.cli", "index"], cwd=place, capture_output=True)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def stories(folder: Path) -> Path:
    """A database of five stories and the settings for it; not indexed."""
    make_database(folder / "stories.db")
    (folder / "sqlrag.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def program(folder: Path, made: Path) -> Path:
    """The stories, indexed, with a program."""
    return shutil.copytree(made, folder, dirs_exist_ok=True)


@pytest.fixture
def indexed(program: Path) -> Path:
    """The stories, indexed."""
    return program
