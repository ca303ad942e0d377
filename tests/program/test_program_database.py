"""A program over awkward databases and indexes: it answers, or says in one line what is wrong and what helps."""

from __future__ import annotations

import os
import sqlite3
import threading

import pytest

from sqlrag_dspy.errors import IndexUnusable, SourceError, SqlRagError
from sqlrag_dspy.program import SqlRag, load, open_database
from sqlrag_dspy.program.database import STALE, display_column
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import Column, Profile, Table

REPORT = "The pump of the well was replaced after the flood, and the water is clear again. " * 3


@pytest.fixture
def over(small, tmp_path):
    """The small program over a database made by SQL; indexed unless told otherwise."""
    opened = []

    def over(sql: str, rows=(), *, is_indexed: bool = True, name: str = "wells", **settings) -> SqlRag:
        path = tmp_path / f"{name}.db"
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        for statement, values in rows:
            connection.executemany(statement, values)
        connection.commit()
        connection.close()
        chosen = Settings(
            source=f"sqlite:///{path}", store=str(tmp_path / "store"), embedder=["wordllama"], **settings
        )
        if is_indexed:
            database = open_database(chosen)
            database.sync()
            database.close()
        opened.append(load(small.program, settings=chosen))
        return opened[-1]

    yield over
    for rag in opened:
        rag.close()


WELLS = "CREATE TABLE wells (id INTEGER PRIMARY KEY, name TEXT, dug TEXT, depth REAL, report TEXT);"
FILL = (
    "INSERT INTO wells VALUES (?, ?, ?, ?, ?)",
    [(n, f"Well {n}", f"20{n:02}-05-01", n / 2, REPORT) for n in range(1, 20)],
)


def test_another_database_is_asked_with_the_same_program(over):
    rag = over(WELLS, [FILL])
    counted = rag.ask("how many wells are there")
    assert (counted.route, counted.rows) == ("sql", [[19]])
    found = rag.ask("was a pump replaced after the flood?")
    assert found.route == "vector"
    assert found.documents
    assert rag.left_out == []


AWKWARD = (
    '''CREATE TABLE "order" ("select" TEXT, "Größe ""cm""" INTEGER, "2nd date" TEXT, "long text" TEXT)'''
)
AWKWARD_ROWS = [
    ("a", "not a number", "01/02/2023", None),
    ("b", 3, "2023-02-01", ""),
    ("", 4, "", "  "),
    (None, b"\xff\x00", b"\xff", b"\xff\xfe"),
    *((f"c{n}", n, "2023-03-01", REPORT + "x" * 5000) for n in range(9)),
]


def test_awkward_names_and_values(over):
    rag = over(AWKWARD, [('INSERT INTO "order" VALUES (?, ?, ?, ?)', AWKWARD_ROWS)])
    for question in (
        "how many order are there",
        "the pump and the flood",
        "list the select of order from March 2023",
    ):
        answer = rag.ask(question)
        assert answer.error is None
        assert answer.answer


def test_an_empty_table_and_a_document_of_five_megabytes(over):
    rag = over(
        "CREATE TABLE visits (id INTEGER, report TEXT);" + WELLS,
        [
            FILL,
            ("INSERT INTO wells VALUES (?, ?, ?, ?, ?)", [(99, "The deep one", None, None, REPORT * 21_000)]),
        ],
        tables={"wells": {"text": ["report"]}},
    )
    assert rag.ask("how many visits are there").rows == [[0]]
    answer = rag.ask("was a pump replaced after the flood?")
    assert answer.documents
    assert len(answer.model_dump_json()) < 200_000


def test_numbers_alone_can_be_counted_and_not_searched(over):
    made = "CREATE TABLE n (id INTEGER PRIMARY KEY, x REAL); INSERT INTO n VALUES (1, 2.5), (2, 3.5)"
    rag = over(made, is_indexed=False)
    assert rag.ask("how many n are there").rows == [[2]]
    with pytest.raises(SqlRagError, match="has a long text column") as caught:
        rag.ask("was a pump replaced after the flood?")
    assert "\n" not in str(caught.value)


def test_without_an_index_what_needs_none_is_answered(over):
    rag = over(WELLS, [FILL], is_indexed=False)
    assert rag.ask("how many wells are there").rows == [[19]]
    with pytest.raises(IndexUnusable, match="sqlrag index") as caught:
        rag.ask("was a pump replaced after the flood?")
    assert "\n" not in str(caught.value)
    rag.bound().sync()
    assert rag.ask("was a pump replaced after the flood?").documents


