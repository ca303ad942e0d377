from sqlrag_dspy.program.sketching.signals import ambiguities, oddities, omissions
from sqlrag_dspy.program.sketching.skeleton import Skeleton
from sqlrag_dspy.types import Catalog, Item, Link, Links, Predicate, Sketch, Table

TITLE = (Item("books", "title"),)
BOUND = Link("number", 6, 14, "over 300", "books", "pages", ">", 300)


def test_what_a_query_leaves_out_is_counted_by_kind():
    links = Links(
        "books over 300, longest", (BOUND, Link("column", 16, 23, "longest", "books", "pages", "max"))
    )
    left = omissions(links, {0: "ignore", 1: "ignore"}, Sketch("books", TITLE))
    assert (left["unused bound"], left["unused number"], left["unused extreme"]) == (1, 1, 1)
    used = omissions(links, {0: "filter", 1: "order"}, Sketch("books", TITLE))
    assert not any(used.values())


def test_a_negation_counts_until_the_query_has_heard_it():
    links = Links("books not in Dutch", ())
    assert omissions(links, {}, Sketch("books", TITLE))["unheard"] == 1
    heard = Sketch("books", TITLE, filters=((Predicate("books", "language", "!=", "Dutch"),),))
    assert omissions(links, {}, heard)["unheard"] == 0


def test_other_readings_and_tables_are_counted():
    read = Link("column", 6, 11, "title", "books", "title")
    other = Link("column", 6, 11, "title", "films", "title")
    links = Links("books title", (Link("table", 0, 5, "books", "books"), read), (other,))
    catalog = Catalog((Table("books", ("title",), ()), Table("films", ("title",), ())))
    found = ambiguities(links, {0: "subject", 1: "select"}, Sketch("books", TITLE), catalog)
    assert (found["tables"], found["rivals"], found["homes"], found["unnamed root"]) == (1.0, 1.0, 1.0, 0.0)
    elsewhere = ambiguities(
        links, {0: "ignore", 1: "ignore"}, Sketch("films", (Item("films", "title"),)), catalog
    )
    assert (elsewhere["rivals"], elsewhere["unused tables"], elsewhere["unnamed root"]) == (0.0, 1.0, 1.0)


def test_a_limit_without_an_order_is_odd():
    links = Links("two books", (Link("number", 0, 3, "two", value=2),))
    odd = oddities(Skeleton(limit="k"), links, {0: "limit"}, Sketch("books", TITLE, limit=2))
    assert odd["cut unordered"] == 1
    assert oddities(Skeleton(limit="k", order="desc:column"), links, {0: "limit"}, None)["cut unordered"] == 0
