"""What a statement takes for granted: facts read off it, and nothing where it takes nothing."""

from __future__ import annotations

import pytest

from sqlrag_dspy.sql import assumptions, check

DATES = "dates are compared as they are stored, with no time zone"
ASSUMED = [
    ("SELECT city FROM person", []),
    ("SELECT COUNT(*) FROM person WHERE age > 30", []),
    ("SELECT name FROM person ORDER BY age DESC LIMIT 3", ["'first' is taken as the highest age"]),
    ("SELECT name FROM person ORDER BY 1 LIMIT 1", ["'first' is taken as the lowest name"]),
    ("SELECT name FROM person ORDER BY age", []),
    (
        "SELECT person_id, SUM(amount) AS s FROM purchase GROUP BY 1 ORDER BY s DESC LIMIT 1",
        ["'first' is taken as the highest SUM(amount)"],
    ),
    (
        "SELECT n.city, COUNT(*) FROM person n JOIN purchase p ON p.person_id = n.id GROUP BY n.city",
        ["person without purchase are left out"],
    ),
    (
        "SELECT n.city, COUNT(p.id) FROM person n LEFT JOIN purchase p ON p.person_id = n.id GROUP BY n.city",
        [],
    ),
    ("SELECT p.amount FROM person n JOIN purchase p ON p.person_id = n.id WHERE n.city = 'Gent'", []),
    ("SELECT COUNT(*) FROM purchase WHERE placed >= '2023-03-01' AND placed < '2023-04-01'", [DATES]),
    (
        "SELECT n.name FROM person n, purchase p WHERE n.id = p.person_id AND p.placed > '2023-03-01' "
        "ORDER BY p.amount DESC LIMIT 2",
        ["'first' is taken as the highest p.amount", "person without purchase are left out", DATES],
    ),
]


@pytest.mark.parametrize(("sql", "expected"), ASSUMED)
def test_what_is_assumed(shop, sql, expected):
    said = assumptions(check(sql, shop.catalog), shop.catalog)
    assert list(said) == expected


def test_nothing_is_said_of_what_is_no_query(shop):
    query = check("SELECT 1", shop.catalog)
    assert assumptions(query, shop.catalog) == ()
