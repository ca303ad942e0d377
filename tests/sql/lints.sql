-- A query a line, then the lint that must fire; or "none" and the lint that must not. Over lint_database.sql.

-- fan-out
SELECT SUM(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- fan-out
SELECT SUM(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id WHERE l.product = 'paper' -- fan-out
SELECT AVG(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id WHERE l.price > 20 -- fan-out
SELECT COUNT(p.id) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- fan-out
SELECT n.id, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id JOIN purchase_line l ON l.purchase_id = p.id GROUP BY n.id -- fan-out
SELECT n.id, SUM(n.age) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- fan-out
SELECT SUM(p.amount * p.quantity) FROM purchase p, purchase_line l WHERE l.purchase_id = p.id -- fan-out
SELECT n.city, AVG(n.age) FROM person n JOIN purchase p ON p.person_id = n.id WHERE n.age > 20 GROUP BY n.city -- fan-out
SELECT SUM(p.quantity) FROM purchase p LEFT JOIN purchase_line l ON p.id = l.purchase_id -- fan-out
SELECT n.id, COUNT(p.id), COUNT(e.id) FROM person n LEFT JOIN purchase p ON p.person_id = n.id LEFT JOIN enrolment e ON e.person_id = n.id GROUP BY n.id -- fan-out
SELECT SUM(p.amount) FROM purchase p JOIN (SELECT purchase_id, product FROM purchase_line) l ON l.purchase_id = p.id -- fan-out
SELECT n.id, COUNT(l.line_no) FROM person n JOIN purchase p ON p.person_id = n.id JOIN purchase_line l ON l.purchase_id = p.id JOIN enrolment e ON e.person_id = n.id GROUP BY n.id -- fan-out
SELECT p.id, COUNT(l.line_no) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id JOIN person n ON n.id = p.person_id GROUP BY p.id -- none fan-out
SELECT SUM(p.amount) FROM purchase p WHERE p.id IN (SELECT purchase_id FROM purchase_line WHERE product = 'paper') -- none fan-out
SELECT SUM(l.price) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id WHERE p.status = 'paid' -- none fan-out
SELECT n.id, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- none fan-out
SELECT COUNT(DISTINCT p.id) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
SELECT COUNT(*) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
SELECT MAX(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
SELECT SUM(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id WHERE l.line_no = 1 -- none fan-out
SELECT c.id, AVG(n.age) FROM course c JOIN enrolment e ON e.course_id = c.id JOIN person n ON n.id = e.person_id WHERE n.age > 25 GROUP BY c.id -- none fan-out
SELECT SUM(p.amount) FROM purchase p JOIN (SELECT purchase_id, COUNT(*) AS lines FROM purchase_line GROUP BY purchase_id) l ON l.purchase_id = p.id -- none fan-out
SELECT SUM(p.amount) FROM purchase p JOIN (SELECT DISTINCT purchase_id FROM purchase_line) l ON l.purchase_id = p.id -- none fan-out
SELECT SUM(p.amount) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id WHERE l.product = 'glue' -- none fan-out
SELECT 100.0 * SUM(p.status = 'paid') / COUNT(*) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
SELECT SUM(CASE WHEN p.status = 'paid' THEN 1 ELSE 0 END) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
SELECT n.id, AVG(n.age), COUNT(*) FROM person n JOIN purchase p ON p.person_id = n.id WHERE n.age > 20 GROUP BY n.id -- none fan-out
SELECT SUM(p.quantity * l.price) FROM purchase p JOIN purchase_line l ON l.purchase_id = p.id -- none fan-out
WITH big AS (SELECT DISTINCT purchase_id FROM purchase_line WHERE price > 20) SELECT SUM(p.amount) FROM purchase p JOIN big ON big.purchase_id = p.id -- none fan-out

-- misfits
SELECT SUM(level) FROM gauge -- misfits
SELECT AVG(level) FROM gauge -- misfits
SELECT MAX(flow) FROM gauge -- misfits
SELECT MIN(read_on) FROM gauge -- misfits
SELECT river, SUM(flow) FROM gauge GROUP BY river -- misfits
SELECT SUM(g.level) / COUNT(*) FROM gauge g -- misfits
SELECT river, MAX(read_on) FROM gauge WHERE river = 'Dyle' GROUP BY river -- misfits
SELECT ROUND(AVG(flow), 1) AS mean FROM gauge WHERE depth > 2 -- misfits
SELECT total FROM (SELECT river, SUM(level) AS total FROM gauge GROUP BY river) AS t WHERE total > 10 -- misfits
SELECT SUM(mass) FROM sample -- misfits
SELECT AVG(level) FROM sample WHERE id < 40 -- misfits
SELECT level, SUM(cost) FROM sample GROUP BY level -- misfits
SELECT SUM(s.mass) / COUNT(*) FROM sample s JOIN person n ON n.id = s.id -- misfits
SELECT SUM(depth) FROM gauge -- none misfits
SELECT SUM(mass) FROM sample WHERE id % 6 > 0 -- none misfits
SELECT AVG(level) FROM sample WHERE level <> 'none seen' -- none misfits
SELECT COUNT(mass), SUM(id) FROM sample -- none misfits
SELECT MAX(date(read_on)) FROM gauge -- none misfits
SELECT MAX(read_on) FROM gauge WHERE read_on < '2023-06-01' -- none misfits
SELECT COUNT(*) FROM gauge -- none misfits
SELECT SUM(level) FROM gauge WHERE NOT level IS NULL -- none misfits
SELECT SUM(level) FROM gauge WHERE level > 100 -- none misfits
SELECT SUM(flow) FROM gauge WHERE id > 100 -- none misfits
SELECT river, SUM(level) FROM gauge WHERE river = 'Lys' GROUP BY river -- none misfits
SELECT level FROM gauge ORDER BY id LIMIT 3 -- none misfits
SELECT AVG(grade) FROM enrolment -- none misfits
SELECT MAX(level, depth) FROM gauge WHERE id = 8 -- none misfits

-- spelling
SELECT COUNT(*) FROM purchase WHERE status = 'Paid' -- spelling
SELECT COUNT(*) FROM purchase WHERE status IN ('paid', 'shiped') -- spelling
SELECT COUNT(*) FROM purchase WHERE status <> 'OPEN' -- spelling
SELECT name FROM person WHERE city = 'Zurich' -- spelling
SELECT name FROM person WHERE city = 'utrecht' -- spelling
SELECT name FROM person WHERE country = 'NL' -- spelling
SELECT pages FROM book WHERE title = 'the silent river' -- spelling
SELECT COUNT(*) FROM book WHERE title = 'The Elan Castle' -- spelling
SELECT COUNT(*) FROM book WHERE title IN ('The Goldn Harbour') -- spelling
SELECT COUNT(*) FROM purchase WHERE lower(coupon) = 'sumer' -- spelling
SELECT COUNT(*) FROM purchase WHERE NOT status = 'Paid' -- spelling
SELECT COUNT(*) FROM purchase WHERE lower(status) = 'Paid' -- spelling
SELECT COUNT(*) FROM person WHERE upper(city) IN ('Gent', 'UTRECHT') -- spelling
SELECT COUNT(*) FROM purchase WHERE status = 'paid' -- none spelling
SELECT COUNT(*) FROM purchase WHERE status IN ('paid', 'shipped') -- none spelling
SELECT COUNT(*) FROM purchase WHERE status <> 'open' -- none spelling
SELECT name FROM person WHERE city = 'Zürich' -- none spelling
SELECT name FROM person WHERE country IN ('NL', 'nl') -- none spelling
SELECT name FROM person WHERE lower(country) = 'nl' -- none spelling
SELECT pages FROM book WHERE title = 'The Silent River' -- none spelling
SELECT COUNT(*) FROM book WHERE title = 'Atlas of Copper Mines' -- none spelling
SELECT COUNT(*) FROM book WHERE title LIKE '%harbour%' -- none spelling
SELECT COUNT(*) FROM purchase WHERE lower(status) = 'paid' -- none spelling
SELECT COUNT(*) FROM purchase WHERE upper(status) IN ('PAID', 'OPEN') -- none spelling
SELECT COUNT(*) FROM purchase WHERE lower(status) = lower('Paid') -- none spelling
SELECT name FROM person WHERE country = 'BE' -- none spelling

-- contradiction
SELECT name FROM person WHERE age = NULL -- contradiction
SELECT name FROM person WHERE age > 50 AND age < 30 -- contradiction
SELECT id FROM purchase WHERE status = 'paid' AND status = 'open' -- contradiction
SELECT id FROM purchase WHERE status <> 'paid' OR status <> 'open' -- contradiction
SELECT p.id FROM purchase p JOIN purchase_line l ON l.purchase_id = l.purchase_id -- contradiction
SELECT id FROM purchase WHERE amount = amount -- contradiction
SELECT name FROM person WHERE age IS NULL AND age > 30 -- contradiction
SELECT id FROM purchase WHERE placed >= '2023-05-01' AND placed < '2023-04-01' -- contradiction
SELECT name FROM person WHERE age > 30 OR age <= 30 -- contradiction
SELECT person_id FROM purchase GROUP BY person_id HAVING COUNT(*) = 0 -- contradiction
SELECT name FROM person WHERE age BETWEEN 60 AND 20 -- contradiction
SELECT id FROM purchase WHERE status = 'paid' AND status NOT IN ('paid', 'open') -- contradiction
SELECT id FROM purchase WHERE strftime('%Y', placed) = '2023' AND strftime('%Y', placed) = '2022' -- contradiction
SELECT COUNT(*) FROM purchase WHERE coupon IS NULL AND TRY_STRPTIME(coupon, '%Y-%m-%d') >= '2023-01-01' -- contradiction
SELECT id FROM purchase WHERE coupon IS NULL AND lower(coupon) LIKE 'spr%' -- contradiction
SELECT id FROM purchase WHERE placed IS NULL AND YEAR(TRY_STRPTIME(placed, '%Y-%m-%d %H:%M:%S')) = 2023 -- contradiction
SELECT id FROM purchase WHERE discount IS NULL AND amount - discount > 10 -- contradiction
SELECT id FROM purchase WHERE discount IS NULL AND 10 < amount - discount -- contradiction
SELECT name FROM person WHERE age > 30 AND age < 50 -- none contradiction
SELECT id FROM purchase WHERE coupon IS NULL AND COALESCE(lower(coupon), 'none') = 'none' -- none contradiction
SELECT id FROM purchase WHERE coupon IS NOT NULL AND lower(coupon) = 'spring' -- none contradiction
SELECT id FROM purchase WHERE coupon IS NULL AND lower(status) = 'paid' -- none contradiction
SELECT id FROM purchase WHERE coupon IS NULL OR lower(coupon) = 'spring' -- none contradiction
SELECT id FROM purchase WHERE coupon IS NULL AND CONCAT(coupon, status) = 'paid' -- none contradiction
SELECT a.id FROM purchase a JOIN purchase b ON a.person_id = b.person_id WHERE a.coupon IS NULL AND lower(b.coupon) = 'spring' -- none contradiction
SELECT p.id FROM person p LEFT JOIN purchase b ON p.id = b.person_id AND b.quantity + 1 > 2 WHERE b.quantity IS NULL -- none contradiction
SELECT id FROM purchase WHERE status = 'paid' OR status = 'open' -- none contradiction
SELECT id FROM purchase WHERE status <> 'paid' AND status <> 'open' -- none contradiction
SELECT a.id FROM purchase a JOIN purchase b ON a.person_id = b.person_id AND a.id < b.id -- none contradiction
SELECT name FROM person WHERE age IS NULL OR age > 30 -- none contradiction
SELECT name FROM person WHERE age < 30 OR age > 50 -- none contradiction
SELECT person_id FROM purchase GROUP BY person_id HAVING COUNT(*) >= 2 -- none contradiction
SELECT id FROM purchase WHERE status = 'paid' OR (status = 'open' AND amount > 50) -- none contradiction
SELECT id FROM purchase WHERE (status = 'paid' AND amount > 50) OR (status <> 'paid' AND amount > 60) -- none contradiction
SELECT name FROM person WHERE 1 = 1 AND age > 30 -- none contradiction
SELECT x.id FROM purchase x WHERE x.amount > (SELECT AVG(x.amount) FROM purchase x) -- none contradiction
SELECT name FROM person WHERE age >= 33 AND age <= 33 -- none contradiction

-- not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT boss_id FROM person) -- not-in-null
SELECT id FROM purchase WHERE coupon NOT IN (SELECT coupon FROM purchase WHERE amount > 50) -- not-in-null
SELECT name FROM person WHERE age NOT IN (20, NULL) -- not-in-null
SELECT name FROM person WHERE NOT id IN (SELECT boss_id FROM person) -- not-in-null
SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT p.boss_id FROM person p WHERE p.country = 'CH') -- not-in-null
SELECT title FROM course WHERE id NOT IN (SELECT grade FROM enrolment) -- not-in-null
SELECT name FROM person WHERE age NOT IN (SELECT age FROM person WHERE level = 1) -- not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT e.person_id FROM course c LEFT JOIN enrolment e ON e.course_id = c.id) -- not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT person_id FROM purchase) -- none not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT boss_id FROM person WHERE boss_id IS NOT NULL) -- none not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT boss_id FROM person WHERE boss_id > 1) -- none not-in-null
SELECT name FROM person WHERE id IN (SELECT boss_id FROM person) -- none not-in-null
SELECT name FROM person n WHERE NOT EXISTS (SELECT 1 FROM person b WHERE b.boss_id = n.id) -- none not-in-null
SELECT name FROM person WHERE id NOT IN (1, 2) -- none not-in-null
SELECT name FROM person WHERE nickname NOT IN (SELECT nickname FROM person WHERE level = 1) -- none not-in-null
SELECT name FROM person WHERE id NOT IN (SELECT boss_id FROM person WHERE country = 'BE') -- none not-in-null
SELECT id FROM purchase WHERE id NOT IN (SELECT purchase_id FROM purchase_line) -- none not-in-null

