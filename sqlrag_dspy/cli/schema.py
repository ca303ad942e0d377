"""`sqlrag schema`: the catalog with its profile."""

from __future__ import annotations

import argparse

from sqlrag_dspy.cli import arguments, opening
from sqlrag_dspy.cli.output import Screen, one_line


def add(commands: arguments.Commands) -> None:
    """Adds `schema`."""
    arguments.add(
        commands,
        "schema",
        run,
        does="show tables and columns with what was found in them",
        example="sqlrag schema --json",
    )


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Shows every table; those that cannot be read are warned about."""
    from sqlrag_dspy.source import describe, schema_json

    with opening.database(args) as database:
        catalog = database.catalog
    if screen.is_json:
        screen.json(schema_json(catalog))
        return 0
    screen.text(describe(catalog))
    for name, reason in catalog.broken:
        screen.warn(f"{name} cannot be read and is left out: {one_line(reason)}")
    return 0
