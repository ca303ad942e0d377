"""A query without its names and values, and how a question's links fill it.

What the slots become is `slots.py`'s; which skeleton is likeliest is `sketch.py`'s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from sqlrag_dspy.program.sketching.contrasts import contrasted
from sqlrag_dspy.types import Link, Links, Part

FIELDS = ("aggregate", "groups", "show", "order", "limit", "having", "distinct", "without")
ROLES: dict[str, tuple[str, ...]] = {
    "value": ("filter", "via", "whose", "share", "ignore"),
    "date": ("filter", "share", "ignore"),
    "number": ("filter", "share", "limit", "having", "ignore"),
    "column": (
        "select",
        "group",
        "each",
        "alike",
        "measure",
        "order",
        "null",
        "not null",
        "share null",
        "ignore",
    ),
    "part": ("group", "each", "alike", "select", "filter", "ignore"),
    "table": ("subject", "group", "each", "ignore"),
}
"""The roles that a link of each kind may take; "via" restricts the row of the same table that a row refers to,
"whose" the row with which others have what is "alike" in common."""


def open_roles(link: Link) -> tuple[str, ...]:
    """The roles that a link may take: those of its kind, but a place in an order is nothing else."""
    if link.kind == "number" and link.op == "nth":
        return ("nth", "ignore")
    if link.kind == "number" and link.grain == "average":
        return ("filter", "share", "ignore")
    if link.kind == "column" and link.grain == "bool":
        return (*ROLES["column"], "true", "false", "share true", "share false")
    if link.kind == "column" and link.since:
        return ("measure", "order", "select", "ignore")
    return ROLES[link.kind]


RESTRICTING = ("filter", "null", "not null", "true", "false")
"""The roles that restrict rows: of a column, that it holds nothing, something, yes or no."""
OPPOSITES = {"null": "not null", "not null": "null", "true": "false", "false": "true"}
"""Restricting roles of a column, to those of all other rows."""
SHARING = {"share null": "null", "share true": "true", "share false": "false"}
"""Roles of a column in what a share is taken of, to the restrictions that they stand for."""
FLOOR = 1e-6

AGGREGATES = frozenset({"sum", "avg", "min", "max", "range", "count_distinct"})
"""Aggregates of a column. A skeleton's aggregate may be several, as "min+max"."""
SHARES = frozenset({"share", "fraction"})
"""Aggregates of a condition: the part of the rows, or as "share+sum" of an amount, that satisfies it."""
EACH = {"each": "one", "each k": "k"}
"""Limits that hold within each of something ("the newest of every section"), to those of all rows."""


BESIDE = {"beside": "both", "difference": "difference", "gap": "gap", "change": "change"}
"""What is shown, or ordered by, of two parts that a question sets beside each other, to how a sketch says it."""


@dataclass(frozen=True)
class Skeleton:
    """A query without its names and values."""

    aggregate: str = "none"
    groups: str = "0"
    show: str = "key"
    order: str = "none"
    limit: str = "none"
    having: str = "no"
    """A bound on groups: "yes" of what is asked, "count" of their rows, "both" that they have all values named;
    "more" and "less": that the first of two parts exceeds, or falls short of, the second."""
    distinct: str = "no"
    without: str = "no"
    """Rows that nothing belongs to: "other" of another table, "own" of the same with the same value shown; "same": rows
    that have something in common with one that is named, without that one."""

    @property
    def beside(self) -> str:
        """How two parts are compared, "" where none are."""
        if self.having in ("more", "less"):
            return self.having
        shown, ordered = self.show.removeprefix("group+"), self.order.partition(":")[2]
        return BESIDE.get(shown, "") or (ordered if ordered in BESIDE.values() else "")

    def text(self) -> str:
        return "|".join(getattr(self, name) for name in FIELDS)

    @staticmethod
    @cache
    def of(text: str) -> Skeleton:
        """The skeleton that `text` wrote; remembered, as a program has a hundred and reads them for every question."""
        return Skeleton(*text.split("|"))


