"""Rows that refer to others of their table: values of the other row, and groups by it."""

from sqlrag_dspy.program.sketching.referring import reference_of
from sqlrag_dspy.program.sketching.skeleton import Skeleton, fill
from sqlrag_dspy.program.sketching.slots import assemble
from sqlrag_dspy.types import Catalog, Column, ForeignKey, Item, Link, Links, Predicate, Profile, Same, Table


def text(name, distinct):
    return Column(name, "TEXT", Profile("text", distinct=distinct))


def staff(*references):
    keys = tuple(ForeignKey((name,), "staff", ("id",)) for name in references)
    numbers = [Column(name, "INTEGER", Profile("integer", distinct=9)) for name in ("id", "boss", "mentor")]
    return Table(
        "staff", ("id",), (*numbers, text("name", 9), text("job", 3)), foreign_keys=keys, rows=9,
        filter_columns=("job",),
    )  # fmt: skip


STAFF = Link("table", 0, 5, "staff", "staff")
ADA = Link("value", 10, 13, "Ada", "staff", "name", "=", "Ada")
CHIEF = Link("value", 10, 15, "chief", "staff", "job", "=", "chief")
CLERK = Link("value", 20, 25, "clerk", "staff", "job", "=", "clerk")
THREE = Link("number", 30, 35, "three", None, None, ">", 3)
OTHER = Item("staff", "name", via="boss")


BOSSED = staff("boss")


def sketch_of(skeleton, roles, *links, table=BOSSED):
    return assemble(skeleton, Links("q", links), dict(enumerate(roles)), table, Catalog((table,)))[0]


def test_a_value_of_the_row_that_is_referred_to():
    sketch = sketch_of(Skeleton(), ("subject", "via"), STAFF, ADA)
    assert sketch.filters == ((Predicate("staff", "name", "=", "Ada", via="boss"),),)
    assert sketch.select == (Item("staff", "name"),)


def test_a_reference_must_be_the_only_one():
    assert [reference_of(staff(*names)) for names in ((), ("boss",), ("boss", "mentor"))] == ["", "boss", ""]
    for table in (staff(), staff("boss", "mentor")):
        assert sketch_of(Skeleton(), ("subject", "via"), STAFF, ADA, table=table) is None


def test_groups_of_rows_by_the_row_that_they_refer_to():
    skeleton = Skeleton("count", "1", "group", having="yes")
    sketch = sketch_of(skeleton, ("group", "having"), STAFF, THREE)
    assert (sketch.table, sketch.group, sketch.select) == ("staff", (OTHER,), (OTHER,))
    assert sketch.having == ((Item("staff", None, "count"), ">", 3),)


def test_a_restriction_of_the_other_row_implies_the_group():
    skeleton = Skeleton("count", "1", "group+measure")
    sketch = sketch_of(skeleton, ("via", "filter"), CHIEF, CLERK)
    assert sketch.group == (OTHER,)
    assert set(sketch.filters) == {
        (Predicate("staff", "job", "=", "chief", via="boss"),),
        (Predicate("staff", "job", "=", "clerk"),),
    }
    roles = [{"via": 0.9, "ignore": 0.1}, {"filter": 0.9, "ignore": 0.1}]
    assert fill(skeleton, Links("q", (CHIEF, CLERK)), roles) is not None


def test_rows_that_have_something_in_common_with_one():
    job = Link("column", 0, 3, "job", "staff", "job", grain="text")
    ada = ((Predicate("staff", "name", "=", "Ada"),),)
    skeleton = Skeleton(without="same")
    sketch = sketch_of(skeleton, ("alike", "whose"), job, ADA)
    assert (sketch.same, sketch.filters) == (Same(Item("staff", "job"), ada), ())
    sketch = sketch_of(skeleton, ("whose",), ADA)  # "the same boss as Ada": the row that both refer to
    assert sketch.same == Same(Item("staff", "boss"), ada)
    assert sketch_of(skeleton, ("whose",), ADA, table=staff()) is None
    name = Link("column", 0, 4, "name", "staff", "name", grain="text")
    assert sketch_of(skeleton, ("alike", "whose"), name, ADA) is None
    assert fill(skeleton, Links("q", (job,)), [{"alike": 0.9, "ignore": 0.1}]) is None
