"""Which tables, columns, joins and stored values a question needs, among those that retrieval proposes.

What a model names and the schema lacks is dropped; what the question itself names is never left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dspy

from sqlrag_dspy.program.signatures import LinkSchema
from sqlrag_dspy.program.team.typed import Intent, SchemaLinks, numbered
from sqlrag_dspy.types import Catalog, Links

JOINS = 12
"""Join conditions that are told."""


@dataclass(frozen=True)
class Linked:
    """The tables to write SQL over, best first, and notes on them for whoever writes it."""

    tables: tuple[str, ...]
    notes: tuple[str, ...] = ()


class SchemaLinker(dspy.Module):
    """Question and proposed tables to those that are needed."""

    def __init__(self) -> None:
        super().__init__()
        self.link = dspy.Predict(LinkSchema)

    def forward(
        self, question: str, intents: list[Intent], found: str, schema: str, catalog: Catalog, links: Links,
        **options: Any,
    ) -> Linked:  # fmt: skip
        """What is needed of `schema`, which describes the proposed tables; no tables when the model named none."""
        said: SchemaLinks = self.link(
            database_schema=schema,
            found_in_question=found,
            intents=numbered(intents),
            question=question,
            **options,
        ).linked
        return read(said, catalog, links)


def read(said: SchemaLinks, catalog: Catalog, links: Links) -> Linked:
    """The part of what was said that the schema has."""
    names = {table.name.casefold(): table.name for table in catalog.tables}
    columns = [each for each in said.columns if _owner(each, catalog)]
    asked = [*said.tables, *(each.rpartition(".")[0] for each in columns)]
    said_names = [_bare(each.rpartition(".")[2]).casefold() for each in asked]
    tables = {names[name]: names[name] for name in said_names if name in names}
    if not tables:
        return Linked(())
    known = set(names.values())
    tables.update({link.table: link.table for link in links.chosen if link.table and link.table in known})
    notes = [f"columns: {', '.join(columns)}"] if columns else []
    notes += [f"join: {each}" for each in said.joins if "=" in each][:8]
    notes += [f"stored: {each}" for each in said.values if _owner(each.partition("=")[0], catalog)][:8]
    return Linked(tuple(tables), tuple(notes))


def _bare(name: str) -> str:
    return name.strip().strip('"`[]')


def _owner(name: str, catalog: Catalog) -> str | None:
    """The table of `table.column`, when the schema has both."""
    table_name, _, column = name.strip().rpartition(".")
    wanted = _bare(table_name.rpartition(".")[2]).casefold()
    table = next((each for each in catalog.tables if each.name.casefold() == wanted), None)
    if table is None or not any(each.name.casefold() == _bare(column).casefold() for each in table.columns):
        return None
    return table.name


def connected(linked: Linked, catalog: Catalog) -> Linked:
    """The tables with those that lie between them, and how they join: as the schema says, else as it was said."""
    from sqlrag_dspy.link import join_paths

    paths = join_paths(catalog, linked.tables)
    between = [name for path in paths for name in path.through]
    joins = dict.fromkeys(f"join: {join}" for path in paths for join in path.joins)
    kept = [note for note in linked.notes if not (joins and note.startswith("join: "))]
    return Linked(tuple(dict.fromkeys([*linked.tables, *between])), (*kept, *list(joins)[:JOINS]))
