"""Awkward texts, keys, files and disks: a correct result or one clear error, and nothing lost.

Blank rows, 5 MB, control characters and equal texts stand in test_index_sync.py, cut-off and newer files for readers
in test_index_search.py.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from index_fakes import TOY, MemoryRows, ToyEmbedder, note, notes, notes_table, stored
from test_index_sync import counts, results, run

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.store import key_json, key_of
from sqlrag_dspy.settings import Limits, TableSettings
from sqlrag_dspy.source import open_source
from sqlrag_dspy.types import Value

HTML = (
    "<div class='x'><p>Une <b>gr&egrave;ve</b> du <a href='/f?a=1&b=2'>ferry</a><br/><script>var a = '<p>';</script>"
    "<p>unclosed <td>cell <!-- a comment with the word copper --> the <i>harbour"
)
TEXTS = {
    "word": "kite",
    "hebrew": "שביתת המעבורת הסתיימה אחרי שבועיים",
    "arabic": "انتهى إضراب العبارات \u202bبعد أسبوعين\u202c",
    "japanese": "港のクレーンは冬の前に点検されなければならない。",
    "chinese": "山里的面包发得更快，面包师发现了。" * 120,
    "html": HTML,
    "soup": HTML * 20,
    "marks": "e\u0301 \u200d\u200d \ufffd \U0001f468\u200d\U0001f469\u200d\U0001f467 " * 60,
    "no spaces": "x" * 50_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_any_kind_is_found_and_quoted_as_it_is(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    reader = notes(note(2, text), *(note(n, f"bread number {n}") for n in range(3, 80)))
    run(tmp_path, reader)
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    asked = {"html": "copper harbour", "soup": "copper harbour", "no spaces": text[:800]}.get(name, text[:60])
    hits = index.search(asked, "notes", k=3, reader=reader)
    assert hits.documents[0].key == 2
    for passage in hits.documents[0].passages:
        assert text[passage.start : passage.end] == passage.text
    index.close()


def test_a_key_that_changes_its_type(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"), note(2, "bread"))
    run(tmp_path, reader)
    reader.tables["notes"][0]["id"] = "1"
    reader.tables["notes"][1]["id"] = 2.0  # the same number
    assert counts(run(tmp_path, reader)) == (2, 1, 0, 1)
    fresh = tmp_path / "fresh"
    run(fresh, reader)
    assert results(tmp_path, reader) == results(fresh, reader)
    assert {row[0] for row in results(tmp_path, reader)} == {"1", 2}  # type: ignore[index]


@pytest.mark.parametrize(
    ("key", "spelt"),
    [(1e300, "1e+300"), (-1e19, "-1e+19"), (float(2**62), str(2**62)), (2.0, "2"), (10**30, "1" + "0" * 30)],
)
def test_a_number_beyond_64_bits_stays_of_its_kind(key: Value, spelt: str) -> None:
    assert key_json(key) == spelt
    assert key_of(spelt) == key
    assert key_json(key_of(spelt)) == spelt


def test_whole_keys_of_any_size_are_found_in_a_database(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t(k REAL PRIMARY KEY, body TEXT)")
    rows = [(1e300, "lamp light"), (2.0, "fish soup"), (2.5, "rope"), (-1e19, "mast"), (1e21, "bell")]
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    with open_source(
        str(path), limits=Limits(), tables={"t": TableSettings(text=["body"], filters=[])}
    ) as source:
        tables, toy = source.catalog.tables, {"toy": ToyEmbedder()}
        sync(tmp_path / "store", source, tables, TOY, embed_functions=toy)
        index = open_index(tmp_path / "store", tables, TOY, embed_functions=toy)
        found = {d.key: d.passages[0].text for d in index.search("lamp", "t", reader=source).documents}
        assert found == dict(rows)
        one = index.search("mast", "t", allowed=[1e300], reader=source).documents
        assert [d.key for d in one] == [1e300]
        index.close()


MIXED = """CREATE TABLE t(k UNIQUE, body TEXT);
    INSERT INTO t VALUES (1, 'lamp'), ('1', 'fish'), (2.5, 'rope'), ('x', 'mast'), (x'31', 'bell');"""


def test_keys_that_differ_in_their_type_alone_lose_no_row(tmp_path: Path) -> None:
    path, toy = tmp_path / "m.db", {"toy": ToyEmbedder()}
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MIXED)
    chosen = {"t": TableSettings(text=["body"], filters=[])}
    with open_source(str(path), limits=Limits(), tables=chosen) as source:
        assert source.catalog.table("t").key == ("rowid",)
        assert any("reads alike in some rows" in warning for warning in source.catalog.warnings)
        sync(tmp_path / "store", source, source.catalog.tables, TOY, embed_functions=toy)
        index = open_index(tmp_path / "store", source.catalog.tables, TOY, embed_functions=toy)
        found = index.search("fish", "t", reader=source).documents
        assert found[0].passages[0].text == "fish"
        assert len(found) == 5
        index.close()


@pytest.mark.parametrize("is_late", [True, False])
def test_keys_that_are_set_and_read_alike_stop_the_sync(tmp_path: Path, is_late: bool) -> None:
    path, toy = tmp_path / "m.db", {"toy": ToyEmbedder()}
    chosen = {"t": TableSettings(key="k", text=["body"], filters=[])}

    def synced() -> None:
        with open_source(str(path), limits=Limits(), tables=chosen) as source:
            sync(tmp_path / "store", source, source.catalog.tables, TOY, embed_functions=toy)

    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MIXED)
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(str(n), f"page {n}") for n in range(10, 99)])
        if is_late:  # rows whose digests are known, and then two more
            connection.execute("DELETE FROM t WHERE body IN ('fish', 'bell')")
            connection.commit()
            synced()
            connection.execute("INSERT INTO t VALUES ('1', 'fish')")
        connection.commit()
    with pytest.raises(IndexUnusable, match=r'two rows of t have the key k = "?1"?; set a key'):
        synced()


def test_rows_that_vanish_between_search_and_reading(tmp_path: Path) -> None:
    reader = notes(*(note(n, f"red kite {n}") for n in range(6)))
    run(tmp_path, reader)
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    reader.tables["notes"][:] = reader.tables["notes"][4:]
    assert sorted(d.key for d in index.search("kite", "notes", k=4, reader=reader).documents) == [4, 5]  # type: ignore[type-var]
    reader.tables["notes"].clear()
    assert index.search("kite", "notes", k=4, reader=reader).documents == ()
    index.close()


def test_a_text_that_shrank_since_is_quoted_as_it_is_now(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite over the river. " * 100), note(2, "bread"))
    run(tmp_path, reader)
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    reader.tables["notes"][0]["body"] = "short"
    (found,) = index.search("red kite", "notes", k=1, reader=reader).documents
    assert all("short"[p.start : p.end] == p.text for p in found.passages)
    index.close()


# --- files --------------------------------------------------------------------------------------------


def test_an_index_of_a_newer_version_is_not_written(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"))
    run(tmp_path, reader)
    connection = sqlite3.connect(tmp_path / "index.sqlite")
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(
        IndexUnusable, match=r"has format 99.*upgrade sqlrag-dspy, or run 'sqlrag index --rebuild'"
    ):
        run(tmp_path, reader)
    assert run(tmp_path, reader, rebuild=True).added == 1
    assert [row[0] for row in results(tmp_path, reader)] == [1]  # type: ignore[index]


def test_a_foreign_database_in_its_place(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"))
    connection = sqlite3.connect(tmp_path / "index.sqlite")
    connection.execute("CREATE TABLE rows (something TEXT)")
    connection.execute("INSERT INTO rows VALUES ('of somebody else')")
    connection.commit()
    connection.close()
    for attempt in (run, results):
        with pytest.raises(IndexUnusable, match=r"is broken .*run 'sqlrag index --rebuild'"):
            attempt(tmp_path, reader)
    connection = sqlite3.connect(tmp_path / "index.sqlite")
    assert connection.execute("SELECT * FROM rows").fetchall() == [("of somebody else",)]
    connection.close()


@pytest.mark.parametrize("length", [0, 40, 3000])
def test_a_vector_file_cut_short_stops_a_sync(tmp_path: Path, length: int) -> None:
    reader = notes(*(note(n, f"red kite {n}") for n in range(50)))
    run(tmp_path, reader)
    (vectors,) = tmp_path.glob("vectors-*")
    os.truncate(vectors, length)
    reader.tables["notes"].append(note(99, "bread"))
    with pytest.raises(IndexUnusable, match="run 'sqlrag index --rebuild'"):
        run(tmp_path, reader)
    assert run(tmp_path, reader, rebuild=True).added == 51


@pytest.mark.skipif(
    os.name != "posix" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write"
)
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"))
    run(tmp_path, reader)
    before = results(tmp_path, reader)
    tmp_path.chmod(0o500)
    (tmp_path / "lock").chmod(0o400)
    try:
        with pytest.raises(IndexUnusable, match=r"cannot be written .*set 'store' in sqlrag.toml to another"):
            run(tmp_path, reader)
        assert results(tmp_path, reader) == before
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, flags: int, *args: int) -> int:
        if str(path).endswith("lock"):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *args)  # type: ignore[arg-type]

    opened = os.open
    monkeypatch.setattr("sqlrag_dspy.index.store.os.open", refuse)
    with pytest.raises(IndexUnusable, match=r"cannot be written \(Permission denied\); set 'store'"):
        run(tmp_path, notes(note(1, "red kite")))


FULL = """
import resource, signal, sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from index_fakes import *
from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import sync

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
reader = notes(*(note(n, f"moon number{{n}}") for n in range(3000)))
try:
    sync(Path({store!r}), reader, [notes_table()], TOY, embed_functions={{"toy": ToyEmbedder({dimensions})}})
