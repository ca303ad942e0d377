"""The days between two dates of a row, as people ask for them."""

from __future__ import annotations

import sqlite3

import pytest
from link_catalogs import catalog_of, linker_of

from sqlrag_dspy.link import mask


def linker(*, minutes: str = ""):
    connection = sqlite3.connect(":memory:")
    connection.execute(
        f"CREATE TABLE repairs (id INTEGER PRIMARY KEY, opened TEXT, closed TEXT, agent TEXT{minutes})"
    )
    for number in range(1, 9):
        closed = f"{number + 10:02d}/03/2024" if number < 8 else None
        connection.execute(
            "INSERT INTO repairs (id, opened, closed, agent) VALUES (?, ?, ?, ?)",
            (number, f"2024-03-{number:02d}", closed, ("Ada", "Bo")[number % 2]),
        )
    return linker_of(connection, catalog_of(connection))


CASES = [
    ("how many days do repairs take on average", "<COL:days> do <TABLE> take on average"),
    ("which repair took the longest", "which <TABLE> took <COL:days:max>"),
    ("the slowest repair", "the <COL:days:max> <TABLE>"),
    ("repairs that took more than two weeks", "<TABLE> that took <NUM:gt>"),
    ("mean days to close", "mean <COL:days> to close"),
    ("¿cuánto tiempo tardan las repairs?", "¿ <COL:days> tardan las <TABLE> ?"),
    ("media de días por agent", "media de <COL:days> por <COL:text>"),
    ("repairs que duraron menos de 5 días", "<TABLE> que duraron <NUM:lt>"),
    ("gemiddelde doorlooptijd van repairs", "gemiddelde <COL:days> van <TABLE>"),
    ("welke repair duurde het kortst", "welke <TABLE> duurde <COL:days:min>"),
    ("repairs opened in the last 25 days", "<TABLE> <COL:date> in <DATE:range>"),
]


@pytest.mark.parametrize(("question", "masked"), CASES)
def test_time_that_passes_is_a_link_of_its_own(question, masked):
    found = linker().link(question)
    assert mask(found) == masked
    spans = [k for k in found.chosen if k.since]
    assert {(k.since, k.column) for k in spans} <= {("opened", "closed")}
    assert bool(spans) == ("last 25" not in question)


def test_hours_and_weeks_are_told_in_days():
    bounds = {}
    for unit in ("hours", "days", "weeks"):
        (found,) = [
            k for k in linker().link(f"repairs that took over 12 {unit}").chosen if k.kind == "number"
        ]
        bounds[unit] = found.value
    assert bounds == {"hours": 0.5, "days": 12, "weeks": 84}


def test_a_column_that_holds_the_time_comes_first():
    measured = linker(minutes=", minutes_down INTEGER DEFAULT 5")
    (found,) = [k for k in measured.link("repairs that took over 2 hours").chosen if k.kind == "number"]
    assert (found.column, found.value, found.since) == ("minutes_down", 120, "")
    (found,) = [k for k in measured.link("took over 2 hours from start to end").chosen if k.kind == "number"]
    assert (found.column, found.since) == ("closed", "opened")


@pytest.mark.parametrize("columns", ["day TEXT", "a TEXT, b TEXT, c TEXT"])
def test_without_exactly_two_dates_there_is_no_span(columns):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE repairs (id INTEGER PRIMARY KEY, {columns})")
    width = columns.count("TEXT")
    connection.execute(f"INSERT INTO repairs VALUES (1{', ?' * width})", ["2024-03-01"] * width)
    found = linker_of(connection, catalog_of(connection)).link(
        "how many days does a repair take, the slowest"
    )
    assert not [k for k in found.chosen if k.since]