def fill(
    skeleton: Skeleton, links: Links, roles: Sequence[Mapping[str, float]]
) -> tuple[dict[int, str], float] | None:
    """Roles for all links that satisfy the skeleton, with their log-probability; None when they cannot."""
    if skeleton.without == "other" and len(tables_of(links)) < 2:
        return None
    permitted = {*RESTRICTING, "via", "ignore", "subject"}
    needed: dict[str, tuple[int, int]] = {"subject": (0, 1)}
    groups = int(skeleton.groups)
    if groups:
        permitted.add("group")
        needed["group"] = (groups, groups)
    if AGGREGATES & set(skeleton.aggregate.split("+")):
        permitted.add("measure")
        needed["measure"] = (1, 1)
    if SHARES & set(skeleton.aggregate.split("+")):
        permitted |= {"share", *SHARING}
        needed["share"] = (1, 9)
    if skeleton.order.endswith("column"):
        permitted.add("order")
        needed["order"] = (1, 1)
    if "columns" in skeleton.show:
        permitted.add("select")
        needed["select"] = (1, 9)
    if skeleton.limit in EACH:
        permitted.add("each")
        needed["each"] = (1, 1)
    if EACH.get(skeleton.limit, skeleton.limit) == "k":
        permitted.add("limit")
        needed["limit"] = (1, 1)
    if skeleton.without == "same":
        permitted |= {"alike", "whose"}
        needed |= {"alike": (0, 1), "whose": (1, 9)}
    if skeleton.limit == "nth":
        permitted.add("nth")
        needed["nth"] = (1, 1)
    if skeleton.having in ("yes", "count"):
        permitted.add("having")
        needed["having"] = (1, 1)
    assigned: dict[int, str] = {}
    for number, shares in enumerate(roles):
        open_ = [role for role in shares if role in permitted]
        assigned[number] = max(open_, key=lambda role: shares[role]) if open_ else "ignore"

    def family(role: str) -> str:
        return "share" if role in SHARING else role

    def log(number: int, role: str) -> float:
        return math.log(roles[number].get(role, 0.0) + FLOOR)

    for role, (least, most) in needed.items():
        members = [n for n, r in assigned.items() if family(r) == role]
        while len(members) > most:  # too many: the one that loses least gives way
            drop = min(members, key=lambda n: log(n, assigned[n]) - log(n, "ignore"))
            rest = [r for r in roles[drop] if r in permitted and family(r) != role]
            assigned[drop] = max(rest, key=partial(log, drop)) if rest else "ignore"
            members.remove(drop)
        if len(members) < least and _implied(role, skeleton, links, assigned):
            continue
        while len(members) < least:  # too few: the one that gains most steps in
            spare = [
                n
                for n, r in assigned.items()
                if role in roles[n]
                and family(r) != role
                and not (family(r) in needed and _count(assigned, family(r), family) <= needed[family(r)][0])
            ]
            if not spare:
                break
            add = max(spare, key=lambda n: log(n, role) - log(n, assigned[n]))
            assigned[add] = role
            members.append(add)
        if len(members) < least:
            return None
    if skeleton.having == "both" and compared(links, assigned) is None:
        return None
    if skeleton.without == "own" and "filter" not in assigned.values():
        return None
    if skeleton.beside and not set_beside(links, assigned):
        return None
    return assigned, sum(log(number, role) for number, role in assigned.items())


def tables_of(links: Links) -> list[str]:
    """The tables that the chosen links speak of, those named first, then in order."""
    named = [link.table for link in links.chosen if link.kind == "table" and link.table]
    return list(dict.fromkeys([*named, *(link.table for link in links.chosen if link.table)]))


def _count(assigned: Mapping[int, str], role: str, family: Callable[[str], str]) -> int:
    return sum(1 for r in assigned.values() if family(r) == role)


def _implied(role: str, skeleton: Skeleton, links: Links, assigned: Mapping[int, str]) -> bool:
    """Whether a missing slot is understood: the group of two compared values is their column, and rows that
    refer to one are grouped by it."""
    if role == "group" and "via" in assigned.values():
        return True
    is_apart = skeleton.having == "both" or bool(skeleton.beside)
    return role == "group" and not is_apart and compared(links, assigned) is not None


_PERIODS: dict[str, Part] = {"year": "year", "month": "year_month", "quarter": "quarter"}


def compared(links: Links, assigned: Mapping[int, str]) -> tuple[str, str, Part] | None:
    """The table, column and date part of which the filters name two or more: what "A or B" compares."""
    filters = [links.chosen[n] for n, r in assigned.items() if r == "filter"]
    counted: Counter[tuple[str, str, Part]] = Counter()
    for link in filters:
        if link.kind == "value" and link.concept != "state":
            counted[(link.table or "", link.column or "", "")] += 1
        elif link.kind == "date" and link.grain in _PERIODS and link.value and link.upper and link.column:
            counted[(link.table or "", link.column, _PERIODS[link.grain])] += 1
    return next((column for column, n in counted.items() if n >= 2), None)


def set_beside(links: Links, assigned: Mapping[int, str]) -> tuple[int, ...]:
    """The numbers of the restricting links that are set beside each other, none where that is unclear.

    One alone may say both: "unsigned" against the rest.
    """
    restricting = [number for number, role in assigned.items() if role in RESTRICTING]
    found = contrasted(links, restricting)
    alone = [number for number in restricting if assigned[number] in OPPOSITES]
    return found or (tuple(alone) if len(alone) == 1 else ())
