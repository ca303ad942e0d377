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
SELECT strftime(published_date, '%Y') FROM articles -- DuckDB's strftime over text [other rows than SQLite's]
SELECT date(published_date), datetime(published_date), time(published_date) FROM articles -- SQLite's date functions
SELECT title FROM articles WHERE published_date > date('now', '-6 months') -- modifiers
SELECT date('2023-01-31', '+1 month', 'start of month', '-1 day') -- several modifiers [other rows than SQLite's]
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
SELECT id FROM odd_dates WHERE eu LIKE '2023-04%' -- an ISO pattern over other dates [other rows than SQLite's]
SELECT id FROM odd_dates WHERE eu >= '2023-04-01' AND eu < '2023-05-01' -- ISO literals over other dates [other rows than SQLite's]
SELECT id FROM odd_dates WHERE eu = '17/04/2023' -- a literal as stored
SELECT id FROM odd_dates WHERE eu BETWEEN '2023-01-01' AND '2023-12-31' -- between over other dates [other rows than SQLite's]
SELECT id FROM odd_dates WHERE eu IN ('2023-04-17', '2023-05-01') -- a list over other dates [other rows than SQLite's]
SELECT id FROM odd_dates WHERE mixed >= '2023-04-01' -- several formats in one column
SELECT id FROM odd_dates WHERE native >= '2023-04-01' AND native LIKE '2023%' -- native dates against text
SELECT id FROM odd_dates WHERE strftime('%Y', eu) = '2023' AND substr(eu, 7, 4) = '2023' -- slices as stored [other rows than SQLite's]
SELECT substr(eu, 1, 4) FROM odd_dates -- a slice that means the year [other rows than SQLite's]
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
SELECT CURRENT_DATE, CURRENT_TIMESTAMP, date('now') -- now [other rows than SQLite's]
SELECT lower(zip), length(word_count), upper(article_category) FROM articles -- text functions over numbers
SELECT name FROM city WHERE name = 'Geneva' -- a NOCASE column
SELECT levenshtein(title, 'x'), regexp_matches(title, '^A') FROM articles -- DuckDB's text functions
SELECT title FROM articles WHERE (article_category, word_count) IN (('sports', 5)) -- rows in a list
SELECT rowid, x FROM n -- the row's own number
SELECT title FROM articles WHERE is_open = 1 OR is_open = 'true' OR is_open -- a boolean
SELECT COUNT(*) FROM articles WHERE NOT (word_count > 5 AND title LIKE 'a%') OR word_count IS DISTINCT FROM 3 -- logic
SELECT median(word_count), stddev(word_count), quantile_cont(word_count, 0.9) FROM articles -- statistics
SELECT repeat('ab', 3), lpad(title, 10, ' ') FROM articles -- bounded text
SELECT title, word_count FROM articles WHERE word_count > 200 AND article_category = 'business' -- two conditions
SELECT title FROM articles WHERE article_category IN ('sports', 'travel') ORDER BY title -- a list
SELECT title FROM articles WHERE article_category NOT IN ('sports') ORDER BY title -- a list negated
SELECT title FROM articles WHERE word_count BETWEEN 100 AND 400 ORDER BY word_count -- between
SELECT title FROM articles WHERE word_count NOT BETWEEN 100 AND 400 ORDER BY word_count -- between negated
SELECT title FROM articles WHERE title LIKE 'goal%' ORDER BY title -- LIKE without letter case
SELECT title FROM articles WHERE title NOT LIKE '%a%' -- LIKE negated
SELECT title FROM articles WHERE lower(title) LIKE '%goal%' ORDER BY title -- lower and LIKE
SELECT title FROM articles WHERE title LIKE '%o%' AND (word_count < 100 OR word_count > 400) -- brackets
SELECT title FROM articles WHERE authors IS NULL -- a null
SELECT title FROM articles WHERE authors IS NOT NULL ORDER BY title -- no null
SELECT COUNT(*) - COUNT(authors) AS missing FROM articles -- nulls counted
SELECT COUNT(authors) * 1.0 / COUNT(*) FROM articles -- a share of nulls
SELECT title AS "the title", word_count AS 'words' FROM articles ORDER BY title -- aliases in quotes
SELECT title t FROM articles ORDER BY t DESC -- an alias without AS
SELECT DISTINCT article_category, is_open FROM articles ORDER BY 1, 2 -- distinct pairs
SELECT COUNT(DISTINCT article_category) AS n FROM articles -- distinct counted
SELECT MIN(word_count), MAX(word_count), SUM(word_count), AVG(word_count) FROM articles -- the usual aggregates
SELECT ROUND(AVG(word_count), 2) FROM articles -- a rounded mean
SELECT ROUND(AVG(word_count)) FROM articles -- rounded to a whole number
SELECT SUM(word_count) / COUNT(*) FROM articles -- a mean by whole numbers
SELECT CAST(SUM(word_count) AS FLOAT) / COUNT(*) FROM articles -- a mean by a cast
SELECT 1.0 * SUM(word_count) / COUNT(*) AS mean FROM articles -- a mean by 1.0
SELECT MAX(word_count) - MIN(word_count) AS spread FROM articles -- a difference of aggregates
SELECT article_category, COUNT(*) AS n FROM articles GROUP BY article_category ORDER BY n DESC, article_category -- groups in order
SELECT article_category, COUNT(*) FROM articles GROUP BY article_category HAVING COUNT(*) > 1 ORDER BY 1 -- HAVING
SELECT article_category, SUM(word_count) AS total FROM articles GROUP BY 1 HAVING total > 400 ORDER BY total -- HAVING by an alias
SELECT article_category, AVG(word_count) FROM articles WHERE word_count > 100 GROUP BY article_category ORDER BY AVG(word_count) DESC -- an aggregate in ORDER BY
SELECT article_category FROM articles GROUP BY article_category ORDER BY COUNT(*) DESC, article_category LIMIT 1 -- the commonest
SELECT article_category, is_open, COUNT(*) FROM articles GROUP BY article_category, is_open ORDER BY 1, 2 -- two keys
SELECT is_open, COUNT(*) FROM articles GROUP BY is_open ORDER BY is_open -- a boolean as a key
SELECT article_category, MAX(word_count), title FROM articles GROUP BY article_category ORDER BY article_category -- the row of the largest
SELECT title, MIN(word_count) FROM articles -- the row of the smallest
SELECT article_category, GROUP_CONCAT(title, ', ') FROM (SELECT * FROM articles ORDER BY title) GROUP BY article_category ORDER BY 1 -- an ordered GROUP_CONCAT
SELECT GROUP_CONCAT(DISTINCT article_category) FROM (SELECT article_category FROM articles ORDER BY 1) -- a distinct GROUP_CONCAT
SELECT strftime('%Y', published_date) AS year, COUNT(*) FROM articles GROUP BY year ORDER BY year -- per year
SELECT strftime('%Y-%m', published_date) AS month, COUNT(*) FROM articles GROUP BY 1 ORDER BY 1 -- per month
SELECT strftime('%m', published_date) AS m, AVG(word_count) FROM articles GROUP BY m ORDER BY m -- per month of any year
SELECT strftime('%d/%m/%Y', published_date) FROM articles ORDER BY title -- a written date
SELECT strftime('%H:%M', published_date) FROM articles ORDER BY title -- a written time
SELECT strftime('%w', published_date) AS weekday, COUNT(*) FROM articles GROUP BY weekday ORDER BY weekday -- per weekday
SELECT strftime('%j', published_date) FROM articles ORDER BY title -- the day of the year
SELECT CAST(strftime('%Y', published_date) AS INTEGER) AS y FROM articles ORDER BY y -- a year as a number
SELECT title FROM articles WHERE strftime('%Y', published_date) = '2023' ORDER BY title -- a year as text
SELECT title FROM articles WHERE CAST(strftime('%m', published_date) AS INTEGER) = 3 -- a month as a number
SELECT title FROM articles WHERE strftime('%Y-%m', published_date) BETWEEN '2023-01' AND '2023-03' ORDER BY title -- months as text
SELECT title FROM articles WHERE date(published_date) = '2023-04-17' -- one day
SELECT title FROM articles WHERE date(published_date) BETWEEN '2023-01-01' AND '2023-03-31' ORDER BY title -- a quarter
SELECT title FROM articles WHERE published_date >= '2023-01-01' AND published_date < '2024-01-01' ORDER BY title -- a year as bounds
SELECT title FROM articles WHERE published_date LIKE '2023-03%' -- a month as a pattern
SELECT title FROM articles WHERE substr(published_date, 1, 4) = '2023' ORDER BY title -- a year as a slice
SELECT substr(published_date, 1, 7) AS month, COUNT(*) FROM articles GROUP BY month ORDER BY month -- a month as a slice
SELECT title FROM articles WHERE published_date = (SELECT MAX(published_date) FROM articles) -- the latest
SELECT title FROM articles ORDER BY published_date DESC LIMIT 1 -- the latest by order
SELECT title FROM articles ORDER BY date(published_date), title LIMIT 2 -- the earliest by day
SELECT MIN(published_date), MAX(published_date) FROM articles -- the first and last moment
SELECT date(MAX(published_date)) FROM articles -- the day of the last
SELECT julianday('2023-04-17') - julianday('2023-01-01') -- days between two texts
SELECT CAST(julianday('2023-04-17') - julianday('2023-01-01') AS INTEGER) AS days -- whole days between
SELECT title, CAST(julianday('2024-01-01') - julianday(published_date) AS INTEGER) AS days FROM articles ORDER BY days -- days since
SELECT (julianday('2023-04-17 12:00:00') - julianday('2023-04-17 06:00:00')) * 24 -- hours between
SELECT date('2023-01-31', '+1 day'), date('2023-01-31', '-1 month'), date('2023-03-15', 'start of month') -- dates shifted
SELECT date('2023-02-10', 'start of month', '+1 month', '-1 day') -- the last day of a month
SELECT date('2023-06-15', 'start of year') -- the first day of a year
SELECT datetime('2023-04-17 06:00:00', '+90 minutes') -- a moment shifted
SELECT datetime('2023-04-17'), time('2023-04-17 06:30:00') -- a moment and a time
SELECT strftime('%s', '2023-04-17 00:00:00') -- seconds as text
SELECT datetime(1681689600, 'unixepoch') -- a moment from seconds
SELECT date(published_date, '+1 month') FROM articles ORDER BY title -- a column shifted [other rows than SQLite's]
SELECT title FROM articles WHERE published_date < date('2023-04-01', '-1 month') ORDER BY title -- compared with a shifted date
SELECT id FROM odd_dates WHERE native > '2023-01-01' ORDER BY id -- a native date against text
SELECT strftime('%Y', native) AS y, COUNT(*) FROM odd_dates GROUP BY y ORDER BY y -- a native date per year
SELECT created_at, updated_at FROM task WHERE updated_at > created_at ORDER BY id -- two dates compared
SELECT id, julianday(updated_at) - julianday(created_at) AS days FROM task ORDER BY id -- the days between two columns
SELECT id FROM task WHERE created_at BETWEEN '2024-05-01' AND '2024-05-31' -- a month of days
SELECT AVG(julianday(updated_at) - julianday(created_at)) FROM task -- a mean of days
SELECT o.customer, l.category FROM orders o JOIN line l ON o.id = l.order_id ORDER BY l.id -- a join
SELECT o.customer, l.category FROM orders AS o INNER JOIN line AS l ON o.id = l.order_id WHERE l.category = 'ink' -- an inner join
SELECT customer, COUNT(*) AS n FROM orders JOIN line ON orders.id = line.order_id GROUP BY customer ORDER BY n DESC, customer -- a join grouped
SELECT o.customer, COUNT(l.id) AS n FROM orders o LEFT JOIN line l ON o.id = l.order_id GROUP BY o.id, o.customer ORDER BY n DESC, 1 -- a left join grouped
SELECT o.customer FROM orders o LEFT JOIN line l ON o.id = l.order_id AND l.category = 'ink' WHERE l.id IS NULL ORDER BY 1 -- an anti join
SELECT o.customer FROM orders o LEFT OUTER JOIN line l ON o.id = l.order_id GROUP BY o.customer ORDER BY o.customer -- a left outer join
SELECT l.id, o.customer FROM line l JOIN orders o ON l.order_id = o.id WHERE o.amount > 60 ORDER BY l.id -- the other way round
SELECT o.*, l.category FROM orders o JOIN line l ON o.id = l.order_id ORDER BY l.id -- a star of one table
SELECT * FROM orders o JOIN line l ON o.id = l.order_id ORDER BY l.id -- a star of both
SELECT * FROM orders, line WHERE orders.id = line.order_id ORDER BY line.id -- a join by commas
SELECT DISTINCT customer FROM orders, line WHERE orders.id = order_id AND category = 'paper' ORDER BY customer -- columns without their table
SELECT a.customer, b.customer FROM orders a JOIN orders b ON a.amount < b.amount ORDER BY 1, 2 -- a self join
SELECT a.customer, b.customer FROM orders a, orders b WHERE a.id < b.id ORDER BY 1, 2 -- pairs
SELECT o.customer, SUM(o.amount) FROM orders o GROUP BY o.customer HAVING SUM(o.amount) >= 100 ORDER BY 2 DESC -- sums that pass a bound
SELECT customer FROM orders WHERE id IN (SELECT order_id FROM line GROUP BY order_id HAVING COUNT(*) >= 2) -- IN a grouped subquery
SELECT customer FROM orders o WHERE EXISTS (SELECT 1 FROM line l WHERE l.order_id = o.id AND l.category = 'ink') -- EXISTS
SELECT customer FROM orders o WHERE NOT EXISTS (SELECT * FROM line l WHERE l.order_id = o.id AND l.category = 'ink') ORDER BY 1 -- NOT EXISTS
SELECT customer, (SELECT COUNT(*) FROM line l WHERE l.order_id = o.id) AS n FROM orders o ORDER BY o.id -- a correlated count
SELECT customer FROM orders o WHERE (SELECT COUNT(*) FROM line l WHERE l.order_id = o.id) > 1 -- a correlated condition
SELECT customer FROM orders WHERE amount = (SELECT MAX(amount) FROM orders) -- the largest
SELECT customer FROM orders WHERE amount > (SELECT AVG(amount) FROM orders) ORDER BY 1 -- above the mean
SELECT title, word_count FROM articles a WHERE word_count = (SELECT MAX(word_count) FROM articles b WHERE b.article_category = a.article_category) ORDER BY title -- the largest of each group
SELECT AVG(n) FROM (SELECT order_id, COUNT(*) AS n FROM line GROUP BY order_id) -- a mean of counts
SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM articles GROUP BY article_category) AS t -- the largest count
SELECT t.article_category, t.n FROM (SELECT article_category, COUNT(*) AS n FROM articles GROUP BY article_category) t WHERE t.n = 2 ORDER BY 1 -- a subquery filtered
SELECT (SELECT COUNT(*) FROM articles) AS a, (SELECT COUNT(*) FROM orders) AS o -- two counts
SELECT (SELECT COUNT(*) FROM articles WHERE article_category = 'sports') * 100.0 / (SELECT COUNT(*) FROM articles) -- a share by subqueries
SELECT COUNT(*) FROM (SELECT DISTINCT article_category FROM articles) -- distinct rows counted
SELECT customer FROM orders WHERE id = (SELECT order_id FROM line WHERE category = 'ink') -- one key from a subquery
SELECT title FROM articles WHERE word_count >= (SELECT word_count FROM articles WHERE title = 'Bank run') ORDER BY title -- as much as another row
WITH big AS (SELECT * FROM articles WHERE word_count > 200) SELECT COUNT(*) FROM big -- WITH
WITH c AS (SELECT article_category, COUNT(*) AS n FROM articles GROUP BY article_category) SELECT article_category FROM c WHERE n = (SELECT MAX(n) FROM c) ORDER BY 1 -- WITH read twice
WITH a AS (SELECT order_id, COUNT(*) AS n FROM line GROUP BY order_id), b AS (SELECT MAX(n) AS most FROM a) SELECT order_id FROM a, b WHERE a.n = b.most -- WITH upon WITH
WITH y AS (SELECT strftime('%Y', published_date) AS year, SUM(word_count) AS words FROM articles GROUP BY 1) SELECT year, words, words * 100.0 / (SELECT SUM(words) FROM y) AS share FROM y ORDER BY year -- shares by WITH
WITH t(a, b) AS (VALUES (1, 'x'), (2, 'y')) SELECT b FROM t WHERE a = 2 -- WITH of values
WITH ranked AS (SELECT title, article_category, ROW_NUMBER() OVER (PARTITION BY article_category ORDER BY word_count DESC) AS r FROM articles) SELECT article_category, title FROM ranked WHERE r = 1 ORDER BY 1 -- the first of each group
SELECT title, RANK() OVER (ORDER BY word_count DESC) AS r FROM articles ORDER BY r -- ranks
SELECT title, DENSE_RANK() OVER (ORDER BY article_category) AS r FROM articles ORDER BY r, title -- dense ranks
SELECT title, SUM(word_count) OVER (ORDER BY published_date) AS running FROM articles ORDER BY published_date -- a running total
SELECT title, SUM(word_count) OVER (ORDER BY published_date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM articles ORDER BY published_date -- a moving sum
SELECT title, AVG(word_count) OVER (PARTITION BY article_category) FROM articles ORDER BY title -- a mean beside each row
SELECT title, word_count - LAG(word_count) OVER (ORDER BY published_date) AS change FROM articles ORDER BY published_date -- a change from the last
SELECT title, LEAD(title) OVER (ORDER BY published_date) FROM articles ORDER BY published_date -- the next row
SELECT title, LAG(word_count, 1, 0) OVER (ORDER BY published_date) FROM articles ORDER BY published_date -- a default for the first
SELECT title, COUNT(*) OVER () AS n FROM articles ORDER BY title -- a count beside each row
SELECT title, NTILE(2) OVER (ORDER BY word_count) FROM articles ORDER BY word_count -- halves
SELECT title, FIRST_VALUE(title) OVER (PARTITION BY article_category ORDER BY word_count) FROM articles ORDER BY title -- the first of a window
SELECT article_category, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM articles GROUP BY article_category ORDER BY 1 -- a window over groups
SELECT title, SUM(word_count) FILTER (WHERE is_open) OVER (ORDER BY title) FROM articles ORDER BY title -- FILTER in a window
SELECT title, word_count, PERCENT_RANK() OVER (ORDER BY word_count) FROM articles ORDER BY word_count -- percent ranks
SELECT title, RANK() OVER w, SUM(word_count) OVER w FROM articles WINDOW w AS (ORDER BY word_count) ORDER BY word_count -- a named window
SELECT title FROM articles WHERE article_category = 'sports' UNION SELECT title FROM articles WHERE word_count > 400 ORDER BY title -- a union
SELECT article_category FROM articles UNION ALL SELECT category FROM line ORDER BY 1 -- a union of all
SELECT order_id FROM line INTERSECT SELECT id FROM orders WHERE amount > 60 ORDER BY 1 -- an intersection
SELECT id FROM orders EXCEPT SELECT order_id FROM line WHERE category = 'paper' -- a difference
SELECT 'articles' AS kind, COUNT(*) AS n FROM articles UNION ALL SELECT 'orders', COUNT(*) FROM orders ORDER BY kind -- counts one under the other
SELECT x FROM n UNION SELECT x + 2 FROM n ORDER BY x DESC LIMIT 3 -- a union cut
SELECT COUNT(*) FROM (SELECT x FROM n UNION ALL SELECT x FROM n) -- a union counted
SELECT title, CASE WHEN word_count > 400 THEN 'long' WHEN word_count > 200 THEN 'middle' ELSE 'short' END AS size FROM articles ORDER BY title -- CASE
SELECT CASE article_category WHEN 'sports' THEN 'S' WHEN 'travel' THEN 'T' END AS c, COUNT(*) FROM articles GROUP BY c ORDER BY c -- CASE of a value
SELECT SUM(CASE WHEN is_open THEN 1 ELSE 0 END), SUM(CASE WHEN NOT is_open THEN 1 ELSE 0 END) FROM articles -- counts by CASE
SELECT article_category, SUM(CASE WHEN word_count > 200 THEN 1 END) AS long FROM articles GROUP BY 1 ORDER BY 1 -- CASE without ELSE
SELECT COUNT(CASE WHEN article_category = 'sports' THEN 1 END) * 100.0 / COUNT(*) FROM articles -- a share by CASE
SELECT ROUND(100.0 * SUM(article_category = 'sports') / COUNT(*), 1) FROM articles -- a share by a condition
SELECT title FROM articles ORDER BY CASE article_category WHEN 'travel' THEN 0 ELSE 1 END, title -- CASE in ORDER BY
SELECT title, IIF(word_count > 200, 'long', 'short') FROM articles ORDER BY title -- IIF
SELECT title, IFNULL(authors, 'nobody') FROM articles ORDER BY title -- IFNULL
SELECT title, COALESCE(authors, zip, '?') FROM articles ORDER BY title -- COALESCE
SELECT NULLIF(article_category, 'sports') FROM articles ORDER BY title -- NULLIF
SELECT COUNT(*) FILTER (WHERE is_open), COUNT(*) FILTER (WHERE article_category = 'sports') FROM articles -- FILTER
SELECT AVG(word_count) FILTER (WHERE article_category = 'business') FROM articles -- FILTER on a mean
SELECT UPPER(title), LOWER(title), LENGTH(title) FROM articles ORDER BY title -- letters
SELECT title || ' (' || article_category || ')' FROM articles ORDER BY title -- texts joined
SELECT title || ': ' || word_count FROM articles ORDER BY title -- text and number joined
SELECT SUBSTR(title, 1, 3), SUBSTR(title, -3), SUBSTR(title, 2) FROM articles ORDER BY title -- slices
SELECT SUBSTRING(title, 1, 4) FROM articles ORDER BY title -- a slice by its long name
SELECT REPLACE(title, 'Goal', 'Score'), TRIM('  x '), LTRIM('xxa', 'x'), RTRIM('axx', 'x') FROM articles ORDER BY title -- trimmed and replaced
SELECT INSTR(title, 'a'), INSTR(authors, ',') FROM articles ORDER BY title -- positions
SELECT title FROM articles WHERE INSTR(authors, 'Bo') > 0 ORDER BY title -- a position as a condition
SELECT SUBSTR(authors, 1, INSTR(authors, ' ') - 1) FROM articles ORDER BY title -- the first word
SELECT title FROM articles WHERE LENGTH(title) > 5 ORDER BY LENGTH(title) DESC, title -- by length
SELECT printf('%.1f', AVG(word_count)) FROM articles -- a mean as text
SELECT printf('%05d', word_count) FROM articles ORDER BY title -- padded with zeros
SELECT printf('%s has %d words', title, word_count) FROM articles ORDER BY title -- a sentence
SELECT HEX('abc'), UNICODE('a'), CHAR(97, 98) -- codes
SELECT ABS(-3), ABS(word_count - 300) FROM articles ORDER BY title -- without sign
SELECT ROUND(2.5), ROUND(3.14159, 2), ROUND(-2.5) -- rounded
SELECT CAST('12' AS INTEGER) + 1, CAST(3.9 AS INTEGER), CAST(5 AS TEXT) || 'x' -- casts
SELECT CAST(word_count AS REAL) / 7 FROM articles ORDER BY title -- a fraction by a cast
SELECT word_count / 7, word_count % 7, word_count * 2 - 1, -word_count FROM articles ORDER BY title -- arithmetic
SELECT 7 / 2, 7 / 2.0, 7 % 3, 2 + 3 * 4, (2 + 3) * 4 -- arithmetic of literals
SELECT word_count / 0, 5 % 0 FROM articles -- division by zero
SELECT MAX(word_count, 200), MIN(word_count, 200) FROM articles ORDER BY title -- the larger of two
SELECT title FROM articles WHERE word_count & 1 = 0 ORDER BY title -- bits
SELECT title FROM articles WHERE word_count = '300' -- a number against text
SELECT title FROM articles WHERE zip = 718 OR zip = '718' ORDER BY title -- text against a number
SELECT title FROM articles WHERE zip = '00718' -- text with zeros before it
SELECT zip, COUNT(*) FROM articles GROUP BY zip ORDER BY zip -- nulls as a group, first
SELECT title FROM articles ORDER BY authors, title -- nulls first
SELECT title FROM articles ORDER BY authors DESC, title -- nulls last, descending
SELECT title FROM articles ORDER BY authors IS NULL, authors, title -- nulls last by a condition
SELECT title FROM articles ORDER BY authors NULLS LAST, title -- nulls last
SELECT title FROM articles ORDER BY word_count DESC LIMIT 2 -- the largest two
SELECT title FROM articles ORDER BY word_count LIMIT 2 OFFSET 1 -- from the second
SELECT title FROM articles ORDER BY 1 LIMIT 10 -- more than there are
SELECT title, word_count FROM articles ORDER BY 2 DESC, 1 ASC -- ordinals
SELECT title FROM articles ORDER BY LENGTH(title), title -- an expression in ORDER BY
SELECT title FROM articles ORDER BY word_count * -1 -- an expression with a sign
SELECT title FROM articles WHERE article_category = "business" ORDER BY title -- double quotes around a text
SELECT title FROM articles WHERE article_category IN ("sports", "travel") ORDER BY title -- double quotes in a list
SELECT title FROM articles WHERE title LIKE "%goal%" ORDER BY title -- double quotes around a pattern
SELECT COUNT(*) FROM articles WHERE article_category != "sports" -- double quotes beside !=
SELECT title FROM articles WHERE is_open = 1 ORDER BY title -- a boolean as 1
SELECT title FROM articles WHERE is_open = 0 ORDER BY title -- a boolean as 0
SELECT title FROM articles WHERE is_open ORDER BY title -- a boolean alone
SELECT title FROM articles WHERE NOT is_open ORDER BY title -- a boolean negated
SELECT SUM(is_open), AVG(is_open) FROM articles -- a boolean summed
SELECT title FROM articles WHERE is_open IS TRUE ORDER BY title -- IS TRUE
SELECT title FROM articles WHERE (article_category = 'sports') = TRUE ORDER BY title -- a condition compared
SELECT name FROM city WHERE name = 'geneva' ORDER BY id -- a column without letter case
SELECT COUNT(*) FROM city WHERE name IN ('Geneva', 'x') -- a list without letter case
SELECT title FROM articles WHERE title = 'bank run' COLLATE NOCASE -- a comparison without letter case
SELECT title FROM articles ORDER BY title COLLATE NOCASE DESC -- an order without letter case
SELECT title FROM articles WHERE title GLOB '*oal*' ORDER BY title -- a glob
SELECT title FROM articles WHERE title LIKE '%\_%' ESCAPE '\' -- an escaped pattern
SELECT COUNT(*) FROM articles WHERE 1 = 1 -- a condition that is always true
SELECT COUNT(*) FROM articles WHERE word_count > 200 AND 1 -- a number as a condition
SELECT title FROM articles WHERE article_category = 'none' -- nothing found
SELECT COUNT(*), SUM(word_count), MAX(title) FROM articles WHERE article_category = 'none' -- aggregates of nothing
SELECT TOTAL(word_count) FROM articles WHERE article_category = 'none' -- a total of nothing
SELECT SUM(amount), AVG(amount), MAX(amount) FROM orders -- fractions
SELECT customer, amount * 1.21 AS gross FROM orders ORDER BY id -- a rate
SELECT ROUND(SUM(amount) / (SELECT COUNT(*) FROM orders), 2) FROM orders -- a mean by a subquery
SELECT "Full Name" FROM "Odd Table" WHERE "select" = 1 -- names that need quotes
SELECT [Full Name], `größe` FROM [Odd Table] -- names in brackets and backticks
SELECT t."größe" + 1 FROM "Odd Table" t -- a name with an umlaut
SELECT rowid, x FROM n ORDER BY rowid -- the row's number
SELECT COUNT(rowid) FROM n -- rows counted by their number
SELECT o.customer, l.n FROM orders o JOIN (SELECT order_id, COUNT(*) AS n FROM line GROUP BY order_id) l ON l.order_id = o.id ORDER BY o.id -- a join with a subquery
SELECT o.customer FROM orders o JOIN line l ON l.order_id = o.id WHERE l.category = 'paper' GROUP BY o.customer HAVING COUNT(*) = (SELECT MAX(c) FROM (SELECT COUNT(*) AS c FROM line WHERE category = 'paper' GROUP BY order_id)) -- the most of a kind
SELECT o.customer FROM orders o WHERE o.id IN (SELECT order_id FROM line WHERE category = 'paper') AND o.id NOT IN (SELECT order_id FROM line WHERE category = 'ink') ORDER BY 1 -- one and not the other
SELECT category, COUNT(DISTINCT order_id) FROM line GROUP BY category ORDER BY category -- distinct orders of each
SELECT o.id, o.customer, MAX(l.id) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.id ORDER BY o.id -- a key that decides the rest
SELECT customer, amount FROM orders GROUP BY customer ORDER BY customer -- a bare column that each group has once
SELECT COUNT(*) FROM orders CROSS JOIN n -- a small cross join
SELECT * FROM n JOIN (SELECT 2 AS x) t USING (x) -- USING a subquery
SELECT a.x, b.x FROM n a LEFT JOIN n b ON b.x = a.x + 1 ORDER BY a.x -- the next number
SELECT x, (SELECT SUM(x) FROM n b WHERE b.x <= a.x) AS running FROM n a ORDER BY x -- a running total by a subquery
SELECT x, x IN (SELECT order_id FROM line) AS has FROM n ORDER BY x -- IN as a value
SELECT x, x BETWEEN 2 AND 3, x IS NULL, x <> 2, x LIKE '1' FROM n ORDER BY x -- conditions as values
SELECT EXISTS (SELECT 1 FROM n WHERE x = 2), EXISTS (SELECT 1 FROM n WHERE x = 9) -- EXISTS as a value
SELECT * FROM (SELECT title FROM articles ORDER BY word_count DESC LIMIT 3) ORDER BY title -- the largest three by name
SELECT title FROM articles WHERE word_count IN (SELECT MAX(word_count) FROM articles GROUP BY article_category) ORDER BY title -- the largest of each group by IN
SELECT article_category, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM articles) AS percent FROM articles GROUP BY article_category ORDER BY percent DESC, 1 -- percents
SELECT title FROM articles WHERE (word_count, article_category) IN (SELECT MAX(word_count), article_category FROM articles GROUP BY article_category) ORDER BY title -- pairs in a subquery
SELECT title, authors FROM articles WHERE authors LIKE '%,%' -- several authors
SELECT LENGTH(authors) - LENGTH(REPLACE(authors, ',', '')) + 1 AS n, title FROM articles WHERE authors IS NOT NULL ORDER BY title -- authors counted
SELECT MAX(LENGTH(title)), MIN(LENGTH(title)) FROM articles -- lengths
SELECT title FROM articles WHERE LENGTH(title) = (SELECT MAX(LENGTH(title)) FROM articles) -- the longest title
SELECT COUNT(*) FROM articles WHERE title LIKE '_oal%' -- one character of any kind
SELECT typeof(word_count) FROM articles LIMIT 0 -- no rows wanted
SELECT id FROM odd_dates WHERE eu = '17/04/2023' OR mixed = '2022-12-31' ORDER BY id -- dates as stored
SELECT id FROM odd_dates WHERE native BETWEEN '2023-01-01' AND '2023-04-30' -- native dates between
SELECT MAX(native) FROM odd_dates -- the latest native date
SELECT id FROM odd_dates ORDER BY native DESC LIMIT 1 -- the latest by order
SELECT id FROM task WHERE deleted = 0 AND note LIKE '%update%' -- forbidden words in a pattern
SELECT "drop", COUNT(*) FROM task GROUP BY "drop" ORDER BY 1 -- a forbidden word as a name
SELECT title FROM articles WHERE title IN (SELECT title FROM articles WHERE is_open) AND title NOT IN (SELECT title FROM articles WHERE article_category = 'business') ORDER BY 1 -- two lists
SELECT article_category, MAX(published_date) FROM articles GROUP BY article_category ORDER BY 2 DESC -- the latest of each
SELECT strftime('%Y', published_date) y, article_category c, COUNT(*) n FROM articles GROUP BY y, c ORDER BY y, c -- two keys by alias
SELECT COUNT(DISTINCT strftime('%Y', published_date)) FROM articles -- distinct years
SELECT COUNT(DISTINCT date(published_date)) FROM articles -- distinct days
SELECT CAST(strftime('%Y', MAX(published_date)) AS INTEGER) - CAST(strftime('%Y', MIN(published_date)) AS INTEGER) FROM articles -- the span in years
SELECT (strftime('%m', published_date) + 2) / 3 AS quarter, COUNT(*) FROM articles GROUP BY quarter ORDER BY quarter -- quarters by arithmetic
SELECT title FROM articles WHERE strftime('%H', published_date) < '12' ORDER BY title -- in the morning
SELECT title FROM articles WHERE strftime('%w', published_date) IN ('0', '6') ORDER BY title -- at the weekend
SELECT title FROM articles WHERE time(published_date) >= '12:00:00' ORDER BY title -- after noon
SELECT COUNT(*) FROM articles WHERE published_date > datetime('2023-01-01', '+1 year') -- a moment shifted by a year
SELECT title FROM articles a WHERE 2 > (SELECT COUNT(*) FROM articles b WHERE b.article_category = a.article_category AND b.word_count > a.word_count) ORDER BY title -- the first two of each group
SELECT SUM(x) AS s, COUNT(*) AS c, SUM(x) * 1.0 / COUNT(*) AS m FROM n WHERE x IN (1, 2, 3) -- three aggregates
SELECT AVG(x * x) - AVG(x) * AVG(x) FROM n -- a variance by hand
SELECT MAX(x) FROM n WHERE x < (SELECT MAX(x) FROM n) -- the second largest
SELECT DISTINCT x FROM n ORDER BY x DESC LIMIT 1 OFFSET 1 -- the second by order
SELECT x FROM n WHERE x % 2 = 1 ORDER BY x -- odd numbers
SELECT x, CASE WHEN x % 2 = 0 THEN 'even' ELSE 'odd' END FROM n ORDER BY x -- even and odd
SELECT -x, +x, x - -1 FROM n ORDER BY x -- signs
SELECT 1 + 1 AS two, 'a' AS letter, NULL AS nothing -- literals
SELECT COALESCE(NULL, NULL, 'x'), NULL IS NULL, NULL = NULL -- nulls
SELECT 'naïve café', 'größe', '東京', '🙂' -- letters of all kinds
SELECT title FROM articles WHERE title = 'Zürich' OR title = '東京' -- letters of all kinds compared
SELECT   title   FROM   articles   WHERE   word_count>200   ORDER   BY   title -- spaces
SELECT(title)FROM(articles)WHERE(word_count>200)ORDER BY(title) -- no spaces
(SELECT title FROM articles ORDER BY title LIMIT 2) -- brackets around it all
SELECT * FROM (orders) ORDER BY id -- brackets around a table
SELECT o.customer, l.category FROM (orders o JOIN line l ON l.order_id = o.id) ORDER BY l.id -- brackets around a join
SELECT title FROM articles NOT INDEXED ORDER BY title -- a hint of SQLite's
SELECT ALL title FROM articles ORDER BY title -- ALL
SELECT title FROM articles WHERE title = 'a' -- 'b' -- a comment with quotes at the end
SELECT x AS "getenv('HOME')", x AS "a""; DROP TABLE n; --" FROM n ORDER BY x -- aliases that look like attacks
WITH read_csv AS (SELECT x FROM n) SELECT x FROM read_csv ORDER BY x -- a WITH query named like a function
SELECT title FROM articles WHERE authors = 'Ada Lund' OR authors LIKE 'Ada Lund,%' OR authors LIKE '%, Ada Lund' ORDER BY title -- a name in a list of names
SELECT article_category, AVG(word_count) AS mean FROM articles GROUP BY article_category HAVING mean > (SELECT AVG(word_count) FROM articles) -- above the overall mean
SELECT (SELECT title FROM articles ORDER BY word_count DESC LIMIT 1) AS longest, (SELECT title FROM articles ORDER BY word_count LIMIT 1) AS shortest -- the longest and the shortest
SELECT l.category, SUM(o.amount) FROM line l JOIN orders o ON o.id = l.order_id GROUP BY l.category ORDER BY 2 DESC -- a sum over a join
SELECT o.customer, GROUP_CONCAT(l.category) FROM orders o JOIN line l ON l.order_id = o.id GROUP BY o.customer ORDER BY 1 -- texts joined by group
SELECT a.title FROM articles a JOIN articles b ON a.article_category = b.article_category AND a.title <> b.title ORDER BY a.title -- others of the same kind
SELECT COUNT(*) FROM articles a JOIN articles b ON a.article_category = b.article_category WHERE a.title < b.title -- pairs of the same kind
SELECT article_category, COUNT(*) FROM articles GROUP BY ROLLUP (article_category) ORDER BY 1 NULLS LAST -- ROLLUP
SELECT article_category, is_open, COUNT(*) FROM articles GROUP BY CUBE (article_category, is_open) -- CUBE
SELECT article_category, COUNT(*) FROM articles GROUP BY GROUPING SETS ((article_category), ()) -- GROUPING SETS
SELECT DISTINCT ON (article_category) article_category, title FROM articles ORDER BY article_category, word_count DESC -- DISTINCT ON
SELECT * EXCLUDE (full_content, zip) FROM articles WHERE is_open -- a star without two columns
SELECT title, published_date::DATE AS day FROM articles ORDER BY day DESC -- a cast by colons
SELECT year(published_date) AS y, count(*) FROM articles GROUP BY ALL ORDER BY ALL -- GROUP BY ALL and ORDER BY ALL
SELECT date_trunc('year', published_date) AS y, sum(word_count) FROM articles GROUP BY y ORDER BY y -- years by date_trunc
SELECT date_part('month', published_date), monthname(published_date), dayname(published_date) FROM articles -- names of months and days
SELECT title FROM articles WHERE published_date >= TIMESTAMP '2023-01-01 00:00:00' -- a TIMESTAMP literal
SELECT title FROM articles WHERE published_date::DATE >= CURRENT_DATE - INTERVAL 30 DAY -- the last thirty days
SELECT title FROM articles WHERE published_date >= now() - INTERVAL '1 year' -- the last year
SELECT datediff('month', published_date, DATE '2024-01-01') FROM articles -- months between
SELECT title, article_category FROM articles QUALIFY ROW_NUMBER() OVER (PARTITION BY article_category ORDER BY word_count DESC) = 1 -- the first of each by QUALIFY
SELECT arg_max(title, word_count), arg_min(title, word_count) FROM articles -- the row of the largest
SELECT article_category, list(title ORDER BY title) FROM articles GROUP BY 1 ORDER BY 1 -- a list of each group
SELECT string_agg(title, '; ' ORDER BY word_count DESC) FROM articles -- an ordered text
SELECT count_if(word_count > 200), bool_or(is_open), any_value(article_category) FROM articles -- DuckDB's aggregates
SELECT quantile_cont(word_count, 0.5), mode(article_category), stddev_pop(word_count) FROM articles -- statistics
SELECT corr(word_count, length(title)) FROM articles -- a correlation
SELECT u.name, COUNT(*) FROM (SELECT unnest(string_split(authors, ', ')) AS name FROM articles) u GROUP BY 1 ORDER BY 2 DESC -- names of a list counted
SELECT split_part(authors, ',', 1), regexp_extract(authors, '^(\w+)', 1), regexp_replace(title, '\s+', '_', 'g') FROM articles -- parts by patterns
SELECT title FROM articles WHERE regexp_matches(title, '^[BG]') ORDER BY title -- a regular expression
SELECT title FROM articles WHERE title ILIKE '%GOAL%' -- ILIKE
SELECT title FROM articles WHERE contains(title, 'oal') OR starts_with(title, 'B') -- contains and starts_with
SELECT TRY_CAST(zip AS INTEGER) FROM articles -- a cast that may fail
SELECT concat(title, ' ', word_count), concat_ws(', ', title, article_category), left(title, 3), right(title, 3) FROM articles -- DuckDB's text functions
SELECT greatest(word_count, 200), least(word_count, 200), sign(word_count - 200) FROM articles -- the larger of two
SELECT i, i * i FROM range(1, 11) AS t(i) -- ten numbers
SELECT d::DATE FROM generate_series(DATE '2023-01-01', DATE '2023-01-07', INTERVAL 1 DAY) AS t(d) -- a week
SELECT m.x, COUNT(a.title) FROM range(1, 13) AS m(x) LEFT JOIN articles a ON month(a.published_date) = m.x GROUP BY 1 ORDER BY 1 -- months without rows
SELECT CASE WHEN word_count > 200 THEN 'a' ELSE 'b' END AS g, COUNT(*) FROM articles GROUP BY g HAVING COUNT(*) > 0 ORDER BY g -- a CASE grouped
FROM articles SELECT title, word_count WHERE word_count > 200 ORDER BY title -- FROM first
FROM orders -- FROM alone
SELECT repeat(title, 2), rpad(title, 12, '.'), reverse(title) FROM articles -- texts of bounded length
SELECT replace(title, ' ', '_'), translate(title, 'abc', 'xyz') FROM articles -- characters replaced
SELECT a.title FROM articles a LEFT JOIN line l ON l.order_id = a.word_count OR l.id = a.word_count -- alternatives in a join
SELECT COUNT(*) FROM articles a JOIN articles b ON a.published_date < b.published_date -- a join by an inequality
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY word_count) FROM articles -- a median by WITHIN GROUP
SELECT article_category, percentile_disc(0.9) WITHIN GROUP (ORDER BY word_count DESC) FROM articles GROUP BY 1 ORDER BY 1 -- a quantile from the largest
SELECT mode() WITHIN GROUP (ORDER BY article_category) FROM articles -- the commonest by WITHIN GROUP
SELECT listagg(title, ', ') WITHIN GROUP (ORDER BY word_count DESC) FILTER (WHERE is_open) FROM articles -- an ordered text by WITHIN GROUP
SELECT string_agg(title, ', ') WITHIN GROUP (ORDER BY title) FROM articles GROUP BY article_category ORDER BY 1 -- an ordered text of each group
SELECT title, lag(authors IGNORE NULLS) OVER (ORDER BY word_count) FROM articles -- the last value that is there
SELECT title, last_value(authors) IGNORE NULLS OVER (ORDER BY word_count) FROM articles -- the same, the words after the brackets
SELECT title, first_value(authors RESPECT NULLS) OVER (ORDER BY word_count) FROM articles -- a value that may be missing
SELECT GROUP_CONCAT(title ORDER BY title) FROM articles -- an ordered GROUP_CONCAT without a separator
SELECT GROUP_CONCAT(title, ' | ' ORDER BY word_count DESC) FROM articles -- an ordered GROUP_CONCAT
SELECT GROUP_CONCAT(DISTINCT article_category ORDER BY article_category) FROM articles -- distinct ones in order
SELECT * FROM orders o SEMI JOIN line l ON l.order_id = o.id -- every column of a semi join
SELECT * FROM n AS a ANTI JOIN (SELECT 2 AS x) t USING (x) ORDER BY x -- what no row of a subquery meets
SELECT o.customer FROM orders o ANTI JOIN line l ON l.order_id = o.id -- an anti join
SELECT title FROM articles WHERE word_count > ALL (SELECT word_count FROM articles WHERE article_category = 'business') -- more than all of them
SELECT title FROM articles WHERE word_count = SOME (SELECT MAX(word_count) FROM articles) -- SOME
SELECT date('2024-01-17', 'weekday 0'), date('2024-01-17', 'weekday 0', '-7 days'), date('2024-01-17', 'weekday 3') -- the next Sunday, the last one, a Wednesday itself
SELECT title, date(published_date, 'weekday 1', '-7 days') AS monday FROM articles ORDER BY title -- the Monday before
SELECT COUNT(*) FROM articles WHERE published_date >= date('now', 'weekday 0', '-7 days') -- this week
SELECT NVL(authors, 'nobody') FROM articles ORDER BY title -- NVL
SELECT list(title ORDER BY word_count DESC)[1:3] FROM articles -- the first three of a list
SELECT word_count AS a, a + 1 AS b, a + b AS c, c - b AS d FROM articles ORDER BY title -- names built on names
SELECT typeof(word_count), typeof(title), typeof(authors), typeof(NULL) FROM articles ORDER BY title -- types in SQLite's words
SELECT typeof(amount), COUNT(*) FROM orders WHERE typeof(amount) = 'real' GROUP BY 1 -- rows by type
SELECT COUNT(*) FROM articles WHERE typeof(word_count) = 'integer' AND typeof(published_date) = 'text' -- types in conditions
SELECT title, MAX(LENGTH(authors), 5), MIN(word_count, LENGTH(authors), 100) FROM articles ORDER BY title -- the larger of two, one of them missing
SELECT MAX(authors, 'B'), MAX(NULL, 1) FROM articles ORDER BY title -- the later of two texts
SELECT amount % 7, amount / 3 % 4, 7.9 % 3, id % 2 FROM orders ORDER BY id -- remainders of fractions
SELECT json_extract('{"a": "x", "b": {"c": [1, 2]}}', '$.a'), json_extract('{"a": "x", "b": {"c": [1, 2]}}', '$.b') -- a text of JSON without quotes
SELECT COUNT(*) FROM orders WHERE json_extract('{"who": "Ada"}', '$.who') = customer -- a text of JSON compared
SELECT COUNT(*) FROM orders WHERE json_extract('{"n": 100}', '$.n') = 100 AND json_extract('{"n": 100}', '$.n') > 20 -- a number of JSON compared
SELECT format('{0} and {0}: {1}', title::VARCHAR, word_count) FROM articles -- one argument written twice
SELECT json_pretty('{"a": [1, 2]}') -- a text of JSON on several lines
SELECT COUNT(*), COUNT(a.*) FROM articles a -- rows counted by a star
