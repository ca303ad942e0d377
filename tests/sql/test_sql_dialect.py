"""SQLite's SQL gives in DuckDB what it gives in SQLite; where a repair means more, the rows are named."""

from __future__ import annotations

import datetime
import decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_databases import CATALOG, day, integer, open_duckdb, open_sqlite, text

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check
from sqlrag_dspy.types import Catalog, Table

DUCK, LITE = open_duckdb(), open_sqlite()


@pytest.fixture(scope="module")
def duck():
    return DUCK


@pytest.fixture(scope="module")
def lite():
    return LITE


def plain(rows):
    def value(each):
        if isinstance(each, bool | int | float | decimal.Decimal):
            return round(float(each), 6)
        if isinstance(each, datetime.datetime):
            return each.strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")
        return each.isoformat() if isinstance(each, datetime.date) else each

    return [tuple(value(each) for each in row) for row in rows]


SAME = """
SELECT title FROM articles WHERE article_category = "sports" ORDER BY title
SELECT title, MAX(word_count) FROM articles GROUP BY article_category ORDER BY article_category
SELECT MIN(word_count), title FROM articles
SELECT strftime('%Y', published_date) AS y, COUNT(*) FROM articles GROUP BY y ORDER BY y
SELECT strftime('%d', published_date), strftime('%w', published_date), strftime('%j', published_date) FROM articles
SELECT date(published_date), datetime(published_date), time(published_date) FROM articles
SELECT date(published_date, '+1 year'), date(published_date, 'start of month', '-1 day') FROM articles
SELECT datetime(published_date, '-90 minutes') FROM articles
SELECT strftime('%s', published_date), unixepoch(published_date) FROM articles
SELECT julianday(published_date) - julianday('2023-01-01') FROM articles
SELECT title FROM articles WHERE published_date BETWEEN '2023-03-01' AND '2023-03-31'
SELECT title FROM articles WHERE published_date >= '2023-01-01' AND published_date < '2023-04-01' ORDER BY 1
SELECT title FROM articles WHERE published_date LIKE '2023%' ORDER BY 1
SELECT title FROM articles WHERE substr(published_date, 1, 4) = '2023' ORDER BY 1
SELECT word_count / 7, 7 / 2, -7 / 2, word_count % 7, word_count / 2.0 FROM articles
SELECT word_count / 0, 1.0 / 0, 5 % 0 FROM articles
SELECT COUNT(*) / 2, SUM(word_count) / COUNT(*), SUM(word_count) * 1.0 / COUNT(*) FROM articles
SELECT CAST(2.7 AS INTEGER), CAST(-2.7 AS INTEGER), CAST('12' AS INTEGER), CAST(word_count AS REAL) / 7 FROM articles
SELECT title FROM articles WHERE title LIKE 'GOAL%' ORDER BY title
SELECT title FROM articles WHERE title GLOB 'G*' ORDER BY title
SELECT title FROM articles WHERE title = 'goal' COLLATE NOCASE
SELECT title FROM articles WHERE title NOT LIKE 'go%' AND title NOT LIKE '%x%' ESCAPE '!' AND title NOT GLOB 'O*'
SELECT title FROM articles WHERE word_count NOT BETWEEN 100 AND 400 AND authors NOT NULL AND zip IS NOT NULL
SELECT title FROM articles WHERE NOT title LIKE 'go%' AND NOT (authors IS NULL) AND word_count NOT IN (1, 300)
SELECT authors FROM articles ORDER BY authors
SELECT authors FROM articles ORDER BY authors DESC
SELECT title FROM articles ORDER BY zip, title
SELECT IFNULL(authors, 'nobody') FROM articles ORDER BY title
SELECT INSTR(title, 'a'), SUBSTR(title, 2, 3), SUBSTR(title, -3), title || '!' FROM articles
SELECT GROUP_CONCAT(x), GROUP_CONCAT(x, '-'), TOTAL(x) FROM n
SELECT TOTAL(x) FROM n WHERE x > 100
SELECT printf('%.2f|%d|%s', x, x, x) FROM n
SELECT MAX(x, 2), MIN(x, 2) FROM n
SELECT IIF(x > 1, 'a', 'b') FROM n
SELECT SUM(x > 1), AVG(x > 1), 100.0 * SUM(x > 1) / COUNT(*) FROM n
SELECT COUNT(*) FROM articles WHERE zip = 718
SELECT COUNT(*) FROM articles WHERE word_count = '300'
SELECT COUNT(*) FROM articles WHERE is_open = 1
SELECT title FROM articles WHERE authors IS 'Bo Marsh'
SELECT title FROM articles WHERE authors IS NOT 'Bo Marsh' ORDER BY title
SELECT title FROM articles ORDER BY word_count LIMIT 1, 2
SELECT title FROM articles ORDER BY word_count LIMIT -1
SELECT id FROM odd_dates WHERE eu = '17/04/2023'
SELECT id FROM odd_dates WHERE substr(eu, 7, 4) || '-' || substr(eu, 4, 2) >= '2023-05'
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line WHERE category = 'paper')
SELECT o.customer, COUNT(*) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.id ORDER BY o.id
SELECT LENGTH(x), UPPER(x), x || x, REPLACE(x, 1, 9) FROM n
SELECT COUNT(*) FROM city WHERE name = 'Geneva'
SELECT name FROM city WHERE name IN ('geneva') ORDER BY id
SELECT x FROM n WHERE x IN ('1', 2)
SELECT * FROM n ORDER BY x
SELECT rowid, * FROM n ORDER BY rowid
SELECT b.*, a.rowid FROM n a JOIN n b ON a.x = b.x + 1 ORDER BY a.rowid
SELECT * FROM n a JOIN orders o ON a.x = o.id ORDER BY id
SELECT * FROM n NATURAL JOIN (SELECT 2 AS x, 5 AS y)
SELECT a.rowid, b.rowid FROM n a NATURAL JOIN n b ORDER BY 1
SELECT * FROM n a LEFT JOIN n b USING (x) ORDER BY x
SELECT * FROM n EXCEPT SELECT 2 ORDER BY 1
SELECT * FROM (SELECT * FROM n) ORDER BY 1
WITH w AS (SELECT rowid, x FROM n) SELECT * FROM w ORDER BY x
SELECT CHAR(65), HEX('a'), ABS(-3), ROUND(2.567, 1), UNICODE('a')
SELECT DISTINCT article_category FROM articles ORDER BY article_category
SELECT COUNT(*) FROM articles a WHERE word_count > (SELECT AVG(x.word_count) FROM articles x WHERE x.zip = a.zip)
""".strip().splitlines()


