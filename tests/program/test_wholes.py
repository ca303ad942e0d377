"""Skeletons about groups as wholes become sketches: the first of each, both of two, shares, ranges, two parts."""

from sqlrag_dspy.program.sketching.skeleton import Skeleton, fill, open_roles
from sqlrag_dspy.program.sketching.slots import assemble
from sqlrag_dspy.types import Beside, Catalog, Column, Item, Link, Links, Predicate, Profile, Table

REPAIRS = Table(
    "repairs",
    ("id",),
    (
        Column("id", "INTEGER", Profile("integer", distinct=9)),
        Column("category", "TEXT", Profile("text", distinct=2, values=(("mould", 3), ("heating", 6)))),
        Column("town", "TEXT", Profile("text", distinct=4, null_share=0.1)),
        Column("cost", "REAL", Profile("number", distinct=9, null_share=0.1)),
        Column("day", "TEXT", Profile("date", distinct=9, date_formats=("%Y-%m-%d",))),
    ),
    filter_columns=("category", "town"),
    rows=9,
)
CATALOG = Catalog((REPAIRS,))
TOWN = Link("column", 0, 5, "towns", "repairs", "town", grain="text")
COST = Link("column", 10, 14, "cost", "repairs", "cost")
MOULD = Link("value", 20, 25, "mould", "repairs", "category", "=", "mould")
HEATING = Link("value", 30, 37, "heating", "repairs", "category", "=", "heating")


def year(start, value):
    return Link(
        "date",
        start,
        start + 4,
        str(value),
        "repairs",
        "day",
        "",
        f"{value}-01-01",
        f"{value + 1}-01-01",
        "year",
    )


def sketch_of(skeleton, roles, *links):
    return assemble(skeleton, Links("q", links), dict(enumerate(roles)), REPAIRS, CATALOG)[0]


def test_the_first_of_each_are_those_that_have_the_column():
    skeleton = Skeleton(order="desc:column", limit="each")
    sketch = sketch_of(skeleton, ("each", "order"), TOWN, COST)
    town, cost = Item("repairs", "town"), Item("repairs", "cost")
    assert (sketch.each, sketch.order, sketch.limit) == ((town,), ((cost, True),), 1)
    assert sketch.select == (town, Item("repairs", "id"))
    assert sketch.filters == (
        (Predicate("repairs", "town", "not null"),),
        (Predicate("repairs", "cost", "not null"),),
    )
    five = Link("number", 40, 44, "five", None, None, "", 5)
    several = sketch_of(
        Skeleton(order="desc:column", limit="each k"), ("each", "order", "limit"), TOWN, COST, five
    )
    assert several.limit == 5
    assert fill(skeleton, Links("q", (COST,)), [{"order": 0.9, "ignore": 0.1}]) is None


def test_the_first_groups_of_each():
    kind = Link("column", 50, 58, "category", "repairs", "category", grain="text")
    skeleton = Skeleton("sum", "1", "group", "desc:measure", "each")
    sketch = sketch_of(skeleton, ("each", "measure", "group"), TOWN, COST, kind)
    assert sketch.group == (Item("repairs", "category"), Item("repairs", "town"))
    assert sketch.each == (Item("repairs", "town"),)
    assert sketch.order == ((Item("repairs", "cost", "sum"), True),)


def test_groups_that_have_both_values():
    skeleton = Skeleton(groups="1", show="group", having="both")
    sketch = sketch_of(skeleton, ("group", "filter", "filter"), TOWN, MOULD, HEATING)
    assert sketch.having == ((Item("repairs", "category", "count_distinct"), "=", 2),)
    assert (Predicate("repairs", "category", "in", ("mould", "heating")),) in sketch.filters
    roles = [{"group": 0.9, "ignore": 0.1}, {"filter": 0.9, "ignore": 0.1}]
    assert fill(skeleton, Links("q", (TOWN, MOULD)), roles) is None
    assert fill(skeleton, Links("q", (TOWN, MOULD, HEATING)), [*roles, roles[1]]) is not None


def test_groups_that_have_both_years_also_where_they_touch():
    skeleton = Skeleton(groups="1", show="group", having="both")
    for second in (2021, 2023):
        sketch = sketch_of(skeleton, ("group", "filter", "filter"), TOWN, year(10, 2020), year(20, second))
        assert sketch.having == ((Item("repairs", "day", "count_distinct", "year"), "=", 2),)


