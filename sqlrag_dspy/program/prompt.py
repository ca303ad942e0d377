"""What a model is told of a database: schema, samples and links, as delimited data within a budget."""

from __future__ import annotations

from sqlrag_dspy.program.inquiry import describe_link
from sqlrag_dspy.types import Catalog, Column, Links, Table

BUDGET = 6000
"""Characters of schema text, about 1,500 tokens."""


def _sample(column: Column) -> str:
    profile = column.profile
    if profile.is_long_text:
        return "long text"
    if profile.date_formats:
        return f"text dates like {profile.samples[0] if profile.samples else profile.date_formats[0]}"
    if profile.values:
        shown = ", ".join(repr(value) for value, _ in profile.values[:8])
        return f"one of {shown}" + (", …" if len(profile.values) > 8 else "")
    if profile.minimum is not None:
        return f"{profile.minimum} to {profile.maximum}"
    return "e.g. " + ", ".join(repr(value) for value in profile.samples[:2]) if profile.samples else ""


def describe_table(table: Table) -> str:
    """One table: its columns with what they hold, its key and where its foreign keys lead."""
    lines = [f"table {table.name} ({table.rows} rows, key {', '.join(table.key)})"]
    for column in table.columns:
        sample = _sample(column).replace("\n", " ")[:160]
        lines.append(f"  {column.name} {column.profile.found}" + (f": {sample}" if sample else ""))
    for key in table.foreign_keys:
        lines.append(f"  {', '.join(key.columns)} refers to {key.table}({', '.join(key.to_columns)})")
    return "\n".join(lines)


def describe_schema(catalog: Catalog, links: Links | None = None) -> str:
    """The schema in at most `BUDGET` characters, the tables that the question names first."""
    named = {link.table for link in links.chosen if link.table} if links is not None else set()
    ordered = sorted(catalog.tables, key=lambda t: (t.name not in named, not t.text_columns))
    text = ""
    for table in ordered:
        described = describe_table(table)
        if text and len(text) + len(described) > BUDGET:
            text += f"\n({len(ordered) - text.count('table ')} more tables left out)"
            break
        text += ("\n" if text else "") + described
    return text


def describe_links(links: Links) -> str:
    """The question's links, a line each."""
    return "\n".join(describe_link(link) for link in links.chosen) or "nothing"
