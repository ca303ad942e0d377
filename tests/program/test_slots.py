from types import SimpleNamespace

import pytest

from sqlrag_dspy.program import gather
from sqlrag_dspy.program.sketching.skeleton import Skeleton, fill, open_roles
from sqlrag_dspy.program.sketching.slots import assemble
from sqlrag_dspy.sql import read, write
from sqlrag_dspy.types import (
    Absence,
    Catalog,
    Column,
    ForeignKey,
    Item,
    Link,
    Links,
    Predicate,
    Profile,
    Table,
)

REPAIRS = Table(
    "repairs",
    ("id",),
    (
        Column("id", "INTEGER", Profile("integer", distinct=9)),
        Column("category", "TEXT", Profile("text", distinct=3, values=(("mould", 3), ("heating", 6)))),
        Column("cost", "REAL", Profile("number", distinct=9)),
    ),
    filter_columns=("category",),
    rows=9,
)
CATALOG = Catalog((REPAIRS,))
GROUP = Link("column", 0, 8, "category", "repairs", "category", grain="text")


def bound(column):
    return Link("number", 9, 22, "more than 300", "repairs", column, ">", 300)


@pytest.mark.parametrize(("column", "is_said"), [(None, True), ("cost", False)])
def test_a_bound_on_a_column_never_bounds_how_many_rows_there_are(column, is_said):
    links = Links("category more than 300", (GROUP, bound(column)))
    skeleton = Skeleton("count", "1", "group", "none", "none", "yes", "no")
    sketch, _ = assemble(skeleton, links, {0: "group", 1: "having"}, REPAIRS, CATALOG)
    assert (sketch is not None) is is_said


@pytest.mark.parametrize(
    ("column", "used", "is_flagged"), [(None, set(), True), ("cost", {1}, False), ("cost", set(), True)]
)
def test_a_bound_that_restricts_nothing_is_told(column, used, is_flagged):
    inquiry = SimpleNamespace(links=Links("q", (GROUP, bound(column))), flagged=False, warnings=[])
    gather.unused(inquiry, used)
    assert inquiry.flagged is is_flagged
    assert bool(inquiry.warnings) is is_flagged


def test_groups_without_an_order_come_in_one():
    links = Links("category", (GROUP,))
    skeleton = Skeleton("count", "1", "group+measure", "none", "none", "no", "no")
    sketch, _ = assemble(skeleton, links, {0: "group"}, REPAIRS, CATALOG)
    assert [(item.column, descending) for item, descending in sketch.order] == [("category", False)]


def test_several_counts_are_one():
    skeleton = Skeleton("count+count", "1", "group+measure")
    sketch, _ = assemble(skeleton, Links("category", (GROUP,)), {0: "group"}, REPAIRS, CATALOG)
    assert sketch.select == (Item("repairs", "category"), Item("repairs", None, "count"))


COST = Link("column", 7, 20, "most expensive", "repairs", "cost", "max", grain="number", concept="price")


@pytest.mark.parametrize(("place", "rows"), [(2, (1, 1)), (3, (1, 2)), (1, None)])
def test_a_place_in_an_order_leaves_out_the_rows_before_it(place, rows):
    links = Links("second most expensive", (Link("number", 0, 6, "second", op="nth", value=place), COST))
    skeleton = Skeleton(order="desc:column", limit="nth")
    sketch, _ = assemble(skeleton, links, {0: "nth", 1: "order"}, REPAIRS, CATALOG)
    assert (None if sketch is None else (sketch.limit, sketch.offset)) == rows


def test_a_place_in_an_order_is_no_limit_and_no_bound():
    place = Link("number", 0, 6, "second", op="nth", value=2)
    average = Link("number", 0, 6, "above average", "repairs", "cost", ">", grain="average")
    assert open_roles(place) == ("nth", "ignore")
    assert not {"limit", "having"} & set(open_roles(average))


def test_an_average_is_compared_with():
    average = Link("number", 0, 13, "above average", "repairs", "cost", ">", grain="average")
    sketch, _ = assemble(Skeleton(), Links("above average", (average,)), {0: "filter"}, REPAIRS, CATALOG)
    assert sketch.filters == ((Predicate("repairs", "cost", ">", than="average"),),)


TIMED = Table(
    "jobs",
    ("id",),
    (
        Column("id", "INTEGER", Profile("integer", distinct=9)),
        Column("opened", "TEXT", Profile("date")),
        Column("closed", "TEXT", Profile("date")),
    ),
    rows=9,
)
TOOK = Link("column", 0, 4, "took", "jobs", "closed", grain="days", since="opened")