-- date-form
SELECT name FROM person WHERE joined > 'April 2022' -- date-form
SELECT name FROM person WHERE joined >= '03/04/2022' -- date-form
SELECT id FROM purchase WHERE placed LIKE '%April%' -- date-form
SELECT id FROM purchase WHERE placed LIKE '31/12%' -- date-form
SELECT id FROM visit ORDER BY day -- date-form
SELECT MAX(day) FROM visit -- date-form
SELECT id FROM purchase WHERE strftime('%m', placed) = '4' -- date-form
SELECT id FROM purchase WHERE substr(placed, 6, 2) = '4' -- date-form
SELECT name FROM person WHERE joined = '2022' -- date-form
SELECT name FROM person WHERE strftime('%Y', joined) IN ('22', '23') -- date-form
SELECT id FROM purchase WHERE placed < '5/6/2023' -- date-form
SELECT name FROM person WHERE joined > '2022-04-01' -- none date-form
SELECT id FROM purchase WHERE placed LIKE '2023-04%' -- none date-form
SELECT id FROM purchase WHERE placed LIKE '% 10:%' -- none date-form
SELECT id FROM visit ORDER BY strptime(day, '%d/%m/%Y') -- none date-form
SELECT id FROM visit WHERE day = '17/04/2023' -- none date-form
SELECT id FROM visit WHERE day > '2023-01-31' -- none date-form
SELECT id FROM visit WHERE day LIKE '%/04/2023' -- none date-form
SELECT id FROM purchase WHERE strftime('%m', placed) = '04' -- none date-form
SELECT id FROM purchase WHERE substr(placed, 1, 4) = '2023' -- none date-form
SELECT name FROM person WHERE joined LIKE '2022%' -- none date-form
SELECT name FROM person ORDER BY joined -- none date-form
SELECT name FROM person WHERE joined > '17 April 2022' -- none date-form
SELECT name FROM person WHERE joined <> '' -- none date-form
SELECT COUNT(*) FROM visit WHERE day != '' -- none date-form

