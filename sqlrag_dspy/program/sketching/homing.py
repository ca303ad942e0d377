"""Whose date and whose amount a question speaks of, once it is known which table's rows it asks for.

The linker ties a date to the tables that are named. "Sales per shop in 2023" names shops alone, and means the date of
the sales; "sales per category" means amounts of lines, as those of whole orders would be counted once for each line.
"""

from __future__ import annotations

from dataclasses import replace

from sqlrag_dspy.link.names import main_date
from sqlrag_dspy.types import Catalog, Link, Links, Table


def leads_to(table: Table, catalog: Catalog) -> list[Table]:
    """The tables of which every row of this one has at most one, along foreign keys, the nearest first."""
    found: dict[str, Table] = {table.name: table}
    waiting = [table]
    while waiting:
        for key in waiting.pop(0).foreign_keys:
            other = catalog.table(key.table)
            if other is not None and other.name not in found:
                found[other.name] = other
                waiting.append(other)
    return list(found.values())[1:]


def at_home(links: Links, table: Table, catalog: Catalog) -> Links:
    """The links with dates that are not named moved to the rows of `table`, unless they are of rows that lead to it."""
    around = leads_to(table, catalog)
    names = {
        other.name for other in catalog.tables if other is not table and table not in leads_to(other, catalog)
    }
    if not any(link.kind in ("date", "part") and link.table in names for link in links.chosen):
        return links
    # Of the tables that the rows lead to, what happened has more rows than what it happened to.
    dated = [table, *sorted(around, key=lambda other: -other.rows)]
    home = next(((t.name, d.name) for t in dated if (d := main_date(t)) is not None), None)
    named = {(link.table, link.column) for link in links.chosen if link.kind == "column"}
    if home is None:
        return links

    def moved(link: Link) -> Link:
        is_understood = link.kind in ("date", "part") and link.table in names
        if not is_understood or (link.table, link.column) in named:
            return link
        return replace(link, table=home[0], column=home[1])

    return replace(links, chosen=tuple(moved(link) for link in links.chosen))


def measured_in(link: Link, links: Links, apart: set[str], catalog: Catalog, asked: Table) -> Link | None:
    """A link to an amount, or its rival for the same words, whose table's rows have at most one of each of `apart`.

    An amount of the rows that are asked for comes first. None when no reading of the words will do: its amounts would
    be counted several times.
    """
    rivals = (k for k in links.others if k.kind == "column" and (k.start, k.end) == (link.start, link.end))
    for each in sorted((link, *rivals), key=lambda k: k.table != asked.name):
        table = catalog.table(each.table or "")
        if table is None:
            continue
        column = table.column(each.column or "")
        reached = {table.name, *(other.name for other in leads_to(table, catalog))}
        if column is not None and (column.is_number or each.since) and apart <= reached:
            return each
    return None
