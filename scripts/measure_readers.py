"""Readers beside a writer: searches go on while the index is synced and its source is written to.

    python scripts/measure_readers.py [--seconds 60] [--readers 8] [--processes 8] [--rows 300]

One process writes to a SQLite file, every row in one transaction, and syncs its index again and again, as
`sqlrag index --watch` does. The readers, spread over processes, open the index whenever a newer generation stands and
search it. Every row of one state of the source has the same value in a mirrored column, so a reader that sees rows of
two values has seen two generations mixed, and one that sees fewer than all rows a part of one. Exits 1 after any error
or mixed generation, or when nothing moved.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "index"))

from index_fakes import TOY, ToyEmbedder

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.settings import Limits, TableSettings
from sqlrag_dspy.source import Source, open_source

STATES = 8
"""Values of the mirrored column, taken in turn: a reader counts the rows of each."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_source(place, args.rows)
        syncs(place, until=0)
        reports = together(place, args)
    told: dict[str, int] = {}
    errors = []
    for report in reports:
        errors += report.pop("errors")
        for name, count in report.items():
            told[name] = told.get(name, 0) + count
    print(", ".join(f"{count} {name}" for name, count in told.items()) + f", {len(errors)} errors")
    for error in errors[:5]:
        print(error, file=sys.stderr)
    if errors or told["mixed generations"] or not told["searches"] or told["generations written"] < 2:
        raise SystemExit(1)


def together(place: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs the writer and the readers side by side; what each of them counted."""
    context = multiprocessing.get_context("spawn")
    reports: multiprocessing.Queue[dict[str, Any]] = context.Queue()
    ready = context.Barrier(args.processes + 1)
    share = -(-args.readers // args.processes)
    children = [
        context.Process(target=read, args=(place, args, share, ready, reports)) for _ in range(args.processes)
    ]
    children.append(context.Process(target=write, args=(place, args, ready, reports)))
    for child in children:
        child.start()
    found = [reports.get(timeout=args.seconds + 300) for _ in children]
    for child in children:
        child.join()
    return found


def opened(place: Path) -> Source:
    tables = {"notes": TableSettings(key="id", text=["body"], filters=["state"])}
    return open_source(str(place / "source.db"), limits=Limits(), tables=tables)


def make_source(place: Path, rows: int) -> None:
    connection = sqlite3.connect(place / "source.db")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, state TEXT)")
    words = "harbour kite bread moon river crane letter winter garden station".split()  # noqa: SIM905
    connection.executemany(
        "INSERT INTO notes VALUES (?, ?, 'state0')",
        [(n, f"{words[n % 10]} {words[n % 7]} number{n} " * 30) for n in range(rows)],
    )
    connection.commit()
    connection.close()


def syncs(place: Path, until: float) -> int:
    """Opens the source and syncs, once and then until that time; how many generations there then are."""
    while True:
        with opened(place) as source:
            tables = [table for table in source.catalog.tables if table.text_columns]
            report = sync(
                place / "store",
                source,
                tables,
                TOY,
                embed_functions={"toy": ToyEmbedder()},
                state=source.state,
            )
        if time.time() >= until:
            return report.generation


def write(place: Path, args: argparse.Namespace, ready: Any, reports: Any) -> None:
    """Writes to the source in one thread and syncs in the other."""
    report: dict[str, Any] = {"errors": [], "states written": 0, "generations written": 0}
    ready.wait()
    until = time.time() + args.seconds
    ended = threading.Event()

    def change() -> None:
        while not ended.wait(0.05):
            connection = sqlite3.connect(place / "source.db", timeout=60)
            with connection:
                state = report["states written"] + 1
                connection.execute(
                    "UPDATE notes SET state = ?, body = body || ?", (f"state{state % STATES}", f" {state}")
                )
            connection.close()
            report["states written"] += 1

    changer = threading.Thread(target=change)
    changer.start()
    try:
        report["generations written"] = syncs(place, until)
    except Exception:  # noqa: BLE001 - whatever it is, it is what this looks for
        report["errors"].append(traceback.format_exc())
    ended.set()
    changer.join()
    reports.put(report)


def read(place: Path, args: argparse.Namespace, readers: int, ready: Any, reports: Any) -> None:
    """Searches in several threads, each with an index of its own, until the time is over."""
    found: queue.Queue[dict[str, Any]] = queue.Queue()
    with opened(place) as source:
        _ = source.catalog
        ready.wait()
        until = time.time() + args.seconds
        threads = [
            threading.Thread(target=search, args=(place, source, args.rows, until, found))
            for _ in range(readers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    total: dict[str, Any] = {"errors": [], "searches": 0, "openings": 0, "mixed generations": 0}
    while not found.empty():
        for name, count in found.get().items():
            total[name] += count
    reports.put(total)


def search(place: Path, source: Source, rows: int, until: float, found: queue.Queue[dict[str, Any]]) -> None:
    report: dict[str, Any] = {"errors": [], "searches": 0, "openings": 0, "mixed generations": 0}
    tables = [table for table in source.catalog.tables if table.text_columns]
    while time.time() < until:
        try:
            index = open_index(place / "store", tables, TOY, embed_functions={"toy": ToyEmbedder()})
            report["openings"] += 1
            for _ in range(5):
                whole = index.search("winter harbour", "notes", k=3, reader=source)
                found_in = [
                    index.search("moon", "notes", filters={"state": f"state{n}"}, k=1, reader=source)
                    for n in range(STATES)
                ]
                counts = [hits.search.rows_allowed for hits in found_in]
                report["searches"] += 1 + len(counts)
                is_whole = whole.search.rows_allowed == rows and sorted(counts) == [0] * (STATES - 1) + [rows]
                report["mixed generations"] += not is_whole
            index.close()
        except Exception:  # noqa: BLE001 - whatever it is, it is what this looks for
            report["errors"].append(traceback.format_exc())
    found.put(report)


if __name__ == "__main__":
    main()
