"""Who is asked for, and columns behind abbreviations, over tables that refer to one another."""

from __future__ import annotations

import sqlite3

import pytest
from link_catalogs import catalog_of, linker_of

from sqlrag_dspy.link import Linker

PEOPLE = ["Agata Novak", "Bruno Costa", "Clara Huber", "Diego Molina", "Esther Quist", "Freek Bakker"]


@pytest.fixture(scope="module")
def linker() -> Linker:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(
        """
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, ctry TEXT);
        CREATE TABLE employees (
            id INTEGER PRIMARY KEY, name TEXT, manager_id INTEGER REFERENCES employees (id), discontinued INTEGER,
            shop TEXT, currency TEXT);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
            employee_id INTEGER REFERENCES employees (id), ordered TEXT, val_eur INTEGER, refund_amount INTEGER);
        CREATE TABLE lines (order_id INTEGER REFERENCES orders (id), line_no INTEGER, PRIMARY KEY (order_id, line_no));
        CREATE TABLE reviews (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), csat INTEGER);
        """
    )
    for n, name in enumerate(PEOPLE * 2):
        connection.execute("INSERT INTO customers VALUES (?, ?, ?)", (n, f"{name} {n}", ["DK", "ES"][n % 2]))
        shop, currency = ("Web shop", "Polish zloty") if n % 2 else ("Triana", "Swiss franc")
        connection.execute(
            "INSERT INTO employees VALUES (?, ?, ?, ?, ?, ?)",
            (n, f"Mr {name}", n // 2 if n else None, n % 2, shop, currency),
        )
        connection.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
            (n, n, n, f"2023-0{n % 9 + 1}-05", 100 + n, n or None),
        )
        connection.executemany("INSERT INTO lines VALUES (?, ?)", [(n, 1), (n, 2)])
        connection.execute("INSERT INTO reviews VALUES (?, ?, ?)", (n, n, n % 5 + 1))
    for table in ("customers", "employees"):
        connection.execute(f"UPDATE {table} SET name = rtrim(name, ' 0123456789')")
    return linker_of(connection, catalog_of(connection))


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("who has posted more than two reviews", "customers"),
        ("who ordered something in May 2023", "customers"),
        ("wie heeft minstens drie keer besteld", "customers"),
        ("who sold the most orders", "employees"),
        ("who is the oldest order of", None),
    ],
)
def test_who_asks_for_the_persons_that_rows_refer_to(
    linker: Linker, question: str, table: str | None
) -> None:
    found = [link.table for link in linker.link(question).chosen if link.concept == "who"]
    assert found == ([table] if table else [])


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("Danish customers", "ctry"),
        ("average value of orders", "val_eur"),
        ("mean satisfaction of reviews", "csat"),
        ("orders that were refunded", "refund_amount"),
        ("pedidos reembolsados", "refund_amount"),
    ],
)
def test_abbreviated_and_translated_columns_are_named(linker: Linker, question: str, column: str) -> None:
    assert column in [link.column for link in linker.link(question).chosen]


def test_money_beside_an_amount_means_that_amount(linker: Linker) -> None:
    question = "how many euros were refunded"
    assert {k.column for k in linker.link(question).chosen if k.kind == "column"} == {"refund_amount"}


@pytest.mark.parametrize(
    "question", ["employees without a boss", "empleados sin jefe", "manager of each employee"]
)
def test_a_key_is_named_by_whom_it_refers_to(linker: Linker, question: str) -> None:
    (link,) = [k for k in linker.link(question).chosen if k.kind == "column"]
    assert (link.column, link.grain) == ("manager_id", "text")


@pytest.mark.parametrize(
    ("question", "column", "value"),
    [
        ("empleados de la tienda web", "shop", "Web shop"),
        ("employees paid in Zloty", "currency", "Polish zloty"),
        ("employees that are still in the range", "discontinued", 0),
    ],
)
def test_values_are_found_translated_in_part_and_told_by_their_opposite(
    linker: Linker, question: str, column: str, value: object
) -> None:
    found = [(k.column, k.value) for k in linker.link(question).chosen if k.kind == "value"]
    assert found == [(column, value)]


def test_total_beside_an_amount_names_no_column(linker: Linker) -> None:
    columns = [k.column for k in linker.link("total refunds of all orders").chosen if k.kind == "column"]
    assert columns == ["refund_amount"]


def test_a_key_that_is_a_number_is_no_amount(linker: Linker) -> None:
    question = "average value of orders per manager"
    assert [k.grain for k in linker.link(question).chosen if k.column == "manager_id"] == ["text"]


def test_more_than_so_many_lines_are_counted_and_not_numbered(linker: Linker) -> None:
    (number,) = [k for k in linker.link("orders with more than 3 lines").chosen if k.kind == "number"]
    assert (number.op, number.value, number.column) == (">", 3, None)
