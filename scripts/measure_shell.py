"""What one question costs from a shell: `sqlrag ask` against importing its heavy packages, in turn.

    python scripts/measure_shell.py trainsets/articles --runs 9

Builds and indexes the database in a temporary folder first. Prints medians and the median of the pairs' ratios.
Byte code is kept, as that of an installed package is, whatever the environment says.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sqlrag_dspy.learn.databases import build

QUESTION = "what are the articles by year and category?"


def seconds(command: list[str], folder: Path) -> float:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=kept)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainset", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    sqlrag = [str(Path(sys.executable).with_name("sqlrag"))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(arguments.trainset.resolve(), folder / "sample.db")
        for command in (["init", "sqlite:///sample.db"], ["index"]):
            subprocess.run([*sqlrag, "--quiet", *command], cwd=folder, check=True, capture_output=True)
        ask, imports = [*sqlrag, "ask", QUESTION], [sys.executable, "-c", "import dspy, duckdb, faiss"]
        seconds(ask, folder), seconds(imports, folder)
        pairs = [(seconds(ask, folder), seconds(imports, folder)) for _ in range(arguments.runs)]
        helps = [seconds([*sqlrag, "--help"], folder) for _ in range(arguments.runs)]
    print(
        json.dumps(
            {
                "ask_seconds": round(statistics.median(a for a, _ in pairs), 3),
                "import_seconds": round(statistics.median(b for _, b in pairs), 3),
                "ratio": round(statistics.median(a / b for a, b in pairs), 2),
                "help_seconds": round(statistics.median(helps), 3),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