-- last-day
SELECT id FROM purchase WHERE placed <= '2023-03-31' -- last-day
SELECT id FROM purchase WHERE placed BETWEEN '2023-03-01' AND '2023-03-31' -- last-day
SELECT id FROM purchase WHERE placed = '2023-03-31' -- last-day
SELECT id FROM purchase WHERE placed > '2023-03-31' -- last-day
SELECT id FROM purchase WHERE placed >= '2023-03-01' AND placed < '2023-03-31' -- last-day
SELECT name FROM person WHERE joined BETWEEN '2022-03-01' AND '2022-04-01' -- last-day
SELECT name FROM person WHERE joined >= '2022-12-01' AND joined < '2022-12-31' -- last-day
SELECT name FROM person WHERE joined <= '2022-03' -- last-day
SELECT id FROM purchase WHERE placed BETWEEN '2023-01' AND '2023-03' -- last-day
SELECT id FROM purchase WHERE placed <= '2023-03-31 00:00:00' -- last-day
SELECT id FROM purchase WHERE placed IN ('2023-03-31', '2023-04-01') -- last-day
SELECT name FROM person WHERE joined > '2022' -- last-day
SELECT name FROM person WHERE joined BETWEEN '2022-01-01' AND '2022-12-30' -- last-day
SELECT name FROM person WHERE joined >= '2024-01-01' AND joined <= '2024-02-28' -- last-day
SELECT name FROM person WHERE joined BETWEEN '2022-01-01' AND '2022-11-30' -- none last-day
SELECT name FROM person WHERE joined BETWEEN '2023-01-01' AND '2023-02-28' -- none last-day
SELECT name FROM person WHERE joined BETWEEN '2022-01-15' AND '2022-12-30' -- none last-day
SELECT name FROM person WHERE joined <= '2022-12-30' -- none last-day
SELECT id FROM purchase WHERE placed >= '2023-03-01' AND placed < '2023-04-01' -- none last-day
SELECT id FROM purchase WHERE placed < '2023-03-31' -- none last-day
SELECT id FROM purchase WHERE date(placed) <= '2023-03-31' -- none last-day
SELECT id FROM purchase WHERE date(placed) BETWEEN '2023-03-01' AND '2023-03-31' -- none last-day
SELECT id FROM purchase WHERE placed <= '2023-03-31 23:59:59' -- none last-day
SELECT name FROM person WHERE joined <= '2022-03-31' -- none last-day
SELECT name FROM person WHERE joined BETWEEN '2022-03-01' AND '2022-03-31' -- none last-day
SELECT name FROM person WHERE joined = '2022-03-09' -- none last-day
SELECT name FROM person WHERE joined > '2022-03-31' -- none last-day
SELECT id FROM purchase WHERE placed LIKE '2023-03-31%' -- none last-day
SELECT id FROM purchase WHERE placed >= '2023-03-31' -- none last-day
SELECT id FROM purchase WHERE strftime('%Y-%m', placed) <= '2023-03' -- none last-day

