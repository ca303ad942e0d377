"""The list of functions is what the script derives from this DuckDB, and holds nothing that reaches outside."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from sql_databases import CATALOG

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check

ROOT = Path(__file__).resolve().parents[2]
LISTED = (ROOT / "sqlrag_dspy" / "sql" / "checking" / "functions.txt").read_text(encoding="utf-8").split()


def test_the_list_is_up_to_date():
    spec = importlib.util.spec_from_file_location("list_functions", ROOT / "scripts" / "list_functions.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.pure_functions() == LISTED


def test_nothing_listed_reaches_outside():
    outside = re.compile(
        r"^(read_|sniff|glob$|query|pg_|duckdb_|pragma|current_(user|setting)|get(env|variable))|_scan|secret|random|uuid"
    )
    assert not [name for name in LISTED if outside.search(name)]


@pytest.mark.parametrize(
    "name", ["read_text", "current_setting", "getenv", "random", "nextval", "version", "query"]
)
def test_what_is_not_listed_is_refused(name):
    with pytest.raises(SqlRejected, match="not allowed"):
        check(f"SELECT {name}('x') FROM articles", CATALOG)
