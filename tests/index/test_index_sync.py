from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import TOY, MemoryRows, ToyEmbedder, column, note, notes, notes_table, stored
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import SyncReport, contents, open_index, sync
from sqlrag_dspy.index.store import locked, open_for_reading
from sqlrag_dspy.types import Key, Table, Value


def run(
    store: Path,
    reader: MemoryRows,
    embedder: ToyEmbedder | None = None,
    *,
    tables: Sequence[Table] = (),
    rebuild: bool = False,
) -> SyncReport:
    functions = {"toy": embedder or ToyEmbedder()}
    return sync(store, reader, tables or [notes_table()], TOY, rebuild=rebuild, embed_functions=functions)


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.rows_seen, report.added, report.changed, report.deleted


def results(
    store: Path, reader: MemoryRows, question: str = "red kite river", table: str = "notes"
) -> list[object]:
    """Everything that a search shows, scores included.

    Rows of one score as shown stand in the order of their keys: the last bits of an inner product change with
    the place of a vector, so equal texts come in either order.
    """
    tables = [notes_table()] if table == "notes" else [letters_table()]
    index = open_index(store, tables, TOY, embed_functions={"toy": ToyEmbedder()})
    hits = index.search(question, table, k=100, reader=reader)
    index.close()
    shown = [(d.key, d.score, d.fields, d.passages) for d in hits.documents]
    return sorted(shown, key=lambda row: (-row[1], str(row[0])))


def letters_table() -> Table:
    return Table("letters", ("id",), (column("id"), column("text", length=900)), ("text",))