-- out-of-range
SELECT COUNT(*) FROM person WHERE age > 100 -- out-of-range
SELECT COUNT(*) FROM purchase WHERE amount < 5 -- out-of-range
SELECT COUNT(*) FROM purchase WHERE placed >= '2024-01-01' -- out-of-range
SELECT COUNT(*) FROM person WHERE joined < '2020-01-01' -- out-of-range
SELECT COUNT(*) FROM purchase WHERE status = 'cancelled' -- out-of-range
SELECT COUNT(*) FROM purchase WHERE quantity < 500 -- out-of-range
SELECT COUNT(*) FROM purchase WHERE id IS NULL -- out-of-range
SELECT COUNT(*) FROM person WHERE nickname IS NULL -- out-of-range
SELECT COUNT(*) FROM purchase WHERE status LIKE '%refund%' -- out-of-range
SELECT COUNT(*) FROM purchase WHERE coupon LIKE '%' -- out-of-range
SELECT COUNT(*) FROM person WHERE age BETWEEN 70 AND 80 -- out-of-range
SELECT COUNT(*) FROM book WHERE copies = 9 -- out-of-range
SELECT COUNT(*) FROM visit WHERE day > '2023-06-01' -- out-of-range
SELECT COUNT(*) FROM purchase WHERE placed < '2022-01-01' OR placed >= '2024-01-01' -- out-of-range
SELECT COUNT(*) FROM purchase WHERE placed < '2023-02-01' OR placed >= '2024-01-01' -- none out-of-range
SELECT COUNT(*) FROM person WHERE age > 50 -- none out-of-range
SELECT COUNT(*) FROM purchase WHERE amount > 0 -- none out-of-range
SELECT COUNT(*) FROM purchase WHERE placed >= '2023-01-01' AND placed < '2024-01-01' -- none out-of-range
SELECT COUNT(*) FROM purchase WHERE status = 'paid' -- none out-of-range
SELECT COUNT(*) FROM person WHERE age IS NULL -- none out-of-range
SELECT COUNT(*) FROM person WHERE nickname IS NULL OR nickname = '' -- none out-of-range
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.id IS NULL -- none out-of-range
SELECT COUNT(*) FROM purchase WHERE status LIKE '%ship%' -- none out-of-range
SELECT COUNT(*) FROM person WHERE age <= 24 -- none out-of-range
SELECT COUNT(*) FROM person WHERE age < 200 AND age > 30 -- none out-of-range
SELECT COUNT(*) FROM visit WHERE day > '2023-03-01' -- none out-of-range
SELECT COUNT(*) FROM book WHERE copies = 3 -- none out-of-range
SELECT COUNT(*) FROM purchase WHERE placed < '2023-01-06' -- none out-of-range

