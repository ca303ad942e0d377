SELECT title FROM articles -- the plainest
select Title, WORD_COUNT from Articles -- letter case aside
SELECT * FROM articles -- every column
SELECT a.* FROM articles a -- every column of an alias
SELECT * EXCLUDE (full_content) FROM articles -- every column but one
SELECT title FROM articles; -- a trailing semicolon
SELECT title FROM main.articles -- the right schema
FROM articles SELECT title -- FROM first
SELECT COUNT(*) FROM articles -- a count
SELECT COUNT(DISTINCT authors) FROM articles -- distinct values
SELECT article_category, COUNT(*) FROM articles GROUP BY article_category -- groups
SELECT article_category, COUNT(*) AS n FROM articles GROUP BY 1 ORDER BY 2 DESC -- ordinals
SELECT article_category c, AVG(word_count) FROM articles GROUP BY c HAVING AVG(word_count) > 10 -- an alias in GROUP BY
SELECT article_category FROM articles GROUP BY ALL -- GROUP BY ALL
SELECT title, article_category, MAX(word_count) FROM articles GROUP BY article_category -- bare columns as in SQLite
SELECT title, COUNT(*) FROM articles -- a bare column beside an aggregate
SELECT strftime('%Y', published_date) AS y, COUNT(*) FROM articles GROUP BY y -- SQLite's strftime
SELECT strftime(published_date, '%Y') FROM articles -- DuckDB's strftime over text
SELECT date(published_date), datetime(published_date), time(published_date) FROM articles -- SQLite's date functions
SELECT title FROM articles WHERE published_date > date('now', '-6 months') -- modifiers
SELECT date('2023-01-31', '+1 month', 'start of month', '-1 day') -- several modifiers
SELECT julianday(published_date) - julianday('2023-01-01') FROM articles -- days between
SELECT unixepoch(published_date), strftime('%s', published_date) FROM articles -- seconds
SELECT title FROM articles WHERE published_date BETWEEN '2023-03-01' AND '2023-03-31' -- text between
SELECT title FROM articles WHERE published_date >= DATE '2023-03-01' AND published_date < DATE '2023-04-01' -- text against dates
SELECT title FROM articles WHERE EXTRACT(YEAR FROM published_date) = 2023 -- EXTRACT over text
SELECT date_trunc('month', published_date), COUNT(*) FROM articles GROUP BY ALL ORDER BY 1 -- date_trunc over text
SELECT year(published_date), month(published_date) FROM articles -- date parts over text
SELECT published_date::DATE FROM articles -- a DuckDB cast
SELECT strptime(published_date, '%Y-%m-%d %H:%M:%S') FROM articles -- strptime
SELECT date_diff('day', published_date, CURRENT_DATE) FROM articles -- a difference of text and date
SELECT title FROM articles WHERE published_date LIKE '2023%' -- a pattern over dates
SELECT id FROM odd_dates WHERE eu LIKE '2023-04%' -- an ISO pattern over other dates
SELECT id FROM odd_dates WHERE eu >= '2023-04-01' AND eu < '2023-05-01' -- ISO literals over other dates
SELECT id FROM odd_dates WHERE eu = '17/04/2023' -- a literal as stored
SELECT id FROM odd_dates WHERE eu BETWEEN '2023-01-01' AND '2023-12-31' -- between over other dates
SELECT id FROM odd_dates WHERE eu IN ('2023-04-17', '2023-05-01') -- a list over other dates
SELECT id FROM odd_dates WHERE mixed >= '2023-04-01' -- several formats in one column
SELECT id FROM odd_dates WHERE native >= '2023-04-01' AND native LIKE '2023%' -- native dates against text
SELECT id FROM odd_dates WHERE strftime('%Y', eu) = '2023' AND substr(eu, 7, 4) = '2023' -- slices as stored
SELECT substr(eu, 1, 4) FROM odd_dates -- a slice that means the year
SELECT eu + INTERVAL 1 MONTH FROM odd_dates -- arithmetic with text dates
SELECT title FROM articles WHERE article_category = "sports" -- double quotes around text
SELECT title FROM articles WHERE "article_category" = 'sports' -- double quotes around a name
SELECT `title` FROM `articles` -- backticks
SELECT [title] FROM [articles] -- brackets around names
SELECT title FROM articles WHERE title LIKE '%B_nk%' ESCAPE '\' -- LIKE with ESCAPE
SELECT title FROM articles WHERE title GLOB 'A*' -- GLOB
SELECT title FROM articles WHERE title = 'x' COLLATE NOCASE ORDER BY title COLLATE NOCASE -- a collation
SELECT title FROM articles WHERE authors IS NULL OR authors IS NOT 'x' -- IS with a value
SELECT title FROM articles WHERE authors ISNULL AND title NOTNULL -- SQLite's null tests
SELECT title FROM articles WHERE title == 'x' AND word_count != 3 -- SQLite's ==
SELECT word_count / 2, word_count / 2.0, 7 / 2, word_count % 3 FROM articles -- division
SELECT IFNULL(authors, 'nobody'), COALESCE(word_count, 'none') FROM articles -- mixed kinds
SELECT INSTR(title, 'a'), SUBSTR(title, 1, 3), title || '!' FROM articles -- text functions
SELECT GROUP_CONCAT(title), GROUP_CONCAT(title, '; '), TOTAL(word_count) FROM articles -- SQLite's aggregates
SELECT string_agg(DISTINCT article_category, ', ' ORDER BY article_category) FROM articles -- an ordered aggregate
SELECT printf('%.2f %d %s', word_count, word_count, title) FROM articles -- printf
SELECT MAX(word_count, 5), MIN(1, 2) FROM articles -- scalar MAX
SELECT IIF(word_count > 5, 'long', 'short'), CASE WHEN word_count > 5 THEN 1 ELSE 0 END FROM articles -- conditions
SELECT CAST(word_count AS REAL) / 3, CAST('12' AS INTEGER), CAST(2.7 AS INTEGER) FROM articles -- casts
SELECT SUM(article_category = 'sports') * 100.0 / COUNT(*), AVG(word_count > 5) FROM articles -- conditions as numbers
SELECT COUNT(*) FILTER (WHERE word_count > 5) FROM articles -- FILTER
SELECT COUNT(*) FROM articles WHERE word_count = '5' OR zip = 718 -- literals of another type
SELECT title FROM articles ORDER BY word_count DESC NULLS LAST LIMIT 3 OFFSET 1 -- a window of rows
SELECT title FROM articles LIMIT 2, 5 -- SQLite's LIMIT
SELECT title FROM articles LIMIT -1 -- no limit in SQLite
SELECT title FROM articles ORDER BY word_count FETCH FIRST 2 ROWS ONLY -- FETCH
SELECT DISTINCT article_category FROM articles ORDER BY 1 -- distinct
SELECT title, ROW_NUMBER() OVER (PARTITION BY article_category ORDER BY word_count DESC) FROM articles -- a window
SELECT title FROM articles QUALIFY RANK() OVER (ORDER BY word_count DESC) = 1 -- QUALIFY
SELECT SUM(word_count) OVER w FROM articles WINDOW w AS (PARTITION BY article_category) -- a named window
WITH t AS (SELECT article_category AS c, COUNT(*) AS k FROM articles GROUP BY 1) SELECT c FROM t WHERE k > 0 -- WITH
WITH a AS (SELECT x FROM n), b(y) AS (SELECT x FROM a) SELECT y FROM b -- WITH upon WITH
SELECT t.c FROM (SELECT article_category AS c FROM articles) AS t -- a subquery in FROM
SELECT title FROM articles WHERE word_count > (SELECT AVG(word_count) FROM articles) -- a scalar subquery
SELECT title FROM articles a WHERE EXISTS (SELECT 1 FROM articles b WHERE b.article_category = a.article_category) -- correlated
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line WHERE category = 'paper') -- IN a subquery
SELECT customer FROM orders WHERE id NOT IN (SELECT order_id FROM line) -- NOT IN a subquery
SELECT o.customer, l.category FROM orders o JOIN line l ON l.order_id = o.id -- a join
SELECT o.customer, COUNT(l.id) FROM orders o LEFT JOIN line l ON l.order_id = o.id GROUP BY o.id -- a left join
SELECT customer, category FROM orders, line WHERE orders.id = line.order_id -- a join in WHERE
SELECT a.x FROM n a JOIN n b USING (x) -- USING
SELECT COUNT(*) FROM n a, n b -- a small cross join
SELECT x FROM n UNION ALL SELECT 9 ORDER BY 1 -- a union
(SELECT x FROM n) UNION ALL (SELECT 9); -- a union of brackets
SELECT x FROM n INTERSECT SELECT 2 -- an intersection
SELECT x FROM n EXCEPT SELECT 2 -- a difference
VALUES (1, 'a'), (2, 'b') -- values alone
SELECT v.a FROM (VALUES (1), (2)) AS v(a) -- values as a source
SELECT i FROM range(12) AS r(i) -- numbers
SELECT m FROM generate_series(DATE '2023-01-01', DATE '2023-12-01', INTERVAL 1 MONTH) AS g(m) -- months
SELECT u FROM unnest([1, 2, 3]) AS t(u) -- a list
SELECT string_split(authors, ',')[1] FROM articles -- an element of a list
SELECT id, created_at, updated_at, deleted, "drop" FROM task -- names that contain forbidden words
/* insert coin */ WITH t AS (SELECT id, replace(note, 'delete', 'remove') AS n FROM task WHERE note LIKE '%delete; then update me -- now%') SELECT id, n FROM t -- truncate
SELECT 'DROP TABLE x; --' AS attach, note AS "insert" FROM task WHERE note <> 'COPY y TO z' -- forbidden words in strings
SELECT "Full Name", "select", "größe", "a""b" FROM "Odd Table" -- odd names
SELECT o."Full Name" FROM "Odd Table" AS o ORDER BY o."select" -- odd names through an alias
SELECT ((((((((((1)))))))))) -- many brackets
SELECT CURRENT_DATE, CURRENT_TIMESTAMP, date('now') -- now
SELECT lower(zip), length(word_count), upper(article_category) FROM articles -- text functions over numbers
SELECT name FROM city WHERE name = 'Geneva' -- a NOCASE column
SELECT levenshtein(title, 'x'), regexp_matches(title, '^A') FROM articles -- DuckDB's text functions
SELECT title FROM articles WHERE (article_category, word_count) IN (('sports', 5)) -- rows in a list
SELECT rowid, x FROM n -- the row's own number
SELECT title FROM articles WHERE is_open = 1 OR is_open = 'true' OR is_open -- a boolean
SELECT COUNT(*) FROM articles WHERE NOT (word_count > 5 AND title LIKE 'a%') OR word_count IS DISTINCT FROM 3 -- logic
SELECT median(word_count), stddev(word_count), quantile_cont(word_count, 0.9) FROM articles -- statistics
SELECT repeat('ab', 3), lpad(title, 10, ' ') FROM articles -- bounded text
