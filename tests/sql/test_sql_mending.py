"""Statements whose names do not fit: mended as mends.sql says, then they pass the check and run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql import check, mend

LINES = [
    line
    for line in (Path(__file__).parent / "mends.sql").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("--")
]
CASES = [(said, meant.removeprefix("-> ")) for said, meant in zip(LINES[::2], LINES[1::2])]
MENDED = [case for case in CASES if case[1] != "none"]


@pytest.mark.parametrize(("said", "meant"), MENDED)
def test_a_statement_is_mended(said, meant, shop):
    mended = mend(said, shop.catalog)
    assert mended is not None
    assert mended.text == meant
    assert mended.changes


@pytest.mark.parametrize(("said", "meant"), MENDED)
def test_what_was_mended_runs_where_the_original_was_refused(said, meant, shop):
    with pytest.raises(SqlRejected):
        check(said, shop.catalog)
    shop.execute(check(meant, shop.catalog))


@pytest.mark.parametrize("said", [said for said, meant in CASES if meant == "none"])
def test_what_fits_or_has_no_likely_reading_is_left_alone(said, shop):
    assert mend(said, shop.catalog) is None


def test_the_changes_tell_the_join_and_the_column(shop):
    mended = mend("SELECT name FROM purchase", shop.catalog)
    assert mended is not None
    assert mended.changes == ("joined person on purchase.person_id = person.id",)


@pytest.mark.parametrize(("said", "meant"), MENDED)
def test_mending_what_was_mended_changes_nothing(said, meant, shop):
    assert mend(meant, shop.catalog) is None


def test_what_is_long_is_not_mended(shop):
    told = "SELECT name FROM purchase WHERE quantity > " + "1+" * 100_000 + "1"
    start = time.process_time()
    assert mend(told, shop.catalog) is None
    assert time.process_time() - start < 0.1
