"""What to say when a name is wrong: the nearest right one, or where it lives and how to get there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlrag_dspy.sql.joins import path, quoted, spell
from sqlrag_dspy.sql.kinds import Field
from sqlrag_dspy.types import Catalog

_SHOWN = 25


def nearest(
    name: str, candidates: Iterable[str], *, cutoff: float = 72, is_whole: bool = False
) -> str | None:
    """The candidate that is spelt most like `name`, None when none is close; `is_whole`: no part of it counts alone."""
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(
        name,
        list(candidates),
        scorer=fuzz.ratio if is_whole else fuzz.WRatio,
        processor=utils.default_process,
        score_cutoff=cutoff,
    )
    return str(found[0]) if found else None


def no_table(name: str, catalog: Catalog, others: Iterable[str]) -> str:
    known = [*(table.name for table in catalog.tables), *others]
    broken = dict(catalog.broken)
    for each, why in broken.items():
        if each.casefold() == name.casefold():
            return f"table {each!r} cannot be read: {why}"
    guess = nearest(name, known)
    if guess:
        return f"no table {name!r}; did you mean {guess!r}?"
    return f"no table {name!r}; the tables are {_listed(known)}"


def no_table_function(name: str) -> str:
    return f"{name}(…) is not allowed in FROM: read from the tables of the database, or from range(…) or unnest([…])"


def no_source(name: str, known: list[str], catalog: Catalog) -> str:
    table = catalog.table(name)
    if table is not None:
        hint = join_hint(catalog, [*known, table.name])
        return f"{name!r} is not in this query's FROM clause; join it{hint} or use {_listed(known)}"
    guess = nearest(name, known)
    return f"no table or alias {name!r} in this query; " + (
        f"did you mean {guess!r}?" if guess else f"it has {_listed(known) or 'no FROM clause'}"
    )


def no_column(
    name: str, where: str, fields: Mapping[str, Field], catalog: Catalog, *, is_quoted: bool = False
) -> str:
    place = where or "this query, which has no FROM clause"
    said = f"no column {name!r} in {place}"
    here = {each.table.name for each in fields.values() if each.table is not None}
    for table in catalog.tables:
        column = table.column(name)
        if column is None or table.name in here:
            continue
        said += f"; {quoted(column.name)} is in table {quoted(table.name)}"
        for start in sorted(here):
            hops = path(catalog, start, table.name)
            if hops:
                return f"{said}: add {spell(hops)}"
        return said + (
            "" if not here else "; no foreign key leads there from here, so use a subquery on shared values"
        )
    names = [each.name for each in fields.values()]
    guess = nearest(name, names)
    if guess:
        return f"{said}; did you mean {guess!r}?"
    if is_quoted:
        said += "; text is written in single quotes, double quotes are for names"
    return f"{said}; columns are {_listed(names)}" if names else said


def join_hint(catalog: Catalog, names: list[str]) -> str:
    """` as in JOIN …` for the first two of `names` that a foreign key connects, else nothing."""
    tables = [table.name for name in names if (table := catalog.table(name)) is not None]
    for start in tables:
        for goal in tables:
            if start != goal and (hops := path(catalog, start, goal)):
                return f", as in {spell(hops)},"
    return ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
