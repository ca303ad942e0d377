from types import SimpleNamespace

import pytest

from sqlrag_dspy.program import gather
from sqlrag_dspy.program.skeleton import Skeleton
from sqlrag_dspy.program.slots import assemble
from sqlrag_dspy.types import Catalog, Column, Link, Links, Profile, Table

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
