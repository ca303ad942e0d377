"""Sketches and key filters become SQL that passes the first wall and gives the rows that were meant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_databases import CATALOG, day, integer, open_duckdb, text

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check, keys_query, keys_where, read, write
from sqlrag_dspy.types import Absence, Beside, Catalog, ForeignKey, Item, Predicate, Sketch, Table


@pytest.fixture(scope="module")
def database():
    return open_duckdb()


def rows(sketch, database, catalog=CATALOG):
    return database.execute(check(write(sketch, catalog), catalog).text).fetchall()


def where(*filters, column="title", table="articles"):
    return Sketch(
        table,
        (Item(table, column),),
        filters=tuple((each,) for each in filters),
        order=((Item(table, column), False),),
    )


def titles(database, *filters):
    return [row[0] for row in rows(where(*filters), database)]


def test_filters_by_kind(database):
    of = lambda column, op, value=None, part="": Predicate("articles", column, op, value, part)  # noqa: E731
    assert titles(database, of("article_category", "=", "sports")) == ["Goal", "Goal again"]
    assert titles(database, of("article_category", "!=", "sports")) == ["Bank run", "Old news", "River"]
    assert titles(database, of("article_category", "in", ("sports", "travel"))) == [
        "Goal",
        "Goal again",
        "River",
    ]
    assert titles(database, of("article_category", "not in", ("sports", "travel"))) == [
        "Bank run",
        "Old news",
    ]
    assert titles(database, of("title", "like", "goal%")) == ["Goal", "Goal again"]
    assert titles(database, of("title", "not like", "%o%")) == ["Bank run", "River"]
    assert titles(database, of("authors", "null")) == ["Goal"]
    assert len(titles(database, of("authors", "not null"))) == 4
    assert titles(database, of("word_count", ">", 400), of("word_count", "<=", "700")) == [
        "Goal again",
        "River",
    ]
    assert titles(database, of("zip", "=", 718)) == ["Bank run"]
    assert titles(database, of("is_open", "=", "true")) == ["Bank run", "Goal", "Goal again"]
    assert titles(database, of("published_date", "=", "2023-03-31")) == ["River"]
    assert titles(
        database, of("published_date", "<=", "2023-03-31"), of("published_date", ">", "2022-12-31")
    ) == ["Goal again", "River"]
    assert titles(database, of("published_date", "=", 2022, "year")) == ["Goal"]
    assert titles(database, of("published_date", "=", "2023-03", "year_month")) == ["River"]
    assert titles(database, of("published_date", "=", 1, "weekday")) == ["Bank run"]
    assert titles(database, of("published_date", "in", (4, 12), "month")) == ["Bank run", "Goal"]


def test_alternatives(database):
    filters = (
        (
            Predicate("articles", "word_count", "<", 100),
            Predicate("articles", "article_category", "=", "travel"),
        ),
    )
    sketch = Sketch("articles", (Item("articles", "title"),), filters=filters)
    assert {row[0] for row in rows(sketch, database)} == {"Old news", "River"}


def test_dates_of_any_storage_are_parsed(database):
    for column in ("eu", "mixed", "native"):
        found = rows(
            where(
                Predicate("odd_dates", column, ">=", "2023-04-01"),
                Predicate("odd_dates", column, "<", "2023-05-01"),
                table="odd_dates",
                column="id",
            ),
            database,
        )
        assert found == [(1,)]
    latest = Sketch(
        "odd_dates", (Item("odd_dates", "id"),), order=((Item("odd_dates", "eu"), True),), limit=1
    )
    assert rows(latest, database) == [(2,)]
    assert rows(Sketch("odd_dates", (Item("odd_dates", "eu", "max"),)), database) == [("01/05/2023",)]


def test_groups_having_order_and_share(database):
    category, count = Item("articles", "article_category"), Item("articles", None, "count")
    sketch = Sketch(
        "articles", (category, count), group=(category,), having=((count, ">", 1),), order=((category, True),)
    )
    assert rows(sketch, database) == [("sports", 2), ("business", 2)]
    share = ((Predicate("articles", "article_category", "=", "sports"),),)
    assert rows(Sketch("articles", (), share=share), database) == [(40.0,)]
    assert rows(Sketch("articles", (), share=share, is_fraction=True), database) == [(0.4,)]
    year = Item("articles", "published_date", "", "year")
    by_year = Sketch("articles", (year, count), group=(year,), order=((year, False),))
    assert rows(by_year, database) == [(1970, 1), (2022, 1), (2023, 3)]


def test_the_first_of_each_keeps_ties_and_cuts_groups(database):
    category, words = Item("articles", "article_category"), Item("articles", "word_count")
    title, count = Item("articles", "title"), Item("articles", None, "count")
    longest = Sketch("articles", (category, title), order=((words, True),), limit=1, each=(category,))
    assert rows(longest, database) == [
        ("business", "Bank run"),
        ("sports", "Goal again"),
        ("travel", "River"),
    ]
    author = Item("articles", "authors")
    busiest = Sketch(
        "articles",
        (category, author),
        group=(author, category),
        order=((count, True),),
        limit=1,
        each=(category,),
    )
    assert len(rows(busiest, database)) == 5
    with pytest.raises(SqlRejected, match="need an order"):
        write(Sketch("articles", (category, title), limit=1, each=(category,)), CATALOG)


def test_a_part_of_an_amount_a_range_and_questions_of_groups(database):
    words, category = Item("articles", "word_count"), Item("articles", "article_category")
    count = Item("articles", None, "count")
    sports = ((Predicate("articles", "article_category", "=", "sports"),),)
    part = Sketch("articles", (), share=sports, share_of=words)
    assert rows(part, database) == [(pytest.approx(100 * 570 / 1660),)]
    nobody = ((Predicate("articles", "article_category", "=", "opera"),),)
    assert rows(Sketch("articles", (), share=nobody, share_of=words), database) == [(0.0,)]
    assert rows(Sketch("articles", (Item("articles", "word_count", "range"),)), database) == [(610,)]
    assert rows(Sketch("odd_dates", (Item("odd_dates", "eu", "range"),)), database) == [(121,)]
    several = Sketch("articles", (category,), group=(category,), having=((count, ">", 1),), over="count")
    assert rows(several, database) == [(2,)]
    assert rows(Sketch("articles", (count,), group=(category,), over="avg"), database) == [
        (pytest.approx(5 / 3),)
    ]
    with pytest.raises(SqlRejected, match="kept"):
        write(Sketch("articles", (category,), over="count"), CATALOG)
    ink = ((Predicate("line", "category", "=", "ink"),),)
    with pytest.raises(SqlRejected, match="added up several times"):
        write(Sketch("line", (), share=ink, share_of=Item("orders", "amount")), CATALOG)


def test_a_filter_on_many_rows_counts_each_row_once(database):
    paper = ((Predicate("line", "category", "=", "paper"),),)
    assert rows(Sketch("orders", (Item("orders", "amount", "sum"),), filters=paper), database) == [(300.0,)]
    assert rows(Sketch("orders", (Item("orders", None, "count"),), filters=paper), database) == [(2,)]
    assert rows(Sketch("orders", (), share=paper), database) == [(pytest.approx(200 / 3),)]
    category, count = Item("line", "category"), Item("orders", None, "count")
    grouped = Sketch("orders", (category, count), group=(category,), order=((category, False),))
    assert rows(grouped, database) == [("ink", 1), ("paper", 2)]


def test_two_values_of_a_far_column_need_two_rows(database):
    both = ((Predicate("line", "category", "=", "paper"),), (Predicate("line", "category", "=", "ink"),))
    assert rows(Sketch("orders", (Item("orders", "customer"),), filters=both), database) == []


def test_nulls_go_last(database):
    ascending = Sketch("articles", (Item("articles", "zip"),), order=((Item("articles", "zip"), False),))
    assert rows(ascending, database)[-1] == (None,)
    descending = Sketch("articles", (Item("articles", "zip"),), order=((Item("articles", "zip"), True),))
    assert rows(descending, database)[-1] == (None,)


def test_joins_through_a_bridge_and_composite_keys():
    catalog = Catalog(
        (
            Table("pep", ("number",), (integer("number"), text("title")), rows=2),
            Table("person", ("id",), (integer("id"), text("name")), rows=2),
            Table(
                "pep_person",
                ("pep", "person"),
                (integer("pep"), integer("person")),
                foreign_keys=(
                    ForeignKey(("pep",), "pep", ("number",)),
                    ForeignKey(("person",), "person", ("id",)),
                ),
                rows=3,
            ),
        )
    )
    data = {
        "pep": [(1, "A"), (2, "B")],
        "person": [(1, "Ann"), (2, "Bo")],
        "pep_person": [(1, 1), (1, 2), (2, 2)],
    }
    con = open_duckdb(catalog, data)
    by_bo = Sketch("pep", (Item("pep", "title"),), filters=((Predicate("person", "name", "=", "Bo"),),))
    assert sorted(rows(by_bo, con, catalog)) == [("A",), ("B",)]
    both = Sketch(
        "pep",
        (Item("pep", "title"),),
        filters=((Predicate("person", "name", "=", "Bo"),), (Predicate("person", "name", "=", "Ann"),)),
    )
    assert rows(both, con, catalog) == [("A",)]
    name, count = Item("person", "name"), Item("pep", None, "count")
    per_person = Sketch("pep", (name, count), group=(name,), order=((name, False),))
    assert rows(per_person, con, catalog) == [("Ann", 1), ("Bo", 2)]
    assert keys_query("pep_person", (), catalog) == 'SELECT "pep", "person" FROM "pep_person"'


def test_odd_names_are_quoted(database):
    sketch = Sketch("Odd Table", (Item("Odd Table", "größe", "max"), Item("Odd Table", 'a"b', "min")))
    assert rows(sketch, database) == [(2, "x")]


def test_keys_of_filters_and_conditions(database):
    filters = ((Predicate("orders", "customer", "=", "Ada"),),)
    assert len(database.execute(check(keys_query("line", filters, CATALOG), CATALOG).text).fetchall()) == 3
    assert keys_query("n", (), CATALOG) == 'SELECT "rowid" FROM "n"'
    condition = keys_where("articles", "status <> 'x' OR published_date LIKE '2023%' -- note", CATALOG)
    assert condition.startswith('SELECT "title" FROM "articles" WHERE ')
    found = check(keys_where("articles", "published_date LIKE '2023%'", CATALOG), CATALOG)
    assert len(database.execute(found.text).fetchall()) == 3


@pytest.mark.parametrize(
    "condition",
    ["", "1 = 1) UNION SELECT 1 --", "1 = 1 UNION SELECT title FROM articles", "1 = 1 ORDER BY 1", "1 = 1 LIMIT 3",
     "1 = 1; DROP TABLE articles", "(1 = 1", "'", "1 = 1 GROUP BY 1", "TRUE FOR UPDATE"],
)  # fmt: skip
def test_only_one_condition_is_taken(condition):
    with pytest.raises(SqlRejected):
        check(keys_where("articles", condition, CATALOG), CATALOG)


@pytest.mark.parametrize(
    "condition",
    ["EXISTS (SELECT 1 FROM read_text('x'))", "title IN (SELECT content FROM glob('/*'))", "pg_sleep(3)"],
)
def test_conditions_are_still_checked(condition):
    with pytest.raises(SqlRejected, match="not allowed"):
        check(keys_where("articles", condition, CATALOG), CATALOG)


@pytest.mark.parametrize(
    ("sketch", "said"),
    [
        (Sketch("articels", (Item("articels", None, "count"),)), "did you mean 'articles'"),
        (Sketch("articles", (Item("articles", "titel"),)), "did you mean 'title'"),
        (Sketch("articles", ()), "selects nothing"),
        (Sketch("articles", (Item("n", "x"),)), "no foreign key"),
        (where(Predicate("articles", "word_count", "=", "abc")), "is a number"),
        (where(Predicate("articles", "is_open", "=", "perhaps")), "true or false"),
        (where(Predicate("articles", "published_date", ">=", "soon")), "holds dates"),
        (where(Predicate("articles", "published_date", ">=", "2023-02-31")), "no day"),
        (where(Predicate("articles", "word_count", "~", 1)), "operator"),
        (where(Predicate("articles", "word_count", "=", 2023, "year")), "no dates"),
    ],
)
def test_a_sketch_that_cannot_be_written_says_why(sketch, said):
    with pytest.raises(SqlRejected) as refused:
        write(sketch, CATALOG)
    assert said in str(refused.value)


# --- law: what is written is read back --------------------------------------------------------------

ITEMS = st.sampled_from(
    [
        Item("articles", "title"),
        Item("articles", "word_count"),
        Item("articles", "article_category"),
        Item("articles", "published_date", "", "year"),
        Item("articles", "published_date", "", "year_month"),
        Item("articles", None, "count"),
        Item("articles", "word_count", "avg"),
        Item("articles", "authors", "count_distinct"),
        Item("articles", "published_date", "max"),
    ]
)
FILTERS = st.sampled_from(
    [
        (Predicate("articles", "article_category", "=", "sports"),),
        (Predicate("articles", "article_category", "in", ("sports", "travel")),),
        (Predicate("articles", "published_date", ">=", "2023-01-01"),),
        (Predicate("articles", "published_date", "<", "2023-04-01"),),
        (Predicate("articles", "word_count", ">", 200), Predicate("articles", "zip", "null")),
        (Predicate("articles", "title", "like", "%o%"),),
        (Predicate("articles", "is_open", "=", True),),
        (Predicate("articles", "word_count", "<=", than="average"),),
    ]
)
GROUPS = st.sampled_from(
    [
        (),
        (Item("articles", "article_category"),),
        (Item("articles", "published_date", "", "year"),),
        (Item("articles", "published_date", "", "year_month"), Item("articles", "article_category")),
    ]
)


PARTS = st.sampled_from(
    [
        ((Predicate("articles", "article_category", "=", "sports"),),),
        ((Predicate("articles", "authors", "null"),),),
        (
            (Predicate("articles", "published_date", ">=", "2022-01-01"),),
            (Predicate("articles", "published_date", "<", "2023-01-01"),),
        ),
        ((Predicate("articles", "word_count", ">=", 300),),),
    ]
)
MEASURES = st.sampled_from(
    [
        Item("articles", None, "count"),
        Item("articles", "word_count", "sum"),
        Item("articles", "word_count", "avg"),
    ]
)


@st.composite
def comparisons(draw):
    """Sketches of two parts of the rows beside each other."""
    of, group = draw(MEASURES), draw(GROUPS)
    first, second = draw(st.lists(PARTS, min_size=2, max_size=2, unique=True))
    hows = ("both", "difference", "gap", "change", *(("more", "less") if group else ()))
    how = draw(st.sampled_from(hows))
    is_difference = how in ("difference", "gap", "change")
    is_shown = not (group and is_difference) or draw(st.booleans())
    order = ((of, draw(st.booleans())),) if group and is_difference else ()
    category = (Predicate("articles", "article_category", "!=", "travel"),)
    return Sketch(
        "articles",
        group,
        filters=draw(st.sampled_from([(), (category,)])),
        group=group,
        order=order,
        limit=1 if order and draw(st.booleans()) else None,
        beside=Beside(of, first, second, how, is_shown),
    )


@settings(max_examples=150, deadline=None)
@given(sketch=comparisons())
def test_what_compares_two_parts_is_read_back(sketch, database):
    written = write(sketch, CATALOG)
    assert read(written, CATALOG) == sketch
    assert read(check(written, CATALOG).text, CATALOG) is not None
    rows(sketch, database)


def test_two_parts_beside_each_other(database):
    category, count = Item("articles", "article_category"), Item("articles", None, "count")
    words = Item("articles", "word_count", "sum")
    sports, travel, ships = (
        ((Predicate("articles", "article_category", "=", each),),) for each in ("sports", "travel", "ships")
    )
    compare = lambda of, how, *parts: Sketch("articles", (), beside=Beside(of, *parts, how))  # noqa: E731
    assert rows(compare(count, "both", sports, travel), database) == [(2, 1)]
    assert rows(compare(words, "difference", travel, sports), database) == [(130,)]
    assert rows(compare(words, "gap", sports, travel), database) == [(130,)]
    assert rows(compare(words, "difference", ships, travel), database) == [(-700,)]  # none of them is nought
    assert rows(compare(count, "change", sports, travel), database) == [(-50.0,)]
    assert rows(compare(count, "change", ships, travel), database) == [(None,)]
    short, long = (((Predicate("articles", "word_count", op, 300),),) for op in ("<", ">="))
    more = Sketch("articles", (category,), group=(category,), beside=Beside(count, short, long, "less"))
    assert rows(more, database) == [("travel",)]
    by_paper = (
        ((Predicate("line", "category", "=", "paper"),),),
        ((Predicate("line", "category", "=", "ink"),),),
    )
    held = Sketch("orders", (), beside=Beside(Item("orders", "amount", "sum"), *by_paper, "both"))
    assert rows(held, database)[0][0] == 300.0  # an order is not added up once for each of its lines


ABSENT = Absence("articles", ((Predicate("articles", "word_count", ">", 400),),), "article_category")


@st.composite
def sketches(draw):
    group = draw(GROUPS)
    shown = draw(st.lists(ITEMS, min_size=1, max_size=2, unique=True))
    select = tuple(group) + tuple(
        each for each in shown if each not in group and (each.aggregate or not group)
    )
    is_grouped = bool(group) or any(each.aggregate for each in select)
    if is_grouped and not group:
        select = tuple(each for each in select if each.aggregate)
    order = ((draw(st.sampled_from(select)), draw(st.booleans())),) if draw(st.booleans()) else ()
    return Sketch(
        "articles",
        select,
        distinct=not is_grouped and draw(st.booleans()),
        filters=tuple(draw(st.lists(FILTERS, max_size=2, unique=True))),
        group=group,
        order=order,
        limit=draw(st.sampled_from([None, 1, 3])),
        offset=draw(st.sampled_from([0, 0, 1])),
        without=draw(st.sampled_from([None, None, ABSENT])),
    )


MISSING = [
    (Absence("line"), []),
    (Absence("line", ((Predicate("line", "category", "=", "ink"),),)), ["Ada", "Bo"]),
    (Absence("line", ((Predicate("line", "category", "=", "paper"),),)), ["Cy"]),
]


@pytest.mark.parametrize(("without", "customers"), MISSING)
def test_rows_that_nothing_belongs_to(without, customers, database):
    by_name = ((Item("orders", "customer"), False),)
    sketch = Sketch("orders", (Item("orders", "customer"),), without=without, order=by_name)
    assert [row[0] for row in rows(sketch, database)] == customers
    assert read(write(sketch, CATALOG), CATALOG) == sketch


def test_a_key_that_is_missing_hides_no_absence():
    tables = (
        Table("owner", ("id",), (integer("id"),), rows=2),
        Table("pet", ("id",), (integer("id"), integer("owner_id", nulls=0.5), text("kind", nulls=0.5)),
              foreign_keys=(ForeignKey(("owner_id",), "owner", ("id",)),), rows=2),
    )  # fmt: skip
    catalog = Catalog(tables)
    con = open_duckdb(catalog, {"owner": [(1,), (2,)], "pet": [(1, 1, "cat"), (2, None, None)]})
    petless = Sketch("owner", (Item("owner", "id"),), without=Absence("pet"))
    assert rows(petless, con, catalog) == [(2,)]
    one = Absence("pet", ((Predicate("pet", "owner_id", "=", 1),),), "kind")
    assert rows(Sketch("pet", (Item("pet", "kind"),), distinct=True, without=one), con, catalog) == []


@pytest.mark.parametrize(
    "without",
    [Absence("n"), Absence("orders"), Absence("line", (), "category"), Absence("line", (), "nothing")],
)
def test_an_absence_of_what_cannot_belong_is_refused(without):
    with pytest.raises(SqlRejected):
        write(Sketch("orders", (Item("orders", "customer"),), without=without), CATALOG)


DAYS = [
    ("task", "created_at", "updated_at", 1),
    ("log", "seen", "until", 0.5),
    ("odd_dates", "eu", "native", 0),
]


@pytest.mark.parametrize(("table", "since", "until", "days"), DAYS)
def test_days_between_two_dates_are_counted_whatever_their_form(table, since, until, days, database):
    shown = Sketch(
        table,
        (Item(table, until, since=since),),
        filters=((Predicate(table, until, "<=", 1, since=since),),),
        order=((Item(table, until, since=since), True),),
        limit=1,
    )
    assert rows(shown, database) == [(days,)]
    mean = Sketch(table, (Item(table, until, "avg", since=since),))
    for sketch in (shown, mean):
        assert read(write(sketch, CATALOG), CATALOG) == sketch


def test_days_are_counted_between_dates_alone():
    for sketch in (
        Sketch("task", (Item("task", "updated_at", since="note"),)),
        Sketch(
            "task",
            (Item("task", "id"),),
            filters=((Predicate("task", "updated_at", ">", "x", since="created_at"),),),
        ),
    ):
        with pytest.raises(SqlRejected):
            write(sketch, CATALOG)


@given(sketches())
@settings(max_examples=150, deadline=None)
def test_a_written_sketch_is_read_back(sketch):
    if sketch.select:
        query = check(write(sketch, CATALOG), CATALOG, limit=10**6)
        back = read(write(sketch, CATALOG), CATALOG)
        assert back == sketch, query.text


def test_blank_text_counts_as_missing():
    column = text("status", ("open", 3), ("", 2), nulls=0.4)
    catalog = Catalog((Table("ticket", ("id",), (integer("id"), column, day("due", "%Y-%m-%d", nulls=0.5))),))
    con = open_duckdb(catalog, {"ticket": [(1, "open", "2024-01-01"), (2, "", ""), (3, None, "2025-01-01")]})
    missing = Sketch("ticket", (Item("ticket", "id"),), filters=((Predicate("ticket", "status", "null"),),))
    assert sorted(rows(missing, con, catalog)) == [(2,), (3,)]
    before = Sketch(
        "ticket", (Item("ticket", "id"),), filters=((Predicate("ticket", "due", "<", "2024-06-01"),),)
    )
    assert rows(before, con, catalog) == [(1,)]


def test_equal_items_are_shown_once(database):
    title, count = Item("articles", "title"), Item("articles", None, "count")
    assert check(write(Sketch("articles", (count, count)), CATALOG), CATALOG).text.count("COUNT(*)") == 1
    assert rows(Sketch("articles", (count, count)), database) == [(5,)]
    assert all(len(row) == 1 for row in rows(Sketch("articles", (title, title)), database))
    both = Sketch("articles", (title, count, title, Item("articles", "authors", "count")), group=(title,))
    assert all(len(row) == 3 for row in rows(both, database))
