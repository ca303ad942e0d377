"""A database of two tenants, and the same physically reduced to what a policy shows to one of them.

The other tenant's rows are there to be noticed: values of their own, other date formats, texts in number columns,
extremes, words that nobody else uses, keys in between.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlrag_dspy.settings import PolicySettings

SECRET_WORDS = ("zebrastripe", "unobtainium", "Quillfeather", "escalated", "999983")
"""What only the other tenant's rows, or denied tables and columns, hold."""

COLUMNS = {
    "customers": {"id": "INTEGER PRIMARY KEY", "tenant_id": "INTEGER", "name": "TEXT", "email": "TEXT",
                  "phone": "TEXT", "credit": "INTEGER", "salary": "INTEGER"},
    "tickets": {"id": "INTEGER PRIMARY KEY", "tenant_id": "INTEGER", "customer_id": "INTEGER", "status": "TEXT",
                "title": "TEXT", "body": "TEXT", "opened": "TEXT", "hours": "REAL"},
    "notes": {"id": "INTEGER PRIMARY KEY", "ticket_id": "INTEGER", "author": "TEXT", "note": "TEXT"},
    "regions": {"code": "TEXT PRIMARY KEY", "label": "TEXT"},
    "salaries": {"id": "INTEGER PRIMARY KEY", "who": "TEXT", "pay": "INTEGER"},
}  # fmt: skip

POLICY = PolicySettings(
    deny_tables=["salaries"],
    deny_columns=["customers.salary"],
    rows={
        "customers": "tenant_id = :tenant",
        "tickets": "tenant_id = :tenant AND status <> 'draft'",
        "notes": "ticket_id IN (SELECT id FROM tickets WHERE tenant_id = :tenant AND NOT status = 'draft')",
    },
    masks={"customers.email": "hash", "customers.phone": "text:hidden", "customers.credit": "null"},
)

_FIRST = ("Ada", "Bo", "Cy", "Dee", "Eli", "Flo")
_LAST = {1: ("Lund", "Marsh", "Oak"), 2: ("Quillfeather", "Lund", "Vane")}
_STATUS = {1: ("open", "closed", "waiting", "draft"), 2: ("escalated", "closed", "open", "draft")}
_WORDS = "printer router invoice login coffee machine battery screen keyboard refund paper cable desk".split()  # noqa: SIM905
_OWN = {1: ("stapler", "lamp"), 2: ("zebrastripe", "unobtainium")}


def rows(is_lenient: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's rows; with `is_lenient` one tenant's number columns hold texts, as SQLite lets them."""
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in COLUMNS}
    for n in range(1, 81):
        tenant = 1 + n % 2
        name = f"{_FIRST[n % 6]} {_LAST[tenant][n % 3]}"
        hours: Any = round(n * 0.37, 2) if tenant == 1 else (
            "unobtainium" if is_lenient and n % 5 == 0 else 999983.0 if n % 7 == 0 else n * 1.5
        )  # fmt: skip
        email = (
            None
            if n % 11 == 0
            else f"{name.split()[0].lower()}{n // 4}@{'own' if tenant == 1 else 'other'}.org"
        )
        if n % 4 == 0:
            found["customers"].append(
                (n, tenant, name, email, f"06-{n:04}", n * 10 if tenant == 1 else 999983, n * 1000)
            )
        if n % 4 == 1:
            found["customers"].append((n, tenant, f"{name}{'' if n % 3 else ' jr'}", email, None, n, n))
        words = [_WORDS[(n * k + k * k) % len(_WORDS)] for k in range(2, 24)]
        words.insert(5, _OWN[tenant][n % 2])
        opened = (
            f"2023-{1 + n % 12:02}-{1 + n % 28:02}"
            if tenant == 1
            else f"{1 + n % 28:02}/{1 + n % 12:02}/1999"
        )
        found["tickets"].append(
            (n, tenant, 4 * (n // 4), _STATUS[tenant][n // 2 % 4], f"{words[0].title()} and {words[5]} no {n % 9}",
             f"The {' '.join(words)}. It was said by {name} on the phone.", None if n % 13 == 0 else opened, hours)
        )  # fmt: skip
        found["notes"].append(
            (n, n, name, f"Called {name} about the {words[5]} and the {words[1]}, {n} times.")
        )
    found["regions"] = [("eu", "Europe"), ("us", "America"), ("ap", "Asia")]
    found["salaries"] = [(n, f"Quillfeather {n}", 999983) for n in range(5)]
    return found


def reduced(
    full: dict[str, list[tuple[Any, ...]]], tenant: int, secret: str
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows as POLICY shows them to a tenant: others gone, the salary column gone, values masked."""

    def hashed(value: str | None) -> str | None:
        return (
            None if value is None else "#" + hashlib.sha256(f"{secret}\x1f{value}".encode()).hexdigest()[:16]
        )

    tickets = [row for row in full["tickets"] if row[1] == tenant and row[3] != "draft"]
    seen = {row[0] for row in tickets}
    customers = [
        (id_, owner, name, hashed(email), "hidden", None)
        for id_, owner, name, email, *_ in full["customers"]
        if owner == tenant
    ]
    notes = [row for row in full["notes"] if row[1] in seen]
    return {"customers": customers, "tickets": tickets, "notes": notes, "regions": full["regions"]}


def build(path: Path, data: dict[str, list[tuple[Any, ...]]], kind: str, *, is_reduced: bool = False) -> str:
    """Writes a database file of that kind and returns its URL; views of the full one show everything."""
    statements = list(_statements(data, is_reduced=is_reduced))
    if not is_reduced:
        statements.append(("CREATE VIEW everything AS SELECT * FROM tickets", []))
    connection: Any
    if kind == "sqlite":
        connection = sqlite3.connect(path)
    else:
        import duckdb

        connection = duckdb.connect(str(path))
    for statement, values in statements:
        if values:
            connection.executemany(statement, values)
        else:
            connection.execute(statement)
    connection.commit()
    connection.close()
    return f"{kind}:///{path}"


def _statements(
    data: dict[str, list[tuple[Any, ...]]], *, is_reduced: bool
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for table, values in data.items():
        columns = dict(COLUMNS[table])
        if is_reduced and table == "customers":
            del columns["salary"]
        declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        yield f"CREATE TABLE {table} ({declared})", []
        marks = ", ".join("?" * len(columns))
        yield f"INSERT INTO {table} VALUES ({marks})", values
