"""What passes the first wall and what does not, statement by statement, and that checking twice changes nothing."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_databases import CATALOG, lines, open_duckdb

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check

HERE = Path(__file__).parent
ATTACKS = lines(HERE / "attacks.sql")
LEGITIMATE = lines(HERE / "legitimate.sql")


@pytest.fixture(scope="module")
def database():
    return open_duckdb()


def test_fixtures_hold_enough():
    assert len({statement for statement, _ in ATTACKS}) >= 300
    assert len({statement for statement, _ in LEGITIMATE}) >= 300


@pytest.mark.parametrize(("statement", "reason"), ATTACKS)
def test_attack_is_refused_with_advice(statement, reason):
    with pytest.raises(SqlRejected) as refused:
        check(statement, CATALOG)
    message = str(refused.value)
    assert len(message) > 10
    assert "\n" not in message
    assert refused.value.wall == "check"


def test_every_attack_names_its_wall():
    assert {reason.rpartition(" [")[2] for _, reason in ATTACKS} == {"check]", "check, connection]"}


ODD_CHARACTERS = {
    "NUL": "SELECT 1\0",
    "NUL in a text": "SELECT 'a\0b'",
    "NUL before a second statement": "SELECT 1\0; DROP TABLE n",
    "end of file": "SELECT 1\x1a; DROP TABLE n",
    "backspaces": "SELECT 1\b\bDROP TABLE n",
    "a carriage return that ends a comment": "SELECT 1 --\rDROP TABLE n",
    "a line separator": "SELECT 1\u2028DROP TABLE n",
    "half a character": "SELECT \ud800 FROM n",
    "half a character in a text": "SELECT title FROM articles WHERE title = '\ud83d'",
    "a mark in the middle": "SELECT 1;\ufeff DROP TABLE n",
    "a text over two lines": "SELECT 'x'\n'y'",
    "an escape": "SELECT 1 \x1b[2K; DROP TABLE n",
}


@pytest.mark.parametrize("name", ODD_CHARACTERS)
def test_odd_characters_open_no_door(name):
    with pytest.raises(SqlRejected) as refused:
        check(ODD_CHARACTERS[name], CATALOG)
    assert "\n" not in str(refused.value)


def test_what_a_comment_holds_is_gone():
    for comment in (
        "--\u2028; DROP TABLE n",
        "--\x0b; DROP TABLE n",
        "/* /* */ ; DROP TABLE n */",
        "/*! ; DROP */",
    ):
        assert check(f"SELECT 1 {comment}", CATALOG).text == "SELECT 1 LIMIT 1001"
    assert check("\ufeffSELECT 1", CATALOG).text == "SELECT 1 LIMIT 1001"


@pytest.mark.parametrize(("statement", "reason"), LEGITIMATE)
def test_legitimate_query_passes_runs_and_stays(statement, reason, database):
    query = check(statement, CATALOG)
    database.execute(query.text).fetchall()
    assert check(query.text, CATALOG) == query


@pytest.mark.parametrize(("statement", "reason"), LEGITIMATE)
def test_query_is_bounded(statement, reason, database):
    assert "LIMIT" in check(statement, CATALOG, limit=1).text
    assert len(database.execute(check(statement, CATALOG, limit=1).text).fetchall()) <= 2


def test_limit_shows_truncation_and_keeps_a_smaller_one():
    assert check("SELECT title FROM articles", CATALOG, limit=10).text.endswith("LIMIT 11")
    assert check("SELECT title FROM articles LIMIT 3", CATALOG, limit=10).text.endswith("LIMIT 3")
    assert check("SELECT title FROM articles LIMIT 3000", CATALOG, limit=10).text.endswith("LIMIT 11")


def test_tables_and_columns_that_are_read_are_told():
    query = check(
        "SELECT o.customer FROM orders o JOIN line l ON l.order_id = o.id WHERE category = 'ink'", CATALOG
    )
    assert query.tables == ("orders", "line")
    assert set(query.columns) == {
        ("orders", "customer"),
        ("orders", "id"),
        ("line", "order_id"),
        ("line", "category"),
    }
    assert len(check("SELECT * FROM line", CATALOG).columns) == 3


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("SELECT titel FROM articles", "did you mean 'title'?"),
        ("SELECT title FROM artcles", "did you mean 'articles'?"),
        ("SELECT category FROM orders", 'JOIN "line" ON "orders"."id" = "line"."order_id"'),
        ("SELECT lenght(title) FROM articles", "did you mean length()?"),
        ("SELECT x.title FROM articles", "it has articles"),
        ("SELECT id FROM orders, line", "orders.id or line.id"),
        ("SELECT * FROM orders a, orders a", "its own alias"),
        ("SELECT * EXCLUDE (nope) FROM articles", "no column here"),
        ("SELECT title FROM articles WHERE word_count = 'many'", "holds numbers"),
        ("SELECT 1 UNION SELECT 1, 2", "1 and 2 columns"),
        ("SELECT title FROM articles WHERE published_date > date('now', 'weekday 9')", "modifier"),
        ("hello world", "starts with 'hello'"),
        ("", "empty"),
        ("  -- only a comment", "only comments"),
        ("SELECT 'open", "not valid SQL"),
        ("SELECT title FROM articles WHERE", "not valid SQL"),
        ("SELECT title FROM articles WHERE )", "not valid SQL"),
        ("SELECT title FROM articles WHERE NOT", "a part of NOT is missing"),
        ("SELECT title || FROM articles", "a part of || is missing"),
        ("SELECT title FROM articles JOIN ON 1 = 1", "Expected table name but got 'ON'"),
        ("SELECT title FROM articles WHERE id = 1 && id = 2", "write AND"),
        ("DROP TABLE articles", "DROP is not allowed"),
        ("SELECT 1; SELECT 2", "several statements"),
    ],
)
def test_advice_names_the_remedy(statement, advice):
    with pytest.raises(SqlRejected) as refused:
        check(statement, CATALOG)
    assert advice in str(refused.value)
    assert "<" not in str(refused.value)


NESTED = {
    "brackets": "SELECT " + "(" * 300 + "1" + ")" * 300,
    "functions": "SELECT " + "abs(" * 300 + "1" + ")" * 300,
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 100 + "n" + ")" * 100,
    "or": "SELECT COUNT(*) FROM n WHERE " + " OR ".join(f"x = {i}" for i in range(2, 10_002)),
    "and": "SELECT COUNT(*) FROM n WHERE " + " AND ".join("x > 0" for _ in range(5000)),
    "in": f"SELECT COUNT(*) FROM n WHERE x IN ({', '.join(map(str, range(2, 20_000)))})",
    "plus": "SELECT " + "1 + " * 5000 + "1",
    "not": "SELECT " + "NOT " * 5000 + "TRUE",
    "minus": "SELECT " + "- " * 3000 + "1",
    "case": "SELECT " + "CASE WHEN TRUE THEN " * 200 + "1" + " END" * 200,
    "union": "SELECT 1" + " UNION ALL SELECT 1" * 500,
    "cast": "SELECT x" + "::INT" * 2000 + " FROM n",
    "concat": "SELECT " + "'a' || " * 3000 + "'b'",
    "long": "SELECT '" + "x" * 300_000 + "'",
    "lists": "SELECT " + "[" * 300 + "1" + "]" * 300,
    "open": "(" * 10_000,
    "tables": "SELECT COUNT(*) FROM " + ", ".join(f"n AS a{i}" for i in range(60)),
}


@pytest.mark.parametrize("name", NESTED)
def test_depth_and_width_end_quickly_one_way_or_the_other(name, database):
    start = time.process_time()
    with contextlib.suppress(SqlRejected):
        database.execute(check(NESTED[name], CATALOG).text).fetchall()
    assert time.process_time() - start < 10


def test_long_lists_and_or_chains_answer(database):
    assert database.execute(check(NESTED["or"], CATALOG).text).fetchall() == [(2,)]
    assert database.execute(check(NESTED["in"], CATALOG).text).fetchall() == [(2,)]
    assert database.execute(check(NESTED["brackets"], CATALOG).text).fetchall() == [(1,)]


def test_depth_of_the_caller_does_not_decide():
    statement = "SELECT " + "abs(" * 20 + "1" + ")" * 20

    def deep(levels: int) -> str:
        return check(statement, CATALOG).text if levels == 0 else deep(levels - 1)

    assert deep(700) == check(statement, CATALOG).text


def test_guard_judges_the_statement_not_its_words(database):
    statement = (
        "/* insert coin */ WITH t AS (SELECT id, updated_at, deleted, \"drop\", replace(note, 'delete', 'remove') AS n "
        "FROM task WHERE note LIKE '%delete; then update me -- now%') "
        'SELECT id, updated_at, "drop", n FROM t -- truncate'
    )
    rows = database.execute(check(statement, CATALOG).text).fetchall()
    assert rows == [(1, "2024-05-02", "north", "please remove; then update me -- now")]


def test_an_ordinary_query_is_checked_in_milliseconds():
    statement = (
        "SELECT article_category, COUNT(*) AS n FROM articles WHERE published_date >= '2023-01-01' "
        "AND published_date < '2024-01-01' GROUP BY article_category ORDER BY n DESC LIMIT 5"
    )
    check(statement, CATALOG)
    best = min(_seconds(statement) for _ in range(20))
    assert best < 0.010, f"{best * 1000:.1f} ms"  # 1 ms on a quiet machine


def _seconds(statement: str) -> float:
    start = time.perf_counter()
    check(statement, CATALOG)
    return time.perf_counter() - start


# --- laws -------------------------------------------------------------------------------------------

COLUMNS = st.sampled_from(["title", "word_count", "published_date", "article_category", "zip", "is_open"])
LITERALS = st.sampled_from(
    ["'2023-04-17'", "'sports'", "5", "2.5", "'5'", "TRUE", "NULL", "'17/04/2023'", "date('now')"]
)
OPERATORS = st.sampled_from(["=", "<>", "<", ">=", "LIKE", "IS", "IS NOT"])
SHOWN = st.sampled_from(
    [
        "COUNT(*)",
        "MAX(word_count)",
        "strftime('%Y', published_date)",
        "word_count / 3",
        "SUM(word_count) / COUNT(*)",
        "year(published_date)",
        "CAST(word_count AS REAL)",
        "title",
        "AVG(is_open)",
        "CAST(word_count * 1.5 AS INTEGER)",
        "published_date::DATE",
        "substr(published_date, 1, 7)",
        "IFNULL(zip, 0)",
    ]
)


@st.composite
def statements(draw):
    conditions = draw(st.lists(st.tuples(COLUMNS, OPERATORS, LITERALS), max_size=3))
    where = " AND ".join(f"{a} {b} {c}" for a, b, c in conditions)
    order = draw(st.sampled_from(["", " ORDER BY title", " ORDER BY 1 DESC", " ORDER BY word_count"]))
    group = draw(st.sampled_from(["", " GROUP BY article_category", " GROUP BY 1"]))
    return f"SELECT {draw(SHOWN)}, article_category FROM articles{' WHERE ' + where if where else ''}{group}{order}"


@given(statements())
@settings(max_examples=250, deadline=None)
def test_checked_sql_checks_to_itself(statement):
    try:
        query = check(statement, CATALOG)
    except SqlRejected:
        return
    assert check(query.text, CATALOG) == query


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_checked_or_refused(statement):
    try:
        query = check(statement, CATALOG)
    except SqlRejected:
        return
    assert check(query.text, CATALOG) == query


@given(
    st.lists(
        st.sampled_from(
            [
                "SELECT",
                "FROM",
                "articles",
                "n",
                "title",
                "x",
                "(",
                ")",
                ",",
                "*",
                "'a'",
                '"b"',
                "1",
                "WHERE",
                "AND",
                "OR",
                "=",
                "IN",
                "AS",
                "t",
                "WITH",
                "UNION",
                "GROUP",
                "BY",
                "ORDER",
                "LIMIT",
                "JOIN",
                "ON",
                ".",
                "[",
                "]",
                "--",
                "/*",
                "*/",
                ";",
                "::",
                "CASE",
                "WHEN",
                "THEN",
                "END",
                "DISTINCT",
                "read_text",
                "DELETE",
                "INTO",
            ]
        ),
        max_size=14,
    )
)
@settings(max_examples=600, deadline=None)
def test_any_words_are_checked_or_refused(words):
    try:
        query = check(" ".join(words), CATALOG)
    except SqlRejected:
        return
    assert check(query.text, CATALOG) == query
    assert "read_text(" not in query.text.lower()
