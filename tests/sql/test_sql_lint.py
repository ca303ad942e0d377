"""Each lint fires on its cases and not on their near misses, over real profiles and rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_databases import CATALOG, lines, open_duckdb, runner

from sqlrag_dspy.errors import QueryFailed
from sqlrag_dspy.sql import check, notices
from sqlrag_dspy.sql.linting import LINTS, SHOWN

HERE = Path(__file__).parent
CASES = [case for case in lines(HERE / "lints.sql") if case[0]]
FIRING = [case for case in CASES if not case[1].startswith("none ")]
NEAR = [
    (statement, reason.removeprefix("none "))
    for statement, reason in CASES
    if (statement, reason) not in FIRING
]


def named(shop, statement):
    query = check(statement, shop.catalog)
    shop.execute(query)
    return notices(query, shop.catalog, shop.execute)


def test_every_lint_has_cases_enough():
    fires, misses = Counter(name for _, name in FIRING), Counter(name for _, name in NEAR)
    for name, _ in LINTS:
        assert fires[name] >= 8, name
        assert misses[name] >= 8, name
    assert set(fires) == set(misses) == {name for name, _ in LINTS}


@pytest.mark.parametrize(("statement", "name"), FIRING)
def test_a_lint_fires_with_one_line_of_advice(statement, name, shop):
    found = [each for each in named(shop, statement) if each.lint == name]
    assert found
    assert all("\n" not in each.advice and len(each.advice) > 20 for each in found)


@pytest.mark.parametrize(("statement", "name"), NEAR)
def test_a_lint_is_silent_on_a_near_miss(statement, name, shop):
    assert [each for each in named(shop, statement) if each.lint == name] == []


@pytest.mark.parametrize(("statement", "reason"), lines(HERE / "legitimate.sql"))
def test_any_query_can_be_linted_with_and_without_rows(statement, reason):
    query = check(statement, CATALOG)
    run = runner(open_duckdb())
    assert all("\n" not in each.advice for each in notices(query, CATALOG, run))
    assert isinstance(notices(query, CATALOG), tuple)


def test_without_rows_ties_are_not_supposed(shop):
    query = check("SELECT name FROM person ORDER BY level DESC LIMIT 1", shop.catalog)
    assert notices(query, shop.catalog) == ()


def test_no_more_is_asked_after_a_probe_ran_out_of_time(shop):
    asked = []

    def slow(query):
        asked.append(query)
        raise QueryFailed("took too long", wall="limit")

    query = check("SELECT AVG(age), AVG(level), COUNT(age) FROM person WHERE city <> 'Gent'", shop.catalog)
    assert notices(query, shop.catalog, slow)
    assert len(asked) == 1


def test_the_limit_that_check_adds_cuts_no_tie(shop):
    query = check("SELECT name FROM person ORDER BY level DESC", shop.catalog, limit=2)
    assert notices(query, shop.catalog, shop.execute, limit=2) == ()


BOUNDS = st.one_of(
    st.builds(
        "age {} {}".format,
        st.sampled_from(["=", "<", "<=", ">", ">=", "<>"]),
        st.sampled_from([24, 33, 40, 60, 61]),
    ),
    st.builds(
        "age {}".format, st.sampled_from(["IS NULL", "IS NOT NULL", "BETWEEN 30 AND 40", "IN (24, 99)"])
    ),
    st.builds(
        "joined {} '{}'".format,
        st.sampled_from(["=", "<", "<=", ">", ">="]),
        st.sampled_from(["2021-01-04", "2022-05-20", "2022", "2023-11-30", "2024-01-01"]),
    ),
    st.builds("city {} '{}'".format, st.sampled_from(["=", "<>"]), st.sampled_from(["Gent", "gent", "Oslo"])),
    st.builds("{}city = 'Gent'".format, st.sampled_from(["", "NOT "])),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(BOUNDS, min_size=1, max_size=3))
def test_conditions_that_never_hold_give_no_rows(shop, conditions):
    query = check(f"SELECT id FROM person WHERE {' AND '.join(conditions)}", shop.catalog)
    negated = any(each.startswith("NOT") or "<>" in each for each in conditions)
    for each in notices(query, shop.catalog, shop.execute):
        if each.lint == "contradiction" or (
            each.lint == "out-of-range" and "no row" in each.advice and not negated
        ):
            assert shop.execute(query).values == ()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(BOUNDS, min_size=2, max_size=3))
def test_alternatives_that_always_hold_leave_out_no_known_row(shop, conditions):
    query = check(f"SELECT id FROM person WHERE {' OR '.join(conditions)}", shop.catalog)
    if any("always true" in each.advice for each in notices(query, shop.catalog, shop.execute)):
        known = check("SELECT id FROM person WHERE age IS NOT NULL AND city IS NOT NULL", shop.catalog)
        assert set(shop.execute(known).values) <= set(shop.execute(query).values)


@pytest.mark.parametrize("word", ["AND", "OR"])
@pytest.mark.parametrize("count", [100, 1000])
def test_many_conditions_are_looked_through_in_time_or_said_not_to_be(word, count, shop):
    terms = f" {word} ".join(f"age {'<>' if word == 'AND' else '='} {n}" for n in range(count))
    query = check(f"SELECT COUNT(*) FROM person WHERE {terms}", shop.catalog)
    started = perf_counter()
    found = notices(query, shop.catalog, shop.execute)
    assert perf_counter() - started < 10
    assert [(each.lint, each.is_note) for each in found if each.lint == "wide"] == [("wide", True)] * (
        count == 1000
    )


def test_a_lint_speaks_a_few_times_and_counts_the_rest(shop):
    names = ", ".join(f"'utrecht{'!' * n}'" for n in range(30))
    told = named(shop, f"SELECT COUNT(*) FROM person WHERE city IN ({names})")
    assert told
    assert all(count <= SHOWN + 1 for count in Counter(each.lint for each in told).values())
