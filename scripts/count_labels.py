"""Counts labelled queries by file, route and language, and prints the table of trainsets/README.md.

    python scripts/count_labels.py                      # every folder of trainsets/
    python scripts/count_labels.py trainsets/articles   # some of them

Every label is read as `sqlrag compile` reads it, so a broken line is named and nothing is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.learn import labels
from sqlrag_dspy.types import ROUTES

TRAINSETS = Path(__file__).resolve().parents[1] / "trainsets"
LANGUAGES = ("en", "es", "nl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders or sorted(TRAINSETS.glob("*/"))
    files = [
        folder / f"{split}.jsonl"
        for folder in folders
        for split in labels.SPLITS
        if (folder / f"{split}.jsonl").is_file()
    ]
    heads = ["labels", *ROUTES, *LANGUAGES]
    rows = []
    for split in labels.SPLITS:
        total: Counter[str] = Counter()
        for file in files:
            if file.stem == split:
                found = count(labels.read(file))
                total += found
                rows.append([f"`{file.parent.name}/{file.name}`", *(str(found[head]) for head in heads)])
        if total:
            rows.append([f"all {split}", *(str(total[head]) for head in heads)])
    print("| file | " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def count(wanted: list[labels.Label]) -> Counter[str]:
    """Labels in all, and by route and language."""
    return Counter(
        {"labels": len(wanted)}
        | Counter(label.route for label in wanted)
        | Counter(label.lang for label in wanted)
    )


if __name__ == "__main__":
    try:
        main()
    except SqlRagError as error:
        sys.exit(str(error))
