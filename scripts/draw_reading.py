"""Draws the questions of a second reading: a seeded share of all labels, without what the first reading said.

    python scripts/draw_reading.py reading.jsonl --share 0.15 --parts 6

Writes one worksheet a part ("reading-1.jsonl", …), each line with id, database and question, in mixed order.
The reader adds `route`, and for vector and hybrid `table` and `filter_sql`, for sql `sql`; the filled lines go
to trainsets/reading.jsonl, and scripts/measure_agreement.py compares.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from sqlrag_dspy.learn import labels

ASKED = ("id", "database", "question")

TRAINSETS = Path(__file__).resolve().parents[1] / "trainsets"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.15)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    drawn = []
    for schema in sorted(TRAINSETS.glob("*/schema.sql")):
        found = [label for file in labels.files(schema.parent) for label in labels.read(file)]
        rng = random.Random(f"{given.seed} {schema.parent.name}")
        drawn += rng.sample(found, round(given.share * len(found)))
    by_part: list[list[labels.Label]] = [[] for _ in range(given.parts)]
    counts = Counter(label.database for label in drawn)
    names = sorted(counts, key=lambda name: -counts[name])
    for name in names:  # whole databases, so that a reader learns few schemas
        own = [label for label in drawn if label.database == name]
        random.Random(given.seed).shuffle(own)
        half = len(own) > len(drawn) / given.parts
        for piece in (own[::2], own[1::2]) if half else (own,):
            min(by_part, key=len).extend(piece)
    for number, part in enumerate(by_part, 1):
        path = given.out.with_name(f"{given.out.stem}-{number}{given.out.suffix}")
        lines = [
            json.dumps({name: getattr(label, name) for name in ASKED}, ensure_ascii=False) for label in part
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(path, len(part))


if __name__ == "__main__":
    main()
