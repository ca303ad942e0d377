"""Advice after a query: what is quietly wrong, why nothing was found, and what was computed in plain words."""

from __future__ import annotations

import pytest
from sql_databases import CATALOG, day, integer, open_duckdb, runner, text

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.sql import check, explain, explain_empty, lint
from sqlrag_dspy.types import Catalog, CheckedSql, Table


@pytest.fixture(scope="module")
def run():
    return runner(open_duckdb())


WARNED = [
    ("SELECT title FROM articles WHERE article_category = 'Sports'", "the stored value is 'sports'"),
    (
        "SELECT title FROM articles WHERE article_category IN ('sports', 'bussiness')",
        "the stored value is 'business'",
    ),
    ("SELECT title FROM articles WHERE article_category = 'zzz'", "it holds 'business', 'sports', 'travel'"),
    (
        "SELECT SUM(o.amount) FROM orders o JOIN line l ON l.order_id = o.id WHERE l.category = 'paper'",
        "once for every",
    ),
    ("SELECT COUNT(o.id) FROM orders o JOIN line l ON l.order_id = o.id", "COUNT(DISTINCT"),
    ("SELECT title FROM articles WHERE authors <> 'Bo'", "missing are left out"),
    ("SELECT title FROM articles WHERE NOT (authors = 'Bo')", "missing are left out"),
    ("SELECT title FROM articles WHERE authors NOT IN ('Bo', 'Cy')", "missing are left out"),
    ("SELECT title FROM articles WHERE title NOT IN (SELECT authors FROM articles)", "NOT IN is never true"),
    ("SELECT title FROM articles WHERE authors = NULL", "write IS NULL"),
    ("SELECT title FROM articles WHERE published_date = '2023-04-17'", "never equals"),
    ("SELECT title FROM articles WHERE published_date <= '2023-03-31'", "left out"),
    ("SELECT title FROM articles WHERE published_date BETWEEN '2023-03-01' AND '2023-03-31'", "left out"),
    ("SELECT title FROM articles WHERE published_date > 'April 2023'", "finds nothing useful"),
    ("SELECT MAX(eu) FROM odd_dates", "do not sort as text"),
    ("SELECT id FROM odd_dates ORDER BY eu", "do not sort as text"),
    ("SELECT SUM(word_count) / COUNT(*) FROM articles", "fraction is cut off"),
    ("SELECT title FROM articles WHERE word_count BETWEEN 50 AND 10", "the smaller bound of BETWEEN first"),
    ("SELECT title FROM articles WHERE word_count > 50 AND word_count < 10", "use OR"),
    ("SELECT title FROM articles WHERE strftime('%m', published_date) = '4'", "write '04'"),
    ("SELECT title FROM articles WHERE strftime('%Y', published_date) = '20'", "text of 4 characters"),
    ("SELECT title FROM articles WHERE substr(published_date, 1, 4) = '23'", "text of 4 characters"),
    ("SELECT title FROM articles WHERE authors IS NULL OR authors IS NOT NULL", "true; leave it out"),
    ("SELECT title FROM articles WHERE word_count > 10 OR word_count <= 50", "AND keeps what lies between"),
]


@pytest.mark.parametrize(("statement", "said"), WARNED)
def test_quiet_mistakes_are_told(statement, said):
    assert any(said in each for each in lint(check(statement, CATALOG), CATALOG))


QUIET = """
SELECT title FROM articles WHERE article_category = 'sports'
SELECT SUM(amount) FROM orders WHERE id IN (SELECT order_id FROM line WHERE category = 'paper')
SELECT o.customer, SUM(l.id) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.id
SELECT COUNT(*) FROM line l JOIN orders o ON l.order_id = o.id
SELECT title FROM articles WHERE authors <> 'Bo' OR authors IS NULL
SELECT title FROM articles WHERE published_date >= '2023-03-01' AND published_date < '2023-04-01'
SELECT word_count / 100 FROM articles
SELECT id FROM odd_dates ORDER BY strptime(eu, '%d/%m/%Y')
SELECT COUNT(*) FROM city WHERE name = 'Geneva'
""".strip().splitlines()


