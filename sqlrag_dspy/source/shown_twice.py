"""Views that show texts of tables that are searched anyway: every hit would come twice.

Leaves out views for which the settings say what is searched, and says nothing of what SQL reads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlrag_dspy.source import quoting
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.types import Table

LOOKED_AT = 200
"""Texts of a view that are looked for in the tables."""


def without_copies(engine: Engine, tables: Sequence[Table], asked: Collection[str]) -> list[Table]:
    """The tables, with no text column in a view whose texts are all those of tables; `asked` views keep theirs."""
    stored = [
        f"SELECT {quoting.name(column)} FROM {quoting.name(table.name)} WHERE {quoting.name(column)} IS NOT NULL"
        for table in tables
        if not table.is_view
        for column in table.text_columns
    ]
    if not stored:
        return list(tables)
    texts = " UNION ALL ".join(stored)
    return [
        replace(table, text_columns=())
        if table.is_view and table.text_columns and table.name not in asked and _is_copy(engine, table, texts)
        else table
        for table in tables
    ]


def _is_copy(engine: Engine, view: Table, texts: str) -> bool:
    """Whether none of some texts of the view is missing among the stored ones."""
    for column in map(quoting.name, view.text_columns):
        some = (
            f"SELECT DISTINCT {column} AS text FROM {quoting.name(view.name)} "
            f"WHERE {column} IS NOT NULL LIMIT {LOOKED_AT}"
        )
        if engine.trusted(f"SELECT 1 FROM ({some}) WHERE text NOT IN ({texts}) LIMIT 1"):
            return False
    return True