except IndexUnusable as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="no limit on files there")
@pytest.mark.parametrize(("limit", "dimensions"), [(40_000, 24), (300_000, 24), (8_000_000, 1000)])
def test_a_full_disk_leaves_the_previous_generation(tmp_path: Path, limit: int, dimensions: int) -> None:
    """A file that may not grow, as on a full disk: first in the word index, last in the vectors."""
    reader, embedder = notes(note(1, "red kite")), ToyEmbedder(dimensions)
    run(tmp_path, reader, embedder)
    before = stored(tmp_path)
    code = FULL.format(
        tests=str(Path(__file__).parent), store=str(tmp_path), limit=limit, dimensions=dimensions
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "could not be written" in done.stdout, (done.stdout, done.stderr)
    assert "check space and rights" in done.stdout
    assert done.stdout.count("\n") == 1
    assert stored(tmp_path) == before
    assert len([file for file in tmp_path.iterdir() if file.name.startswith("vectors-")]) == 1
    assert counts(run(tmp_path, reader, embedder)) == (1, 0, 0, 0)
    many: dict[str, list[dict[str, Value]]] = {"notes": [note(n, f"moon number{n}") for n in range(3000)]}
    assert run(tmp_path, MemoryRows(many, {"notes": ("id",)}), embedder).rows_seen == 3000
