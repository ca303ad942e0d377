"""Whether a misspelt name still finds its row: 200 names, 50 each inside selections of 1, 10, 100 and 1,000 rows.

    python scripts/measure_misspelt.py DATA_FOLDER [STORE]

Names are titles and people of peps.sqlite, packages and maintainers of debian_packages.sqlite, each unique in its
table. Each is spoilt once, by one edit, two edits, a transposition or a split, by a fixed seed, and searched for
alone. A hit is the right row among the first three. Beside it: the same search over the whole table first, its
first 100 rows then filtered. STORE keeps the indexes for another run; wordllama alone embeds.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from measure_retrieval import SqliteRows, read_table

from sqlrag_dspy.index import Index, open_index, sync
from sqlrag_dspy.types import Key

EMBEDDERS = ("wordllama",)
SIZES = (1, 10, 100, 1_000)
EACH = 50
BEST = 3
AFTER = 100
SHORTEST = 5
"""Letters of a word that is spoilt, at least."""
SETS = {
    "titles": ("peps.sqlite", "peps", "number", "title", "content"),
    "people": ("peps.sqlite", "people", "person_id", "fullName", "fullName"),
    "packages": ("debian_packages.sqlite", "packages", "package_id", "package_name", "long_description"),
    "maintainers": ("debian_packages.sqlite", "maintainers", "maintainer_id", "displayName", "displayName"),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def edit(word: str, chance: random.Random) -> str:
    """One letter put in, left out or replaced."""
    at = chance.randrange(1, len(word))
    kind = chance.choice(("in", "out", "other"))
    letter = chance.choice(LETTERS.replace(word[at].lower(), ""))
    return word[:at] + ("" if kind == "out" else letter) + word[at + (kind != "in") :]


def transpose(word: str, chance: random.Random) -> str:
    """Two neighbouring letters, not equal, changed about."""
    places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    at = chance.choice(places or [len(word) - 2])
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def split(word: str, chance: random.Random) -> str:
    at = chance.randrange(2, len(word) - 1)
    return f"{word[:at]} {word[at:]}"


SPOILING: dict[str, Callable[[str, random.Random], str]] = {
    "one edit": edit,
    "two edits": lambda word, chance: edit(edit(word, chance), chance),
    "transposed": transpose,
    "split": split,
}


def spoil(name: str, kind: str, chance: random.Random) -> str | None:
    """The name with one of its longer words spoilt; None when it has none."""
    words = [word for word in name.replace("-", " ").split() if len(word) >= SHORTEST and word.isalpha()]
    if not words:
        return None
    word = chance.choice(words)
    return name.replace(word, SPOILING[kind](word, chance), 1)


def measure(folder: Path, store: Path) -> None:
    indexes: dict[str, tuple[Index, SqliteRows, str]] = {}
    names: dict[str, list[tuple[Key, str]]] = {}
    for name, (file, table_name, key, column, text) in SETS.items():
        path = folder / file
        hidden = [] if name != "titles" else ["topic"]
        table = read_table(path, table_name, [key], [text], hidden=hidden)
        reader = SqliteRows(path, [table])
        report = sync(store / name, reader, [table], EMBEDDERS)
        print(f"{name}: {report.rows_seen} rows, {report.chunks} passages", file=sys.stderr)
        indexes[name] = open_index(store / name, [table], EMBEDDERS), reader, table_name
        rows: list[tuple[Key, str]] = sqlite3.connect(path).execute(
            f'SELECT "{key}", "{column}" FROM "{table_name}" ORDER BY 1'
        ).fetchall()  # fmt: skip
        counts = Counter(value.casefold() for _, value in rows if value)
        names[name] = [(k, value) for k, value in rows if value and counts[value.casefold()] == 1]
    chance = random.Random(5)
    hits: dict[int, list[tuple[str, str, bool, bool, float]]] = defaultdict(list)
    for size in SIZES:
        sets = [name for name in SETS if len(names[name]) >= size]
        while len(hits[size]) < EACH:
            at = len(hits[size])
            name, kind = sets[at % len(sets)], list(SPOILING)[(at // len(sets)) % len(SPOILING)]
            key, value = chance.choice(names[name])
            misspelt = spoil(value, kind, chance)
            others = [k for k, _ in names[name] if k != key]
            taken = {v.casefold() for _, v in names[name]}
            if misspelt is None or misspelt.casefold() in taken:
                continue
            allowed = [key, *chance.sample(others, size - 1)]
            index, reader, table_name = indexes[name]
            begun = time.perf_counter()
            found = index.search(misspelt, table_name, k=BEST, allowed=allowed, reader=reader)
            seconds = time.perf_counter() - begun
            everywhere = index.search(misspelt, table_name, k=AFTER, reader=reader)
            inside = set(allowed)
            after = [d.key for d in everywhere.documents if d.key in inside][:BEST]
            is_found = key in [d.key for d in found.documents]
            hits[size].append((name, kind, is_found, key in after, seconds))
            if not is_found:
                print(f"not found among {size} {name}: {value!r} as {misspelt!r}", file=sys.stderr)
    heads = f"{'filtered first':>18}{'filtered after':>18}"
    print(f"right row among the first {BEST}\n{'':26}{'names':>6}{heads}{'ms, median':>12}")
    for size in SIZES:
        show(f"{size} rows allowed", hits[size])
    every = [hit for size in SIZES for hit in hits[size]]
    for column, groups in ((1, SPOILING), (0, SETS)):
        for group in groups:
            show(group, [hit for hit in every if hit[column] == group])


def show(title: str, hits: Sequence[tuple[str, str, bool, bool, float]]) -> None:
    first, after = (statistics.fmean(hit[at] for hit in hits) for at in (2, 3))
    print(
        f"{title:26}{len(hits):6}{first:18.2f}{after:18.2f}{1000 * statistics.median(h[4] for h in hits):12.1f}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            measure(Path(sys.argv[1]), Path(scratch))
