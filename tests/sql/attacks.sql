SELECT * FROM sqlite_scan('other.db', 'payroll') -- reads another database
SELECT * FROM sqlite_attach('other.db') -- attaches another database
SELECT * FROM sqlite_query('src', 'SELECT 1') -- runs SQL past the wall
SELECT * FROM postgres_scan('host=10.0.0.1', 'public', 't') -- reaches the network
SELECT * FROM postgres_query('src', 'select 1') -- runs SQL past the wall
SELECT * FROM mysql_query('src', 'select 1') -- runs SQL past the wall
SELECT content FROM read_text('/etc/passwd') -- reads a file
SELECT * FROM read_blob('/etc/passwd') -- reads a file
SELECT * FROM read_csv('x.csv') -- reads a file
SELECT * FROM read_csv_auto('x.csv') -- reads a file
SELECT * FROM read_parquet('x.parquet') -- reads a file
SELECT * FROM parquet_scan('x.parquet') -- reads a file
SELECT * FROM read_json('x.json') -- reads a file
SELECT * FROM read_json_auto('x.json') -- reads a file
SELECT * FROM read_ndjson('x.json') -- reads a file
SELECT * FROM sniff_csv('x.csv') -- reads a file
SELECT * FROM parquet_metadata('x.parquet') -- reads a file
SELECT * FROM glob('/etc/*') -- lists files
SELECT * FROM 'secret.csv' -- a file name as a table
SELECT * FROM "secret.csv" -- a quoted file name as a table
SELECT * FROM 'https://evil.example/x.parquet' -- a network address as a table
SELECT * FROM articles, 'secret.csv' -- a file beside a table
SELECT * FROM articles JOIN read_csv('x.csv') r ON TRUE -- a file in a join
SELECT * FROM query('SELECT content FROM read_text(''x'')') -- SQL in a string
SELECT * FROM query_table('articles') -- a table named in a string
SELECT * FROM duckdb_secrets() -- secrets
SELECT * FROM duckdb_settings() -- settings
SELECT * FROM duckdb_databases() -- the catalog of the engine
SELECT * FROM duckdb_functions() -- the catalog of the engine
SELECT * FROM pragma_table_info('articles') -- a pragma as a table
SELECT * FROM information_schema.tables -- the engine's own tables
SELECT * FROM sqlite_master -- the source's own tables
SELECT * FROM pg_catalog.pg_class -- the engine's own tables
SELECT * FROM main.sqlite_master -- the source's own tables, qualified
SELECT * FROM other.articles -- another schema
SELECT * FROM src.main.articles -- another database
SELECT * FROM system.main.articles -- another database
SELECT current_setting('home_directory') -- a setting
SELECT getenv('HOME') -- the environment
SELECT getvariable('x') -- a variable
SELECT current_user -- the session
SELECT current_database() -- the session
SELECT current_query() -- the session
SELECT version() -- the system
SELECT nextval('s') -- changes a sequence
SELECT pg_sleep(10) -- waits
SELECT sleep_ms(10000) -- waits
SELECT write_log('x') -- writes
SELECT error('x') -- fails on purpose
SELECT random() -- not the same twice
SELECT gen_random_uuid() -- not the same twice
SELECT json_execute_serialized_sql('x') -- SQL in a string
SELECT json_serialize_sql('SELECT 1') -- SQL in a string
SELECT load_extension('x.so') -- loads code
SELECT writefile('x', 'y') -- writes a file
SELECT readfile('x') -- reads a file
SELECT "read_text"('x') -- a quoted function name
SELECT title FROM articles WHERE EXISTS (SELECT 1 FROM read_text('x')) -- a file in a subquery
WITH t AS (SELECT * FROM read_text('x')) SELECT * FROM t -- a file in WITH
SELECT (SELECT content FROM read_text('x')) -- a file in a scalar subquery
SELECT 1 UNION ALL SELECT content FROM read_text('x') -- a file in a union
SELECT title FROM articles ORDER BY (SELECT content FROM read_text('x')) -- a file in ORDER BY
SELECT COUNT(*) FILTER (WHERE (SELECT TRUE FROM read_text('x'))) FROM articles -- a file in FILTER
COPY (SELECT 1) TO 'out.csv' -- writes a file
COPY articles FROM 'x.csv' -- reads a file
ATTACH 'other.db' AS o (TYPE sqlite) -- attaches
DETACH src -- detaches
INSTALL httpfs -- installs code
LOAD httpfs -- loads code
EXPORT DATABASE 'd' -- writes files
IMPORT DATABASE 'd' -- reads files
SET memory_limit = '1GB' -- a setting
RESET memory_limit -- a setting
PRAGMA database_list -- a pragma
CALL pragma_version() -- a call
EXPLAIN SELECT 1 -- not a query
DESCRIBE articles -- not a query
SHOW TABLES -- not a query
SUMMARIZE articles -- not a query
VACUUM -- changes the database
CHECKPOINT -- changes the database
BEGIN TRANSACTION -- a transaction
USE other -- another database
DROP TABLE articles -- changes the schema
CREATE TABLE t AS SELECT * FROM articles -- changes the schema
CREATE MACRO m() AS 1 -- changes the schema
ALTER TABLE articles ADD COLUMN x INT -- changes the schema
INSERT INTO articles (title) VALUES ('x') -- writes
UPDATE articles SET title = 'x' -- writes
DELETE FROM articles -- writes
TRUNCATE articles -- writes
MERGE INTO articles USING n ON TRUE WHEN MATCHED THEN DELETE -- writes
REPLACE INTO articles VALUES (1) -- writes
WITH d AS (DELETE FROM articles RETURNING *) SELECT * FROM d -- writes in WITH
WITH d AS (INSERT INTO n VALUES (1) RETURNING *) SELECT * FROM d -- writes in WITH
WITH d AS (UPDATE n SET x = 1 RETURNING *) SELECT * FROM d -- writes in WITH
SELECT title INTO t FROM articles -- writes a table
SELECT title INTO OUTFILE 'x' FROM articles -- writes a file
SELECT 1; DROP TABLE articles -- a second statement
SELECT 1; SELECT 2 -- a second statement
SELECT 1 /* ; */ ; DELETE FROM n -- a second statement after a comment
SELECT title FROM articles FOR UPDATE -- locks
WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x) SELECT COUNT(*) FROM x -- never ends
SELECT COUNT(*) FROM range(1000000000) a, range(1000) b -- makes too many rows
SELECT COUNT(*) FROM generate_series(1, 10000000) -- makes too many rows
SELECT * FROM range((SELECT COUNT(*) FROM articles)) -- rows without a bound
SELECT range(1000000000) -- a list of any length
SELECT length(repeat('x', 2000000000)) -- text of any length
SELECT repeat(title, 100000) FROM articles -- text of any length
SELECT repeat('x', word_count) FROM articles -- text of any length
SELECT repeat(repeat('x', 10000), 10000) -- text of any length, nested
SELECT lpad('x', 1000000000, 'y') -- text of any length
SELECT rpad(title, 1000000000, 'y') FROM articles -- text of any length
SELECT printf('%1000000000d', 1) -- text of any length
SELECT printf('%*d', 1000000000, 1) -- text of any length
SELECT format('{:1000000000}', 1) -- text of any length
SELECT replace(replace(replace('a', 'a', 'bbbbbbbbbbbbbbbb'), 'b', 'aaaaaaaaaaaaaaaa'), 'a', 'bbbbbbbbbbbbbbbb') -- grows
SELECT list_resize([1], 1000000000) -- a list of any length
SELECT bitstring('1', 1000000000) -- bits of any length
SELECT COUNT(*) FROM articles a, articles b, articles c -- joins without a condition
SELECT COUNT(*) FROM articles a CROSS JOIN articles b CROSS JOIN articles c -- joins without a condition
SELECT COUNT(*) FROM articles a JOIN articles b ON TRUE JOIN articles c ON 1 = 1 -- conditions that join nothing
SELECT * FROM articles WHERE title = $1 -- a parameter
SELECT * FROM articles WHERE title = ? -- a parameter
SELECT * FROM articles WHERE title = :name -- a parameter
SELECT * FROM articles USING SAMPLE 10 -- a sample
SELECT * FROM articles TABLESAMPLE 10% -- a sample
PIVOT articles ON article_category USING COUNT(*) -- rewrites the schema
SELECT list_transform([1], x -> x + 1) -- a lambda
SELECT COLUMNS('t.*') FROM articles -- columns chosen by a pattern
SELECT CAST('articles' AS regclass) -- a type that looks things up
SELECT * FROM articles, LATERAL (SELECT 1) -- a lateral join
SELECT * FROM articles POSITIONAL JOIN n -- a join by position
SELECT title FROM articles LIMIT (SELECT 1) -- a limit that is computed
SELECT title FROM articles OFFSET (SELECT 1) -- an offset that is computed
SELECT titel FROM articles -- no such column
SELECT n.title FROM articles -- a table that is not in the query
SELECT title FROM article -- no such table
SELECT title FROM articles WHERE nope(title) = 1 -- no such function
SELECT word_count FROM articles WHERE word_count = 'many' -- text against a number
SELECT -- nothing to show
SELECT word_count JOIN articles -- a join without FROM
SELECT length(DISTINCT title) FROM articles -- DISTINCT where nothing is aggregated
SELECT length(title AS t) FROM articles -- a name inside a call
SELECT title FROM articles WHERE word_count IN () -- a list of nothing
SELECT title FROM articles LIMIT 10 PERCENT -- a share of the rows
SELECT title FROM articles FETCH FIRST 1 ROWS WITH TIES -- more rows than asked
SELECT INTERVAL * 1 FROM articles -- a star that is no column