@pytest.mark.parametrize("statement", QUIET)
def test_nothing_is_said_of_a_sound_query(statement):
    assert lint(check(statement, CATALOG), CATALOG) == ()


EMPTY = [
    (
        "SELECT title FROM articles WHERE article_category = 'sport'",
        "nearest stored value of 'article_category' is 'sports'",
    ),
    ("SELECT title FROM articles WHERE authors = 'Ada Lunt' AND word_count > 10", "is 'Ada Lund'"),
    ("SELECT title FROM articles WHERE article_category = 'travel' AND word_count < 100", "1 row passes"),
    ("SELECT id FROM city WHERE name = 'Genefa'", "no row passes: name = 'Genefa'; the nearest stored"),
    ("SELECT title FROM articles WHERE word_count > 100000 AND is_open", "word_count > 100000"),
    (
        "SELECT o.id FROM orders o JOIN line l ON l.order_id = o.id WHERE l.category = 'glue'",
        "holds 'paper', 'ink'",
    ),
    (
        "SELECT article_category, COUNT(*) FROM articles WHERE word_count > 1 GROUP BY 1 HAVING COUNT(*) > 90",
        "HAVING",
    ),
]


@pytest.mark.parametrize(("statement", "said"), EMPTY)
def test_the_condition_that_left_nothing_is_named(statement, said, run):
    query = check(statement, CATALOG)
    assert run(query).values == ()
    assert any(said in each for each in explain_empty(query, CATALOG, run))


def test_an_empty_table_is_named():
    catalog = Catalog((Table("fruit", ("id",), (integer("id"), text("vitamin"))),))
    con = open_duckdb(catalog, {})
    found = explain_empty(check("SELECT id FROM fruit WHERE vitamin = 'C'", catalog), catalog, runner(con))
    assert found == ["table 'fruit' is empty"]


def test_range_of_a_date_column_is_told():
    column = day("due", "%Y-%m-%d")
    catalog = Catalog((Table("bill", ("id",), (integer("id"), column), rows=1),))
    con = open_duckdb(catalog, {"bill": [(1, "2024-01-01")]})
    query = check("SELECT id FROM bill WHERE due > '2030-01-01'", catalog)
    assert explain_empty(query, catalog, runner(con)) == ["no row passes: due > '2030-01-01'"]


def test_a_probe_that_fails_is_left_out():
    def broken(query: CheckedSql):
        raise QueryFailed("took too long", wall="limit")

    query = check("SELECT title FROM articles WHERE zip = '9' AND word_count = 1", CATALOG)
    assert isinstance(explain_empty(query, CATALOG, broken), list)


