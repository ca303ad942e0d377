"""What a model is told of a database, as data within a budget.

Leaves out the tasks themselves (`signatures`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlrag_dspy.program.inquiry import describe_link, whole
from sqlrag_dspy.types import Catalog, Column, Links, Table

BUDGET = 6000
"""Characters of schema text, about 1,500 tokens."""
WRITTEN = 20_000
"""Characters of SQL that a model may write: the check reads longer ones, but takes seconds for it."""
EVIDENCE = 6000
"""Characters of evidence, about 1,500 tokens."""

_FENCED = re.compile(
    r"(?:\A|\n)[ \t]*```(?:sql\b|\w*(?=\n))?(.*?)(?:```[ \t]*(?:\n|\Z)|\Z)", re.DOTALL | re.IGNORECASE
)


def plain(text: str) -> str:
    """Database text that cannot pass for a field or a delimiter of the prompt around it."""
    return text.replace("[[ ##", "[ [ ##").replace("</evidence", "< /evidence")


def number_evidence(texts: list[str]) -> tuple[str, int]:
    """Numbered evidence between tags, a line each and the first ones that fit; and how many those are."""
    lines: list[str] = []
    left = EVIDENCE
    for number, text in enumerate(texts, 1):
        line = f"[{number}] {plain(' '.join(text.split()))}"
        if lines and len(line) > left:
            break
        lines.append(line[:left])
        left -= len(lines[-1]) + 1
    return "\n".join(["<evidence>", *lines, "</evidence>"]), len(lines)


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


def declare_table(table: Table) -> str:
    """One table as the statement that makes it: the form of a schema that models have read most of."""
    lines = [f"  {_name(each.name)} {each.type or 'TEXT'}{_is_key(table, each)}" for each in table.columns]
    if len(table.key) > 1:
        lines.append(f"  PRIMARY KEY ({_names(table.key)})")
    for key in table.foreign_keys:
        refers = f"REFERENCES {_name(key.table)} ({_names(key.to_columns)})"
        lines.append(f"  FOREIGN KEY ({_names(key.columns)}) {refers}")
    return f"CREATE TABLE {_name(table.name)} (\n" + ",\n".join(lines) + "\n);"


def _is_key(table: Table, column: Column) -> str:
    return " PRIMARY KEY" if table.key == (column.name,) else ""


def _name(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_name, names))


def describe_schema(
    catalog: Catalog,
    links: Links | None = None,
    *,
    only: Sequence[str] | None = None,
    likely: Callable[[], Sequence[str]] | None = None,
    is_brief: bool = False,
    budget: int = BUDGET,
) -> str:
    """The schema in at most `budget` characters; where not all tables fit, those that the question names.

    With `only`, no other tables than those, the first of them first to be kept. `likely` gives such tables, and is
    asked only where not all fit. `is_brief`: declared as SQL does,
    with no word on what columns hold.

    The tables that are shown stand in the order of the catalog, whatever the question: a model that has read
    the same schema before need not read it again.
    """
    named = {link.table for link in links.chosen if link.table} if links is not None else set()
    ordered = sorted(catalog.tables, key=lambda t: (t.name not in named, not t.text_columns))
    if only is not None:
        ordered = [table for name in only if (table := catalog.table(name)) is not None]
    describe = declare_table if is_brief else describe_table
    if only is None and likely is not None and not _fits(catalog, describe, budget):
        chosen = [table for name in likely() if (table := catalog.table(name)) is not None]
        ordered = chosen or ordered
    shown: dict[str, str] = {}
    for table in ordered:
        described = describe(table)
        if shown and sum(map(len, shown.values())) + len(shown) + len(described) > budget:
            break
        shown[table.name] = described
    lines = [shown[table.name] for table in catalog.tables if table.name in shown]
    if left := len(catalog.tables) - len(shown):
        lines.append(f"({left} more tables left out)")
    return plain("\n".join(lines))


def _fits(catalog: Catalog, describe: Callable[[Table], str], budget: int) -> bool:
    """Whether the whole schema may be shown."""
    left = budget + 1
    for table in catalog.tables:
        left -= len(describe(table)) + 1
        if left < 0:
            return False
    return True


def describe_links(links: Links) -> str:
    """The question's links, a line each."""
    return plain("\n".join(describe_link(link) for link in links.chosen)) or "nothing"


def hint(links: Links) -> str:
    """The tables that a question was linked to and the values that it names as they are stored, in two sentences."""
    tables = dict.fromkeys(_name(link.table) for link in links.chosen if link.table)
    values = dict.fromkeys(
        f"{_name(link.table)}.{_name(link.column)} {link.op or '='} {link.value!r}"
        for link in links.chosen
        if link.kind == "value" and link.table and link.column
    )
    told = f"Use the tables {', '.join(tables)}." if tables else ""
    return plain(f"{told} Stored values: {'; '.join(values)}." if values else told).strip() or "nothing"


def bare(text: str) -> str:
    """SQL without the words and the code fence around it, or a semicolon after it."""
    text = whole(text or "").strip()
    if (fenced := _FENCED.search(text)) is not None:
        text = fenced[1]
    return text.strip().rstrip(";").strip()
