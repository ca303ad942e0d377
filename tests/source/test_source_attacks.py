"""The attacks that the connection must stop, stopped by the connection alone: nothing of the check stands before it."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.types import CheckedSql

FIXTURE = Path(__file__).parents[1] / "sql" / "attacks.sql"
ATTACKS = [
    line.rpartition(" -- ")[0]
    for line in FIXTURE.read_text(encoding="utf-8").split("\n")
    if line.endswith("[check, connection]")
]
SCRIPT = """
CREATE TABLE articles (title TEXT PRIMARY KEY, article_category TEXT, word_count INTEGER, zip TEXT);
INSERT INTO articles VALUES ('Bank run', 'business', 300, '718'), ('River', 'travel', 700, '00718');
CREATE TABLE n (x INTEGER);
INSERT INTO n VALUES (1), (2), (3);
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A source in a folder where the files that the attacks name are there to be read."""
    folder = tmp_path_factory.mktemp("attacks")
    for name, text in {"secret.csv": "a\n1\n", "x.csv": "a\n1\n", "x.json": '{"a": 1}', "x": "a"}.items():
        (folder / name).write_text(text)
    for name, script in {
        "data.db": SCRIPT,
        "other.db": "CREATE TABLE payroll (a); CREATE TABLE n (x);",
    }.items():
        with sqlite3.connect(folder / name) as connection:
            connection.executescript(script)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with open_source(str(folder / "data.db"), limits=Limits(seconds=2, memory="256MB")) as source:
            assert source.execute(CheckedSql("SELECT count(*) FROM n", (), ())).values == ((3,),)
            yield source, folder


def files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_enough_attacks_are_tried():
    assert len(ATTACKS) >= 130


def test_the_connection_alone_stops_them(opened):
    source, folder = opened
    before = files(folder)
    for statement in ATTACKS:
        with pytest.raises(QueryFailed) as refused:
            source.execute(CheckedSql(statement, (), ()))
        assert refused.value.wall == "connection", statement
        assert "\n" not in str(refused.value)
    assert files(folder) == before
    assert source.execute(CheckedSql("SELECT count(*) FROM n", (), ())).values == ((3,),)
