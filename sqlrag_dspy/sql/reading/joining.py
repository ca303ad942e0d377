"""Whether a sketch would be written with the joins that its query has."""

from __future__ import annotations

from sqlrag_dspy.sql.joins import Pair
from sqlrag_dspy.sql.reading.conditions import Beyond
from sqlrag_dspy.sql.reading.from_clause import Joins
from sqlrag_dspy.sql.writing.building import Writer
from sqlrag_dspy.types import Catalog, Sketch


def check_joins(sketch: Sketch, joins: Joins, catalog: Catalog) -> None:
    """The sketch must be written with the joins that the query has, or with fewer that lose no row; raises Beyond."""
    writer = Writer(sketch, catalog)
    hops = [*writer.hops]
    compared = sketch.beside.conditions if sketch.beside is not None else ()
    for group in [*sketch.filters, *sketch.share, *compared]:
        for each in group:
            if each.table not in writer.joined:
                hops += writer.far_hops(each.table)
    if sketch.without is not None and sketch.without.column is None:
        hops += writer.far_hops(sketch.without.table)
    written = {pair for hop in hops for pair in hop.pairs}
    said = joins.pairs | joins.far
    if not written <= said:
        raise Beyond("joined in another way")
    kept = {writer.root.name, *writer.joined}
    for pair in said - written:
        if not any(table in kept and _loses_nothing(table, column, pair, catalog) for table, column in pair):
            raise Beyond("a join that only filters")


def _loses_nothing(table: str, name: str, pair: Pair, catalog: Catalog) -> bool:
    found = catalog.table(table)
    column = found.column(name) if found is not None else None
    others = [each for each in pair if each[0] != table]
    if found is None or column is None or column.profile.null_share or not others:
        return False
    return any(
        name in link.columns and link.table == others[0][0] and link.is_declared
        for link in found.foreign_keys
    )
