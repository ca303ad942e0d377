"""The database of lints.sql, opened as a source, so that profiles are real."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("lint") / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((HERE / "lint_database.sql").read_text(encoding="utf-8"))
    connection.close()
    with open_source(str(path), limits=Limits()) as source:
        yield source
