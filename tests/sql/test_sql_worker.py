"""Checked SQL where it really runs: in the worker, over a SQLite file, with SQLite's own rows as the reference."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_databases import lines, open_sqlite
from sql_grammar import mutated, queries

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.learn.metrics import plain
from sqlrag_dspy.settings import Limits
from sqlrag_dspy.source import open_source
from sqlrag_dspy.sql import check

LEGITIMATE = lines(Path(__file__).parent / "legitimate.sql")
DIFFERS = " [other rows than SQLite's]"
"""Ends the reason of a line whose rows are meant to differ: dates in other forms, DuckDB's months, this moment."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The tables of the fixtures as a SQLite file, opened as an application opens it, and SQLite beside it."""
    path = tmp_path_factory.mktemp("worker") / "data.db"
    memory = open_sqlite()
    memory.commit()
    with sqlite3.connect(path) as file:
        memory.backup(file)
    with open_source(str(path), limits=Limits(seconds=5, memory="512MB")) as source:
        assert source.catalog.table("articles") is not None
        yield source, path, memory


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(source, statement):
    query = check(statement, source.catalog)
    assert check(query.text, source.catalog) == query
    return source.execute(query)


@pytest.mark.parametrize(("statement", "reason"), LEGITIMATE)
def test_legitimate_query_gives_sqlites_rows(statement, reason, opened):
    source, _, memory = opened
    found = run(source, statement)
    try:
        want = memory.execute(statement).fetchall()
    except sqlite3.Error:
        return  # DuckDB's dialect: there is no reference
    if reason.endswith(DIFFERS):
        return
    wanted = [tuple(map(plain, row)) for row in want]
    shown = [tuple(map(plain, row)) for row in found.values]
    if " ORDER BY " in statement.upper().rpartition(")")[2]:
        assert shown == wanted
    else:
        assert Counter(shown) == Counter(wanted)


def test_few_lines_may_differ_and_most_have_a_reference(opened):
    _, _, memory = opened
    referenced = 0
    for statement, _ in LEGITIMATE:
        try:
            memory.execute(statement).fetchall()
        except sqlite3.Error:
            continue
        referenced += 1
    assert referenced >= 300
    assert sum(reason.endswith(DIFFERS) for _, reason in LEGITIMATE) <= 10


@given(st.one_of(queries(), mutated()))
@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
def test_what_the_check_passes_changes_nothing(opened, statement):
    source, path, _ = opened
    before = digest(path)
    try:
        query = check(statement, source.catalog)
    except SqlRejected:
        return
    assert check(query.text, source.catalog) == query
    with contextlib.suppress(QueryFailed):  # a value that cannot be cast, for one
        assert len(source.execute(query, seconds=2).values) <= 1000
    assert digest(path) == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["data.db"]
