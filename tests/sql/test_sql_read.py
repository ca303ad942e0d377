"""Gold queries become sketches, and the sketch written back gives the rows of the gold query."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from sql_databases import CATALOG, day, integer, open_duckdb, open_sqlite, text

from sqlrag_dspy.sql import check, read, write
from sqlrag_dspy.types import Catalog, Item, Predicate, Sketch, Table

ARTICLE = "articles"


@pytest.fixture(scope="module")
def duck():
    return open_duckdb()


@pytest.fixture(scope="module")
def lite():
    return open_sqlite()


def plain(rows):
    def value(each):
        if isinstance(each, datetime.datetime | datetime.date):
            return str(each).removesuffix(" 00:00:00")
        try:
            return round(float(each), 6)
        except (TypeError, ValueError):
            return each

    return sorted((tuple(value(each) for each in row) for row in rows), key=repr)


ISO = (
    "(substr(seen, 8, 4) || '-' || printf('%02d', (instr('JanFebMarAprMayJunJulAugSepOctNovDec', "
    "substr(seen, 4, 3)) + 2) / 3) || '-' || substr(seen, 1, 2))"
)
"""The day of a text such as 17 Apr 2023 14:05, as SQLite must spell it."""

READ = (
    """
SELECT title FROM articles
SELECT * FROM orders
SELECT COUNT(*) FROM articles
SELECT COUNT(title) FROM articles
SELECT COUNT(DISTINCT authors) FROM articles
SELECT MAX(word_count) - MIN(word_count) FROM articles WHERE article_category = 'sports'
SELECT julianday(MAX(published_date)) - julianday(MIN(published_date)) FROM articles WHERE word_count > 100
SELECT article_category FROM articles GROUP BY 1 HAVING MAX(word_count) - MIN(word_count) >= 300
SELECT 100.0 * SUM(CASE WHEN article_category = 'business' THEN word_count END) / SUM(word_count) FROM articles
SELECT title FROM (SELECT title, word_count FROM articles WHERE word_count > 100)
SELECT title FROM (SELECT title FROM articles) AS t ORDER BY title LIMIT 2
WITH t AS (SELECT title FROM articles) SELECT title FROM t
SELECT COUNT(*) FROM (SELECT authors FROM articles WHERE authors IS NOT NULL GROUP BY authors HAVING COUNT(*) = 1)
SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM articles GROUP BY strftime('%Y', published_date))
SELECT DISTINCT article_category FROM articles
SELECT MIN(word_count), MAX(word_count), AVG(word_count), SUM(word_count) FROM articles
SELECT MAX(published_date) FROM articles WHERE article_category = 'sports'
SELECT article_category, COUNT(*) FROM articles GROUP BY article_category
SELECT article_category AS c, COUNT(*) AS k FROM articles GROUP BY c HAVING k > 1 ORDER BY k DESC, c
SELECT article_category FROM articles GROUP BY 1 HAVING AVG(word_count) BETWEEN 100 AND 300
SELECT strftime('%Y', published_date), COUNT(*) FROM articles GROUP BY 1
SELECT strftime('%Y-%m', published_date), article_category, COUNT(*) FROM articles GROUP BY 1, 2
SELECT substr(published_date, 1, 4) AS y, COUNT(*) FROM articles GROUP BY substr(published_date, 1, 4)
SELECT CAST(strftime('%m', published_date) AS INTEGER), COUNT(*) FROM articles GROUP BY 1
SELECT (CAST(strftime('%m', published_date) AS INTEGER) + 2) / 3, COUNT(*) FROM articles GROUP BY 1
SELECT COUNT(*) FROM articles WHERE strftime('%Y', published_date) = '2023'
SELECT COUNT(*) FROM articles WHERE strftime('%Y', published_date) BETWEEN '2022' AND '2023'
SELECT COUNT(*) FROM articles WHERE substr(published_date, 1, 7) = '2023-03'
SELECT COUNT(*) FROM articles WHERE CAST(strftime('%Y', published_date) AS INTEGER) > 2022
SELECT COUNT(*) FROM articles WHERE strftime('%w', published_date) = '1'
SELECT COUNT(*) FROM articles WHERE strftime('%m', published_date) IN ('04', '12')
SELECT COUNT(*) FROM articles WHERE date(published_date) = '2023-03-31'
SELECT COUNT(*) FROM articles WHERE date(published_date) BETWEEN '2023-03-01' AND '2023-03-31'
SELECT title FROM articles WHERE published_date LIKE '2023-04%'
SELECT title FROM articles WHERE published_date BETWEEN '2023-03-01' AND '2023-03-31'
SELECT title FROM articles WHERE published_date > '2022' AND published_date <= '2023-03-31'
SELECT title FROM articles WHERE published_date < '2020'
SELECT title FROM articles WHERE article_category IN ('sports', 'travel') AND word_count > 200
SELECT title FROM articles WHERE article_category = 'sports' OR word_count < 100 OR title LIKE 'R%'
SELECT title FROM articles WHERE NOT (article_category = 'sports' OR word_count < 100)
SELECT title FROM articles WHERE article_category NOT IN ('sports') AND title NOT LIKE 'B%'
SELECT title FROM articles WHERE 300 <= word_count AND word_count BETWEEN 100 AND 500
SELECT title FROM articles WHERE authors IS NULL OR zip IS NOT NULL
SELECT title FROM articles WHERE is_open = 1 AND word_count = '450'
SELECT title FROM articles WHERE zip = 718
SELECT title FROM articles ORDER BY word_count DESC LIMIT 2
SELECT title FROM articles WHERE word_count = (SELECT MAX(word_count) FROM articles)
SELECT title FROM articles WHERE zip = '1' AND word_count = (SELECT MIN(word_count) FROM articles WHERE zip = '1')
SELECT 100.0 * SUM(article_category = 'sports') / COUNT(*) FROM articles
SELECT SUM(CASE WHEN article_category = 'sports' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) FROM articles
SELECT AVG(article_category = 'sports') FROM articles WHERE word_count > 100
SELECT AVG(CASE WHEN word_count > 200 THEN 100.0 ELSE 0 END) FROM articles
SELECT CAST(SUM(IIF(word_count > 200, 1, 0)) AS REAL) / COUNT(*) FROM articles
SELECT COUNT(CASE WHEN word_count > 200 THEN 1 END) * 100.0 / COUNT(*) FROM articles
SELECT article_category, 100.0 * SUM(word_count > 200) / COUNT(*) FROM articles GROUP BY article_category
SELECT o.customer, l.category FROM orders o JOIN line l ON l.order_id = o.id
SELECT l.id FROM line AS l, orders AS o WHERE l.order_id = o.id AND o.amount > 60
SELECT o.customer, COUNT(*) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.id
SELECT o.customer FROM orders o JOIN line l ON o.id = l.order_id GROUP BY o.customer ORDER BY COUNT(*) DESC LIMIT 1
SELECT COUNT(DISTINCT o.id) FROM orders o JOIN line l ON o.id = l.order_id WHERE l.category = 'paper'
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line WHERE category = 'paper')
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line)
SELECT customer FROM orders o WHERE EXISTS (SELECT 1 FROM line l WHERE l.order_id = o.id AND l.category = 'ink')
SELECT SUM(amount) FROM orders WHERE id IN (SELECT order_id FROM line WHERE category = 'paper')
SELECT id FROM odd_dates WHERE substr(eu, 7, 4) = '2023'
SELECT id FROM odd_dates WHERE substr(eu, 4, 7) = '05/2023'
SELECT id FROM odd_dates WHERE substr(eu, 7, 4) || '-' || substr(eu, 4, 2) || '-' || substr(eu, 1, 2) >= '2023-05-01'
SELECT substr(eu, 7, 4), COUNT(*) FROM odd_dates GROUP BY 1
SELECT id FROM odd_dates WHERE eu LIKE '%/2023'
SELECT id FROM odd_dates WHERE eu = '17/04/2023'
SELECT title FROM articles ORDER BY word_count DESC LIMIT 1 OFFSET 1
SELECT title FROM articles ORDER BY word_count LIMIT 3 OFFSET 2
SELECT title FROM articles WHERE word_count > (SELECT AVG(word_count) FROM articles)
SELECT COUNT(*) FROM articles WHERE (SELECT AVG(a.word_count) FROM articles a) >= word_count AND zip <> '1'
SELECT title FROM articles WHERE NOT (word_count < (SELECT AVG(word_count) FROM articles))
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line WHERE id < (SELECT AVG(id) FROM line))
SELECT julianday(updated_at) - julianday(created_at) FROM task
SELECT AVG(julianday(updated_at) - julianday(created_at)) FROM task
SELECT deleted, MAX(julianday(updated_at) - julianday(created_at)) FROM task GROUP BY deleted
SELECT id FROM task ORDER BY julianday(updated_at) - julianday(created_at) DESC LIMIT 1
SELECT id FROM task WHERE julianday(updated_at) - julianday(created_at) >= 1
SELECT id FROM task WHERE 24 < 24 * (julianday(updated_at) - julianday(created_at))
SELECT AVG(julianday({until} || ' ' || substr(until, 13, 5)) - julianday({iso} || ' ' || substr(seen, 13, 5))) FROM log
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line)
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line WHERE category = 'paper') AND amount < 300
SELECT COUNT(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM line l WHERE l.order_id = o.id AND l.category = 'ink')
SELECT DISTINCT zip FROM articles WHERE zip NOT IN (SELECT zip FROM articles WHERE word_count > 400 AND zip <> '')
SELECT id FROM log WHERE seen LIKE '% 2023 %'
SELECT id FROM log WHERE seen LIKE '% Apr 2023%'
SELECT id FROM log WHERE seen LIKE '02 May 2023 %'
SELECT substr(seen, 8, 4), COUNT(*) FROM log GROUP BY 1
SELECT id FROM log WHERE {iso} >= '2023-05-01'
SELECT id FROM log ORDER BY {iso} DESC LIMIT 2
SELECT COUNT(*) FROM log WHERE substr({iso}, 1, 7) = '2023-04'
SELECT (CAST(substr({iso}, 6, 2) AS INTEGER) + 2) / 3, COUNT(*) FROM log GROUP BY 1
SELECT "Full Name" FROM "Odd Table" WHERE "select" = 1
""".strip()
    .replace("{iso}", ISO)
    .replace("{until}", ISO.replace("seen", "until"))
    .splitlines()
)


WHOLES, BEYOND_WHOLES = (
    part.strip().splitlines()
    for part in (Path(__file__).parent / "wholes.sql").read_text().split("-- beyond sketches")
)


@pytest.mark.parametrize("statement", [*READ, *WHOLES])
def test_what_is_read_is_written_with_the_same_rows(statement, duck, lite):
    sketch = read(statement, CATALOG)
    assert sketch is not None
    written = duck.execute(check(write(sketch, CATALOG), CATALOG).text).fetchall()
    assert plain(written) == plain(lite.execute(statement).fetchall())


DUCKDB = [
    ("SELECT COUNT(*) FROM articles WHERE EXTRACT(YEAR FROM published_date) = 2023", 3),
    ("SELECT COUNT(*) FROM articles WHERE year(published_date) = 2023", 3),
    ("SELECT COUNT(*) FROM articles WHERE published_date >= DATE '2023-03-31'", 2),
    ("SELECT COUNT(*) FROM articles WHERE published_date::DATE <= DATE '2023-03-31'", 4),
    ("SELECT COUNT(*) FROM odd_dates WHERE native >= '2023-04-01' AND native < '2023-05-01'", 1),
    ("SELECT COUNT(*) FROM odd_dates WHERE date_part('month', eu) = 4", 1),
    ("SELECT COUNT(*) FROM articles WHERE lower(title) = 'goal'", 1),
]


@pytest.mark.parametrize(("statement", "count"), DUCKDB)
def test_duckdb_is_read_too(statement, count, duck):
    sketch = read(statement, CATALOG)
    assert sketch is not None
    assert duck.execute(check(write(sketch, CATALOG), CATALOG).text).fetchall() == [(count,)]


BEYOND = """
SELECT title FROM articles WHERE word_count > (SELECT AVG(word_count) FROM articles WHERE zip = '1')
SELECT title FROM articles WHERE word_count > (SELECT AVG(amount) FROM orders)
SELECT title FROM articles WHERE word_count > (SELECT AVG(x) FROM n)
SELECT title FROM articles UNION SELECT customer FROM orders
SELECT COUNT(*) FROM (SELECT authors FROM articles GROUP BY authors HAVING COUNT(*) = 1) WHERE authors <> 'x'
SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM articles GROUP BY authors)
SELECT COUNT(*) FROM (SELECT DISTINCT authors FROM articles)
WITH t AS (SELECT title, RANK() OVER (ORDER BY word_count) AS p FROM articles) SELECT title FROM t WHERE p <= 2
WITH t AS (SELECT title FROM articles), u AS (SELECT zip FROM articles) SELECT title FROM t
SELECT MAX(word_count) - AVG(word_count) FROM articles
SELECT MAX(word_count) - MIN(zip) FROM articles
SELECT MAX(published_date) - MIN(published_date) FROM articles
SELECT julianday(MAX(eu)) - julianday(MIN(eu)) FROM odd_dates
SELECT 100.0 * SUM(CASE WHEN zip = '1' THEN word_count ELSE 1 END) / SUM(word_count) FROM articles
SELECT SUM(CASE WHEN zip = '1' THEN word_count END) / SUM(word_count) FROM articles
SELECT title FROM articles WHERE zip = '1' INTERSECT SELECT title FROM articles WHERE article_category = 'sports'
SELECT title FROM articles WHERE zip = '1' INTERSECT SELECT title FROM articles WHERE zip = '1'
SELECT title FROM articles WHERE word_count > 1 INTERSECT SELECT title FROM articles WHERE word_count > 2
SELECT CASE WHEN word_count > 5 THEN 'a' ELSE 'b' END FROM articles
SELECT word_count * 2 FROM articles
SELECT ROUND(AVG(word_count), 1) FROM articles
SELECT COUNT(*) / 2 FROM articles
SELECT SUM(word_count > 5) / COUNT(*) FROM articles
SELECT SUM(word_count > 5) * 100 / COUNT(*) FROM articles
SELECT SUM(word_count > 5) FROM articles
SELECT title, ROW_NUMBER() OVER (ORDER BY word_count) FROM articles
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line) AND id NOT IN (SELECT order_id FROM line)
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line GROUP BY order_id HAVING COUNT(*) > 1)
SELECT customer FROM orders WHERE id NOT IN (SELECT id FROM line)
SELECT customer FROM orders WHERE amount > 60 OR id NOT IN (SELECT order_id FROM line)
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line GROUP BY order_id HAVING COUNT(*) > 1)
SELECT o.customer FROM orders o LEFT JOIN line l ON l.order_id = o.id
SELECT o.customer FROM orders o JOIN line l ON l.id = o.id
SELECT a.x FROM n a JOIN n b ON a.x = b.x
SELECT title FROM articles WHERE word_count = length(title)
SELECT title FROM articles WHERE (article_category = 'a' AND word_count = 1) OR word_count = 2
SELECT authors FROM articles ORDER BY authors
SELECT eu FROM odd_dates ORDER BY eu
SELECT id FROM log WHERE seen LIKE '%Apr%'
SELECT julianday(updated_at) - julianday(updated_at) FROM task
SELECT julianday(updated_at) + julianday(created_at) FROM task
SELECT 24 * (julianday(updated_at) - julianday(created_at)) FROM task
SELECT id FROM task WHERE julianday(updated_at) - julianday(created_at) > deleted
SELECT id FROM log WHERE seen LIKE '%20%'
SELECT id FROM log WHERE seen LIKE '2023%'
SELECT MAX(eu) FROM odd_dates
SELECT AVG(julianday(published_date)) FROM articles
SELECT titel FROM articles
SELECT title FROM articles WHERE published_date = '2023-04-17'
SELECT COUNT(*) FROM articles, n
not SQL at all
DROP TABLE articles
""".strip().splitlines()


@pytest.mark.parametrize("statement", [*BEYOND, *BEYOND_WHOLES])
def test_what_a_sketch_cannot_say_is_not_read(statement):
    assert read(statement, CATALOG) is None


def test_slots_of_a_sketch():
    category, count = Item(ARTICLE, "article_category"), Item(ARTICLE, None, "count")
    found = read(
        "SELECT article_category, COUNT(*) FROM articles WHERE strftime('%Y', published_date) = '2023' "
        "AND (zip = '1' OR authors IS NULL) GROUP BY 1 HAVING COUNT(*) > 2 ORDER BY 2 DESC LIMIT 3",
        CATALOG,
    )
    assert found == Sketch(
        ARTICLE,
        (category, count),
        filters=(
            (Predicate(ARTICLE, "published_date", ">=", "2023-01-01"),),
            (Predicate(ARTICLE, "published_date", "<", "2024-01-01"),),
            (Predicate(ARTICLE, "zip", "=", "1"), Predicate(ARTICLE, "authors", "null")),
        ),
        group=(category,),
        having=((count, ">", 2),),
        order=((count, True),),
        limit=3,
    )


def test_a_share_is_a_slot():
    found = read("SELECT AVG(article_category = 'sports') * 100 FROM articles", CATALOG)
    assert found == Sketch(ARTICLE, (), share=((Predicate(ARTICLE, "article_category", "=", "sports"),),))


def test_the_side_of_many_rows_is_the_table():
    found = read(
        "SELECT o.customer, COUNT(*) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.id", CATALOG
    )
    assert found is not None
    assert found.table == "line"
    assert found.select == (Item("orders", "customer"), Item("line", None, "count"))


def test_between_over_plain_dates_is_half_open_when_written():
    catalog = Catalog((Table("visit", ("id",), (integer("id"), day("seen", "%Y-%m-%d"), text("note"))),))
    sketch = read("SELECT id FROM visit WHERE seen BETWEEN '2024-03-01' AND '2024-03-31'", catalog)
    assert sketch is not None
    assert write(sketch, catalog).endswith("WHERE \"seen\" >= '2024-03-01' AND \"seen\" < '2024-04-01'")