SAID = [
    ("SELECT strftime('%Y', published_date), article_category, COUNT(*) FROM articles GROUP BY 1, 2",
     "counts articles by year of published date and article category"),
    ("SELECT title FROM articles WHERE article_category = 'travel' AND published_date >= '2023-03-01' "
     "AND published_date < '2023-04-01'",
     "title of articles where article category is travel and published date from 2023-03-01 to before 2023-04-01"),
    ("SELECT title, word_count FROM articles ORDER BY word_count DESC LIMIT 3",
     "title and word count of articles, ordered by word count descending, first 3"),
    ("SELECT AVG(word_count) FROM articles WHERE authors IS NULL",
     "average word count of articles where authors is missing"),
    ("SELECT 100.0 * SUM(article_category = 'sports') / COUNT(*) FROM articles",
     "percentage of articles where article category is sports"),
    ("SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line WHERE category = 'ink')",
     "customer of orders where line category is ink"),
    ("SELECT title FROM articles WHERE title LIKE '%bank%'", "title of articles where title contains bank"),
    ("SELECT title FROM articles WHERE word_count > (SELECT AVG(word_count) FROM articles)",
     "title of articles where word count is more than the average"),
    ("SELECT title FROM articles WHERE word_count > (SELECT AVG(word_count) FROM articles WHERE zip = '1')",
     "shows title from articles where word_count > (SELECT AVG(word_count) FROM articles WHERE zip = '1')"),
    ("SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line WHERE category = 'ink')",
     "customer of orders without line where category is ink"),
    ("SELECT DISTINCT zip FROM articles WHERE zip NOT IN (SELECT zip FROM articles WHERE word_count > 5)",
     "distinct zip of articles whose zip has no articles where word count is more than 5"),
    ("SELECT AVG(julianday(updated_at) - julianday(created_at)) FROM task",
     "average number of days from created at to updated at of task"),
    ("SELECT id FROM task WHERE julianday(updated_at) - julianday(created_at) > 2",
     "id of task where number of days from created at to updated at is more than 2"),
    ("SELECT title FROM articles ORDER BY word_count DESC LIMIT 1 OFFSET 1",
     "title of articles, ordered by word count descending, number 2 only"),
    ("SELECT title FROM articles ORDER BY word_count LIMIT 3 OFFSET 2",
     "title of articles, ordered by word count, first 3 after the first 2"),
    ("SELECT COUNT(*) FROM city WHERE name = 'Geneva'", "counts city where name is Geneva"),
    ("SELECT id FROM city WHERE name IN ('geneva', 'Bern')", "id of city where name is geneva or Bern"),
    ("SELECT id FROM city WHERE name <> 'Bern'", "id of city where name is not Bern"),
    ("SELECT MAX(word_count) - MIN(word_count) FROM articles",
     "difference between the ends of word count of articles"),
    ("SELECT julianday(MAX(published_date)) - julianday(MIN(published_date)) FROM articles",
     "days between the ends of published date of articles"),
    ("SELECT 100.0 * SUM(CASE WHEN zip = '1' THEN word_count END) / SUM(word_count) FROM articles",
     "percentage of word count of articles where zip is 1"),
    ("WITH t AS (SELECT zip, title, RANK() OVER (PARTITION BY zip ORDER BY word_count DESC) AS p FROM articles) "
     "SELECT zip, title FROM t WHERE p <= 2",
     "zip and title of articles, ordered by word count descending, first 2 of each zip"),
    ("SELECT COUNT(*) FROM (SELECT zip FROM articles GROUP BY zip HAVING COUNT(*) > 1)",
     "counts groups of articles by zip, keeping groups whose number of articles is more than 1"),
    ("SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM articles GROUP BY zip)",
     "mean of number of articles over groups by zip"),
    ("SELECT SUM(zip = '1') - SUM(zip = '2') FROM articles WHERE word_count > 5",
     "number of articles where zip is 1 less that where zip is 2 among those where word count is more than 5"),
    ("SELECT zip, SUM(word_count < 5), SUM(word_count > 9) FROM articles GROUP BY zip HAVING COUNT(*) > 1",
     "number of articles where word count is less than 5 beside that where word count is more than 9 by zip, "
     "keeping groups whose number of articles is more than 1"),
    ("SELECT authors FROM articles GROUP BY authors HAVING SUM(zip = '1') > SUM(zip = '2')",
     "authors of articles by authors, keeping groups whose number of articles where zip is 1 is more than that "
     "where zip is 2"),
    ("SELECT x FROM n EXCEPT SELECT 2", "shows x from n without shows 2"),
    ("not SQL", ""),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "sentence"), SAID)
def test_a_query_in_plain_words(statement, sentence):
    assert explain(statement, CATALOG) == sentence
    if sentence:
        assert explain(check(statement, CATALOG), CATALOG) == sentence


def test_the_limit_that_check_adds_is_not_told():
    assert explain(check("SELECT title FROM articles", CATALOG), CATALOG) == "title of articles"
