"""What a model is told of a schema that is too large to be told whole."""

from __future__ import annotations

import pytest

from sqlrag_dspy.program.prompt import BUDGET, describe_schema
from sqlrag_dspy.types import Catalog, Column, Profile, Table


def catalog(count: int) -> Catalog:
    columns = tuple(Column(f"column_{n}", "INTEGER", Profile("integer")) for n in range(30))
    return Catalog(tuple(Table(f"table_{n}", ("rowid",), columns) for n in range(count)))


def test_the_likeliest_tables_are_told_where_not_all_fit():
    told = describe_schema(catalog(60), likely=lambda: ["table_41", "table_7"])
    assert [line.split()[1] for line in told.splitlines() if line.startswith("table ")] == [
        "table_7",
        "table_41",
    ]
    assert told.endswith("(58 more tables left out)")
    many = describe_schema(catalog(60), likely=lambda: [f"table_{n}" for n in range(59, -1, -1)])
    assert "table table_59 " in many
    assert "table table_0 " not in many
    assert len(many) <= BUDGET + 40


@pytest.mark.parametrize("only", [None, ["table_1"]])
def test_nobody_is_asked_where_all_fit_or_the_tables_are_given(only):
    def never() -> list[str]:
        raise AssertionError("asked")

    assert "table table_1 " in describe_schema(catalog(60 if only else 2), only=only, likely=never)


def test_tables_named_by_links_stay_where_nothing_is_likely():
    assert "table table_0 " in describe_schema(catalog(60), likely=lambda: [])