def test_a_part_of_an_amount():
    sketch = sketch_of(Skeleton("share+sum", show="measure"), ("measure", "share"), COST, MOULD)
    assert sketch.share == ((Predicate("repairs", "category", "=", "mould"),),)
    assert (sketch.share_of, sketch.select, sketch.is_fraction) == (Item("repairs", "cost"), (), False)
    assert sketch_of(Skeleton("fraction+sum", show="measure"), ("measure", "share"), COST, MOULD).is_fraction
    assert sketch_of(Skeleton("share+sum", show="measure"), ("share",), MOULD) is None


def test_a_range_is_of_numbers_or_dates():
    skeleton = Skeleton("range", show="measure")
    day = Link("column", 10, 14, "day", "repairs", "day")
    assert sketch_of(skeleton, ("measure",), COST).select == (Item("repairs", "cost", "range"),)
    assert sketch_of(skeleton, ("measure",), day).select == (Item("repairs", "day", "range"),)
    assert sketch_of(skeleton, ("measure",), TOWN) is None


def test_what_is_asked_of_groups():
    two = Link("number", 10, 13, "two", None, None, ">=", 2)
    several = sketch_of(Skeleton("count", "1", "groups", having="yes"), ("group", "having"), TOWN, two)
    assert (several.over, several.group, several.limit) == ("count", (Item("repairs", "town"),), None)
    mean = sketch_of(Skeleton("sum", "1", "mean"), ("group", "measure"), TOWN, COST)
    assert (mean.over, mean.select) == ("avg", (Item("repairs", "cost", "sum"),))


def test_a_column_a_part_and_a_table_may_be_each():
    part = Link("part", 0, 4, "year", "repairs", "day", grain="year")
    assert all("each" in open_roles(link) for link in (TOWN, part, Link("table", 0, 4, "town", "repairs")))


def test_two_values_are_set_beside_each_other():
    sketch = sketch_of(Skeleton("count", show="difference"), ("filter", "filter"), MOULD, HEATING)
    first, second = (((Predicate("repairs", "category", "=", value),),) for value in ("mould", "heating"))
    assert sketch.beside == Beside(Item("repairs", None, "count"), first, second, "difference")
    assert (sketch.select, sketch.filters) == ((), ())
    alone = fill(Skeleton("count", show="difference"), Links("q", (MOULD,)), [{"filter": 0.9, "ignore": 0.1}])
    assert alone is None


def test_groups_in_which_one_year_exceeds_another():
    skeleton = Skeleton("sum", "1", "group", having="more")
    roles = ("group", "measure", "filter", "filter", "filter")
    sketch = sketch_of(skeleton, roles, TOWN, COST, year(10, 2020), year(20, 2021), MOULD)
    assert (sketch.beside.of, sketch.beside.how) == (Item("repairs", "cost", "sum"), "more")
    assert sketch.beside.first[0] == (Predicate("repairs", "day", ">=", "2020-01-01"),)
    assert (Predicate("repairs", "category", "=", "mould"),) in sketch.filters
    assert len(sketch.filters) == 2  # and that there is a town


def test_a_range_of_dates_names_the_years_or_months_at_its_ends():
    span = lambda text, low, high: Link("date", 0, 9, text, "repairs", "day", "", low, high, "range")  # noqa: E731
    change = Skeleton("count", show="change")
    sketch = sketch_of(change, ("filter",), span("from 2020 to 2022", "2020-01-01", "2023-01-01"))
    ends = [[group[0].value for group in part] for part in (sketch.beside.first, sketch.beside.second)]
    assert ends == [["2020-01-01", "2021-01-01"], ["2022-01-01", "2023-01-01"]]
    sketch = sketch_of(change, ("filter",), span("between March and May 2022", "2022-03-01", "2022-06-01"))
    assert sketch.beside.second[0][0].value == "2022-05-01"
    for text in ("second half of 2022", "the last 10 days", "from Q1 to Q2 2022"):
        assert sketch_of(change, ("filter",), span(text, "2022-07-01", "2023-01-01")) is None


def test_what_has_no_value_is_set_beside_the_rest():
    sketch = sketch_of(Skeleton("count", show="beside"), ("null",), TOWN)
    assert sketch.beside.first == ((Predicate("repairs", "town", "null"),),)
    assert sketch.beside.second == ((Predicate("repairs", "town", "not null"),),)


def test_the_difference_that_groups_are_ordered_by_is_not_shown():
    skeleton = Skeleton("count", "1", "group", "desc:difference", "one")
    sketch = sketch_of(skeleton, ("group", "filter", "filter"), TOWN, year(10, 2020), year(20, 2021))
    assert not sketch.beside.is_shown
    assert sketch.order == ((Item("repairs", None, "count"), True),)