def test_days_are_averaged_ordered_by_and_bounded():
    bound = Link("number", 5, 12, "over 3", "jobs", "closed", ">", 3, since="opened")
    links, catalog = Links("took over 3", (TOOK, bound)), Catalog((TIMED,))
    mean = Skeleton("avg", "0", "measure")
    sketch, _ = assemble(mean, links, {0: "measure", 1: "filter"}, TIMED, catalog)
    assert sketch.select == (Item("jobs", "closed", "avg", since="opened"),)
    assert sketch.filters == ((Predicate("jobs", "closed", ">", 3, since="opened"),),)
    slowest = Skeleton(order="desc:column", limit="one")
    sketch, _ = assemble(slowest, links, {0: "order", 1: "ignore"}, TIMED, catalog)
    assert sketch.order == ((Item("jobs", "closed", since="opened"), True),)
    assert not {"group", "null"} & set(open_roles(TOOK))


PARTS = Table(
    "parts",
    ("id",),
    (
        Column("id", "INTEGER", Profile("integer", distinct=9)),
        Column("repair_id", "INTEGER", Profile("integer", distinct=5)),
        Column("maker", "TEXT", Profile("text", distinct=2, values=(("Acme", 5), ("Bolt", 4)))),
    ),
    foreign_keys=(ForeignKey(("repair_id",), "repairs", ("id",)),),
    rows=9,
)
BOTH = Catalog((PARTS, REPAIRS))
LACKING = Skeleton(without="other")
NAMED = (Link("table", 0, 7, "repairs", "repairs"), Link("table", 16, 21, "parts", "parts"))


def test_the_table_that_refers_to_the_other_is_the_one_without_rows():
    acme = Link("value", 25, 29, "Acme", "parts", "maker", "=", "Acme")
    mould = Link("value", 8, 13, "mould", "repairs", "category", "=", "mould")
    for named in (NAMED, NAMED[::-1]):
        links = Links("mould repairs without parts by Acme", (*named, mould, acme))
        roles = {0: "ignore", 1: "ignore", 2: "filter", 3: "filter"}
        sketch, _ = assemble(LACKING, links, roles, PARTS, BOTH)
        assert sketch.table == "repairs"
        assert sketch.without == Absence("parts", ((Predicate("parts", "maker", "=", "Acme"),),))
        assert sketch.filters == ((Predicate("repairs", "category", "=", "mould"),),)


def test_what_one_value_has_and_another_lacks():
    """ "Repairs with a part by Acme and none by Birk"."""
    acme = Link("value", 25, 29, "Acme", "parts", "maker", "=", "Acme")
    birk = Link("value", 39, 43, "Birk", "parts", "maker", "!=", "Birk")
    links = Links("q", (*NAMED, acme, birk))
    sketch, _ = assemble(LACKING, links, {0: "ignore", 1: "ignore", 2: "filter", 3: "filter"}, PARTS, BOTH)
    assert sketch.filters == ((Predicate("parts", "maker", "=", "Acme"),),)
    assert sketch.without == Absence("parts", ((Predicate("parts", "maker", "=", "Birk"),),))
    assert read(write(sketch, BOTH), BOTH) == sketch


def test_nothing_is_missing_where_one_table_is_spoken_of():
    alone = Links("repairs without", NAMED[:1])
    assert fill(LACKING, alone, [{"ignore": 1.0}]) is None
    assert fill(LACKING, Links("repairs without parts", NAMED), [{"ignore": 1.0}] * 2) is not None


def test_values_that_never_occur_are_shown():
    shown = Link("column", 0, 8, "category", "repairs", "category", grain="text")
    dear = Link("number", 20, 28, "over 300", "repairs", "cost", ">", 300)
    skeleton = Skeleton(show="columns", distinct="yes", without="own")
    links = Links("category without repairs over 300", (shown, dear))
    sketch, _ = assemble(skeleton, links, {0: "select", 1: "filter"}, REPAIRS, CATALOG)
    assert sketch.filters == ()
    assert sketch.without == Absence("repairs", ((Predicate("repairs", "cost", ">", 300),),), "category")
    acme = Link("value", 20, 24, "Acme", "parts", "maker", "=", "Acme")  # of another table
    far = Links("category without Acme", (shown, acme))
    assert assemble(skeleton, far, {0: "select", 1: "filter"}, REPAIRS, BOTH)[0] is None
    assert fill(skeleton, Links("category", (shown,)), [{"select": 0.9, "ignore": 0.1}]) is None


def test_a_skeleton_of_an_older_program_is_read():
    assert Skeleton.of("count|0|measure|none|none|no|no") == Skeleton("count", "0", "measure")


def test_words_that_a_text_contains_are_looked_for():
    word = Link("value", 0, 9, "word damp", "repairs", "category", "like", "%damp%", concept="word")
    not_dry = Link("value", 10, 19, "not dry", "repairs", "category", "not like", "%dry%", concept="word")
    links = Links("word damp not dry", (word, not_dry))
    sketch, _ = assemble(Skeleton(), links, {0: "filter", 1: "filter"}, REPAIRS, CATALOG)
    assert sketch.filters == (
        (Predicate("repairs", "category", "like", "%damp%"),),
        (Predicate("repairs", "category", "not like", "%dry%"),),
    )
