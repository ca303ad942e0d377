"""Whether gold restrictions hold what a link says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlrag_dspy.learn.metrics import plain
from sqlrag_dspy.types import Link, Predicate


def names(link: Link, predicate: Predicate) -> bool:
    """Whether a link and a predicate speak of the same column of the same row."""
    if link.column is None or link.since != predicate.since or predicate.via:
        return False
    return link.column.casefold() == predicate.column.casefold()


def restricts(link: Link, filters: Iterable[Sequence[Predicate]]) -> bool:
    """Whether the gold conjunction holds what the link says."""
    flat = [predicate for alternatives in filters for predicate in alternatives]
    if link.concept == "state":
        return any(p.op == link.op and names(link, p) for p in flat)
    if link.concept == "word":
        return any(p.op == link.op and names(link, p) and _core(p.value) == _core(link.value) for p in flat)
    if link.kind == "value":
        return any(
            names(link, p) and _mentions(p, link.value) and (p.op in ("!=", "not in")) == (link.op == "!=")
            for p in flat
        )
    bounds = {(p.op, plain(p.value)) for p in flat if not p.than and (link.column is None or names(link, p))}
    if link.kind == "date":
        wanted = {(">=", link.value), ("<", link.upper)}
        wanted = {(op, plain(day_of(value))) for op, value in wanted if value is not None}
        have = {(op, plain(day_of(value))) for op, value in bounds}
        return bool(wanted) and wanted <= have
    if link.kind == "number" and link.grain == "average":
        return any(p.than == "average" and p.op == link.op and names(link, p) for p in flat)
    if link.kind == "number":
        if link.op == "between":
            return {(">=", plain(link.value)), ("<=", plain(link.upper))} <= bounds
        return ((link.op or "="), plain(link.value)) in bounds
    return False


def _core(pattern: Any) -> str:
    """What a LIKE pattern looks for, wildcards and the slashes around a host name aside."""
    return str(pattern).strip("%/").casefold()


def _mentions(predicate: Predicate, value: Any) -> bool:
    values = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    return any(plain(v) == plain(value) for v in values)


def day_of(value: Any) -> Any:
    """The day of a moment; any other value as it is."""
    return value[:10] if isinstance(value, str) and len(value) >= 10 else value
