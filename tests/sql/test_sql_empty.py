"""An empty result says which condition, join, subquery or part emptied it, and what is stored instead."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.sql import check, explain_empty, is_empty, remarks
from sqlrag_dspy.sql.probing import MOST
from sqlrag_dspy.sql.telling.emptiness import MAX_CONDITIONS
from sqlrag_dspy.types import Rows

EMPTY = [
    ("SELECT id FROM person WHERE city = 'gent'", ["no row passes: city = 'gent'", "value of 'city' is 'Gent'"]),
    ("SELECT id FROM person WHERE city = 'Gentt' AND age > 30", ["without the condition city", "is 'Gent'"]),
    ("SELECT id FROM book WHERE title = 'The Elan Castle'", ["'The Élan Castle'"]),
    ("SELECT id FROM book WHERE title LIKE '%Golden Harbuor%'", ["'The Golden Harbour'"]),
    ("SELECT id FROM purchase WHERE status IN ('Paid', 'Open')", ["'paid'", "'open'"]),
    ("SELECT id FROM purchase WHERE status = 'Paid' OR status = 'Opn'", ["'paid'", "'open'"]),
    ("SELECT id FROM purchase WHERE placed >= '2024-01-01'", ["runs from 2023-01-05", "to 2023-12-31"]),
    ("SELECT id FROM visit WHERE day > '2024-01-01'", ["'day' runs from 2022-12-31 to 2023-05-01"]),
    ("SELECT id FROM purchase WHERE amount > 1000 AND status = 'paid'", ["amount > 1000", "runs from 11.0 to 99.0"]),
    # only together, and every such pair
    (
        "SELECT id FROM person WHERE city = 'Utrecht' AND country = 'BE' AND age > 1",
        ["without the condition city = 'Utrecht'", "without the condition country = 'BE'"],
    ),
    (
        "SELECT id FROM person WHERE city = 'Utrecht' AND country = 'BE' AND age = 60 AND joined < '2021-02-01'",
        ["no row passes city = 'Utrecht' and country = 'BE' together", "age = 60 and joined < '2021-02-01' together"],
    ),
    ("SELECT id FROM person WHERE city = 'Oslo' AND age = 99", ["no row passes: city = 'Oslo'", "passes: age = 99"]),
    # joins
    (
        "SELECT p.id FROM purchase p JOIN visit v ON v.minutes = p.id",
        ["no row of visit matches in the join: v.minutes = p.id"],
    ),
    (
        "SELECT p.id FROM person n JOIN purchase p ON p.person_id = n.id JOIN visit v ON v.minutes = p.quantity",
        ["no row of visit matches"],
    ),
    ("SELECT p.id FROM purchase p, visit v WHERE v.minutes = p.id", ["no row of visit matches"]),
    (
        "SELECT p.id FROM purchase p JOIN person n ON n.id = p.person_id AND n.city = 'Utrect'",
        ["n.city", "is 'Utrecht'"],
    ),
    ("SELECT p.id FROM purchase p JOIN person n USING (id) WHERE n.city = 'Utrect'", ["is 'Utrecht'"]),
    ("SELECT p.id FROM purchase p JOIN person n ON n.id = p.person_id WHERE n.age > 59", ["n.age > 59"]),
    # subqueries
    (
        "SELECT id FROM purchase WHERE person_id IN (SELECT id FROM person WHERE city = 'Utrect')",
        ["its subquery is empty: no row passes: city = 'Utrect'", "is 'Utrecht'"],
    ),
    ("SELECT id FROM purchase WHERE amount > (SELECT MAX(age) FROM person WHERE city = 'Utrect')", ["amount >"]),
    ("SELECT n FROM (SELECT id AS n FROM person WHERE city = 'Utrect') s", ["the subquery s is empty", "is 'Utrecht'"]),
    ("WITH g AS (SELECT id FROM person WHERE city = 'Utrect') SELECT id FROM g", ["g is empty", "is 'Utrecht'"]),
    # groups
    (
        "SELECT city FROM person GROUP BY city HAVING COUNT(*) > 5",
        ["without HAVING COUNT(*) > 5, 4 groups pass; the largest COUNT(*) is 3"],
    ),
    (
        "SELECT city AS c FROM person GROUP BY c HAVING MIN(age) < 20 AND COUNT(*) > 1",
        ["without HAVING MIN(age) < 20", "the smallest MIN(age) is 24"],
    ),
    ("SELECT city FROM person WHERE age > 99 GROUP BY city HAVING COUNT(*) > 1", ["age > 99"]),
    # parts
    (
        "SELECT id FROM person WHERE city = 'Utrect' INTERSECT SELECT person_id FROM purchase",
        ["the first part of INTERSECT is empty", "is 'Utrecht'"],
    ),
    ("SELECT id FROM person WHERE age > 50 INTERSECT SELECT person_id FROM purchase", ["none in common"]),
    ("SELECT person_id FROM purchase EXCEPT SELECT id FROM person", ["every row of the first part"]),
    ("SELECT id FROM person WHERE age > 99 UNION SELECT id FROM person WHERE age < 9", ["first part", "second part"]),
    # results that are not empty but say nothing
    ("SELECT COUNT(*) FROM person WHERE city = 'gent'", ["is 'Gent'"]),
    ("SELECT SUM(amount), AVG(amount) FROM purchase WHERE status = 'Paid'", ["is 'paid'"]),
    ("SELECT id FROM person LIMIT 0", ["LIMIT 0"]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "told"), EMPTY)
def test_what_emptied_it_is_told(statement, told, shop):
    query = check(statement, shop.catalog)
    assert is_empty(shop.execute(query))
    lines = explain_empty(query, shop.catalog, shop.execute)
    assert all("\n" not in line for line in lines)
    for each in told:
        assert each in " | ".join(lines)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT level - 1 FROM person WHERE id = 1",
        "SELECT COUNT(*) - 10 FROM person",
        "SELECT id FROM person WHERE city = 'Gent'",
        "SELECT city FROM person GROUP BY city HAVING COUNT(*) > 1",
    ],
)
def test_nothing_is_explained_where_rows_pass(statement, shop):
    assert explain_empty(check(statement, shop.catalog), shop.catalog, shop.execute) == []


def test_zero_and_null_alone_are_empty():
    assert is_empty(Rows(("n",), ()))
    assert is_empty(Rows(("n", "s"), ((0, None),)))
    assert not is_empty(Rows(("n", "s"), ((0, "x"),)))
    assert not is_empty(Rows(("n",), ((0,), (0,))))


def test_no_probe_is_run_after_one_ran_out_of_time(shop):
    asked = []

    def slow(query):
        asked.append(query)
        raise QueryFailed("took too long", wall="limit")

    query = check("SELECT id FROM person WHERE city = 'x' AND age = 1 AND level = 9", shop.catalog)
    assert explain_empty(query, shop.catalog, slow) == []
    assert len(asked) == 1


TERMS = st.sampled_from(
    ["city = 'Gent'", "city = 'gent'", "country = 'NL'", "age > 40", "age < 30", "age IS NULL", "level = 2",
     "level = 7", "joined < '2022-01-01'", "nickname = ''"]
)  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TERMS, min_size=1, max_size=5, unique=True))
def test_every_empty_conjunction_is_explained_and_no_other(shop, terms):
    query = check(f"SELECT id FROM person WHERE {' AND '.join(terms)}", shop.catalog)
    assert bool(explain_empty(query, shop.catalog, shop.execute)) == (not shop.execute(query).values)


# --- many conditions --------------------------------------------------------------------------------

PASSED = [f"amount < {1000 + n}" for n in range(60)]


@pytest.mark.parametrize("place", [0, 17, 59])
@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (["status = 'Paid'"], ["without the condition status = 'Paid'", "is 'paid'"]),
        (["status = 'paid'", "amount > 98.5 AND amount < 10"], ["amount > 98.5", "amount < 10"]),
        (
            ["status = 'Paid'", "quantity = 77"],
            ["no row passes: status = 'Paid'", "no row passes: quantity = 77"],
        ),
    ],
)
def test_the_conditions_that_matter_are_found_among_many(conditions, told, place, shop):
    asked = []

    def counting(query):
        asked.append(query)
        return shop.execute(query)

    terms = [*PASSED[:place], conditions[0], *PASSED[place:], *conditions[1:]]
    query = check(f"SELECT id FROM purchase WHERE {' AND '.join(terms)}", shop.catalog)
    lines = " | ".join(explain_empty(query, shop.catalog, counting))
    for each in told:
        assert each in lines
    assert "amount < 1001" not in lines
    assert len(asked) <= MOST


def test_too_many_conditions_are_said_to_be_too_many(shop):
    terms = " AND ".join(f"amount > {n}" for n in range(MAX_CONDITIONS + 1))
    query = check(f"SELECT id FROM purchase WHERE {terms}", shop.catalog)
    assert explain_empty(query, shop.catalog, shop.execute) == [
        f"the statement has {MAX_CONDITIONS + 1} conditions, too many to tell which leave no row"
    ]


def test_it_is_said_when_the_probes_do_not_suffice(shop):
    """Conditions that only together let no row pass: each excludes one row, and to find each takes several probes."""
    terms = [f"id != {n}" for n in range(1, 120)]
    query = check(f"SELECT id FROM purchase WHERE {' AND '.join(terms)}", shop.catalog)
    lines = explain_empty(query, shop.catalog, shop.execute)
    assert lines
    assert all(line.startswith(("without the condition", "no row passes", "the 119 cond")) for line in lines)


# --- nothing is told twice --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "once"),
    [
        ("SELECT id FROM person WHERE city = 'gent'", "Gent"),
        ("SELECT COUNT(*) FROM person WHERE city = 'Gentt' AND age > 30", "is 'Gent'"),
        ("SELECT id FROM book WHERE title = 'The Elan Castle'", "Élan"),
        ("SELECT id FROM purchase WHERE amount > 1000", "runs from"),
        ("SELECT id FROM purchase WHERE status LIKE '%xyz%'", "holds"),
        (
            "SELECT id FROM purchase WHERE person_id IN (SELECT id FROM person WHERE city = 'Utrect')",
            "'Utrecht'",
        ),
        ("SELECT id FROM person WHERE age > 70 AND age < 60 AND city = 'Gent'", "age > 70 and"),
    ],
)
def test_what_emptied_it_is_told_once(statement, once, shop):
    query = check(statement, shop.catalog)
    advice, why, _ = remarks(query, shop.execute(query), shop.catalog, shop.execute)
    assert why
    assert " | ".join([*advice, *why]).count(once) == 1, [*advice, *why]


def test_advice_on_other_conditions_stays(shop):
    """A branch of OR takes no row away, so only the lint tells of it; and a result with rows has no reasons."""
    query = check("SELECT id FROM person WHERE city IN ('Gent', 'Utrect')", shop.catalog)
    advice, why, _ = remarks(query, shop.execute(query), shop.catalog, shop.execute)
    assert why == []
    assert any("Utrecht" in each for each in advice)
    query = check(
        "SELECT id FROM person WHERE age > 99 "
        "AND id IN (SELECT person_id FROM purchase WHERE status = 'Paid' OR id = 1)",
        shop.catalog,
    )
    advice, why, _ = remarks(query, shop.execute(query), shop.catalog, shop.execute)
    assert any("age > 99" in each for each in why)
    assert any("'paid'" in each for each in advice)


@pytest.mark.parametrize(
    ("statement", "is_doubtful"),
    [
        ("SELECT id FROM person WHERE city = 'Gentt'", True),
        ("SELECT AVG(age) FROM person WHERE city = 'Gentt'", True),
        ("SELECT COUNT(*) FROM person WHERE city = 'Gentt' AND age > 30", True),
        (
            "SELECT COUNT(*) FROM purchase WHERE coupon IS NULL AND TRY_STRPTIME(coupon, '%Y') >= '2023-01-01'",
            True,
        ),
        ("SELECT id FROM purchase WHERE status = 'paid' AND status = 'open'", True),
        ("SELECT id FROM person WHERE id IN (SELECT person_id FROM purchase WHERE status = 'Paid')", True),
        # Each condition lets rows pass, and none passes all: nothing is what was asked for.
        ("SELECT COUNT(*) FROM person WHERE city = 'Gent' AND level = 3 AND age > 50", False),
        ("SELECT city FROM person GROUP BY city HAVING COUNT(*) > 9", False),
        ("SELECT id FROM person WHERE city = 'Gent'", False),
        ("SELECT id FROM person LIMIT 0", False),
    ],
)
def test_a_condition_that_no_row_passes_is_doubtful(statement, is_doubtful, shop):
    query = check(statement, shop.catalog)
    assert remarks(query, shop.execute(query), shop.catalog, shop.execute).is_doubtful == is_doubtful
