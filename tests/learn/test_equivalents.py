"""Gold sketches are told by rows where a question speaks of rows."""

from sqlrag_dspy.learn.equivalents import told_by_row
from sqlrag_dspy.sql import read
from sqlrag_dspy.types import Catalog, Column, ForeignKey, Item, Link, Links, Predicate, Profile, Table


def text(name, distinct=4):
    return Column(name, "TEXT", Profile("text", distinct=distinct))


MAKERS = Table("makers", ("code",), (text("code"), text("name")), rows=4)
BOATS = Table(
    "boats",
    ("id",),
    (Column("id", "INTEGER", Profile("integer", distinct=9)), text("maker"), text("colour"), text("town")),
    foreign_keys=(ForeignKey(("maker",), "makers", ("code",)),),
    rows=9,
)
CATALOG = Catalog((MAKERS, BOATS))
NOTHING = Links("q", ())
NAMED = Links("q", (Link("column", 0, 4, "code", "makers", "code"),))


def told(sql, links=NOTHING):
    sketch = read(sql, CATALOG)
    assert sketch is not None
    return told_by_row(sketch, links, CATALOG)


def test_a_reference_that_the_question_names_is_told_by_its_name():
    sql = "SELECT maker, COUNT(*) FROM boats GROUP BY maker"
    assert told(sql).group == (Item("boats", "maker"),)
    assert told(sql, NAMED).group == (Item("makers", "code"),)
    assert told(sql, NAMED).select[0] == Item("makers", "code")


def test_groups_that_are_only_counted_are_told_by_row():
    found = told("SELECT COUNT(*) FROM (SELECT maker FROM boats GROUP BY maker HAVING COUNT(*) > 2)")
    assert (found.group, found.over) == ((Item("makers", "name"),), "count")


def test_a_count_of_references_is_a_count_of_rows():
    found = told("SELECT COUNT(DISTINCT maker) FROM boats WHERE colour = 'red'")
    assert (found.table, found.select) == ("makers", (Item("makers", None, "count"),))
    assert found.filters == ((Predicate("boats", "colour", "=", "red"),),)
    assert told("SELECT COUNT(DISTINCT maker) FROM boats").table == "boats"


def test_rows_with_both_of_two_are_groups_that_have_both():
    found = told(
        "SELECT name FROM makers WHERE code IN (SELECT maker FROM boats WHERE colour = 'red') "
        "AND code IN (SELECT maker FROM boats WHERE colour = 'blue')"
    )
    assert (found.table, found.group) == ("boats", (Item("makers", "name"),))
    assert found.filters == ((Predicate("boats", "colour", "in", ("red", "blue")),),)
    assert found.having == ((Item("boats", "colour", "count_distinct"), "=", 2),)


def test_two_parts_are_told_in_the_order_of_the_question():
    value = lambda start, colour: Link("value", start, start + 3, colour, "boats", "colour", "=", colour)  # noqa: E731
    links = Links("q", (value(0, "blue"), value(5, "red")))
    sql = "SELECT town FROM boats GROUP BY town HAVING SUM(colour = 'red') > SUM(colour = 'blue')"
    assert told(sql).beside.how == "more"
    turned = told(sql, links).beside
    assert (turned.how, turned.first) == ("less", ((Predicate("boats", "colour", "=", "blue"),),))