def test_only_what_changed_is_embedded(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(*(note(n, f"Page {n} is about the red kite.") for n in range(1, 251)))
    first = run(tmp_path, reader, embedder)
    assert (*counts(first), first.chunks, first.generation) == (250, 250, 0, 0, 250, 1)
    rows = reader.tables["notes"]
    rows[:] = [row for row in rows if row["id"] != 7]
    rows[6]["body"] = "Crane sold."
    rows.append(note(251, "A crane for hire"))
    embedder.texts.clear()
    second = run(tmp_path, reader, embedder)
    assert (*counts(second), second.chunks, second.generation) == (250, 1, 1, 1, 250, 2)
    assert sorted(embedder.texts) == ["A crane for hire", "Crane sold."]
    third = run(tmp_path, reader, embedder)
    assert (*counts(third), third.generation) == (250, 0, 0, 0, 2)
    assert len(embedder.texts) == 2
    shown = {key: passages for key, _, _, passages in results(tmp_path, reader, "crane")}  # type: ignore[misc]
    assert 7 not in shown
    assert shown[8][0].text == "Crane sold."


def test_a_filter_value_changes_without_embedding(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(
        note(1, "red kite", kind="draft"), *(note(n, f"bread {n}", kind="draft") for n in range(2, 9))
    )
    run(tmp_path, reader, embedder)
    embedder.texts.clear()
    reader.tables["notes"][0]["kind"] = "Printed"
    assert counts(run(tmp_path, reader, embedder)) == (8, 0, 1, 0)
    assert embedder.texts == []
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": embedder})
    found = index.search("kite", "notes", filters={"kind": "printed"}, reader=reader)
    assert [document.key for document in found.documents] == [1]
    assert [d.key for d in index.search("printed", "notes", k=1, reader=reader).documents] == [1]


def test_a_title_counts_for_its_rows_text(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(note(1, "red kite", title="Birds"))
    run(tmp_path, reader, embedder)
    assert embedder.texts == ["Birds\nred kite"]
    reader.tables["notes"][0]["title"] = "Toys"
    assert run(tmp_path, reader, embedder).changed == 1
    assert embedder.texts[-1] == "Toys\nred kite"


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    reader = notes(*(note(n, "the same text") for n in range(1000)))
    assert run(tmp_path, reader, embedder).chunks == 1000
    assert embedder.texts == ["the same text"]


@pytest.mark.parametrize("body", [None, "", " \n\t"])
def test_a_row_without_text_is_indexed_without_chunks(tmp_path: Path, body: Value) -> None:
    reader = notes(note(1, body), note(2, "kite"))
    report = run(tmp_path, reader)
    assert (report.rows_seen, report.chunks) == (2, 1)
    reader.tables["notes"][0]["body"] = "now it has text"
    assert run(tmp_path, reader).chunks == 2
    reader.tables["notes"][0]["body"] = body
    assert run(tmp_path, reader).chunks == 1


def test_awkward_texts(tmp_path: Path) -> None:
    big = "A five megabyte document speaks at length. " * 120_000
    bodies: list[Value] = [
        big,
        "\x00\x07\x1b control",
        "lone \ud800 surrogate",
        12345,
        2.5,
        "é" * 5000,
        "\ufeffmark",
    ]
    reader = notes(*(note(n, body, title=f"t\ud800{n}", kind="k\udfff") for n, body in enumerate(bodies)))
    report = run(tmp_path, reader)
    assert report.rows_seen == len(bodies)
    assert report.chunks > 6000
    assert report.seconds < 20
    assert len(results(tmp_path, reader, "control")) == len(bodies)


ROW = st.fixed_dictionaries(
    {
        "id": st.integers(0, 7),
        "body": st.sampled_from([None, "", "red kite", "bread and moon", "kite. " * 300, "river " * 200]),
        "title": st.sampled_from(["", "moon", "Harbour"]),
        "kind": st.sampled_from(["a", "b", None]),
        "stars": st.sampled_from([1, 2.5, None]),
        "good": st.sampled_from([True, False]),
    }
)
ROWS = st.lists(ROW, max_size=8, unique_by=lambda row: row["id"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(ROWS, min_size=1, max_size=4))
def test_sync_from_any_state_equals_rebuild(
    tmp_path_factory: pytest.TempPathFactory, states: list[list[dict[str, Value]]]
) -> None:
    synced, rebuilt = tmp_path_factory.mktemp("synced"), tmp_path_factory.mktemp("rebuilt")
    for rows in states:
        report = run(synced, notes(*rows))
    reader = notes(*states[-1])
    fresh = run(rebuilt, reader)
    assert report.chunks == fresh.chunks
    assert stored(synced) == stored(rebuilt)
    assert results(synced, reader) == results(rebuilt, reader)
    for count in (1, 2, 3, 500):  # scores are weighed by some chunks of a larger table
        assert some_chunks(synced, count) == some_chunks(rebuilt, count)
    again = run(synced, reader, rebuild=True)
    assert again.added == len(states[-1])
    assert results(synced, reader) == results(rebuilt, reader)


def test_the_same_chunks_stand_for_a_table_however_often_it_was_synced(tmp_path: Path) -> None:
    rows = [note(n, f"kite {n} " * 400) for n in range(6)]
    run(tmp_path / "synced", notes(*rows))
    rows[0], rows[3] = note(0, "river " * 400), note(3, "moon")  # their chunks come to stand last
    run(tmp_path / "synced", notes(*rows))
    run(tmp_path / "rebuilt", notes(*rows))
    for count in (1, 2, 4, 9, 500):
        assert some_chunks(tmp_path / "synced", count) == some_chunks(tmp_path / "rebuilt", count)


def some_chunks(store: Path, count: int) -> list[tuple[Key, tuple[int, int, int]]]:
    """Key and place of the chunks that stand for a table."""
    connection = open_for_reading(store)
    found = contents.read(connection, 1)
    chunks = found.some_chunks(count)
    told = list(zip(found.keys_at(found.chunk_row[chunks]), (found.span(chunk) for chunk in chunks.tolist())))
    assert len(told) == min(count, len(found.live_chunks))
    connection.close()
    return told


def test_leftovers_are_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrag_dspy.index.syncing.table_sync.SMALL", 0)
    reader = notes(*(note(n, f"kite number{n}") for n in range(100)))
    run(tmp_path, reader)

    def chunks() -> tuple[int, int]:
        connection = sqlite3.connect(tmp_path / "index.sqlite")
        counted: tuple[int, int] = connection.execute("SELECT count(*), sum(dead) FROM chunks").fetchone()
        connection.close()
        return counted

    del reader.tables["notes"][:20]
    assert run(tmp_path, reader).chunks == 80
    assert chunks() == (100, 20)
    assert {row[0] for row in results(tmp_path, reader)} == set(range(20, 100))  # type: ignore[index]
    del reader.tables["notes"][:20]
    assert run(tmp_path, reader).chunks == 60
    assert chunks() == (60, 0)
    assert results(tmp_path, reader, "number77")[0][0] == 77  # type: ignore[index]
    assert len(list(tmp_path.glob("vectors-*"))) == 1


def test_two_rows_with_one_key(tmp_path: Path) -> None:
    reader = notes(note(1, "kite"))
    run(tmp_path, reader)
    reader.tables["notes"] += [note(2, "bread"), note(2, "moon")]
    with pytest.raises(
        IndexUnusable, match=r"two rows of notes have the key id = 2; set a key .*\[tables.notes\]"
    ):
        run(tmp_path, reader)
    assert [row[0] for row in results(tmp_path, reader)] == [1]  # type: ignore[index]
    assert len(list(tmp_path.glob("vectors-*"))) == 1


def test_a_failing_source_leaves_the_previous_generation(tmp_path: Path) -> None:
    reader = notes(note(1, "kite"), note(2, "bread"))
    run(tmp_path, reader)
    before = results(tmp_path, reader)

    class Failing(MemoryRows):
        def scan(self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None):  # type: ignore[no-untyped-def]
            yield (9, "moon", "a", 1, 1, "")
            raise ConnectionError("the source went away")

    with pytest.raises(ConnectionError):
        run(tmp_path, Failing(reader.tables, reader.keys))
    assert results(tmp_path, reader) == before
    assert run(tmp_path, reader).generation == 1


def test_tables_come_and_go(tmp_path: Path) -> None:
    reader = MemoryRows(
        {"notes": [note(1, "kite")], "letters": [{"id": "x", "text": "dear kite"}]},
        {"notes": ("id",), "letters": ("id",)},
    )
    both = run(tmp_path, reader, tables=[notes_table(), letters_table()])
    assert (*counts(both), both.chunks) == (2, 2, 0, 0, 2)
    assert [row[0] for row in results(tmp_path, reader, table="letters")] == ["x"]  # type: ignore[index]
    one = run(tmp_path, reader, tables=[letters_table()])
    assert (*counts(one), one.chunks) == (1, 0, 0, 1, 1)
    with pytest.raises(IndexUnusable, match="table notes is not in the index"):
        results(tmp_path, reader)


def test_another_schema_or_embedder_rebuilds_the_table(tmp_path: Path) -> None:
    reader = notes(note(1, "kite"), note(2, "bread"))
    run(tmp_path, reader)
    fewer = run(tmp_path, reader, tables=[notes_table(filters=["kind"])])
    assert counts(fewer) == (2, 2, 0, 0)
    functions = {"toy": ToyEmbedder(), "other": ToyEmbedder(7)}
    more = sync(
        tmp_path, reader, [notes_table(filters=["kind"])], ["toy", "other"], embed_functions=functions
    )
    assert more.added == 2
    index = open_index(tmp_path, [notes_table(filters=["kind"])], ["other"], embed_functions=functions)
    assert [d.key for d in index.search("kite", "notes", k=1, reader=reader).documents] == [1]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    reader = notes(*(note(n, f"kite {n}") for n in range(200)))
    sync(
        tmp_path, reader, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()},
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert told[-1] == (200, 200)
    assert all(done <= total for done, total in told)


def test_progress_follows_what_is_embedded(tmp_path: Path) -> None:
    told: list[int] = []

    class Slow(ToyEmbedder):
        def __call__(self, texts: list[str]) -> NDArray[np.float32]:
            time.sleep(0.05)
            return super().__call__(texts)

    reader = notes(*(note(n, f"kite {n}") for n in range(2000)))
    sync(
        tmp_path, reader, [notes_table()], TOY, embed_functions={"toy": Slow()},
        progress=lambda done, _: told.append(done),
    )  # fmt: skip
    assert told == sorted(told)
    assert {512, 1024, 1536, 2000} <= set(told)


SYNC = """
import sys, time
sys.path[:0] = [{tests!r}]
from pathlib import Path
from index_fakes import *
from sqlrag_dspy.index import sync

class Slow(ToyEmbedder):
    def __call__(self, texts):
        print("embedding", flush=True)
        time.sleep({delay})
        return super().__call__(texts)

reader = notes(*(note(n, f"moon number{{n}}") for n in range(2000)))
sync(Path({store!r}), reader, [notes_table()], TOY, embed_functions={{"toy": Slow()}})
print("done", flush=True)
"""


def start_sync(store: Path, delay: float) -> subprocess.Popen[str]:
    code = SYNC.format(tests=str(Path(__file__).parent), store=str(store), delay=delay)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    reader = notes(note(1, "red kite"))
    run(tmp_path, reader)
    before = results(tmp_path, reader)
    process = start_sync(tmp_path, delay=30)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "embedding\n"
        with pytest.raises(IndexUnusable, match=f"process {process.pid} is writing the index"):
            run(tmp_path, reader)
        assert results(tmp_path, reader) == before
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    # The lock of a dead process is free, and its half-written generation is nowhere.
    assert results(tmp_path, reader) == before
    assert counts(run(tmp_path, reader)) == (1, 0, 0, 0)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_sync_killed_at_any_moment_leaves_a_whole_generation(tmp_path: Path, delay: float) -> None:
    reader = notes(note(1, "red kite"))
    run(tmp_path, reader)
    process = start_sync(tmp_path, delay=0)
    assert process.stdout is not None
    assert process.stdout.readline() == "embedding\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
    rows = index.search("moon", "notes", reader=reader).search.rows_allowed
    assert (index.generation, rows) in ((1, 1), (2, 2000))
    index.close()
    report = run(tmp_path, reader)
    assert report.rows_seen == 1
    assert len(list(tmp_path.glob("vectors-*"))) == 1


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(IndexUnusable, match=r"cannot be written .*set 'store' in sqlrag.toml"):
        run(tmp_path / "store", notes(note(1, "kite")))


@pytest.mark.skipif(os.name != "posix", reason="lock files are advisory there")
def test_a_broken_file_is_named_and_rebuilt(tmp_path: Path) -> None:
    reader = notes(note(1, "kite"))
    run(tmp_path, reader)
    (tmp_path / "index.sqlite").write_bytes(b"not a database at all" * 500)
    with pytest.raises(IndexUnusable, match=r"is broken .*run 'sqlrag index --rebuild'"):
        run(tmp_path, reader)
    assert run(tmp_path, reader, rebuild=True).added == 1


def test_texts_that_a_lender_holds_are_not_embedded_again(tmp_path: Path) -> None:
    all_rows = [
        note(n, f"Bread number {n} of the baker. " * (20 + 9 * n), title=f"Title {n}") for n in range(12)
    ]
    lending, borrowing, alone = ToyEmbedder(), ToyEmbedder(), ToyEmbedder()
    sync(tmp_path / "all", notes(*all_rows), [notes_table()], TOY, embed_functions={"toy": lending})
    some = [*all_rows[3:8], note(99, "A text that nobody else has.")]
    sync(
        tmp_path / "some", notes(*some), [notes_table()], TOY,
        embed_functions={"toy": borrowing}, lender=tmp_path / "all",
    )  # fmt: skip
    sync(tmp_path / "alone", notes(*some), [notes_table()], TOY, embed_functions={"toy": alone})
    assert borrowing.texts == ["A text that nobody else has."]
    opened = [
        open_index(tmp_path / name, [notes_table()], TOY, embed_functions={"toy": ToyEmbedder()})
        for name in ("some", "alone")
    ]
    for text in ("Title 4", "nobody", "the bread and the flour", "Title 1"):
        first, second = (index.search(text, "notes", k=20, reader=notes(*some)) for index in opened)
        assert first == second


def test_a_lender_that_is_broken_or_missing_lends_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "index.sqlite").write_bytes(b"no database")
    for name in ("broken", "missing"):
        toy = ToyEmbedder()
        sync(
            tmp_path / f"of_{name}", notes(note(1, "Bread.")), [notes_table()], TOY,
            embed_functions={"toy": toy}, lender=tmp_path / name,
        )  # fmt: skip
        assert toy.texts == ["Bread."]


def test_a_patient_writer_waits(tmp_path: Path) -> None:
    def sync_one(patience: float) -> int:
        report = sync(
            tmp_path, notes(note(1, "Bread.")), [notes_table()], TOY,
            embed_functions={"toy": ToyEmbedder()}, patience=patience,
        )  # fmt: skip
        return report.generation

    with locked(tmp_path):
        waiting = ThreadPoolExecutor().submit(sync_one, 30)
        time.sleep(0.2)
        assert not waiting.done()
    assert waiting.result(timeout=30) == 1


# --- whose index it is ------------------------------------------------------------------------------


def sync_from(
    store: Path, origin: Path | None, tables: Sequence[Table] = (), *, rebuild: bool = False
) -> SyncReport:
    reader = notes(note(1, "About the red kite."), note(2, "About the river."))
    return sync(
        store,
        reader,
        tables or [notes_table()],
        TOY,
        rebuild=rebuild,
        embed_functions={"toy": ToyEmbedder()},
        origin=origin,
    )


@pytest.mark.parametrize("rows", [[notes_table()], []])
def test_the_index_of_another_database_is_not_thrown_away(tmp_path: Path, rows: list[Table]) -> None:
    store, one, two = tmp_path / "store", tmp_path / "one.db", tmp_path / "two.db"
    one.touch()
    two.touch()
    sync_from(store, one)
    reader = notes(note(1, "About something else."))
    with pytest.raises(IndexUnusable) as told:
        sync(store, reader, rows, TOY, embed_functions={"toy": ToyEmbedder()}, origin=two)
    for part in (str(store), str(one), str(two), "set 'store'", "--rebuild"):
        assert part in str(told.value)
    assert counts(sync_from(store, one)) == (2, 0, 0, 0)
    assert counts(sync_from(store, two, rebuild=True))[1] == 2
    assert counts(sync_from(store, two)) == (2, 0, 0, 0)
    with pytest.raises(IndexUnusable):
        sync_from(store, one)


def test_a_database_that_was_moved_copied_or_linked_keeps_its_index(tmp_path: Path) -> None:
    store, old, new = tmp_path / "store", tmp_path / "old.db", tmp_path / "new.db"
    old.touch()
    sync_from(store, old)
    old.rename(new)
    assert counts(sync_from(store, new)) == (2, 0, 0, 0)
    shutil.copytree(tmp_path, tmp_path.with_name("copied"))
    copied = tmp_path.with_name("copied")
    assert counts(sync_from(copied / "store", copied / "new.db")) == (2, 0, 0, 0)
    link = tmp_path / "link.db"
    link.symlink_to(new)
    assert counts(sync_from(store, link)) == (2, 0, 0, 0)
    new.unlink()
    link.unlink()
    other = tmp_path / "other.db"
    other.touch()
    with pytest.raises(IndexUnusable, match="link"):
        sync(store, notes(), [letters_table()], TOY, embed_functions={"toy": ToyEmbedder()}, origin=other)


def test_an_index_that_names_no_database_is_taken_over_by_one_with_its_tables(tmp_path: Path) -> None:
    sync_from(tmp_path, None)
    with pytest.raises(IndexUnusable, match="another database, with notes"):
        sync(
            tmp_path,
            notes(),
            [letters_table()],
            TOY,
            embed_functions={"toy": ToyEmbedder()},
            origin=tmp_path / "x",
        )
    assert counts(sync_from(tmp_path, tmp_path / "x")) == (2, 0, 0, 0)
    # A table that its own database lost leaves the index, as ever.
    assert (
        sync(
            tmp_path, notes(), [], TOY, embed_functions={"toy": ToyEmbedder()}, origin=tmp_path / "x"
        ).deleted
        == 2
    )
