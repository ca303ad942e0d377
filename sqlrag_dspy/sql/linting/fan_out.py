"""Joins that show a row several times, so that a sum, mean or count takes it in several times."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare, number, string, uncased
from sqlrag_dspy.sql.joins import is_unique
from sqlrag_dspy.sql.kinds import field_of, kind_of
from sqlrag_dspy.sql.linting.statement import (
    Statement,
    meant,
    own,
    place_of,
    sources_used,
    table_sources,
    terms_of,
    where_of,
)
from sqlrag_dspy.sql.probing import first, within
from sqlrag_dspy.sql.scopes import conjuncts
from sqlrag_dspy.types import Table

Sources = dict[str, Table | exp.Query]


def fan_out(statement: Statement) -> Iterator[str]:
    """Aggregates over a table of which one row, within one group, can meet several rows of another."""
    for select in statement.selects():
        if not select.args.get("joins"):
            continue
        sources = table_sources(select, statement.catalog)
        links, fixed = _links(select), _fixed(select)
        for call in select.find_all(exp.Sum, exp.Avg, exp.Count):
            inner = call.this
            if not own(call, select) or not isinstance(inner, exp.Expr) or isinstance(inner, exp.Distinct):
                continue
            if _is_condition(inner):
                continue
            summed = sources_used(inner) & set(sources)
            first = sources.get(min(summed)) if summed else None
            if not isinstance(first, Table) or (
                isinstance(call, exp.Count) and not _counts_rows(inner, first)
            ):
                continue
            if isinstance(call, exp.Avg) and _is_one_a_group(summed, sources, fixed):
                continue
            other = _multiplier(summed, sources, links, fixed, believes=not statement.probe.can_run)
            if other is not None and _is_repeated(statement, select, summed, sources) is not False:
                yield _advice(call, first.name, other)


def _is_one_a_group(summed: set[str], sources: Sources, fixed: set[tuple[str, str]]) -> bool:
    """Whether a group repeats one row only, whose mean is the value itself however often it is repeated."""
    return all(_has_key(sources[name], {c for source, c in fixed if source == name}) for name in summed)


def _is_condition(inner: exp.Expr) -> bool:
    """Whether a sum adds ones and zeros: then it counts joined rows, as COUNT(*) does."""
    inner = bare(inner)
    if isinstance(inner, exp.Cast):
        return _is_condition(inner.this)
    if isinstance(inner, exp.Case | exp.If):
        branches = inner.args.get("ifs") or [inner]
        results = [each.args.get("true") for each in branches]
        default = inner.args.get("default") or inner.args.get("false")
        return all(number(each) is not None for each in [*results, default] if each is not None)
    return kind_of(inner) == "boolean"


def _advice(call: exp.Expr, table: str, other: str) -> str:
    if isinstance(call, exp.Count):
        return (
            f"each row of {table} is counted once for every matching row of {other}; "
            "use COUNT(DISTINCT …) instead if it should count once"
        )
    return (
        f"each row of {table} is added once for every matching row of {other}; "
        "use WHERE … IN (SELECT …) or EXISTS instead of the join if it should count once"
    )


def _counts_rows(inner: exp.Expr, table: Table) -> bool:
    """Whether a count is over the key of the table, or a part of it, and so counts its rows."""
    found = field_of(inner)
    return found is not None and found.name in table.key


Link = tuple[tuple[str, str], tuple[str, str]]


def _links(select: exp.Select) -> list[Link]:
    """Pairs of (source, column) that a join makes equal, USING among them; outer joins link as well."""
    terms = where_of(select)
    links: list[Link] = []
    before: list[str] = [select.args["from_"].this.alias_or_name.casefold()]
    for join in select.args.get("joins") or ():
        here = join.this.alias_or_name.casefold()
        if join.args.get("on") is not None:
            terms += conjuncts(join.args["on"])
        for node in join.args.get("using") or ():
            links += [((earlier, node.name), (here, node.name)) for earlier in before]
        before.append(here)
    for term in terms:
        if isinstance(term, exp.EQ):
            one, two = place_of(uncased(term.this)), place_of(uncased(term.expression))
            if one is not None and two is not None and one[0] != two[0]:
                links.append((one, two))
    return links


def _fixed(select: exp.Select) -> set[tuple[str, str]]:
    """Columns that have one value within a group: grouped by, or equal to a literal."""
    fixed: set[tuple[str, str]] = set()
    group = select.args.get("group")
    for each in group.expressions if group is not None else ():
        place = place_of(meant(each, select))
        if place is not None:
            fixed.add(place)
    for term in terms_of(select):
        if isinstance(term, exp.EQ):
            place, value = place_of(uncased(term.this)), uncased(term.expression)
            if place is not None and (string(value) is not None or number(value) is not None):
                fixed.add(place)
    return fixed


def _multiplier(
    summed: set[str],
    sources: Sources,
    links: list[Link],
    fixed: set[tuple[str, str]],
    *,
    believes: bool,
) -> str | None:
    """The table that makes several rows of one summed row, if any.

    Sources are settled one after another: one whose columns, known from settled sources or fixed, are unique in it
    has one row. A table that two settled sources meet in is taken for a link table, with one row for each pair, when
    `believes`: the data will not be asked.
    """
    settled = {name for name in sources if _has_key(sources[name], {c for s, c in fixed if s == name})}
    settled |= summed
    while True:
        added = False
        for name in sources:
            if name in settled:
                continue
            partners = {a[0]: b[1] for a, b in _towards(name, links) if a[0] in settled}
            known = {b[1] for a, b in _towards(name, links) if a[0] in settled}
            if (believes and len(partners) > 1) or (
                known and _has_key(sources[name], known | {c for s, c in fixed if s == name})
            ):
                settled.add(name)
                added = True
        if not added:
            break
    for name in sources:
        if name not in settled and any(a[0] in settled for a, _ in _towards(name, links)):
            source = sources[name]
            return source.name if isinstance(source, Table) else name
    return None


def _is_repeated(statement: Statement, select: exp.Select, summed: set[str], sources: Sources) -> bool | None:
    """Whether some summed row is there twice within a group; None when it cannot be asked."""
    keys: list[exp.Expr] = []
    for name in sorted(summed):
        table = sources[name]
        if not isinstance(table, Table):
            return None
        qualifier = exp.to_identifier(_alias(select, name), quoted=True)
        keys += [exp.column(exp.to_identifier(key, quoted=True), qualifier.copy()) for key in table.key]
    group = select.args.get("group")
    keys += [meant(each, select).copy() for each in (group.expressions if group is not None else ())]
    query = within(select, [exp.Literal.number(1)], where_of(select))
    query.set("group", exp.Group(expressions=keys))
    several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    query.set("having", exp.Having(this=several))
    return statement.probe.has_rows(first(query))


def _alias(select: exp.Select, folded: str) -> str:
    nodes: list[exp.Expr] = [
        select.args["from_"].this,
        *(join.this for join in select.args.get("joins") or ()),
    ]
    names = [str(each.alias_or_name) for each in nodes]
    return next(name for name in names if name.casefold() == folded)


def _towards(name: str, links: list[Link]) -> Iterator[Link]:
    for one, two in links:
        if two[0] == name:
            yield one, two
        if one[0] == name:
            yield two, one


def _has_key(source: Table | exp.Query, columns: set[str]) -> bool:
    """Whether at most one row of the source has given values in these columns; a query is believed to, if unclear."""
    if isinstance(source, Table):
        return bool(columns) and is_unique(source, tuple(columns))
    if not isinstance(source, exp.Select):
        return True
    folded = {each.casefold() for each in columns}
    if source.args.get("distinct"):
        return {each.alias_or_name.casefold() for each in source.expressions} <= folded
    group = source.args.get("group")
    if group is not None:
        keys = {each.sql() for each in group.expressions}
        shown = {each.alias_or_name.casefold() for each in source.expressions if each.unalias().sql() in keys}
        return shown <= folded
    if source.find(exp.AggFunc) is not None or source.args.get("joins"):
        return True
    start = source.args.get("from_")
    field = next((f for each in source.expressions if (f := field_of(each.unalias())) is not None), None)
    if start is None or field is None or field.table is None:
        return True
    named = {
        found.column.name
        for each in source.expressions
        if each.alias_or_name.casefold() in folded
        and (found := field_of(each.unalias())) is not None
        and found.column is not None
    }
    return bool(named) and is_unique(field.table, tuple(named))
