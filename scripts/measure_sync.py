"""How fast an index is made and kept fresh, and what a search with a filter then takes.

    python scripts/measure_sync.py DATABASE [--embedders wordllama,use-multilingual wordllama] [--searches 200]

Works on a copy of the database. For each set of embedders it prints a table: the first index beside its embedders
alone over the same passages, in the same batches and run; a sync with nothing changed (the file as it was, and the
file touched, so that all rows are compared); a sync after one row in a hundred changed; the most memory that the
process and its workers held together; and searches through `Index.search`. Seconds of a sync are those of `sync`;
what else `sqlrag index` does (opening and profiling the database, stored values) stands beside them.
Leaves out quality: see measure_retrieval.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

QUESTIONS = (
    "tool to convert images", "library for parsing xml", "play music from the command line", "chess game",
    "monitor network traffic", "python bindings", "fonts for japanese", "editor with syntax highlighting",
    "backup to a remote server", "simulate electronic circuits",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", type=Path)
    parser.add_argument("--embedders", nargs="+", default=["wordllama,use-multilingual", "wordllama"])
    parser.add_argument("--table", help="the table to change and to search (default: the largest with text)")
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--rows", type=int, help="keep so many rows of that table alone, for a quick look")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(Path(args.child), args)))
        return
    for embedders in args.embedders:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(args.database, Path(folder) / "source.db")
            show(embedders, *watched([*sys.argv, "--embedders", embedders, "--child", folder]))


def watched(arguments: list[str]) -> tuple[dict[str, Any], float]:
    """What a child process prints, and the most megabytes that it and its children held together."""
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.25):
            peak = max(peak, sum(map(resident, family(child.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = child.communicate()
    done.set()
    watcher.join()
    if child.returncode:
        raise SystemExit(child.returncode)
    return json.loads(printed.strip().splitlines()[-1]), peak


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for process in found:
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue  # it has just ended
    return found


def processor() -> float:
    """Seconds of processor time that this process and its workers have used."""
    ticks = 0
    for pid in family(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Megabytes in memory: shared pages by share, so that a family's sum counts them once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Every figure of one set of embedders."""
    from sqlrag_dspy.index.embed import find_embedder
    from sqlrag_dspy.program.database import Database, open_database
    from sqlrag_dspy.settings import Settings

    path = folder / "source.db"
    names = args.embedders[0].split(",")
    settings = Settings(source=str(path), store=str(folder / "store"), embedder=names)

    def opened() -> Database:
        database = open_database(settings)
        _ = database.catalog
        return database

    with_texts = opened()
    table = args.table or max(with_texts.text_tables, key=lambda table: table.rows).name
    key = with_texts.catalog.table(table).key[0]  # type: ignore[union-attr]
    with_texts.close()
    if args.rows:
        change(path, f'DELETE FROM "{table}" WHERE rowid > {args.rows}')
    for name in names:
        find_embedder(name)(["loads the model, which both sides need"] * 40)
    wait_until_settled(path)

    def synced() -> tuple[dict[str, Any], Database]:
        begun = time.perf_counter()
        database = opened()
        spent = processor()
        report = database.sync()
        spent, whole = processor() - spent, time.perf_counter() - begun
        return {
            "sync": report.seconds,
            "whole": whole,
            "chunks": report.chunks,
            "changed": report.changed,
            "cpu": spent,
        }, database

    out: dict[str, Any] = {}
    out["first"], database = synced()
    spent = processor()
    out["alone"] = alone(database, names)
    out["alone_cpu"] = processor() - spent
    database.close()
    out["same"], database = synced()
    database.close()
    os.utime(path)
    wait_until_settled(path)
    out["touched"], database = synced()
    database.close()
    text = next(t for t in opened().text_tables if t.name == table).text_columns[0]
    change(path, f'UPDATE "{table}" SET "{text}" = "{text}" || \' Newer.\' WHERE rowid % 100 = 7')
    wait_until_settled(path)
    out["changed"], database = synced()
    out["searches"] = searched(database, table, key, args.searches)
    database.close()
    out["store"] = sum(file.stat().st_size for file in (folder / "store").iterdir()) / 1e6
    return out