@pytest.mark.parametrize("statement", SAME)
def test_rows_are_those_of_sqlite(statement, duck, lite):
    query = check(statement, CATALOG)
    assert plain(duck.execute(query.text).fetchall()) == plain(lite.execute(statement).fetchall())
    assert check(query.text, CATALOG) == query


MEANT = [
    ("SELECT id FROM odd_dates WHERE eu >= '2023-04-01' AND eu < '2023-05-01'", [(1,)]),
    ("SELECT id FROM odd_dates WHERE eu = '2023-04-17'", [(1,)]),
    ("SELECT id FROM odd_dates WHERE eu IN ('2023-04-17', '01/05/2023') ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM odd_dates WHERE eu > '17/04/2023'", [(2,)]),
    ("SELECT id FROM odd_dates WHERE eu LIKE '2023%' ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM odd_dates WHERE eu LIKE '2023-05%'", [(2,)]),
    ("SELECT id FROM odd_dates WHERE eu LIKE '%2023' ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM odd_dates WHERE eu BETWEEN '2023-01-01' AND '2023-12-31' ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM odd_dates WHERE mixed >= '2023-04-01' ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM odd_dates WHERE mixed = '2023-05-01'", [(2,)]),
    ("SELECT id FROM odd_dates WHERE native >= '2023-04-01' AND native LIKE '2023-04%'", [(1,)]),
    ("SELECT id FROM odd_dates WHERE native = eu AND id = 1", [(1,)]),
    ("SELECT strftime('%Y', eu), COUNT(*) FROM odd_dates GROUP BY 1 ORDER BY 1", [("2022", 1), ("2023", 2)]),
    ("SELECT id FROM odd_dates WHERE substr(eu, 1, 4) = '2022'", [(3,)]),
    ("SELECT id FROM odd_dates WHERE EXTRACT(YEAR FROM eu) = 2022 OR year(mixed) = '2022'", [(3,)]),
    ("SELECT id FROM odd_dates WHERE strftime('%Y', eu) = 2022", [(3,)]),
    ("SELECT title FROM articles WHERE published_date::DATE = '2023-04-17'", [("Bank run",)]),
    ("SELECT AVG(updated_at - created_at), MAX((updated_at - created_at) * 24) FROM task", [(1, 24)]),
    ("SELECT id FROM odd_dates WHERE eu - mixed = 0 AND '2023-05-01' - eu = 14", [(1,)]),
    ("SELECT MAX(eu) - MIN(eu), native - eu FROM odd_dates WHERE id = 1 GROUP BY native, eu", [(0, 0)]),
    ("SELECT ROUND(until - seen, 6), ROUND((until - seen) * 24) FROM log WHERE id = 1", [(0.5, 12)]),
    ("SELECT (SELECT MAX(updated_at) FROM task) - created_at FROM task ORDER BY id", [(32,), (1,)]),
    ("SELECT datetime(updated_at, '+12 hours') - created_at FROM task WHERE id = 1", [(1.5,)]),
    ("SELECT CASE WHEN id = 1 THEN note ELSE id END FROM task WHERE id = 2", [("2",)]),
    ("SELECT IIF(id = 1, 0.5, note) FROM task WHERE id = 1", [("0.5",)]),
    ("SELECT SUM(CASE WHEN id = 1 THEN '2' ELSE id END), SUM(DISTINCT '4' || '2') FROM task", [(4, 42)]),
    (
        "SELECT title FROM articles WHERE published_date <= DATE '2023-03-31' AND published_date > '2023-03-01'",
        [("River",)],
    ),
    ("SELECT 7 / 2 AS half, x::DOUBLE FROM n LIMIT 1", [(3.5, 1.0)]),
    ("SELECT CAST(2.7 AS INTEGER) FROM n WHERE x ILIKE '1%'", [(3.0,)]),
]


