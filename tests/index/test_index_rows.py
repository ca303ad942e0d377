"""A source that tells by digests which rows changed hands over those alone, with the same index as the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_fakes import TOY, DigestRows, MemoryRows, ToyEmbedder, note, notes_table, stored
from test_index_sync import ROWS, counts, results, run

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import SyncReport, sync
from sqlrag_dspy.types import Key, Value


def digest_notes(*rows: dict[str, Value]) -> DigestRows:
    return DigestRows({"notes": list(rows)}, {"notes": ("id",)})


def test_only_changed_rows_are_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrag_dspy.index.syncing.table_sync.SMALL", 0)  # clearing leftovers reads all rows
    reader = digest_notes(*(note(n, f"Page {n} is about the red kite.") for n in range(100)))
    assert counts(run(tmp_path, reader)) == (100, 100, 0, 0)
    assert reader.handed == 100
    rows, reader.handed = reader.tables["notes"], 0
    assert counts(run(tmp_path, reader)) == (100, 0, 0, 0)
    assert reader.handed == 0
    rows[3]["body"], rows[4]["stars"] = "Crane sold.", 5
    del rows[90:95]
    rows.append(note(200, "A new page."))
    assert counts(run(tmp_path, reader)) == (96, 1, 2, 5)
    assert reader.handed == 3
    fresh = digest_notes(*rows)
    run(tmp_path / "fresh", fresh)
    assert results(tmp_path, reader) == results(tmp_path / "fresh", fresh)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(ROWS, min_size=1, max_size=4))
def test_sync_by_digests_equals_rebuild(
    tmp_path_factory: pytest.TempPathFactory, states: list[list[dict[str, Value]]]
) -> None:
    synced, rebuilt = tmp_path_factory.mktemp("synced"), tmp_path_factory.mktemp("rebuilt")
    padding = [note(n, f"page {n} of the harbour") for n in range(100, 140)]  # so that few rows change
    for rows in states:
        report = run(synced, digest_notes(*rows, *padding))
    reader = digest_notes(*states[-1], *padding)
    assert report.chunks == run(rebuilt, reader).chunks
    assert stored(synced) == stored(rebuilt)
    assert results(synced, reader) == results(rebuilt, reader)


def test_an_index_without_digests_gets_them(tmp_path: Path) -> None:
    bodies = [note(n, f"page {n}") for n in range(30)]
    run(tmp_path, MemoryRows({"notes": bodies}, {"notes": ("id",)}))
    reader = digest_notes(*bodies)
    assert counts(run(tmp_path, reader)) == (30, 0, 0, 0)
    assert reader.handed == 30
    assert counts(run(tmp_path, reader)) == (30, 0, 0, 0)
    assert reader.handed == 30


class Moving(DigestRows):
    """A source whose row 1 is replaced while it is read, and then stands at the end of the table too."""

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        rows = list(super().scan(table, columns, keys))
        yield from rows
        if keys is None and not self.is_done:
            self.is_done = True
            self.tables[table][0]["body"] = "red kite, replaced"
            yield next(super().scan(table, columns, [1]))

    is_done = False


@pytest.mark.parametrize("first", [True, False])
def test_a_row_that_moves_while_the_table_is_read_is_one_row(tmp_path: Path, first: bool) -> None:
    rows = [note(1, "red kite"), note(2, "bread")]
    if not first:
        run(tmp_path, digest_notes(*(dict(row) for row in rows)))
    moving = Moving({"notes": rows}, {"notes": ("id",)})
    assert run(tmp_path, moving).rows_seen == 2
    reader = digest_notes(*rows)
    run(tmp_path / "fresh", reader)
    assert results(tmp_path, reader) == results(tmp_path / "fresh", reader)


def test_two_rows_with_one_key_are_refused_by_digests_too(tmp_path: Path) -> None:
    reader = digest_notes(*(note(n, "kite") for n in range(50)))
    run(tmp_path, reader)
    reader.tables["notes"].append(note(7, "moon"))
    with pytest.raises(IndexUnusable, match="two rows of notes have the key id = 7"):
        run(tmp_path, reader)


def test_a_row_that_goes_between_the_comparison_and_its_reading(tmp_path: Path) -> None:
    class Vanishing(DigestRows):
        def digests(
            self,
            table: str,
            columns: Sequence[str],
            digested: Sequence[str],
            keys: Sequence[Key] | None = None,
        ) -> Iterator[tuple[Value, ...]]:
            yield from list(super().digests(table, columns, digested, keys))
            if keys is None:
                self.tables[table][:] = [row for row in self.tables[table] if row["id"] != 5]

    rows = [note(n, f"kite {n}") for n in range(40)]
    run(tmp_path, digest_notes(*rows))
    reader = Vanishing({"notes": [{**row} for row in rows]}, {"notes": ("id",)})
    reader.tables["notes"][5]["body"] = "changed, then gone"
    assert counts(run(tmp_path, reader)) == (39, 0, 0, 1)


def test_a_source_in_the_same_state_is_not_read(tmp_path: Path) -> None:
    reader = digest_notes(*(note(n, f"kite {n}") for n in range(20)))

    def synced(state: str | None) -> SyncReport:
        functions = {"toy": ToyEmbedder()}
        return sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions, state=state)

    synced("one")
    reader.tables["notes"][0]["body"] = "changed, but nobody was told"
    again = synced("one")
    assert (*counts(again), again.chunks, again.generation) == (20, 0, 0, 0, 20, 1)
    assert synced("two").changed == 1
    assert synced(None).changed == 0
    reader.tables["notes"][0]["body"] = "changed again"
    assert synced(None).changed == 1
