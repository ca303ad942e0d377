"""Gold rows and gold filters, from the real SQLite engine: the product's own SQL never judges itself."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn.labels import Label

_FAILURES = (sqlite3.Error, sqlite3.Warning)
"""Python before 3.12 warns of a second statement."""


@lru_cache(maxsize=16)
def _connect(path: str) -> sqlite3.Connection:
    # As a URI, so that a path may hold "?" or "%".
    url = f"{Path(path).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(url, uri=True, check_same_thread=False)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


@lru_cache(maxsize=8192)
def _run(path: str, query: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(_connect(path).execute(query).fetchall())


def rows(label: Label, path: Path) -> tuple[tuple[Any, ...], ...]:
    """The rows of a label's gold query. Raises LabelError naming the label when it does not run."""
    try:
        return _run(str(path), label.sql or "SELECT 1 WHERE 0")
    except _FAILURES as error:
        raise LabelError(f"label {label.id}: the gold query fails ({error}); correct it") from error


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_INSIDE = re.compile(r"\([^()]*\)")


def is_ordered(query: str) -> bool:
    """Whether the rows of a query come in an order: that of a subquery, or a window's, is not theirs."""
    text, before = _QUOTED.sub("", query), ""
    while text != before:
        before, text = text, _INSIDE.sub(" ", text)
    return bool(re.search(r"\border\s+by\b", text, re.IGNORECASE))


def allowed(label: Label, path: Path, key: Sequence[str]) -> frozenset[Any]:
    """Keys of the rows that a label's filter allows; all of the table's when it has none."""
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in key)
    where = f" WHERE {label.filter_sql}" if label.filter_sql else ""
    table = '"' + (label.table or "").replace('"', '""') + '"'
    try:
        found = _run(str(path), f"SELECT {columns} FROM {table}{where}")
    except _FAILURES as error:
        raise LabelError(f"label {label.id}: the gold filter fails ({error}); correct it") from error
    return frozenset(row[0] if len(row) == 1 else row for row in found)
