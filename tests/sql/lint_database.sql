-- The database of lints.sql: a small shop with people, purchases, courses, visits and books.
CREATE TABLE person (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, country TEXT, age INTEGER, nickname TEXT, joined TEXT,
  level INTEGER, boss_id INTEGER REFERENCES person (id)
);
INSERT INTO person VALUES
  (1, 'Ada Lund', 'Zürich', 'CH', 41, 'ada', '2021-01-04', 1, NULL),
  (2, 'Bo Marsh', 'Utrecht', 'NL', 29, '', '2021-03-31', 2, 1),
  (3, 'Cy Oak', 'Utrecht', 'nl', NULL, 'cy', '2021-06-15', 3, 1),
  (4, 'Di Vega', 'Gent', 'BE', 35, '', '2022-02-01', 1, 2),
  (5, 'Ed Holm', NULL, 'NL', 52, 'eddy', '2022-03-09', 2, 2),
  (6, 'Bo Marsh', 'Gent', 'BE', 33, 'bo', '2022-05-20', 2, 1),
  (7, 'Flo Quist', 'Utrecht', 'NL', 33, 'flo', '2022-12-24', 3, 4),
  (8, 'Gus Thorn', 'Zürich', 'CH', NULL, '', '2023-01-01', 1, 4),
  (9, 'Hal Brook', NULL, 'CH', 60, 'hal', '2023-07-07', 2, 2),
  (10, 'Ina Stone', 'Gent', 'BE', 24, 'ina', '2023-11-30', 3, 1);

CREATE TABLE purchase (
  id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), placed TEXT, amount REAL, quantity INTEGER,
  status TEXT, coupon TEXT, discount INTEGER
);
INSERT INTO purchase VALUES
  (1, 1, '2023-01-05 10:00:00', 20.5, 2, 'paid', NULL, NULL),
  (2, 1, '2023-01-31 18:30:00', 11.0, 1, 'paid', 'SPRING', 5),
  (3, 2, '2023-02-14 09:15:00', 75.0, 7, 'open', NULL, NULL),
  (4, 3, '2023-03-31 23:10:00', 42.0, 4, 'shipped', 'SUMMER', 10),
  (5, 3, '2023-04-01 08:00:00', 42.0, 4, 'open', NULL, 10),
  (6, 4, '2023-05-17 12:00:00', 13.5, 1, 'paid', 'SPRING', NULL),
  (7, 6, '2023-06-30 20:45:00', 99.0, 9, 'shipped', NULL, 5),
  (8, 7, '2023-08-02 07:30:00', 15.0, 3, 'paid', 'SUMMER', NULL),
  (9, 10, '2023-12-31 16:20:00', 64.0, 6, 'open', NULL, 15),
  (10, 2, '2023-12-31 17:20:00', 30.0, 3, 'paid', NULL, NULL);

CREATE TABLE purchase_line (
  purchase_id INTEGER REFERENCES purchase (id), line_no INTEGER, product TEXT, price INTEGER,
  PRIMARY KEY (purchase_id, line_no)
);
INSERT INTO purchase_line VALUES
  (1, 1, 'ink', 10), (1, 2, 'paper', 11), (2, 1, 'ink', 11), (3, 1, 'paper', 25), (3, 2, 'paper', 25), (3, 3, 'glue', 25),
  (4, 1, 'ink', 42), (5, 1, 'ink', 42), (6, 1, 'glue', 13), (7, 1, 'paper', 99), (8, 1, 'ink', 15), (9, 1, 'ink', 64),
  (10, 1, 'glue', 30);

CREATE TABLE course (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO course VALUES (1, 'Drawing'), (2, 'Printing'), (3, 'Drawing'), (4, 'Binding'), (5, 'Lettering');
CREATE TABLE enrolment (
  id INTEGER PRIMARY KEY, course_id INTEGER REFERENCES course (id), person_id INTEGER REFERENCES person (id),
  grade INTEGER
);
INSERT INTO enrolment VALUES
  (1, 1, 1, 8), (2, 1, 2, 6), (3, 2, 1, 9), (4, 3, 4, NULL), (5, 3, 6, 7), (6, 4, 7, 5), (7, 4, 1, NULL), (8, 2, 2, 10);

CREATE TABLE visit (id INTEGER PRIMARY KEY, day TEXT, minutes INTEGER, guide TEXT);
INSERT INTO visit VALUES
  (1, '17/04/2023', 45, 'Ada'), (2, '01/05/2023', 30, 'Bo'), (3, '31/12/2022', 60, 'Ada'), (4, '25/01/2023', 25, 'Cy'),
  (5, '13/02/2023', 50, 'Bo'), (6, '30/03/2023', 35, 'Cy');

CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, pages INTEGER, copies INTEGER);
WITH adjective (a, n) AS (VALUES ('Silent', 1), ('Golden', 2), ('Hidden', 3), ('Broken', 4), ('Distant', 5), ('Crimson', 6), ('Élan', 7), ('Winter', 8)),
  noun (b, m) AS (VALUES ('River', 1), ('Harbour', 2), ('Garden', 3), ('Mountain', 4), ('Lantern', 5), ('Orchard', 6), ('Castle', 7), ('Letters', 8))
INSERT INTO book (title, pages, copies)
SELECT 'The ' || a || ' ' || b, CASE WHEN n + m > 14 THEN NULL ELSE 90 + 37 * n + 5 * m END, 2 + (n * m) % 5 FROM adjective, noun;

-- Numbers kept as text: beside words (listed), beside words (not listed), as codes of one length, with separators.
CREATE TABLE sample (id INTEGER PRIMARY KEY, level TEXT, mass TEXT, code TEXT, batch TEXT, cost TEXT, remark TEXT);
WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 240)
INSERT INTO sample
SELECT i, CASE WHEN i % 5 = 0 THEN 'none seen' ELSE i % 13 END, CASE WHEN i % 6 = 0 THEN 'too light' ELSE 3 * i END,
  printf('%05d', 7 * i), 'B' || i, CASE WHEN i % 4 = 0 THEN 'free' ELSE printf('%d,%03d', i, i % 7) END,
  CASE WHEN i % 20 = 0 THEN i ELSE 'fine as ' || i END
FROM n;

-- Words among numbers, and among dates.
CREATE TABLE gauge (id INTEGER PRIMARY KEY, river TEXT, level REAL, flow INTEGER, read_on TEXT, depth REAL);
WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 240)
INSERT INTO gauge
SELECT i, CASE WHEN i % 3 = 0 THEN 'Lys' ELSE 'Dyle' END, CASE WHEN i IN (7, 91) THEN 'frozen' ELSE 0.5 * i END,
  CASE WHEN i = 50 THEN 'broken' WHEN i = 51 THEN '?' ELSE 3 * i END,
  CASE WHEN i IN (40, 80) THEN 'unknown' ELSE date('2023-01-01', '+' || i || ' days') END, 0.1 * i
FROM n;
