"""Questions over several tables: whose rows are counted, whose date is meant, whose amount is added up."""

import pytest

from sqlrag_dspy.program.sketching.homing import at_home, leads_to
from sqlrag_dspy.program.sketching.skeleton import Skeleton
from sqlrag_dspy.program.sketching.slots import assemble
from sqlrag_dspy.sql import write
from sqlrag_dspy.types import Catalog, Column, ForeignKey, Item, Link, Links, Predicate, Profile, Table


def number(name, rows):
    return Column(name, "INTEGER", Profile("integer", distinct=rows))


def day(name):
    return Column(name, "TEXT", Profile("date", distinct=50, date_formats=("%Y-%m-%d",)))


def names(rows, distinct):
    return Column("name", "TEXT", Profile("text", distinct=distinct))


SHOPS = Table("shops", ("id",), (number("id", 9), names(9, 9), day("opened_on")), rows=9)
BUYERS = Table("buyers", ("id",), (number("id", 40), names(40, 38)), rows=40)
ORDERS = Table(
    "orders",
    ("id",),
    (
        number("id", 300),
        number("shop_id", 9),
        number("buyer_id", 40),
        day("ordered_on"),
        number("total", 200),
    ),
    foreign_keys=(ForeignKey(("shop_id",), "shops", ("id",)), ForeignKey(("buyer_id",), "buyers", ("id",))),
    rows=300,
)
LINES = Table(
    "lines",
    ("id",),
    (number("id", 900), number("order_id", 300), number("item_id", 20), number("amount", 500)),
    foreign_keys=(ForeignKey(("order_id",), "orders", ("id",)), ForeignKey(("item_id",), "items", ("id",))),
    rows=900,
)
ITEMS = Table("items", ("id",), (number("id", 20), names(20, 20), day("launched_on")), rows=20)
CATALOG = Catalog((SHOPS, BUYERS, ORDERS, LINES, ITEMS))


def table(name, at=0):
    return Link("table", at, at + 5, name, name)


def test_tables_that_rows_lead_to_come_nearest_first():
    assert [t.name for t in leads_to(LINES, CATALOG)] == ["orders", "items", "shops", "buyers"]
    assert leads_to(SHOPS, CATALOG) == []


@pytest.mark.parametrize(
    ("root", "home"),
    [(ORDERS, ("orders", "ordered_on")), (LINES, ("orders", "ordered_on")), (SHOPS, ("shops", "opened_on"))],
)
def test_a_date_that_no_column_is_named_for_is_that_of_the_rows_asked_for(root, home):
    year = Link("date", 9, 13, "2023", "shops", "opened_on", value="2023-01-01", upper="2024-01-01")
    moved = at_home(Links("orders in 2023", (table("orders"), year)), root, CATALOG).chosen[1]
    assert (moved.table, moved.column) == home


def test_a_date_stays_with_the_column_that_is_named():
    opened = Link("column", 0, 6, "opened", "shops", "opened_on", grain="date")
    year = Link("date", 9, 13, "2023", "shops", "opened_on", value="2023-01-01", upper="2024-01-01")
    assert at_home(Links("opened in 2023", (opened, year)), ORDERS, CATALOG).chosen[1] == year


def test_rows_of_another_table_are_grouped_by_its_name_and_kept_apart_by_its_key():
    many = Link("number", 12, 24, "more than two", op=">", value=2)
    links = Links("buyers with more than two orders", (table("buyers"), many, table("orders", 25)))
    skeleton = Skeleton("count", "1", "group", having="yes")
    sketch, _ = assemble(skeleton, links, {0: "group", 1: "having", 2: "subject"}, BUYERS, CATALOG)
    assert sketch.table == "orders"
    assert sketch.select == (Item("buyers", "name"),)
    assert sketch.group == (Item("buyers", "name"), Item("buyers", "id"))
    assert 'GROUP BY "buyers"."name", "buyers"."id" HAVING COUNT(*) > 2' in write(sketch, CATALOG)


def test_rows_grouped_by_alone_are_not_counted():
    skeleton = Skeleton("count", "1", "group+measure")
    sketch, _ = assemble(skeleton, Links("buyers", (table("buyers"),)), {0: "group"}, BUYERS, CATALOG)
    assert sketch is None


@pytest.mark.parametrize(("group", "column"), [("shops", "total"), ("items", "amount")])
def test_an_amount_is_read_so_that_no_row_counts_twice(group, column):
    total = Link("column", 0, 5, "sales", "orders", "total", grain="number")
    amount = Link("column", 0, 5, "sales", "lines", "amount", grain="number")
    links = Links("sales per group", (total, table(group, 10)), (amount,))
    skeleton = Skeleton("sum", "1", "group+measure")
    sketch, _ = assemble(skeleton, links, {0: "measure", 1: "group"}, SHOPS, CATALOG)
    assert sketch.select[-1].column == column


def test_an_amount_that_would_count_twice_is_not_added_up():
    total = Link("column", 0, 5, "total", "orders", "total", grain="number")
    links = Links("total per item", (total, table("items", 10)))
    sketch, _ = assemble(
        Skeleton("sum", "1", "group+measure"), links, {0: "measure", 1: "group"}, ITEMS, CATALOG
    )
    assert sketch is None


def test_two_periods_are_compared_by_what_tells_them_apart():
    years = [
        Link("date", at, at + 4, str(year), "orders", "ordered_on", value=f"{year}-01-01", upper=f"{year + 1}-01-01",
             grain="year")
        for at, year in ((0, 2022), (8, 2023))
    ]  # fmt: skip
    links = Links("2022 or 2023: more orders", (*years, table("orders", 19)))
    roles = {0: "filter", 1: "filter", 2: "subject"}
    sketch, _ = assemble(Skeleton("count", "1", "group+measure"), links, roles, ORDERS, CATALOG)
    assert sketch.group == (Item("orders", "ordered_on", "", "year"),)
    assert sketch.filters == (
        (Predicate("orders", "ordered_on", ">=", "2022-01-01"),),
        (Predicate("orders", "ordered_on", "<", "2024-01-01"),),
    )