@pytest.mark.parametrize(("statement", "rows"), MEANT)
def test_rows_are_those_that_were_meant(statement, rows, duck):
    query = check(statement, CATALOG)
    assert plain(duck.execute(query.text).fetchall()) == plain(rows)
    assert check(query.text, CATALOG) == query


@pytest.mark.parametrize(
    "expression",
    ["AVG(seen)", "SUM(DISTINCT seen)", "seen + 7", "id * seen", "ABS(seen)", "MAX(seen) / 2", "seen - id"],
)
def test_a_text_date_is_no_number(expression):
    with pytest.raises(SqlRejected, match="'seen' holds dates, not numbers; write julianday"):
        check(f"SELECT {expression} FROM log", CATALOG)


def test_a_number_with_separators_is_asked_for_plainly():
    with pytest.raises(SqlRejected, match="'amount' holds numbers; write '1,234"):
        check("SELECT id FROM orders WHERE amount > '1,234.50'", CATALOG)


def test_a_date_beside_unreadable_text_is_unknown_not_an_error():
    catalog = Catalog(
        (Table("orders", ("id",), (integer("id"), day("placed", "%Y-%m-%d"), integer("amount"))),)
    )
    rows = {"orders": [(1, "2024-01-03", 10), (2, "2024-01-20", 20), (3, "2024-02-02", 30), (4, "n/a", 40)]}
    con = open_duckdb(catalog, rows)
    query = check(
        "SELECT strftime('%Y-%m', placed) AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1", catalog
    )
    assert con.execute(query.text).fetchall() == [(None, 1), ("2024-01", 2), ("2024-02", 1)]


