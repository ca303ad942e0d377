SELECT article_category, SUM(CASE WHEN authors IS NULL THEN word_count ELSE 0 END) * 1.0 / SUM(word_count) FROM articles GROUP BY 1
SELECT article_category, title FROM articles a WHERE word_count = (SELECT MAX(b.word_count) FROM articles b WHERE b.article_category = a.article_category)
SELECT strftime('%Y', a.published_date), title FROM articles a WHERE word_count = (SELECT MIN(b.word_count) FROM articles b WHERE strftime('%Y', b.published_date) = strftime('%Y', a.published_date))
WITH t AS (SELECT article_category AS c, title AS n, RANK() OVER (PARTITION BY article_category ORDER BY word_count DESC) AS place FROM articles) SELECT c, n FROM t WHERE place <= 1
WITH t AS (SELECT article_category AS c, authors AS n, SUM(word_count) AS s FROM articles WHERE authors IS NOT NULL GROUP BY 1, 2) SELECT c, n FROM (SELECT *, RANK() OVER (PARTITION BY c ORDER BY s DESC) AS place FROM t) WHERE place = 1
SELECT authors FROM articles WHERE article_category = 'sports' INTERSECT SELECT authors FROM articles WHERE article_category = 'business'
SELECT article_category FROM articles WHERE published_date >= '2022-01-01' AND published_date < '2023-01-01' INTERSECT SELECT article_category FROM articles WHERE published_date >= '2023-01-01' AND published_date < '2024-01-01'
SELECT SUM(authors IS NULL), SUM(authors IS NOT NULL) FROM articles
SELECT SUM(published_date < '2023-03-01'), SUM(published_date >= '2023-03-01') FROM articles WHERE published_date >= '2023-01-01' AND published_date < '2024-01-01'
SELECT article_category, AVG(CASE WHEN is_open = 1 THEN word_count END), AVG(CASE WHEN is_open = 0 THEN word_count END) FROM articles GROUP BY 1
SELECT SUM(article_category = 'sports') - COUNT(CASE WHEN article_category = 'travel' THEN 1 END) FROM articles
SELECT ABS(SUM(article_category = 'travel') - SUM(article_category = 'sports')) FROM articles WHERE word_count > 100
SELECT 100.0 * (SUM(CASE WHEN article_category = 'sports' THEN word_count ELSE 0 END) - SUM(CASE WHEN article_category = 'travel' THEN word_count ELSE 0 END)) / SUM(CASE WHEN article_category = 'travel' THEN word_count ELSE 0 END) FROM articles
SELECT article_category FROM articles GROUP BY 1 HAVING SUM(word_count < 200) > SUM(word_count >= 400)
SELECT article_category FROM articles GROUP BY 1 ORDER BY SUM(CASE WHEN is_open = 1 THEN word_count ELSE 0 END) - SUM(CASE WHEN is_open = 0 THEN word_count ELSE 0 END) DESC LIMIT 1
-- beyond sketches
SELECT SUM(word_count < 200) > SUM(word_count >= 400) FROM articles
SELECT SUM(article_category = 'sports'), AVG(CASE WHEN article_category = 'travel' THEN word_count END) FROM articles
WITH t AS (SELECT title, RANK() OVER (PARTITION BY zip ORDER BY word_count) AS p FROM articles) SELECT title FROM t WHERE p = 2
SELECT title FROM articles a WHERE word_count = (SELECT MAX(b.word_count) FROM articles b WHERE b.zip = a.zip AND b.zip = '1')
