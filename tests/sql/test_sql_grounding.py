"""Text in a statement put as it is stored, by what the question's links say."""

from __future__ import annotations

import pytest

from sqlrag_dspy.sql import check, ground
from sqlrag_dspy.types import Link, Links


def value(text, table, column, stored, **more):
    return Link("value", 0, len(text), text, table, column, "=", stored, **more)


GENT = value("gent", "person", "city", "Gent")
PAID = value("Paid", "purchase", "status", "paid")

GROUNDED = [
    ("SELECT name FROM person WHERE city = 'gent'", GENT, "'Gent'"),
    ("SELECT name FROM person p WHERE p.city IN ('gent', 'Utrecht')", GENT, "'Gent'"),
    ("SELECT name FROM person WHERE country = 'Gent'", GENT, "\"city\" = 'Gent'"),
    ("SELECT p.name FROM person AS p WHERE p.country = 'gent'", GENT, '"p"."city" = \'Gent\''),
    ("SELECT name FROM person WHERE city <> 'gent'", GENT, "<> 'Gent'"),
    (
        "SELECT name FROM person WHERE city = 'Paid'",
        PAID,
        'JOIN "purchase" ON "person"."id" = "purchase"."person_id"',
    ),
]


@pytest.mark.parametrize(("said", "link", "meant"), GROUNDED)
def test_text_is_put_as_it_is_stored(said, link, meant, shop):
    grounded = ground(said, shop.catalog, Links(link.text, (link,)))
    assert grounded is not None
    assert meant in grounded.text
    assert grounded.changes
    shop.execute(check(grounded.text, shop.catalog))


LEFT = [
    ("SELECT name FROM person WHERE city = 'Gent'", GENT),
    ("SELECT name FROM person WHERE city = 'Gouda'", GENT),
    ("SELECT name FROM person WHERE age > 30", GENT),
    ("SELECT name FROM person WHERE city LIKE '%gent%'", GENT),
    ("SELECT name FROM person WHERE city = 'gent'", Link("table", 0, 6, "people", "person")),
    ("this is no SQL", GENT),
]


@pytest.mark.parametrize(("said", "link"), LEFT)
def test_what_is_stored_or_not_named_by_the_question_is_left_alone(said, link, shop):
    assert ground(said, shop.catalog, Links(link.text, (link,))) is None


def test_a_value_that_two_columns_hold_stays_where_it_was_looked_for(shop):
    twice = (value("NL", "person", "country", "NL"), value("NL", "person", "city", "NL"))
    assert ground("SELECT name FROM person WHERE country = 'NL'", shop.catalog, Links("NL", twice)) is None
