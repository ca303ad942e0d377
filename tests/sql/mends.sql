-- Statements over the database of lint_database.sql whose names do not fit, each followed by what mending makes of it,
-- or by nothing when it must be left alone (-> none).
SELECT name FROM purchase WHERE amount > 50
-> SELECT "person".name FROM purchase JOIN "person" ON "purchase"."person_id" = "person"."id" WHERE "purchase".amount > 50
SELECT T1.name, T2.title FROM person AS T1 JOIN enrolment AS T2 ON T1.id = T2.person_id ORDER BY T1.name
-> SELECT T1.name, "course".title FROM person AS T1 JOIN enrolment AS T2 ON T1.id = T2.person_id JOIN "course" ON "T2"."course_id" = "course"."id" ORDER BY T1.name
SELECT title FROM person WHERE city = 'Gent'
-> SELECT "course".title FROM person JOIN "enrolment" ON "person"."id" = "enrolment"."person_id" JOIN "course" ON "enrolment"."course_id" = "course"."id" WHERE "person".city = 'Gent'
SELECT p.name, count(*) FROM person p JOIN purchase u ON p.purchase_id = u.id GROUP BY p.name
-> SELECT p.name, COUNT(*) FROM person AS p JOIN purchase AS u ON "p"."id" = "u"."person_id" GROUP BY p.name
SELECT T1.name FROM person AS T1 JOIN course AS T2 ON T1.id = T2.person_id WHERE T2.title = 'Drawing'
-> SELECT T1.name FROM person AS T1 JOIN "enrolment" ON "T1"."id" = "enrolment"."person_id" JOIN course AS T2 ON "enrolment"."course_id" = "T2"."id" WHERE T2.title = 'Drawing'
SELECT T2.name FROM purchase AS T1 WHERE T1.amount > 50
-> SELECT "person".name FROM purchase AS T1 JOIN "person" ON "T1"."person_id" = "person"."id" WHERE T1.amount > 50
SELECT person.name FROM purchase WHERE amount > 50
-> SELECT "person".name FROM purchase JOIN "person" ON "purchase"."person_id" = "person"."id" WHERE "purchase".amount > 50
SELECT T1.amount, T2.city FROM person AS T1 JOIN purchase AS T2 ON T1.id = T2.person_id
-> SELECT "T2".amount, "T1".city FROM person AS T1 JOIN purchase AS T2 ON T1.id = T2.person_id
SELECT * FROM purchase WHERE city = 'Gent'
-> SELECT "purchase".* FROM purchase JOIN "person" ON "purchase"."person_id" = "person"."id" WHERE "person".city = 'Gent'
SELECT id FROM person JOIN purchase ON person.id = purchase.person_id
-> SELECT "person".id FROM person JOIN purchase ON person.id = purchase.person_id
SELECT count(*) FROM persons
-> SELECT COUNT(*) FROM "person" AS "persons"
SELECT nick_name FROM person
-> SELECT "nickname" FROM person
SELECT count(*) AS n, city FROM purchase GROUP BY city ORDER BY n DESC
-> SELECT COUNT(*) AS n, "person".city FROM purchase JOIN "person" ON "purchase"."person_id" = "person"."id" GROUP BY "person".city ORDER BY n DESC
SELECT name FROM person WHERE id IN (SELECT person_id FROM enrolment WHERE title = 'Drawing')
-> SELECT name FROM person WHERE id IN (SELECT "enrolment".person_id FROM enrolment JOIN "course" ON "enrolment"."course_id" = "course"."id" WHERE "course".title = 'Drawing')
SELECT title FROM course WHERE course_id NOT IN (SELECT course_id FROM enrolment)
-> SELECT title FROM course WHERE NOT "id" IN (SELECT course_id FROM enrolment)
SELECT person_id FROM person WHERE city = 'Gent'
-> SELECT "id" FROM person WHERE city = 'Gent'
SELECT name FROM person WHERE name = "Ada Lund"
-> none
SELECT name FROM person p WHERE EXISTS (SELECT 1 FROM purchase u WHERE u.person_id = p.id)
-> none
WITH big AS (SELECT person_id, amount AS total FROM purchase) SELECT total FROM big
-> none
SELECT name, minutes FROM person
-> none
SELECT salary FROM person
-> none
this is no SQL
-> none