def test_an_index_of_another_embedder_is_named(over, small, tmp_path):
    rag = over(WELLS, [FILL])
    settings = rag.bound().settings.model_copy(update={"embedder": ["use-multilingual"]})
    with load(small.program, settings=settings) as other, pytest.raises(IndexUnusable, match="wordllama"):
        other.ask("was a pump replaced after the flood?")


def test_data_that_changed_since_the_index_are_warned_of(over, small, tmp_path):
    rag = over(WELLS, [FILL])
    question = "was a pump replaced after the flood?"
    assert STALE not in rag.ask(question).warnings
    connection = sqlite3.connect(tmp_path / "wells.db")
    connection.execute("DELETE FROM wells WHERE id = 3")
    connection.commit()
    connection.close()
    with load(small.program, settings=rag.bound().settings) as again:
        assert STALE in again.ask(question).warnings
        again.bound().sync()
        assert STALE not in again.ask(question).warnings


@pytest.mark.parametrize("name", ["values.json", "values.stamp.json", "catalog.json", "synced.json"])
def test_a_broken_cache_is_made_again(over, small, tmp_path, name):
    rag = over(WELLS, [FILL])
    (tmp_path / "store" / name).write_text('{"half')
    with load(small.program, settings=rag.bound().settings) as again:
        assert again.ask("how many wells are there").rows == [[19]]
        assert again.ask("was a pump replaced after the flood?").documents


@pytest.mark.skipif(os.name != "posix", reason="no such permissions there")
def test_what_is_kept_of_a_database_is_its_owners_alone(over, tmp_path):
    before = os.umask(0o022)
    try:
        rag = over(WELLS, [FILL])
        rag.ask("was a pump replaced after the flood?")
        kept = [tmp_path / "store", *(tmp_path / "store").rglob("*")]
    finally:
        os.umask(before)
    assert {"index.sqlite", "values.json", "catalog.json"} <= {path.name for path in kept}
    assert [path.name for path in kept if path.stat().st_mode & 0o077] == []


def test_a_source_that_cannot_be_opened_is_named(small, tmp_path):
    (tmp_path / "text.db").write_text("this is no database, whatever its name says" * 100)
    for name, said in (("none.db", "none.db"), ("text.db", "text.db")):
        settings = Settings(source=f"sqlite:///{tmp_path / name}", store=str(tmp_path / "store"))
        with pytest.raises(SourceError, match=said) as caught:
            load(small.program, settings=settings)
        assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match="no source is set"):
        load(small.program)


def test_the_first_questions_may_come_at_once(over):
    rag = over(WELLS, [FILL])
    answers: list = []
    questions = ["was a pump replaced after the flood?", "how many wells are there"] * 3
    threads = [threading.Thread(target=lambda q=q: answers.append(rag.ask(q))) for q in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert all(answer.documents or answer.rows == [[19]] for answer in answers)


def test_several_databases_are_asked_by_name(over, small_database, small):
    rag = over(WELLS, [FILL])
    rag.bind(small_database)
    assert rag.ask("how many wells are there").rows == [[19]]
    assert rag.ask("how many articles are there", database="articles").rows == [[48]]
    del rag.databases["articles"]


def test_rows_are_recognised_by_title_then_text_key_then_key():
    def column(name: str, found: str = "text", distinct: int = 10) -> Column:
        return Column(name, "TEXT", Profile(found, distinct=distinct))  # type: ignore[arg-type]

    def shown(*columns: Column, key: str) -> str:
        return display_column(Table("t", (key,), columns, rows=10)).name

    number = column("id", "integer")
    assert shown(number, column("headline"), key="id") == "headline"
    assert shown(number, column("code"), key="code") == "code"
    assert shown(number, column("kind", distinct=2), key="id") == "id"
    with pytest.raises(SourceError, match="table t has no columns"):
        display_column(Table("t", ("rowid",), ()))


def test_codes_of_a_column_too_large_to_keep_are_found_by_every_process(over, small):
    rows = [(n, f"Well {n}", f"WX-{n:06}", None, REPORT[:20]) for n in range(30_000)]
    rag = over(WELLS.replace("dug", "code"), [(FILL[0], rows)], is_indexed=False)
    question = "how many wells have code WX-029876"
    first = rag.ask(question)
    with load(small.program, settings=rag.bound().settings) as again:
        assert again.bound().link(question) == rag.bound().link(question)
        assert any(link.value == "WX-029876" for link in again.bound().link(question).chosen)
        assert again.ask(question).rows == first.rows
