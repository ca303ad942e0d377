"""`sqlrag index`: builds or updates the index and the stored values, once or again and again."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlrag_dspy.cli import arguments, opening
from sqlrag_dspy.cli.output import Screen
from sqlrag_dspy.errors import SqlRagError

if TYPE_CHECKING:
    from sqlrag_dspy.index import SyncReport
    from sqlrag_dspy.program import Database

NOTHING_TO_INDEX = (
    "no table has a text column, so there is nothing to search by meaning (SQL questions work); "
    "name one under [tables.NAME] text in sqlrag.toml to change that"
)


def add(commands: arguments.Commands) -> None:
    """Adds `index`."""
    parser = arguments.add(
        commands,
        "index",
        run,
        does="build the index, or bring it up to date with the database",
        example="sqlrag index --watch 60",
    )
    parser.add_argument("--rebuild", action="store_true", help="start anew instead of adding what changed")
    parser.add_argument(
        "--watch", type=arguments.seconds, metavar="SECONDS", help="again every so often, until Ctrl-C"
    )
    arguments.add_session(parser)


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Syncs once, or every --watch seconds until Ctrl-C (which then is the normal end: exit code 0)."""
    once(args, screen, rebuild=args.rebuild)
    if args.watch is None:
        return 0
    screen.note(f"watching; again every {args.watch:g} s, Ctrl-C ends")
    try:
        while True:
            time.sleep(args.watch)
            try:
                once(args, screen, is_first=False)
            except (SqlRagError, OSError) as error:
                screen.fail(error)  # a locked or half-copied database may be whole the next time
    except KeyboardInterrupt:
        return 0


def once(
    args: argparse.Namespace, screen: Screen, *, rebuild: bool = False, is_first: bool = True
) -> SyncReport:
    """One sync over a newly opened database, so that new tables and columns are seen."""
    with opening.indexed(args) as database:
        report = sync(database, screen, rebuild=rebuild)
        if not database.text_tables and is_first:
            screen.warn(NOTHING_TO_INDEX)
    if screen.is_json:
        screen.json(asdict(report))
    elif is_first or report.added or report.changed or report.deleted:
        screen.text(told(report))
    return report


def sync(database: Database, screen: Screen, *, rebuild: bool = False) -> SyncReport:
    """Syncs with a progress bar where somebody looks on, and elsewhere with a line when rows are first read."""
    with screen.progress("indexing rows") as progress:
        return database.sync(rebuild=rebuild, progress=progress or beginning(screen))


def beginning(screen: Screen) -> Callable[[int, int], None]:
    """Progress that says once that work has begun, and on how much."""
    is_told = False

    def tell(done: int, total: int) -> None:
        nonlocal is_told
        if not is_told:
            is_told = True
            screen.note(f"indexing {total} rows")

    return tell


def told(report: SyncReport) -> str:
    """The report in a line."""
    return (
        f"{report.rows_seen} rows: {report.added} added, {report.changed} changed, {report.deleted} deleted; "
        f"{report.chunks} passages, generation {report.generation}, {report.seconds:.1f} s"
    )