-- namesakes
SELECT n.name, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.name -- namesakes
SELECT n.name, COUNT(*) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.name ORDER BY 2 DESC -- namesakes
SELECT n.name AS buyer, AVG(p.amount) FROM purchase p JOIN person n ON n.id = p.person_id GROUP BY buyer -- namesakes
SELECT c.title, COUNT(*) FROM course c JOIN enrolment e ON e.course_id = c.id GROUP BY c.title -- namesakes
SELECT c.title FROM course c JOIN enrolment e ON e.course_id = c.id GROUP BY 1 HAVING COUNT(*) > 1 -- namesakes
SELECT n.name, COUNT(p.id) FROM person n LEFT JOIN purchase p ON p.person_id = n.id GROUP BY n.name -- namesakes
SELECT n.name, SUM(l.price) FROM person n JOIN purchase p ON p.person_id = n.id JOIN purchase_line l ON l.purchase_id = p.id GROUP BY n.name -- namesakes
SELECT n.name FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.name ORDER BY COUNT(*) DESC, n.name -- namesakes
SELECT n.name, SUM(p.amount) FROM person n, purchase p WHERE p.person_id = n.id GROUP BY n.name -- namesakes
SELECT n.id, n.name, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.id, n.name -- none namesakes
SELECT n.name, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY p.person_id -- none namesakes
SELECT n.name, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- none namesakes
SELECT name, COUNT(*) FROM person GROUP BY name HAVING COUNT(*) > 1 -- none namesakes
SELECT n.city, SUM(p.amount) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.city -- none namesakes
SELECT n.name FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.name -- none namesakes
SELECT n.name, n.id, COUNT(*) FROM person n JOIN enrolment e ON e.person_id = n.id GROUP BY 1, 2 -- none namesakes
SELECT n.name, n.joined, COUNT(*) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.name, n.joined -- none namesakes
SELECT l.product, SUM(l.price) FROM purchase_line l JOIN purchase p ON p.id = l.purchase_id GROUP BY l.product -- none namesakes
SELECT DISTINCT n.name FROM person n JOIN purchase p ON p.person_id = n.id -- none namesakes

-- division
SELECT SUM(quantity) / COUNT(*) FROM purchase -- division
SELECT COUNT(*) / (SELECT COUNT(*) FROM person) FROM purchase -- division
SELECT SUM(status = 'paid') / COUNT(*) FROM purchase -- division
SELECT 100 * SUM(status = 'paid') / COUNT(*) FROM purchase -- division
SELECT CAST(SUM(quantity) / COUNT(*) AS REAL) FROM purchase -- division
SELECT ROUND(SUM(quantity) / COUNT(*), 2) FROM purchase -- division
SELECT title, pages / copies FROM book -- division
SELECT COUNT(*) / 12 FROM purchase -- division
SELECT (pages + copies) / 2 FROM book -- division
SELECT id FROM book WHERE pages / copies > 100 -- division
SELECT 1.0 * SUM(quantity) / COUNT(*) FROM purchase -- none division
SELECT CAST(SUM(quantity) AS REAL) / COUNT(*) FROM purchase -- none division
SELECT SUM(amount) / COUNT(*) FROM purchase -- none division
SELECT AVG(quantity) FROM purchase -- none division
SELECT pages / 100 * 100, COUNT(*) FROM book GROUP BY 1 -- none division
SELECT age / 10, COUNT(*) FROM person GROUP BY 1 -- none division
SELECT CAST(pages / copies AS INTEGER) FROM book -- none division
SELECT 100.0 * SUM(status = 'paid') / COUNT(*) FROM purchase -- none division
SELECT SUM(quantity) * 1.0 / COUNT(*) FROM purchase -- none division
SELECT (CAST(strftime('%m', placed) AS INTEGER) + 2) / 3, COUNT(*) FROM purchase GROUP BY 1 -- none division
SELECT (pages - pages % copies) / copies FROM book -- none division

