"""Many threads over one database for a few seconds; scripts/measure_load.py does the same for longer."""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlrag_dspy.program.database import open_database
from sqlrag_dspy.settings import Limits, Settings

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "measure_load.py"


def test_under_load_everything_ends_in_rows_or_a_refusal(tmp_path):
    spec = importlib.util.spec_from_file_location("measure_load", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    path = tmp_path / "data.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE story (id INTEGER PRIMARY KEY, title TEXT, words INTEGER)")
        connection.executemany(
            "INSERT INTO story VALUES (?, ?, ?)", [(n, f"story {n % 50}", n % 700) for n in range(2000)]
        )
    settings = Settings(source=str(path), store=str(tmp_path / "store"), limits=Limits(seconds=0.3))
    database = open_database(settings)
    before = path.read_bytes()
    found = script.load(database, seconds=3, threads=32)
    assert found["faults"] == []
    assert found["kinds"]["good"]["outcomes"]["rows"] > 32
    assert found["kinds"]["bad"]["outcomes"]["check"] > 0
    with closing(script.opened(str(path), tmp_path, workers=3)) as other:
        found["short"] = script.starvation(other, seconds=0.5)
    assert found["short"]["beside slow ones"]["n"] > 0
    assert "no outcome but rows and refusals" in script.table(found)
    database.run(database.check("SELECT count(*) FROM story"))
    database.close()
    assert path.read_bytes() == before
