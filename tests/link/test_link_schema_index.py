"""Tables for a question out of many, and the ways between them."""

from __future__ import annotations

import sqlite3

import pytest
from link_catalogs import catalog_of

from sqlrag_dspy.link import SchemaIndex, join_paths

SHOP = """
CREATE TABLE places (id INTEGER PRIMARY KEY, city TEXT, country TEXT);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, referred_by INTEGER REFERENCES customers(id),
    billing_place INTEGER REFERENCES places(id), shipping_place INTEGER REFERENCES places(id));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), ordered_on TEXT,
    status TEXT);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id),
    product_id INTEGER REFERENCES products(id), quantity INTEGER);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, list_price REAL, colour TEXT);
INSERT INTO orders VALUES (1, 1, '2023-01-02', 'open'), (2, 1, '2023-01-03', 'paid');
INSERT INTO products VALUES (1, 'lamp', 3.5, 'green'), (2, 'pan', 4.5, 'red');
"""
MARKS = ("{}_archive", "stg_{}", "{}_2019", "{}_backup")


@pytest.fixture(scope="module")
def wide():
    """The shop, four copies of each of its tables, and forty tables about other things."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(SHOP)
    for name in ("places", "customers", "orders", "order_lines", "products"):
        for mark in MARKS:
            connection.execute(
                f"CREATE TABLE {mark.format(name)} AS SELECT *, 1 AS batch FROM {name} LIMIT 1"
            )
    for number in range(40):
        connection.execute(f"CREATE TABLE topic_{number} (id INTEGER PRIMARY KEY, remark_{number} TEXT)")
    return catalog_of(connection)


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        ("how many orders are there", {"orders"}),
        ("the name of every customer who ordered a lamp", {"customers", "orders", "order_lines", "products"}),
        ("¿Cuántos pedidos hay?", {"orders"}),
        ("welke klanten wonen in welk land", {"customers", "places"}),
        ("anything green", {"products"}),
    ],
)
def test_the_needed_tables_are_given_and_their_copies_stand_behind(wide, question, needed):
    given = SchemaIndex(wide).relevant([question], 8)
    assert len(given) == 8
    assert needed <= set(given)
    for name in needed:
        assert all(
            given.index(name) < given.index(copy) for mark in MARKS if (copy := mark.format(name)) in given
        )


def test_a_copy_that_is_asked_for_comes_first(wide):
    assert SchemaIndex(wide).relevant(["orders in the archive"], 3)[0] == "orders_archive"
    assert SchemaIndex(wide).relevant(["pedidos archivados"], 3)[0] == "orders_archive"


def test_several_intents_are_all_served(wide):
    given = SchemaIndex(wide).relevant(["remark 7", "remark 31", "colour of products"], 5)
    assert {"topic_7", "topic_31", "products"} <= set(given)


def test_an_encoder_adds_what_words_do_not_say(wide):
    import numpy as np

    def encode(texts):
        """A toy: a dimension for whatever is bought, another for the rest."""
        return np.array([[1.0, 0.0] if "colour" in t or "merchandise" in t else [0.0, 1.0] for t in texts])

    assert SchemaIndex(wide, encode).relevant(["all our merchandise"], 4)[0] == "products"


@pytest.mark.parametrize("texts", [[], [""], ["?!"], ["the of and"]])
def test_odd_questions_do_no_harm(wide, texts):
    assert len(SchemaIndex(wide).relevant(texts, 4)) in (0, 4)


def test_a_small_schema_is_given_whole():
    connection = sqlite3.connect(":memory:")
    connection.executescript(SHOP)
    assert len(SchemaIndex(catalog_of(connection)).relevant(["anything"])) == 5


def test_a_path_leads_over_the_tables_between(wide):
    _, path = join_paths(wide, ["customers", "products"])
    assert (path.start, path.end, path.through) == ("customers", "products", ("orders", "order_lines"))
    assert [str(join) for join in path.joins] == [
        "orders.customer_id = customers.id",
        "order_lines.order_id = orders.id",
        "order_lines.product_id = products.id",
    ]
    assert path.is_declared


def test_two_references_are_two_paths_and_a_table_may_refer_to_itself(wide):
    paths = join_paths(wide, ["customers", "places"])
    assert sorted(str(path.joins[0]) for path in paths) == [
        "customers.billing_place = places.id",
        "customers.referred_by = customers.id",
        "customers.shipping_place = places.id",
    ]


def test_no_path_goes_through_a_table_that_is_given(wide):
    paths = join_paths(wide, ["customers", "orders", "order_lines"])
    assert {(path.start, path.end) for path in paths} == {
        ("customers", "customers"),
        ("orders", "customers"),
        ("order_lines", "orders"),
    }


def test_tables_that_nothing_joins_or_nobody_knows_are_in_no_path(wide):
    assert join_paths(wide, ["topic_1", "topic_2", "nowhere"]) == ()