-- null-order
SELECT name FROM person ORDER BY age LIMIT 3 -- null-order
SELECT name, age FROM person ORDER BY 2 LIMIT 1 -- null-order
SELECT name FROM person ORDER BY age ASC, name LIMIT 1 -- null-order
SELECT title FROM book ORDER BY pages LIMIT 5 -- null-order
SELECT id FROM purchase ORDER BY discount LIMIT 2 -- null-order
SELECT id, discount AS d FROM purchase ORDER BY d LIMIT 2 -- null-order
SELECT person_id FROM enrolment WHERE course_id > 2 ORDER BY grade LIMIT 1 -- null-order
SELECT name FROM person WHERE id IN (SELECT id FROM person ORDER BY age LIMIT 2) -- null-order
SELECT name FROM person WHERE country = 'CH' ORDER BY age LIMIT 1 -- null-order
SELECT name FROM person ORDER BY age DESC LIMIT 3 -- none null-order
SELECT name FROM person WHERE age IS NOT NULL ORDER BY age LIMIT 3 -- none null-order
SELECT name FROM person WHERE age > 20 ORDER BY age LIMIT 3 -- none null-order
SELECT name FROM person ORDER BY age -- none null-order
SELECT name FROM person ORDER BY age NULLS LAST LIMIT 3 -- none null-order
SELECT id FROM purchase ORDER BY amount LIMIT 3 -- none null-order
SELECT person_id FROM enrolment WHERE course_id = 1 ORDER BY grade LIMIT 1 -- none null-order
SELECT name FROM person ORDER BY nickname LIMIT 3 -- none null-order
SELECT name FROM person WHERE country = 'BE' ORDER BY age LIMIT 1 -- none null-order
SELECT name FROM person ORDER BY COALESCE(age, 999) LIMIT 3 -- none null-order

-- cut-tie
SELECT name FROM person ORDER BY level DESC LIMIT 1 -- cut-tie
SELECT country FROM person GROUP BY country ORDER BY COUNT(*) DESC LIMIT 2 -- cut-tie
SELECT person_id, COUNT(*) AS n FROM purchase GROUP BY person_id ORDER BY n DESC LIMIT 2 -- cut-tie
SELECT id FROM purchase ORDER BY quantity DESC LIMIT 4 -- cut-tie
SELECT id, amount FROM purchase WHERE amount < 50 ORDER BY 2 DESC LIMIT 1 -- cut-tie
SELECT city FROM person WHERE city IS NOT NULL GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1 -- cut-tie
SELECT name FROM person WHERE id = (SELECT person_id FROM purchase GROUP BY person_id ORDER BY COUNT(*) DESC LIMIT 1) -- cut-tie
WITH n AS (SELECT person_id, COUNT(*) AS c FROM purchase GROUP BY person_id) SELECT person_id FROM n ORDER BY c DESC LIMIT 1 -- cut-tie
SELECT name FROM person ORDER BY country LIMIT 1 -- cut-tie
SELECT id FROM purchase ORDER BY amount DESC LIMIT 1 -- none cut-tie
SELECT name FROM person ORDER BY level DESC, id LIMIT 1 -- none cut-tie
SELECT status FROM purchase GROUP BY status ORDER BY COUNT(*) DESC LIMIT 1 -- none cut-tie
SELECT id FROM purchase ORDER BY quantity DESC LIMIT 3 -- none cut-tie
SELECT name FROM person ORDER BY level DESC -- none cut-tie
SELECT name FROM person ORDER BY level DESC LIMIT 3 -- none cut-tie
SELECT name FROM person WHERE level = (SELECT MAX(level) FROM person) -- none cut-tie
SELECT id FROM purchase WHERE amount > 40 ORDER BY amount LIMIT 2 -- none cut-tie
SELECT id FROM purchase LIMIT 3 -- none cut-tie
SELECT name FROM person ORDER BY level LIMIT 50 -- none cut-tie

-- count-nulls
SELECT COUNT(age) FROM person -- count-nulls
SELECT COUNT(coupon) FROM purchase WHERE status = 'paid' -- count-nulls
SELECT city, COUNT(age) FROM person GROUP BY city -- count-nulls
SELECT city, COUNT(city) FROM person GROUP BY city -- count-nulls
SELECT n.id, COUNT(*) FROM person n LEFT JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- count-nulls
SELECT n.name, COUNT(*) FROM person n LEFT JOIN enrolment e ON e.person_id = n.id GROUP BY n.id, n.name -- count-nulls
SELECT c.title, COUNT(*) AS n FROM course c LEFT JOIN enrolment e ON c.id = e.course_id GROUP BY c.id ORDER BY n -- count-nulls
SELECT COUNT(discount) * 1.0 / COUNT(id) FROM purchase -- count-nulls
SELECT course_id, COUNT(grade) FROM enrolment GROUP BY course_id -- count-nulls
SELECT COUNT(*) FROM person -- none count-nulls
SELECT COUNT(id) FROM person -- none count-nulls
SELECT COUNT(age) FROM person WHERE age > 30 -- none count-nulls
SELECT COUNT(age), COUNT(*) FROM person -- none count-nulls
SELECT 100.0 * SUM(discount > 5) / COUNT(discount) FROM purchase -- none count-nulls
SELECT COUNT(coupon) FROM purchase WHERE coupon IS NOT NULL -- none count-nulls
SELECT COUNT(nickname) FROM person -- none count-nulls
SELECT COUNT(DISTINCT city) FROM person -- none count-nulls
SELECT n.id, COUNT(p.id) FROM person n LEFT JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- none count-nulls
SELECT p.id, COUNT(*) FROM purchase p LEFT JOIN purchase_line l ON l.purchase_id = p.id GROUP BY p.id -- none count-nulls
SELECT n.id, COUNT(*) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.id -- none count-nulls
SELECT n.id, COUNT(*) FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.amount > 15 GROUP BY n.id -- none count-nulls
SELECT COUNT(age) FROM person WHERE country = 'BE' -- none count-nulls

