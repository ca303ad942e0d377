"""Kills a sync with SIGKILL at random moments: the last whole generation must answer, the next sync must be a rebuild.

    python scripts/measure_kills.py [--moments 100] [--rows 300] [--seed 0]

Each time rows are added, changed and deleted, a process that syncs them is killed at a random moment of the time that
a sync takes, and then: the index opens and gives, row for row, what an index built anew gives of the state before or
of the state after; the next sync leaves what a rebuild of that state holds, in search results and in all stored rows,
passages, words and vectors; and no file is left over. Exits 1 at the first that does not. POSIX only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "index"))

from index_fakes import TOY, DigestRows, ToyEmbedder, note, notes_table, stored

from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.syncing import table_sync
from sqlrag_dspy.types import Value

Rows = list[dict[str, Value]]
WORDS = "harbour kite bread moon river crane letter winter garden station bell copper".split()  # noqa: SIM905


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chosen = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = kill_again_and_again(Path(folder), args.moments, args.rows, chosen)
    print(
        f"{args.moments} syncs killed: {outcomes['before']} left the generation before, {outcomes['after']} the new one"
    )
    print("each answered as one whole generation, and the next sync equalled a rebuild")


def kill_again_and_again(folder: Path, moments: int, count: int, chosen: random.Random) -> Counter[str]:
    outcomes = Counter[str]()
    whole = Killed(folder / "whole", 5_000, count, chosen)
    leaving = Killed(folder / "leaving", 0, count, chosen)
    for moment in range(moments):
        outcomes[(leaving if moment % 2 else whole).kill(moment, is_rebuilt=moment % 5 == 4)] += 1
    return outcomes


class Killed:
    """An index whose syncs are killed. `small`: up to so many passages leftovers are cleared by every sync."""

    def __init__(self, folder: Path, small: int, count: int, chosen: random.Random) -> None:
        self.folder, self.small, self.chosen = folder, small, chosen
        self.place = folder / "store"
        self.rows = [made(n, 0, chosen) for n in range(count)]
        table_sync.SMALL = small
        run(self.place, self.rows)

    def kill(self, moment: int, *, is_rebuilt: bool) -> str:
        """Kills a sync to the next state; whether the state "before" or "after" then answered."""
        table_sync.SMALL = self.small
        before, after = self.rows, changed(self.rows, moment + 1, self.chosen)
        fresh = {"before": before, "after": after}
        contents = {name: rebuilt(self.folder / name, rows) for name, rows in fresh.items()}
        generation = generation_at(self.place)
        seconds = timed(lambda: run(self.folder / "timed", after))
        killed(lambda: run(self.place, after, is_rebuilt), self.chosen.uniform(0, 1.3 * seconds))
        found = generation_at(self.place)
        outcome = "before" if found == generation else "after"
        demand(
            found in (generation, generation + 1), f"moment {moment}: generation {found} after {generation}"
        )
        demand(stored(self.place) == contents[outcome], f"moment {moment}: generation {found} is not whole")
        demand(
            self.is_as_rebuilt(outcome, fresh[outcome]),
            f"moment {moment}: generation {found} answers otherwise",
        )
        run(self.place, after)
        demand(
            stored(self.place) == contents["after"],
            f"moment {moment}: it holds something else than a rebuild",
        )
        demand(self.is_as_rebuilt("after", after), f"moment {moment}: it answers otherwise than a rebuild")
        left = [file.name for file in self.place.iterdir() if file.name.startswith("vectors-")]
        demand(len(left) == 1, f"moment {moment}: files left over: {sorted(left)}")
        self.rows = after
        return outcome

    def is_as_rebuilt(self, name: str, rows: Rows) -> bool:
        # Leftovers count in the rarity of words until they are cleared, so there scores differ a little.
        has_scores = self.small > 0
        return answers(self.place, rows, has_scores) == answers(self.folder / name, rows, has_scores)


def demand(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise SystemExit(otherwise)


def made(id_: int, state: int, chosen: random.Random) -> dict[str, Value]:
    body = " ".join(chosen.choices(WORDS, k=chosen.randint(0, 260)))
    return note(
        id_, f"{body} state{state}", title=chosen.choice(WORDS), kind=chosen.choice("abc"), stars=state
    )


def changed(rows: Rows, state: int, chosen: random.Random) -> Rows:
    """The rows of the next state: some added, changed in text or in a filter value, deleted."""
    out = []
    for row in rows:
        dice = chosen.random()
        if dice < 0.05:
            continue
        if dice < 0.15:
            out.append(made(int(str(row["id"])), state, chosen))
        else:
            out.append({**row, "kind": "d"} if dice < 0.2 else row)
    top = max((int(str(row["id"])) for row in rows), default=0)
    return out + [made(top + 1 + n, state, chosen) for n in range(chosen.randint(0, len(rows) // 10))]


def source_of(rows: Rows) -> DigestRows:
    return DigestRows({"notes": rows}, {"notes": ("id",)})


def run(place: Path, rows: Rows, is_rebuilt: bool = False) -> None:
    functions = {"toy": ToyEmbedder()}
    sync(place, source_of(rows), [notes_table()], TOY, embed_functions=functions, rebuild=is_rebuilt)


def rebuilt(place: Path, rows: Rows) -> dict[str, object]:
    functions = {"toy": ToyEmbedder()}
    sync(place, source_of(rows), [notes_table()], TOY, embed_functions=functions, rebuild=True)
    return stored(place)


def generation_at(place: Path) -> int:
    index = open_index(place, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    index.close()
    return index.generation


def answers(place: Path, rows: Rows, has_scores: bool) -> list[object]:
    """All that searches show; without scores the rows alone."""
    index = open_index(place, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    found: list[object] = []
    for text, filters in (("kite in the harbour", {}), ("copper bell", {"kind": "b"}), ("state3 letter", {})):
        hits = index.search(text, "notes", k=len(rows) + 1, filters=filters, reader=source_of(rows))
        shown = [(d.key, d.score, d.passages) for d in hits.documents]
        found.append((hits.search.rows_allowed, shown if has_scores else {key for key, _, _ in shown}))
    index.close()
    return found


def timed(work: Callable[[], None]) -> float:
    """Seconds that it takes, in a process of its own as the one that is killed."""
    begun = time.perf_counter()
    os.waitpid(forked(work), 0)
    return time.perf_counter() - begun


def killed(work: Callable[[], None], after: float) -> None:
    child = forked(work)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def forked(work: Callable[[], None]) -> int:
    """A child of this process, which has all packages loaded: starting anew would take longer than a sync."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


if __name__ == "__main__":
    main()
