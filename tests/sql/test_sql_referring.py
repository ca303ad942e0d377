"""Rows that refer to others of their table, or share something with them, are read, written and told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_databases import integer, open_duckdb, open_sqlite, text

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check, explain, read, write
from sqlrag_dspy.types import Catalog, ForeignKey, Item, Predicate, Same, Sketch, Table

STAFF = Table(
    "staff",
    ("id",),
    (integer("id"), text("name"), text("job"), integer("pay"), integer("boss", nulls=0.2)),
    foreign_keys=(ForeignKey(("boss",), "staff", ("id",)),),
    rows=5,
)
CATALOG = Catalog((STAFF,), "sqlite")
ROWS = {
    "staff": [
        (1, "Ada", "head", 900, None),
        (2, "Bo", "chief", 700, 1),
        (3, "Cy", "clerk", 300, 2),
        (4, "Di", "clerk", 300, 2),
        (5, "Ed", "clerk", 200, 1),
    ]
}
NAME, BOSS = Item("staff", "name"), Item("staff", "name", via="boss")
COUNT = Item("staff", None, "count")
ON = "FROM staff e JOIN staff m ON m.id = e.boss"

READ = [
    f"SELECT e.name, m.name {ON}",
    f"SELECT e.name {ON} WHERE m.name = 'Bo'",
    f"SELECT COUNT(*) {ON} WHERE m.job IN ('head', 'chief') AND e.pay > 250",
    f"SELECT m.name {ON} GROUP BY m.id HAVING COUNT(*) > 1",
    f"SELECT m.name, AVG(e.pay) {ON} WHERE m.job = 'chief' GROUP BY m.id",
    f"SELECT m.name {ON} GROUP BY m.name ORDER BY COUNT(*) DESC, m.name LIMIT 1",
    "SELECT e.name FROM staff m JOIN staff e ON e.boss = m.id AND m.name = 'Bo'",
    "SELECT name FROM staff WHERE boss IN (SELECT id FROM staff WHERE job = 'head')",
    "SELECT name FROM staff WHERE job = (SELECT job FROM staff WHERE name = 'Cy') AND name <> 'Cy'",
    "SELECT COUNT(*) FROM staff WHERE name NOT LIKE 'c%' AND pay IN (SELECT pay FROM staff WHERE name LIKE 'c%')",
    "SELECT name FROM staff WHERE boss = (SELECT boss FROM staff WHERE name = 'Cy') AND NOT (name = 'Cy')",
]
BEYOND = [
    "SELECT a.name FROM staff a JOIN staff b ON a.job = b.job",
    "SELECT a.name FROM staff a LEFT JOIN staff b ON b.id = a.boss",
    "SELECT c.name FROM staff a JOIN staff b ON b.id = a.boss JOIN staff c ON c.id = b.boss",
    "SELECT name FROM staff WHERE boss IN (SELECT id FROM staff WHERE boss IN (SELECT id FROM staff WHERE pay > 1))",
    "SELECT name FROM staff WHERE boss IN (SELECT boss FROM staff WHERE pay > 1)",
    "SELECT name FROM staff WHERE job = (SELECT job FROM staff WHERE name = 'Cy')",
    "SELECT name FROM staff WHERE job = (SELECT job FROM staff WHERE name = 'Cy') AND name <> 'Di'",
    "SELECT name FROM staff WHERE job = (SELECT name FROM staff WHERE name = 'Cy') AND name <> 'Cy'",
]


@pytest.fixture(scope="module")
def duck():
    return open_duckdb(CATALOG, ROWS)


@pytest.fixture(scope="module")
def lite():
    return open_sqlite(CATALOG, ROWS)


@pytest.mark.parametrize("statement", READ)
def test_what_is_read_is_written_with_the_same_rows(statement, duck, lite):
    sketch = read(statement, CATALOG)
    assert sketch is not None
    written = check(write(sketch, CATALOG), CATALOG).text
    assert read(written, CATALOG) is not None
    found, expected = duck.execute(written).fetchall(), lite.execute(statement).fetchall()
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("statement", BEYOND)
def test_other_self_joins_are_beyond(statement):
    assert read(statement, CATALOG) is None


FILTERS = st.sampled_from(
    [
        (Predicate("staff", "job", "=", "clerk"),),
        (Predicate("staff", "pay", ">", 250),),
        (Predicate("staff", "name", "=", "Bo", via="boss"),),
        (Predicate("staff", "job", "in", ("head", "chief"), via="boss"),),
        (Predicate("staff", "pay", ">=", 800, via="boss"),),
    ]
)
SHAPES = st.sampled_from(
    [
        {"select": (NAME,)},
        {"select": (NAME, BOSS)},
        {"select": (COUNT,)},
        {"select": (BOSS, COUNT), "group": (BOSS,)},
        {"select": (BOSS,), "group": (BOSS,), "having": ((COUNT, ">", 1),)},
        {"select": (BOSS,), "group": (BOSS,), "order": ((COUNT, True),), "limit": 1},
    ]
)


SHARED = st.sampled_from(
    [
        None,
        None,
        Same(Item("staff", "job"), ((Predicate("staff", "name", "=", "Cy"),),)),
        Same(Item("staff", "boss"), ((Predicate("staff", "name", "in", ("Cy", "Ed")),),)),
    ]
)


@given(shape=SHAPES, filters=st.lists(FILTERS, max_size=2, unique=True), same=SHARED)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_back(shape, filters, same, duck):
    sketch = Sketch("staff", filters=tuple(filters), same=same, **shape)
    written = write(sketch, CATALOG)
    assert read(written, CATALOG) == sketch
    duck.execute(check(written, CATALOG).text).fetchall()


def test_a_column_that_refers_to_no_other_row_is_refused():
    with pytest.raises(SqlRejected) as refused:
        write(Sketch("staff", (Item("staff", "name", via="pay"),)), CATALOG)
    assert "refers to no other row" in str(refused.value)


def test_whose_column_it_is_is_told():
    said = explain(f"SELECT m.name, COUNT(*) {ON} WHERE m.job = 'head' GROUP BY m.name", CATALOG)
    assert said == "counts staff by boss name where boss job is head"


def test_what_rows_share_is_told():
    said = explain(
        "SELECT name FROM staff WHERE job = (SELECT job FROM staff WHERE name = 'Cy') AND name <> 'Cy'",
        CATALOG,
    )
    assert said == "name of staff with the job of the one where name is Cy, without that"


def test_rows_share_a_column_of_their_own():
    other = Same(Item("staff", "job"), ((Predicate("teams", "name", "=", "Cy"),),))
    with pytest.raises(SqlRejected):
        write(Sketch("staff", (NAME,), same=other), CATALOG)
