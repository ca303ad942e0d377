"""Row conditions of a policy: what they may say, how names and parameters are written, and that SQLite agrees."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import parameters, row_condition
from sqlrag_dspy.types import Declared

TICKETS = (
    ("id", "INTEGER"),
    ("tenant", "TEXT"),
    ("Level", "INTEGER"),
    ("owner name", "VARCHAR(20)"),
    ("any", ""),
)
ORDERS = (("order_id", "INTEGER"), ("tenant", "TEXT"))


def tables(dialect: str) -> list[Declared]:
    place = 'src."main".' if dialect == "duckdb" else ""
    return [Declared("tickets", f'{place}"tickets"', TICKETS), Declared("orders", f'{place}"orders"', ORDERS)]


def written(condition: str, dialect: str = "sqlite", **session: Any) -> str:
    known = tables(dialect)
    return row_condition(condition, known[0], known, dialect, session=session)


@pytest.mark.parametrize(
    ("condition", "session", "sqlite", "duck"),
    [
        ("tenant = :t", {"t": "a'b"}, """("tickets"."tenant" = 'a''b')""", """("tickets"."tenant" = 'a''b')"""),
        ("level <= :l", {"l": 5}, '("tickets"."Level" <= 5)', """("tickets"."Level" <= '5')"""),
        ("level <= :l", {"l": "-5"}, '("tickets"."Level" <= (-5))', """("tickets"."Level" <= '-5')"""),
        ("tenant = :t", {"t": 7}, """("tickets"."tenant" = '7')""", """("tickets"."tenant" = '7')"""),
        ("level IN (:l)", {"l": (1, 2)}, '("tickets"."Level" IN (1, 2))', """("tickets"."Level" IN ('1', '2'))"""),
        ("tenant IN (:t)", {"t": ()}, '("tickets"."tenant" IN (NULL))', '("tickets"."tenant" IN (NULL))'),
        ("TICKETS.TENANT IS NULL -- all", {}, '("tickets"."tenant" IS NULL)', '("tickets"."tenant" IS NULL)'),
        (
            "id IN (SELECT order_id FROM orders WHERE tenant = :t)",
            {"t": "x"},
            """("tickets"."id" IN (SELECT "orders"."order_id" FROM "orders" AS "orders" """
            """WHERE "orders"."tenant" = 'x'))""",
            """("tickets"."id" IN (SELECT "orders"."order_id" FROM src."main"."orders" AS "orders" """
            """WHERE "orders"."tenant" = 'x'))""",
        ),
    ],
)  # fmt: skip
def test_a_condition_is_written_in_the_sources_words(condition, session, sqlite, duck):
    assert written(condition, **session) == sqlite
    assert written(condition, "duckdb", **session) == duck


@pytest.mark.parametrize(
    ("condition", "value", "sqlite", "duck"),
    [
        ("open = :v", True, '("t"."open" = 1)', """("t"."open" = 'true')"""),
        ("open = :v", "FALSE", '("t"."open" = 0)', """("t"."open" = 'false')"""),
        ("n = :v", True, '("t"."n" = 1)', """("t"."n" = '1')"""),
        ("n IN (:v)", (True, False), '("t"."n" IN (1, 0))', """("t"."n" IN ('1', '0'))"""),
        ("length(name) > :v", "5", '(LENGTH("t"."name") > 5)', """(LENGTH("t"."name") > '5')"""),
        ("lower(name) = :v", 5, """(LOWER("t"."name") = '5')""", """(LOWER("t"."name") = '5')"""),
    ],
)
def test_a_value_is_written_as_what_it_is_compared_with(condition, value, sqlite, duck):
    for dialect, wanted in (("sqlite", sqlite), ("duckdb", duck)):
        known = Declared("t", '"t"', (("open", "BOOLEAN"), ("n", "INTEGER"), ("name", "TEXT")))
        assert row_condition(condition, known, [known], dialect, session={"v": value}) == wanted


@pytest.mark.parametrize("condition", ["tenant = :v", "lower(tenant) = :v", "tenant LIKE :v"])
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_true_and_false_are_no_texts(condition, dialect):
    with pytest.raises(SqlRejected, match="compared with a text"):
        written(condition, dialect, v=True)


def test_parameters_are_named_once():
    assert parameters("a = :x AND (b IN (:y, :x) OR c IN (SELECT d FROM e WHERE f = :z))") == ("x", "y", "z")


@pytest.mark.parametrize(
    "condition",
    [
        "", "tenant = :t; DROP TABLE tickets", "1 = 1) OR (1 = 1", "tenant = ?", "tenant = :t GROUP BY 1",
        "nothing = :t", "orders.tenant = :t", "main.tickets.tenant = :t", "EXISTS (SELECT 1 FROM orders)",
        "id = (SELECT max(order_id) FROM orders)", "id IN (SELECT order_id FROM orders LIMIT 1)",
        "id IN (SELECT order_id FROM orders UNION SELECT 1)", "id IN (SELECT order_id FROM orders, tickets)",
        "id IN (SELECT id FROM orders)", "id IN (SELECT order_id FROM orders WHERE orders.order_id = tickets.id)",
        "id IN (SELECT order_id FROM elsewhere)", "id IN (SELECT order_id FROM other.orders)",
        "id IN (SELECT max(order_id) FROM orders)", "id IN (WITH x AS (SELECT 1 AS y) SELECT y FROM x)",
        "load_extension(:t)", "random() > 0", "CAST(tenant AS INTEGER) = 1", "tenant = :missing",
        "sum(level) > 1", "rank() OVER () > 1", "CASE WHEN 1 = 1 THEN 1 END", "id IN :t",
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_anything_more_is_refused_in_one_line(condition, dialect):
    with pytest.raises(SqlRejected) as refused:
        written(condition, dialect, t="x")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("level <= :v", "abc"), ("level IN (:v)", ("1", "x")), ("level BETWEEN 0 AND :v", "9z"),
        ("level = :v", (1, 2)), ("level = :v", float("nan")), ("tenant = :v", "a\0b"), ("level <= :v", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_value_that_might_let_more_through_is_refused(condition, value, dialect):
    """SQLite sorts texts after numbers, and its SQL ends at a NUL."""
    with pytest.raises(SqlRejected):
        written(condition, dialect, v=value)


@pytest.fixture(scope="module")
def engines():
    made = "CREATE TABLE tickets (id INTEGER, tenant TEXT)"
    with sqlite3.connect(":memory:") as lite, duckdb.connect() as duck:
        lite.execute(made)
        duck.execute(made)
        yield {"sqlite": lite, "duckdb": duck}


@settings(deadline=None)
@given(value=st.text() | st.integers(-(2**31), 2**31), other=st.text(max_size=4))
def test_a_parameter_is_a_value_and_never_sql(engines, value, other):
    stored, other = str(value).replace("\0", ""), other.replace("\0", "")
    value = stored if isinstance(value, str) else value
    for dialect, engine in engines.items():
        known = [Declared("tickets", '"tickets"', TICKETS)]
        engine.execute("DELETE FROM tickets")
        engine.execute("INSERT INTO tickets (tenant) VALUES (?), (?)", [stored, other])
        sql = row_condition("tenant = :v", known[0], known, dialect, session={"v": value})
        assert engine.execute(f"SELECT DISTINCT tenant FROM tickets WHERE {sql}").fetchall() == [(stored,)]


PATTERN_LETTERS = st.text(alphabet="ab%_\\\x1f'", max_size=4)


@settings(deadline=None)
@given(value=PATTERN_LETTERS, stored=PATTERN_LETTERS)
def test_wildcards_of_a_parameter_stand_for_themselves(engines, value, stored):
    """Only the condition's own letters are a pattern: who asks for '%' sees no more than what holds a '%'."""
    for dialect, engine in engines.items():
        known = [Declared("tickets", '"tickets"', TICKETS)]
        engine.execute("DELETE FROM tickets")
        engine.execute("INSERT INTO tickets (tenant) VALUES (?)", [stored])
        for condition, holds in (
            ("tenant LIKE :v", stored == value),
            ("tenant LIKE :v || '%'", stored.startswith(value)),
            ("NOT (tenant LIKE '%' || :v || '%')", value not in stored),
        ):
            sql = row_condition(condition, known[0], known, dialect, session={"v": value})
            found = engine.execute(f"SELECT count(*) FROM tickets WHERE {sql}").fetchone()
            assert found == (int(holds),), (dialect, sql)