def test_text_dates_compare_with_dates():
    catalog = Catalog(
        (Table("visit", ("id",), (integer("id"), day("seen_on", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"))),)
    )
    rows = {
        "visit": [
            (1, "2024-02-29"),
            (2, "2024-03-01"),
            (3, "2024-03-31 23:30:00"),
            (4, "2024-04-01"),
            (5, ""),
        ]
    }
    con = open_duckdb(catalog, rows)
    statement = (
        "SELECT count(*) FROM visit WHERE seen_on >= DATE '2024-03-01' AND seen_on < DATE '2024-04-01'"
    )
    assert con.execute(check(statement, catalog).text).fetchall() == [(2,)]
    between = "SELECT count(*) FROM visit WHERE seen_on BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'"
    assert con.execute(check(between, catalog).text).fetchall() == [(2,)]


def test_a_duckdb_source_keeps_its_own_rules():
    catalog = Catalog((Table("t", ("id",), (integer("id"), text("name"))),), dialect="duckdb")
    con = open_duckdb(catalog, {"t": [(1, "Ann"), (2, "ann")]})
    query = check("SELECT COUNT(*), 7 / 2 FROM t WHERE name LIKE 'A%'", catalog)
    assert con.execute(query.text).fetchall() == [(1, 3.5)]
    with pytest.raises(SqlRejected, match="single quotes"):
        check('SELECT id FROM t WHERE name = "Zoe"', catalog)


def test_a_duckdb_text_for_a_sqlite_source_divides_as_duckdb_does(duck):
    query = check("SELECT COUNT(*) FILTER (WHERE x > 1) / COUNT(*) AS s FROM n", CATALOG, dialect="duckdb")
    assert duck.execute(query.text).fetchall()[0][0] == pytest.approx(2 / 3)
    assert check(query.text, CATALOG) == query


def test_nothing_of_the_writers_comments_is_kept():
    query = check("SELECT /* secret */ title -- note\nFROM articles", CATALOG)
    assert query.text == 'SELECT "title" FROM "articles" LIMIT 1001'


# --- law: any condition keeps the rows that SQLite keeps ---------------------------------------------

NAMES = st.sampled_from(["title", "word_count", "published_date", "article_category", "zip", "authors"])
LITERALS = st.sampled_from(
    ["'2023'", "'2023-03-31'", "'sports'", "300", "'300'", "718", "'Goal'", "'B'", "'1'", "2023.5"]
)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT"])
PATTERNS = st.sampled_from(["'go%'", "'%a%'", "'2023%'", "'_00%'"])
ATOMS = st.one_of(
    st.tuples(NAMES, OPERATORS, LITERALS).map(" ".join),
    st.tuples(NAMES, st.sampled_from(["LIKE", "NOT LIKE"]), PATTERNS).map(" ".join),
    st.tuples(NAMES, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), LITERALS, st.just("AND"), LITERALS).map(
        " ".join
    ),
    st.tuples(NAMES, st.sampled_from(["IN", "NOT IN"]), LITERALS, LITERALS).map(
        "{0[0]} {0[1]} ({0[2]}, {0[3]})".format
    ),
    st.tuples(NAMES, st.sampled_from(["IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL"])).map(" ".join),
    st.sampled_from(
        [
            "substr(published_date, 1, 4) = '2023'",
            "strftime('%m', published_date) >= '04'",
            "length(title) > 5",
            "word_count / 100 = 3",
            "word_count % 2 = 0",
            "instr(title, 'o') > 0",
            "is_open = 1",
            "is_open",
            "ifnull(zip, 'none') = 'none'",
            "upper(authors) = 'BO MARSH'",
            "word_count > (SELECT AVG(word_count) FROM articles)",
            "article_category IN (SELECT category FROM line)",
        ]
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=4,
)


@given(CONDITIONS)
@settings(max_examples=300, deadline=None)
def test_any_condition_keeps_the_rows_of_sqlite(condition):
    statement = f"SELECT title FROM articles WHERE {condition} ORDER BY title"
    try:
        query = check(statement, CATALOG)
    except SqlRejected as refused:
        said = str(refused)
        query = None
    if query is None:
        assert "holds numbers" in said
        return
    assert DUCK.execute(query.text).fetchall() == LITE.execute(statement).fetchall()
