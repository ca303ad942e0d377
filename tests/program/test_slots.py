from types import SimpleNamespace

import pytest

from sqlrag_dspy.program import gather
from sqlrag_dspy.program.skeleton import Skeleton, open_roles
from sqlrag_dspy.program.slots import assemble
from sqlrag_dspy.types import Catalog, Column, Item, Link, Links, Predicate, Profile, Table

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
