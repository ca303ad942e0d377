"""What a drafted query says of itself: the numbers from which its confidence is learned.

How likely its parts were, what of the question it leaves unused (a bound, a superlative, a negation), and what in
it does not go together. Deciding is the sketcher's confidence head.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from sqlrag_dspy.program.sketching.skeleton import FIELDS, FLOOR, SHARES, Skeleton, set_beside
from sqlrag_dspy.program.sketching.unheard import missing_negations, negations_of
from sqlrag_dspy.types import Catalog, Links, Sketch

Shares = Mapping[str, float]
LEAST = -10.0
"""Logarithms below it tell no more."""


def likelihoods(
    skeleton: Skeleton,
    fields: Mapping[str, Shares],
    decided: Sequence[Shares],
    free: Sequence[Shares],
    assigned: Mapping[int, str],
) -> dict[str, float]:
    """How likely the heads find the parts of a filled skeleton: `decided` knowing the skeleton, `free` without."""
    chosen = {name: fields[name].get(getattr(skeleton, name), 0.0) for name in fields}
    out = {f"field {name}": max(math.log(chosen.get(name, 1.0) + FLOOR), LEAST) for name in FIELDS}
    out["least field"] = min(chosen.values(), default=1.0)
    out["least role"] = min((decided[n].get(role, 0.0) for n, role in assigned.items()), default=1.0)
    out["free role"] = min((free[n].get(role, 0.0) for n, role in assigned.items()), default=1.0)
    return out


def omissions(links: Links, assigned: Mapping[int, str], sketch: Sketch | None) -> dict[str, float]:
    """What the question says and the query has no place for."""
    idle = [links.chosen[n] for n, role in assigned.items() if role == "ignore"]
    unused = Counter(link.kind for link in idle)
    out = {f"unused {kind}": float(unused[kind]) for kind in ("value", "date", "number", "column", "part")}
    out["unused bound"] = float(sum(k.kind == "number" and k.op not in ("", "nth") for k in idle))
    out["unused place"] = float(sum(k.op == "nth" for k in idle))
    out["unused extreme"] = float(sum(k.kind == "column" and k.op in ("max", "min") for k in idle))
    out["unused average"] = float(sum(k.grain == "average" for k in idle))
    said = negations_of(links)
    out["negations"] = float(min(said, 3))
    out["unheard"] = float(min(missing_negations(links, sketch), 3)) if sketch is not None else 0.0
    return out


def oddities(
    skeleton: Skeleton, links: Links, assigned: Mapping[int, str], sketch: Sketch | None
) -> dict[str, float]:
    """What in the query does not go together, whatever the question."""
    chosen = [(links.chosen[n], role) for n, role in assigned.items()]
    restricted = {(k.table, k.column) for k, role in chosen if role == "filter" and k.kind == "value"}
    shown = [(k.table, k.column) for k, role in chosen if role in ("select", "group")]
    is_ordered = skeleton.order != "none"
    filters = sketch.filters if sketch is not None else ()
    return {
        "cut unordered": float(skeleton.limit in ("k", "one", "nth") and not is_ordered),
        "ordered uncut": float(is_ordered and skeleton.limit == "none" and skeleton.groups == "0"),
        "shows restricted": float(sum(home in restricted for home in shown)),
        "shown twice": float(len(shown) - len(set(shown))),
        "filters": float(min(len(filters), 4)),
        "alternatives": float(sum(len(group) > 1 or group[0].op in ("in", "not in") for group in filters)),
        "elsewhere": float(
            len({p.table for group in filters for p in group} - {sketch.table}) if sketch else 0
        ),
        "counts": float(skeleton.aggregate == "count"),
        "lists": float(skeleton.aggregate == "none"),
        "groups": float(skeleton.groups),
        "having": float(skeleton.having != "no"),
        "compares": float(bool(skeleton.beside)),
        "pairs": float(bool(set_beside(links, assigned))),
        "share": float(bool(SHARES & set(skeleton.aggregate.split("+")))),
    }


def ambiguities(
    links: Links, assigned: Mapping[int, str], sketch: Sketch | None, catalog: Catalog
) -> dict[str, float]:
    """How much else the question could have meant: readings of the same words, and tables to choose from."""
    used = [links.chosen[n] for n, role in assigned.items() if role != "ignore"]
    spans = {(k.start, k.end) for k in links.others if k.kind in ("column", "value", "table")}
    named = {k.table for k in links.chosen if k.kind == "table"}
    items = (*sketch.select, *sketch.group, *(item for item, _ in sketch.order)) if sketch is not None else ()
    homes = {item.table for item in items}
    if sketch is not None:
        homes |= {p.table for group in (*sketch.filters, *sketch.share) for p in group} | {sketch.table}
        homes |= {sketch.without.table} if sketch.without is not None else set()
        apart = sketch.beside.conditions if sketch.beside is not None else ()
        homes |= {p.table for group in apart for p in group}
    return {
        "tables": math.log2(max(len(catalog.tables), 1)),
        "rivals": float(min(sum((k.start, k.end) in spans for k in used), 4)),
        "homes": float(min(len(homes), 4)),
        "unnamed homes": float(min(len(homes - named), 4)),
        "unused tables": float(min(len(named - homes), 3)),
        "unnamed root": float(sketch is not None and sketch.table not in named),
    }
