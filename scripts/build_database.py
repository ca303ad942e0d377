"""Build the SQLite database of a trainset: `python scripts/build_database.py articles articles.db`."""

from __future__ import annotations

import sys
from pathlib import Path

from sqlrag_dspy.learn.databases import build

if __name__ == "__main__":
    build(Path("trainsets") / sys.argv[1], Path(sys.argv[2]))
