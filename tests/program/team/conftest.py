"""A shop of three tables, and a program whose model is scripted stage by stage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scripted_lm import scripted
from team_shop import QUESTION, WELL

from sqlrag_dspy.settings import Settings

CLOSED = {"route": 1.01, "sql": 1.01, "doubt": 0.0, "filters": 1.01}
"""The model decides everything, and a sketch of any confidence stands in for it."""


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The database, open; shared, so only for reading."""
    from sqlrag_dspy.program import open_database

    place = tmp_path_factory.mktemp("team")
    connection = sqlite3.connect(place / "shop.db")
    connection.executescript(
        """
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), ordered TEXT, status TEXT
        );
        CREATE TABLE order_lines (
            id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id), product TEXT, amount REAL
        );
        """
    )
    cities, states = ("Leiden", "Delft", "Gouda"), ("open", "paid", "sent")
    for n in range(1, 31):
        connection.execute("INSERT INTO customers VALUES (?, ?, ?)", (n, f"Person {n}", cities[n % 3]))
    for n in range(1, 91):
        day = f"2023-{1 + n % 12:02}-{1 + n % 28:02}"
        connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?)", (n, 1 + n % 30, day, states[n % 3]))
        connection.execute(
            "INSERT INTO order_lines VALUES (?, ?, ?, ?)", (n, n, ("lamp", "desk")[n % 2], n * 1.5)
        )
    connection.commit()
    connection.close()
    database = open_database(Settings(source=f"sqlite:///{place / 'shop.db'}", store=str(place / "store")))
    yield database
    database.close()


@pytest.fixture
def program(small: Any, shop: Any) -> Callable[..., Any]:
    """A program over the shop: `program(lm=…, depth=…)`."""
    from sqlrag_dspy.program import SqlRag, artifact

    def make(**options: Any) -> Any:
        made = SqlRag({shop.name: shop}, **options)
        artifact.restore(made, small.program)
        for name, value in CLOSED.items():
            setattr(made.thresholds, name, value)
        return made

    return make


@pytest.fixture
def ask(program: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """`ask(stage=reply, …)`: the answer at depth "team" where nothing else is said, and the script."""

    def ask(question: str = QUESTION, **replies: Any) -> tuple[Any, Any]:
        options = {"depth": "team"} | {
            name: replies.pop(name) for name in ("depth", "without", "lm_small") if name in replies
        }
        lm = scripted(**(WELL | replies))
        return program(lm=lm, **options).ask(question, trace=True), lm.script

    return ask
