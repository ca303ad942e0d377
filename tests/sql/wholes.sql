SELECT article_category, SUM(CASE WHEN authors IS NULL THEN word_count ELSE 0 END) * 1.0 / SUM(word_count) FROM articles GROUP BY 1
SELECT article_category, title FROM articles a WHERE word_count = (SELECT MAX(b.word_count) FROM articles b WHERE b.article_category = a.article_category)
SELECT strftime('%Y', a.published_date), title FROM articles a WHERE word_count = (SELECT MIN(b.word_count) FROM articles b WHERE strftime('%Y', b.published_date) = strftime('%Y', a.published_date))
WITH t AS (SELECT article_category AS c, title AS n, RANK() OVER (PARTITION BY article_category ORDER BY word_count DESC) AS place FROM articles) SELECT c, n FROM t WHERE place <= 1
WITH t AS (SELECT article_category AS c, authors AS n, SUM(word_count) AS s FROM articles WHERE authors IS NOT NULL GROUP BY 1, 2) SELECT c, n FROM (SELECT *, RANK() OVER (PARTITION BY c ORDER BY s DESC) AS place FROM t) WHERE place = 1
SELECT authors FROM articles WHERE article_category = 'sports' INTERSECT SELECT authors FROM articles WHERE article_category = 'business'
SELECT article_category FROM articles WHERE published_date >= '2022-01-01' AND published_date < '2023-01-01' INTERSECT SELECT article_category FROM articles WHERE published_date >= '2023-01-01' AND published_date < '2024-01-01'
-- beyond sketches
WITH t AS (SELECT title, RANK() OVER (PARTITION BY zip ORDER BY word_count) AS p FROM articles) SELECT title FROM t WHERE p = 2
SELECT title FROM articles a WHERE word_count = (SELECT MAX(b.word_count) FROM articles b WHERE b.zip = a.zip AND b.zip = '1')
