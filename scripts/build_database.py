"""Build the SQLite database of a trainset: `python scripts/build_database.py articles articles.db`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.learn.databases import build

TRAINSETS = Path(__file__).resolve().parents[1] / "trainsets"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainset", help="the name of a folder of trainsets/, or the path of another")
    parser.add_argument("out", type=Path, help="the file to write")
    given = parser.parse_args()
    named = TRAINSETS / given.trainset
    folder = named if named.is_dir() else Path(given.trainset)
    if not folder.is_dir():
        names = ", ".join(sorted(path.parent.name for path in TRAINSETS.glob("*/source.toml")))
        sys.exit(
            f"no trainset {given.trainset} in {TRAINSETS}; "
            + (f"it has {names}" if names else "run the script of a clone of the repository, which has them")
        )
    try:
        build(folder, given.out)
    except SqlRagError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
