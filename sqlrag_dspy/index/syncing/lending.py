"""Vectors of another store, lent to one whose rows hold the same texts, so that no text is embedded twice.

A vector depends on the words of its chunk and on what introduces its row, both of which the borrower reads itself
and knows by hash; it learns nothing of the other rows. Leaves out where the other store lies, and when to borrow.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import store
from sqlrag_dspy.index.words import kinship


def has_index(folder: Path) -> bool:
    """Whether a store holds an index; it may still be of another version or broken."""
    return (folder / store.DATABASE).is_file()


class Lender:
    """One table of another store. It lends nothing when that store is missing, broken or lacks an embedder."""

    def __init__(self, folder: Path | None, table: str, embedders: Sequence[str]) -> None:
        self._chunks: dict[str, list[tuple[int, int, int]]] = {}
        self._matrices: list[NDArray[np.float32]] = []
        self.words: dict[str, bytes] = {}
        """Words with their vectors, as the store keeps them."""
        if folder is not None and has_index(folder):
            # Without it every text is embedded, which is slower and nothing else.
            with suppress(IndexUnusable, sqlite3.Error, ValueError):
                self._read(folder, table, embedders)

    def _read(self, folder: Path, table: str, embedders: Sequence[str]) -> None:
        connection = store.open_for_reading(folder)
        try:
            found = connection.execute("SELECT id FROM tables WHERE name = ?", (table,)).fetchone()
            if found is None:
                return
            files = {
                name: (file, count)
                for name, file, count in connection.execute(
                    "SELECT embedder, file, count FROM vectors WHERE table_id = ?", found
                )
            }
            if not set(embedders) <= files.keys():
                return
            self._files = [
                store.read_vectors(folder / file, count)
                for file, count in (files[name] for name in embedders)
            ]
            hashes = {
                row: json.loads(listed)
                for row, listed in connection.execute("SELECT id, hashes FROM rows WHERE table_id = ?", found)
            }
            known: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
            for id_, row, column, start, end in connection.execute(
                "SELECT id, row, col, start, end FROM chunks WHERE table_id = ? AND NOT dead ORDER BY id",
                found,
            ):
                known.setdefault((row, column), []).append((id_, start, end))
            self._chunks = {hashes[row][column]: chunks for (row, column), chunks in known.items()}
            self._matrices = [store.matrix(index) for index in self._files]
            if store.has_table(connection, "kinship"):
                self.words = kinship.vectors_of(connection, found[0])
        finally:
            connection.close()

    def vectors(self, text_hash: str, spans: Sequence[tuple[int, int]]) -> list[NDArray[np.float32]] | None:
        """For each embedder the vectors of a text's chunks, in the order of its spans; None when not known."""
        chunks = self._chunks.get(text_hash)
        if chunks is None or [(start, end) for _, start, end in chunks] != list(spans):
            return None
        ids = [id_ for id_, _, _ in chunks]
        return [matrix[ids] for matrix in self._matrices]