def wait_until_settled(path: Path) -> None:
    """Until the file's time of change counts: a sync right after a change would read everything again."""
    time.sleep(max(0.0, path.stat().st_mtime + 2.5 - time.time()))


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def alone(database: Any, names: list[str]) -> float:
    """Seconds of the embedders by themselves over the passages of the index, in the same batches."""
    from sqlrag_dspy.index.embed import find_embedder

    encoders = [find_embedder(name) for name in names]
    seconds = 0.0
    for batch in batches(database):
        begun = time.perf_counter()
        for encoder in encoders:
            encoder(batch)
        seconds += time.perf_counter() - begun
    return seconds


def batches(database: Any) -> Iterator[list[str]]:
    from sqlrag_dspy.index import store
    from sqlrag_dspy.index.syncing.chunk import split
    from sqlrag_dspy.index.syncing.embedding import BATCH
    from sqlrag_dspy.index.syncing.rows import read_rows

    for table in database.text_tables:
        batch: dict[str, None] = {}
        seen: set[int] = set()
        for row in read_rows(database.source, store.spec_of(table)):
            for text, context in zip(row.texts, row.contexts):
                for start, end in split(text):
                    piece = f"{context}\n{text[start:end]}" if context else text[start:end]
                    if hash(piece) not in seen:
                        seen.add(hash(piece))
                        batch[piece] = None
                    if len(batch) == BATCH:
                        yield list(batch)
                        batch = {}
        if batch:
            yield list(batch)


def searched(database: Any, table: str, key: str, count: int) -> dict[str, float]:
    """Median milliseconds of a search: in all rows, with a mirrored filter, and with the keys of a SQL query."""
    chosen = random.Random(0)
    found = database.catalog.table(table)
    column = next((c for c in found.columns if c.name in found.filter_columns and c.profile.values), None)
    values = [value for value, _ in column.profile.values[:20]] if column else []
    all_keys = [row[0] for row in database.source.scan(table, [key])]
    few = [sorted(chosen.sample(all_keys, min(size, len(all_keys)))) for size in (10, 100, 1000, 10_000)]
    kinds: dict[str, Any] = {"all rows": lambda _: {}}
    if values:
        kinds[f"filter on {column.name}"] = lambda n: {"filters": {column.name: values[n % len(values)]}}
    for keys in few:
        kinds[f"{len(keys)} keys of SQL"] = lambda _, keys=keys: {"allowed": keys}
    medians = {}
    for kind, restricted in kinds.items():
        database.search(QUESTIONS[0], table, **restricted(0))
        taken = []
        for number in range(count):
            begun = time.perf_counter()
            database.search(f"{QUESTIONS[number % 10]} {number}", table, **restricted(number))
            taken.append(time.perf_counter() - begun)
        medians[kind] = 1000 * statistics.median(taken)
    return medians


def show(embedders: str, found: dict[str, Any], peak: float) -> None:
    first = found["first"]["sync"]

    def synced(name: str, step: str, aim: str) -> tuple[str, str, str, str]:
        took = found[step]["sync"]
        return name, f"{took:.2f} s", f"{took / first:.1%}", aim

    first_cpu, alone_cpu = found["first"]["cpu"], found["alone_cpu"]
    throughput = f"{found['alone'] / first:.0%} of their throughput"
    rows = [
        ("first index", f"{first:.1f} s", f"{found['first']['chunks']} passages", ""),
        ("the embedders alone", f"{found['alone']:.1f} s", throughput, "85 % or more"),
        (
            "processor, first and alone",
            f"{first_cpu:.1f} s",
            f"{alone_cpu:.1f} s, {alone_cpu / first_cpu:.0%}",
            "",
        ),
        synced("nothing changed", "same", "3 % or less"),
        synced("… file touched", "touched", "3 % or less"),
        synced(f"{found['changed']['changed']} rows changed", "changed", "5 % or less"),
        ("memory at most", f"{peak:.0f} MB", "", "1500 MB or less"),
        ("store on disk", f"{found['store']:.0f} MB", "", ""),
    ]
    rows += [
        (f"search, {kind}", f"{ms:.1f} ms", "", "20 ms or less") for kind, ms in found["searches"].items()
    ]
    print(f"\n{embedders}\n")
    for name, figure, share, aim in rows:
        print(f"  {name:38} {figure:>10}  {share:28} {aim}")
    whole = {step: found[step]["whole"] for step in ("first", "same", "touched", "changed")}
    print(
        "  the whole of 'sqlrag index': " + ", ".join(f"{step} {took:.1f} s" for step, took in whole.items())
    )


if __name__ == "__main__":
    main()
