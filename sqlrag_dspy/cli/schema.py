"""`sqlrag schema`: the catalog with its profile."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sqlrag_dspy.cli import arguments, opening
from sqlrag_dspy.cli.init import cautions
from sqlrag_dspy.cli.output import Screen

if TYPE_CHECKING:
    from sqlrag_dspy.types import Column, Table


def add(commands: arguments.Commands) -> None:
    """Adds `schema`."""
    parser = arguments.add(
        commands,
        "schema",
        run,
        does="show tables and columns with what was found in them",
        example="sqlrag schema --json",
    )
    arguments.add_session(parser)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Shows every table; what is odd about them follows as warnings."""
    from sqlrag_dspy.source import schema_json

    with opening.database(args) as database:
        catalog = database.catalog
    if screen.is_json:
        screen.json(schema_json(catalog))
        return 0
    for table in catalog.tables:
        show(table, screen)
    for caution in cautions(catalog):
        screen.warn(caution)
    return 0


def show(table: Table, screen: Screen) -> None:
    """A table with one line for each column."""
    kind = "view" if table.is_view else "table"
    screen.text(f"{kind} {table.name}: {table.rows} rows, key {', '.join(table.key)}", "bold")
    rows = []
    for column in table.columns:
        roles = [
            role
            for role, names in (
                ("key", table.key),
                ("text", table.text_columns),
                ("filter", table.filter_columns),
            )
            if column.name in names
        ]
        rows.append([column.name, column.profile.found, ", ".join(roles), contents(column)])
    screen.table(["column", "holds", "use", "contents"], rows)
    for reference in table.foreign_keys:
        how = "" if reference.is_declared else " (inferred)"
        here, there = ", ".join(reference.columns), ", ".join(reference.to_columns)
        screen.text(f"{here} refers to {reference.table} ({there}){how}", "dim")
    screen.text()


def contents(column: Column) -> str:
    """What a column holds, in a few words."""
    profile = column.profile
    told = []
    if profile.found == "empty":
        return "nothing"
    if profile.is_categorical:
        shown = ", ".join(str(value) for value, _ in profile.values[:4])
        told.append(f"{profile.distinct} values: {shown}" + (", …" if profile.distinct > 4 else ""))
    elif profile.is_long_text:
        told.append(f"long text, {profile.mean_length:.0f} characters on average")
    elif profile.minimum is not None and profile.found != "text":
        told.append(f"{profile.minimum} to {profile.maximum}")
    else:
        told.append(f"{profile.distinct} values")
    if profile.date_formats:
        told.append(f"written {', '.join(profile.date_formats)}")
    if profile.null_share:
        told.append(f"{profile.null_share:.0%} blank")
    return "; ".join(told)