-- null-average
SELECT AVG(age) FROM person -- null-average
SELECT AVG(discount) FROM purchase WHERE status = 'paid' -- null-average
SELECT course_id, AVG(grade) FROM enrolment GROUP BY course_id -- null-average
SELECT SUM(age) * 1.0 / COUNT(*) FROM person -- null-average
SELECT CAST(SUM(discount) AS REAL) / COUNT(*) FROM purchase -- null-average
SELECT name FROM person WHERE age > (SELECT AVG(age) FROM person) -- null-average
SELECT country, ROUND(AVG(age), 1) FROM person GROUP BY country -- null-average
SELECT AVG(CAST(pages AS REAL)) FROM book -- null-average
SELECT AVG(amount) FROM purchase -- none null-average
SELECT AVG(age) FROM person WHERE age IS NOT NULL -- none null-average
SELECT AVG(COALESCE(discount, 0)) FROM purchase -- none null-average
SELECT AVG(age) FROM person WHERE age < 50 -- none null-average
SELECT AVG(age) FROM person WHERE country = 'BE' -- none null-average
SELECT SUM(amount) / COUNT(*) FROM purchase -- none null-average
SELECT SUM(age) * 1.0 / COUNT(age) FROM person -- none null-average
SELECT MAX(age) FROM person -- none null-average
SELECT AVG(grade) FROM enrolment WHERE course_id IN (1, 2) -- none null-average

-- null-negation
SELECT name FROM person WHERE city <> 'Gent' -- null-negation
SELECT name FROM person WHERE NOT city = 'Gent' -- null-negation
SELECT id FROM purchase WHERE coupon != 'SPRING' -- null-negation
SELECT id FROM purchase WHERE coupon NOT IN ('SPRING', 'SUMMER') -- null-negation
SELECT id FROM purchase WHERE coupon NOT LIKE 'SP%' -- null-negation
SELECT name FROM person WHERE age <> 33 -- null-negation
SELECT name FROM person WHERE city <> 'Gent' AND country = 'CH' -- null-negation
SELECT COUNT(*) FROM purchase WHERE discount <> 5 OR amount > 90 -- null-negation
SELECT name FROM person WHERE lower(city) <> 'gent' -- null-negation
SELECT name FROM person WHERE city <> 'Gent' OR city IS NULL -- none null-negation
SELECT name FROM person WHERE city <> '' -- none null-negation
SELECT id FROM purchase WHERE NOT coupon = '' -- none null-negation
SELECT name FROM person WHERE city = 'Gent' -- none null-negation
SELECT name FROM person WHERE country <> 'BE' -- none null-negation
SELECT name FROM person WHERE nickname <> 'ada' -- none null-negation
SELECT name FROM person WHERE city <> 'Gent' AND city IS NOT NULL -- none null-negation
SELECT name FROM person WHERE city <> 'Gent' AND country = 'BE' -- none null-negation
SELECT name FROM person WHERE city IS DISTINCT FROM 'Gent' -- none null-negation
SELECT name FROM person WHERE COALESCE(city, '') <> 'Gent' -- none null-negation
SELECT SUM(city <> 'Gent') FROM person -- none null-negation
SELECT COUNT(*) FROM purchase WHERE discount <> 5 OR amount > 10 -- none null-negation

-- undone-join
SELECT n.name, p.amount FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.status = 'paid' -- undone-join
SELECT n.id, COUNT(p.id) FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.amount > 20 GROUP BY n.id -- undone-join
SELECT n.name FROM person n LEFT OUTER JOIN purchase p ON p.person_id = n.id WHERE n.city = 'Gent' AND p.placed >= '2023-06-01' -- undone-join
SELECT c.title, COUNT(e.id) FROM course c LEFT JOIN enrolment e ON e.course_id = c.id WHERE e.grade BETWEEN 5 AND 8 GROUP BY c.id, c.title -- undone-join
SELECT c.title FROM course c LEFT JOIN enrolment e ON e.course_id = c.id LEFT JOIN person n ON n.id = e.person_id WHERE n.city IN ('Gent', 'Utrecht') -- undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.coupon LIKE 'S%' OR p.discount > 5 AND p.coupon = 'AUTUMN' -- undone-join
SELECT b.name FROM person n LEFT JOIN person b ON b.id = n.boss_id WHERE b.city <> n.city -- undone-join
SELECT n.name FROM person n LEFT JOIN (SELECT person_id, SUM(amount) AS total FROM purchase GROUP BY person_id) p ON p.person_id = n.id WHERE p.total > 40 -- undone-join
SELECT title FROM course WHERE id IN (SELECT c.id FROM course c LEFT JOIN enrolment e ON e.course_id = c.id WHERE e.grade > 6) -- undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE NOT p.quantity = 1 -- undone-join
SELECT n.name, p.amount FROM person n LEFT JOIN purchase p ON p.person_id = n.id AND p.status = 'paid' -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.id IS NULL -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.id IS NOT NULL -- none undone-join
SELECT n.name FROM person n JOIN purchase p ON p.person_id = n.id WHERE p.status = 'paid' -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE n.city = 'Gent' -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.status = 'paid' OR p.id IS NULL -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE COALESCE(p.amount, 0) < 20 -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE p.amount > 50 OR n.age > 40 -- none undone-join
SELECT n.id FROM person n LEFT JOIN purchase p ON p.person_id = n.id GROUP BY n.id HAVING COUNT(p.id) > 1 -- none undone-join
SELECT l.product, p.amount FROM purchase_line l LEFT JOIN purchase p ON p.id = l.purchase_id WHERE p.amount > 0 -- none undone-join
SELECT n.name FROM person n LEFT JOIN purchase p ON p.person_id = n.id WHERE n.id IN (SELECT person_id FROM purchase WHERE status = 'paid') -- none undone-join

