"""The language that a table's texts are written in, told by all of its rows or, of many, by a sample.

A sample is drawn by key, so that a sync from any state tells what a new index would. Leaves out how the language of
one text is told (`words.language`).
"""

from __future__ import annotations

import sqlite3
from zlib import crc32

from sqlrag_dspy.index import store
from sqlrag_dspy.index.syncing.rows import Row, read_rows
from sqlrag_dspy.index.words.language import detect, majority
from sqlrag_dspy.types import RowReader

FEW = 4_000
"""Rows of which every one is asked."""
_ONE_IN = 8
"""Of more rows, one in so many is."""
NOT_ASKED = ""
"""What stands for the language of a row that was not asked; None is that of one that does not tell."""


def of_row(row: Row, rows: int) -> str | None:
    """The language of the first of its texts that is not blank, where it may be asked in a table of `rows` rows."""
    if rows > FEW and not _is_sampled(row.key):
        return NOT_ASKED
    return next((detect(text) for text in row.texts if text.strip()), None)


def of_table(
    connection: sqlite3.Connection, table_id: int, reader: RowReader, spec: store.Spec
) -> str | None:
    """The language of most rows that are to be asked; None when they are mixed.

    A table that shrank or grew past FEW rows is brought to what a new index would note of each.
    """
    rows = connection.execute("SELECT count(*) FROM rows WHERE table_id = ?", (table_id,)).fetchone()[0]
    asked = dict(
        connection.execute(
            f"SELECT key, language FROM rows WHERE table_id = ? AND language IS NOT '{NOT_ASKED}'",
            (table_id,),
        )
    )
    changed: dict[str, str | None] = {}
    if rows > FEW:
        changed = {key: NOT_ASKED for key in asked if not _is_sampled(key)}
    elif len(asked) < rows:
        changed = {row.key: of_row(row, rows) for row in read_rows(reader, spec) if row.key not in asked}
    connection.executemany(
        "UPDATE rows SET language = ? WHERE table_id = ? AND key = ?",
        ((language, table_id, key) for key, language in changed.items()),
    )
    return majority(language for language in (asked | changed).values() if language != NOT_ASKED)


def _is_sampled(key: str) -> bool:
    return crc32(key.encode("utf-8", "surrogatepass")) % _ONE_IN == 0
