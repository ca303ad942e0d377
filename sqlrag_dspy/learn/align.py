"""Gold SQL laid over a question's links: the skeleton it has, and the role that each link plays in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlrag_dspy.learn.held import day_of, names, restricts
from sqlrag_dspy.learn.metrics import plain
from sqlrag_dspy.program.sketching.homing import at_home
from sqlrag_dspy.program.sketching.skeleton import BESIDE, SHARING, Skeleton
from sqlrag_dspy.types import Beside, Catalog, Item, Link, Links, Predicate, Sketch


def skeleton_of(sketch: Sketch, display: str, shown: Collection[str] = ()) -> Skeleton | None:
    """The skeleton of a gold sketch, or None when it has a shape that skeletons cannot say.

    `display` is the column that rows of the table are recognised by; `shown` are the columns that the question
    itself names as wanted. A display column that it names is one of those, and not understood.
    """
    if any(item.via and item not in sketch.group for item in sketch.select):
        return None
    measures = [item for item in sketch.select if item.aggregate]
    bare = [item for item in sketch.select if not item.aggregate]
    if len(sketch.order) > 1 or len(sketch.having) > 1 or not _is_sayable(sketch, measures):
        return None
    ordering = [item for item, _ in sketch.order if item.aggregate]
    together = _has_both(sketch)
    bounded = [] if together else [item for item, _, _ in sketch.having if item.aggregate]
    asked = measures or ordering or bounded
    beside = sketch.beside
    if beside is not None:
        if measures or sketch.share or sketch.having or sketch.over or sketch.each or bounded:
            return None
        asked = [beside.of]
    aggregate = "none"
    if sketch.share:
        aggregate = "fraction" if sketch.is_fraction else "share"
        aggregate += "+sum" if sketch.share_of is not None else ""
    elif asked:
        aggregate = "+".join(item.aggregate for item in asked)
    if sketch.each:
        bare = [item for item in bare if item not in sketch.each]
        sketch = replace(sketch, group=tuple(item for item in sketch.group if item not in sketch.each))
        if len(sketch.each) > 1 or sketch.limit is None or (measures and not sketch.group):
            return None
    groups = len(sketch.group)
    if groups > 2:
        return None
    if sketch.share:
        show = "group+measure" if groups else "measure"
    elif beside is not None and not groups:
        show = _beside_show(beside)
    elif sketch.over:
        show = "groups" if sketch.over == "count" else "mean"
    elif groups:
        if [_bare(i) for i in bare] not in (
            [_bare(i) for i in sketch.group],
            [_bare(i) for i in reversed(sketch.group)],
        ):
            return None
        show = "group+measure" if measures else "group"
        if beside is not None and beside.is_shown and beside.how not in ("more", "less"):
            show = f"group+{_beside_show(beside)}"
    elif measures:
        if bare:
            return None
        show = "measure"
    else:
        is_key = [item.column == display and not item.part for item in bare]
        understood = bool(is_key) and is_key[0] and display not in shown
        show = "columns" if not understood else "key" if len(is_key) == 1 else "key+columns"
        if "columns" in show and any(item.part for item in bare) and len(bare) > 3:
            return None
    order = "none"
    if sketch.order:
        item, descending = sketch.order[0]
        if item.aggregate:
            by: str = "measure" if beside is None else beside.how
        elif any(_bare(item) == _bare(group) for group in sketch.group):
            by = "group"
        elif show in ("key", "columns") and len(bare) == 1 and _bare(item) == _bare(bare[0]):
            by = "shown"
        else:
            by = "column"
        order = f"{'desc' if descending else 'asc'}:{by}"
    if sketch.offset and sketch.limit != 1:
        return None
    without = "no" if sketch.without is None else "own" if sketch.without.column else "other"
    if sketch.same is not None:
        if without != "no":
            return None
        without = "same"
    is_own = sketch.distinct and len(bare) == 1 and show == "columns" and not sketch.filters
    if without == "own" and (sketch.without is None or not is_own or bare[0].column != sketch.without.column):
        return None
    limit = "none" if sketch.limit is None else "one" if sketch.limit == 1 else "k"
    limit = "nth" if sketch.offset else limit
    if sketch.each:
        limit = "each" if limit == "one" else "each k"
    return Skeleton(
        aggregate=aggregate,
        groups=str(groups),
        show=show,
        order=order,
        limit=limit,
        having="both" if together else _having(sketch, asked) if beside is None else _beside_bound(beside),
        distinct="yes" if sketch.distinct else "no",
        without=without,
    )


def _beside_show(beside: Beside) -> str:
    return next(show for show, how in BESIDE.items() if how == beside.how)


def _beside_bound(beside: Beside) -> str:
    return beside.how if beside.how in ("more", "less") else "no"


def _is_sayable(sketch: Sketch, measures: Sequence[Item]) -> bool:
    """Whether one skeleton can say all its aggregates: several shown ones of one column, none of them ordered by
    or bounded, but for a bound on the number of rows."""
    columns = {item.column for item in measures if item.aggregate != "count"}
    if len(columns) > 1 or len(measures) > 3:
        return False
    ordering = [item for item, _ in sketch.order if item.aggregate]
    bounded = [] if _has_both(sketch) else [item for item, _, _ in sketch.having if item.aggregate]
    if len(measures) > 1 and (ordering or bounded):
        return False
    shown = [*measures, *ordering]
    if len({(item.aggregate, item.column) for item in shown}) > max(1, len(measures)):
        return False
    return all(
        item in shown or not shown or (item.aggregate, item.column) == ("count", None) for item in bounded
    )


def _has_both(sketch: Sketch) -> bool:
    """Whether the groups are bounded to those that have every value which the filters name of a column."""
    if len(sketch.having) != 1 or sketch.having[0][0].aggregate != "count_distinct":
        return False
    item, op, value = sketch.having[0]
    named = [
        p
        for alternatives in sketch.filters
        for p in alternatives
        if len(alternatives) == 1 and p.op == "in" and (p.table, p.column) == (item.table, item.column)
    ]
    return op == "=" and any(isinstance(p.value, tuple) and len(p.value) == value for p in named)


def _having(sketch: Sketch, asked: Sequence[Item]) -> str:
    """ "count" when the number of rows is bounded although another aggregate is asked for."""
    if not sketch.having:
        return "no"
    bounded = sketch.having[0][0]
    is_other = bool(asked) and bounded not in asked and bounded.aggregate == "count"
    return "count" if is_other else "yes"


def _bare(item: Item) -> tuple[str, ...]:
    return (item.table, item.column or "", item.part, item.since, item.via)


def roles_of(sketch: Sketch, links: Links, catalog: Catalog | None = None) -> dict[int, str]:
    """Every chosen link's role in the gold sketch, by number; "ignore" when it plays none.

    Tables play theirs where `catalog` is given: the one whose rows are asked for is the subject, one whose rows are
    grouped by is a group.
    """
    roles: dict[int, str] = {}
    root = catalog.table(sketch.table) if catalog is not None else None
    if root is not None and catalog is not None:
        links = at_home(links, root, catalog)
    if sketch.without is not None:
        sketch = replace(sketch, filters=(*sketch.filters, *sketch.without.filters))
    if sketch.beside is not None:
        sketch = replace(sketch, filters=(*sketch.filters, *sketch.beside.conditions))
    if any(item.via and item not in sketch.group for item in sketch.select):
        sketch = replace(sketch, select=tuple(item for item in sketch.select if not item.via))
    for number, link in enumerate(links.chosen):
        roles[number] = _role(link, sketch, links, number)
        if link.kind == "table" and catalog is not None:
            roles[number] = _table_role(link, sketch, catalog)
    roles.update(dict.fromkeys(_periods_together(links, sketch), "filter"))
    grouped = {
        links.chosen[n].table for n, role in roles.items() if role == "group" and links.chosen[n].column
    }
    taken: set[tuple[str, str | None]] = set()
    for number, role in roles.items():
        link = links.chosen[number]
        if link.kind != "table" or role == "ignore":
            continue
        # A column says more precisely what is grouped by, and a second mention says nothing new.
        if (role, link.table) in taken or (role == "group" and link.table in grouped):
            roles[number] = "ignore"
        taken.add((role, link.table))
    return roles


def _periods_together(links: Links, sketch: Sketch) -> list[int]:
    """The numbers of dates that only together say what the gold filter does: "January or February 2023"."""
    dated = [
        (n, k) for n, k in enumerate(links.chosen) if k.kind == "date" and k.value and k.upper and not k.op
    ]
    if len(dated) < 2 or len({k.column for _, k in dated}) > 1:
        return []
    flat = [p for group in sketch.filters for p in group if names(dated[0][1], p)]
    ends = {(p.op, plain(day_of(p.value))) for p in flat}
    whole = {
        (">=", plain(min(str(k.value) for _, k in dated))),
        ("<", plain(max(str(k.upper) for _, k in dated))),
    }
    listed = [
        p for p in flat if p.op == "in" and p.part in ("year", "year_month") and isinstance(p.value, tuple)
    ]
    said = any(
        {str(v) for v in p.value} == {str(k.value)[: 4 if p.part == "year" else 7] for _, k in dated}
        for p in listed
        if isinstance(p.value, tuple)
    )
    return [n for n, _ in dated] if said or whole <= ends else []


def _table_role(link: Link, sketch: Sketch, catalog: Catalog) -> str:
    from sqlrag_dspy.program.database import display_column

    table = catalog.table(link.table or "")
    if table is None:
        return "ignore"
    if any(i.table == table.name and i.column == display_column(table).name for i in sketch.each):
        return "each"
    if any(i.via and i.table == table.name == sketch.table for i in sketch.group):
        return "group"
    if any(i.table == table.name and i.column == display_column(table).name for i in sketch.group):
        return "group" if table.name != sketch.table else "subject"
    return "subject" if table.name == sketch.table else "ignore"


def _role(link: Link, sketch: Sketch, links: Links, number: int) -> str:
    if link.kind in ("value", "date"):
        if restricts(link, sketch.filters):
            return "filter"
        others = [[replace(p, via="") for p in group if p.via] for group in sketch.filters]
        if link.kind == "value" and restricts(link, others):
            return "via"
        if sketch.same is not None and restricts(link, sketch.same.filters):
            return "whose"
        return "share" if restricts(link, sketch.share) else "ignore"
    if link.kind == "number":
        if link.op == "nth":
            return "nth" if sketch.offset and sketch.offset + 1 == link.value else "ignore"
        value = plain(link.value)
        if link.column is not None and restricts(link, sketch.filters):
            return "filter"
        if link.column is not None and restricts(link, sketch.share):
            return "share"
        if link.grain == "average":
            return "ignore"
        if any(plain(bound) == value for _, _, bound in sketch.having):
            return "having"
        if sketch.limit is not None and plain(sketch.limit) == value:
            return "limit"
        return "ignore"
    if link.kind == "part":
        if link.op:
            weekdays = [p for alternatives in sketch.filters for p in alternatives if p.part == "weekday"]
            return "filter" if any(names(link, p) for p in weekdays) else "ignore"
        parts = ("month", "year_month") if link.grain == "month" else (link.grain,)
        if sketch.same is not None and _same(link, sketch.same.item) and sketch.same.item.part in parts:
            return "alike"
        if any(_same(link, item) and item.part in parts for item in sketch.each):
            return "each"
        if any(_same(link, item) and item.part in parts for item in sketch.group):
            return "group"
        return "select" if any(_same(link, i) and i.part in parts for i in sketch.select) else "ignore"
    if link.kind == "column":
        return _column_role(link, sketch, links, number)
    return "ignore"


def _column_role(link: Link, sketch: Sketch, links: Links, number: int) -> str:
    """A column's role; where it plays several, the adjective ("longest") takes the order, the noun the rest."""
    played: list[str] = []
    if any(_same(link, item) and item.part in ("", "day") for item in sketch.each):
        return "each"
    if sketch.same is not None and _same(link, sketch.same.item) and sketch.same.item.part in ("", "day"):
        return "alike"
    if any(_same(link, item) and item.part in ("", "day") for item in sketch.group):
        played.append("group")
    aggregated = [*sketch.select, *(i for i, _ in sketch.order)]
    if not _has_both(sketch):
        aggregated += [i for i, _, _ in sketch.having]
    if sketch.beside is not None:
        aggregated.append(sketch.beside.of)
    if sketch.share_of is not None:
        aggregated.append(replace(sketch.share_of, aggregate="sum"))
    rivals = [k for k in links.others if k.kind == "column" and (k.start, k.end) == (link.start, link.end)]
    if any(_same(each, item) for item in aggregated if item.aggregate for each in (link, *rivals)):
        played.append("measure")
    grouped = {(item.table, item.column) for item in sketch.group}
    if any(_same(link, i) for i in sketch.select if not i.aggregate and (i.table, i.column) not in grouped):
        played.append("select")
    shown = [item for item in sketch.select if not item.aggregate]
    for (
        item,
        _,
    ) in sketch.order:  # a lone shown column that is also the order is understood ("in alphabetical order")
        if not item.aggregate and _same(link, item) and not (len(shown) == 1 and _same(link, shown[0])):
            played.append("order")
    for alternatives in sketch.filters:
        played += [p.op for p in alternatives if p.op in ("null", "not null") and names(link, p)]
        played += [_flag(p) for p in alternatives if link.grain == "bool" and names(link, p) and _flag(p)]
    for alternatives in sketch.share:
        if link.grain == "bool":
            played += [f"share {_flag(p)}" for p in alternatives if names(link, p) and _flag(p)]
        played += ["share null" for p in alternatives if p.op == "null" and names(link, p)]
    if not played:
        return "ignore"
    twins = [
        n for n, other in enumerate(links.chosen) if other.kind == "column" and other.column == link.column
    ]
    # "rows without authors are left out" is implied by grouping, so it does not claim a link from it.
    if "group" in played and "not null" in played:
        played.remove("not null")
    if "select" in played and "not null" in played:
        played.remove("not null")
    if len(played) == 1:
        return played[0]
    if len(twins) > 1:
        adjective = link.op in ("max", "min")
        ordering = [role for role in played if role in ("order", "measure")]
        if adjective and ordering:
            return ordering[0]
        rest = [role for role in played if role not in ("order",)]
        return rest[0] if rest else played[0]
    for role in ("null", "true", "false", *SHARING, "group", "measure", "order", "select"):
        if role in played:
            return role
    return played[0]


def _flag(predicate: Predicate) -> str:
    """Whether a predicate asks for yes or no; "" when for neither."""
    if predicate.op not in ("=", "!=") or predicate.value not in (0, 1):
        return ""
    return "true" if (predicate.value == 1) == (predicate.op == "=") else "false"


def _same(link: Link, item: Item) -> bool:
    return (
        link.column is not None
        and item.column is not None
        and link.since == item.since
        and not item.via
        and (link.column.casefold() == item.column.casefold() and (link.table or item.table) == item.table)
    )