-- text-order
SELECT id FROM sample ORDER BY level DESC LIMIT 3 -- text-order
SELECT level, COUNT(*) FROM sample GROUP BY level ORDER BY level -- text-order
SELECT MAX(level) FROM sample -- text-order
SELECT MIN(mass), MAX(mass) FROM sample -- text-order
SELECT id, mass FROM sample ORDER BY 2 -- text-order
SELECT id FROM sample WHERE mass > 90 -- text-order
SELECT COUNT(*) FROM sample WHERE 5 <= level -- text-order
SELECT id FROM sample WHERE level BETWEEN 2 AND 11 -- text-order
SELECT id FROM sample WHERE id IN (SELECT s.id FROM sample s ORDER BY s.mass DESC LIMIT 3) -- text-order
SELECT MAX(cost) FROM sample -- text-order
SELECT level, COUNT(*) FROM sample GROUP BY level ORDER BY level, COUNT(*) -- text-order
SELECT n.city, s.level FROM sample s JOIN person n ON n.id = s.id ORDER BY n.country, s.level -- text-order
SELECT id FROM sample ORDER BY CAST(level AS REAL) DESC LIMIT 3 -- none text-order
SELECT level, COUNT(*) FROM sample GROUP BY level ORDER BY COUNT(*) DESC, level -- none text-order
SELECT level, SUM(id) AS total FROM sample GROUP BY level ORDER BY total DESC, level LIMIT 3 -- none text-order
SELECT mass, MAX(id) FROM sample GROUP BY mass ORDER BY 2 DESC, mass -- none text-order
SELECT id FROM sample ORDER BY id DESC, mass -- none text-order
SELECT MAX(TRY_CAST(mass AS DOUBLE)) FROM sample -- none text-order
SELECT code FROM sample ORDER BY code -- none text-order
SELECT MAX(batch) FROM sample -- none text-order
SELECT remark FROM sample ORDER BY remark LIMIT 5 -- none text-order
SELECT id FROM sample WHERE level = 5 -- none text-order
SELECT COUNT(mass) FROM sample WHERE mass <> 'too light' -- none text-order
SELECT id FROM sample WHERE code > '00100' -- none text-order
SELECT id FROM sample ORDER BY id -- none text-order
SELECT name FROM person ORDER BY city -- none text-order
SELECT MAX(placed) FROM purchase -- none text-order

-- counted-else
SELECT COUNT(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) FROM purchase -- counted-else
SELECT COUNT(IIF(status = 'paid', 1, 0)) FROM purchase -- counted-else
SELECT country, COUNT(CASE WHEN age > 40 THEN 1 ELSE 0 END) FROM person GROUP BY country -- counted-else
SELECT 100.0 * COUNT(CASE status WHEN 'paid' THEN 1 ELSE 0 END) / COUNT(*) FROM purchase -- counted-else
SELECT COUNT(status = 'paid') FROM purchase -- counted-else
SELECT COUNT(quantity > 3 AND status = 'open') FROM purchase -- counted-else
SELECT COUNT(coupon IS NOT NULL) FROM purchase -- counted-else
SELECT COUNT(DISTINCT CASE WHEN status = 'paid' THEN person_id ELSE 0 END) FROM purchase -- counted-else
SELECT COUNT(CASE WHEN amount > 50 THEN 'big' ELSE '' END) FROM purchase -- counted-else
SELECT country FROM person GROUP BY country HAVING COUNT(CASE WHEN age > 30 THEN 1 ELSE 0 END) > 1 -- counted-else
SELECT COUNT(CASE WHEN status = 'paid' THEN 1 END) FROM purchase -- none counted-else
SELECT COUNT(CASE WHEN status = 'paid' THEN 1 ELSE NULL END) FROM purchase -- none counted-else
SELECT SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) FROM purchase -- none counted-else
SELECT SUM(status = 'paid') FROM purchase -- none counted-else
SELECT COUNT(*) FILTER (WHERE status = 'paid') FROM purchase -- none counted-else
SELECT COUNT(DISTINCT CASE WHEN amount > 50 THEN 'big' ELSE 'small' END) FROM purchase -- none counted-else
SELECT COUNT(DISTINCT CASE WHEN status = 'paid' THEN person_id END) FROM purchase -- none counted-else
SELECT COUNT(COALESCE(coupon, 'none')) FROM purchase -- none counted-else
SELECT COUNT(IIF(status = 'paid', 1, NULL)) FROM purchase -- none counted-else
SELECT COUNT(CASE WHEN coupon IS NULL THEN id ELSE person_id END) FROM purchase -- none counted-else
