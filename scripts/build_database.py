"""Build the SQLite database of a trainset: `python scripts/build_database.py articles articles.db`."""

from __future__ import annotations

import json
import sqlite3
import sys
import tomllib
from pathlib import Path


def build(folder: Path, out: Path) -> None:
    spec = tomllib.loads((folder / "source.toml").read_text(encoding="utf-8"))
    out.unlink(missing_ok=True)
    connection = sqlite3.connect(out)
    connection.executescript((folder / spec["schema"]).read_text(encoding="utf-8"))
    for name in spec["rows"]:
        table = Path(name).stem
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            columns = ", ".join('"' + column.replace('"', '""') + '"' for column in row)
            marks = ", ".join("?" for _ in row)
            connection.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))
    connection.commit()
    connection.close()


if __name__ == "__main__":
    build(Path("trainsets") / sys.argv[1], Path(sys.argv[2]))
