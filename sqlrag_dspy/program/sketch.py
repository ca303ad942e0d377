"""The learned SQL writer: which query a question asks for, as a `Sketch`, with a calibrated confidence.

Linear heads over the delexicalised question predict the skeleton (aggregate, groups, what is shown, order,
limit, having); another head gives every link its role (filter, group, measure, …). Decoding picks the
skeleton, among those seen in training, whose slots the links can fill best. A last head, fitted on held-out
executions, says how likely the result is right. Writing SQL text is `sql.build`'s; fitting is `learn.fit`'s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import Floats, Head, Vocabulary, abstract, is_word, terms, tokens
from sqlrag_dspy.program.router import Dense
from sqlrag_dspy.types import Aggregate, Catalog, Column, Item, Link, Links, Part, Predicate, Sketch, Table

FIELDS = ("aggregate", "groups", "show", "order", "limit", "having", "distinct")
ROLES: dict[str, tuple[str, ...]] = {
    "value": ("filter", "share", "ignore"),
    "date": ("filter", "share", "ignore"),
    "number": ("filter", "share", "limit", "having", "ignore"),
    "column": ("select", "group", "measure", "order", "null", "not null", "share null", "ignore"),
    "part": ("group", "select", "ignore"),
    "table": ("ignore",),
}
"""The roles that a link of each kind may take."""

FLOOR = 1e-6


@dataclass(frozen=True)
class Skeleton:
    """A query without its names and values."""

    aggregate: str = "none"
    groups: str = "0"
    show: str = "key"
    order: str = "none"
    limit: str = "none"
    having: str = "no"
    distinct: str = "no"

    def text(self) -> str:
        return "|".join(getattr(self, name) for name in FIELDS)

    @classmethod
    def of(cls, text: str) -> Skeleton:
        return cls(*text.split("|"))


@dataclass
class Draft:
    """A decoded sketch before it is trusted: its slots, its score, and what the confidence head looks at."""

    sketch: Sketch | None
    skeleton: Skeleton | None
    roles: dict[int, str] = field(default_factory=dict)
    signals: dict[str, float] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)


# --- features ---------------------------------------------------------------------------------------


def sequence(links: Links, mask: str, known: frozenset[str]) -> tuple[list[str], dict[int, int]]:
    """Tokens of the masked question, and for every chosen link (by number) its place among them.

    Typed tokens stand in `mask` in the order of the chosen links.
    """
    out: list[str] = []
    places: dict[int, int] = {}
    number = 0
    for token in tokens(mask):
        if token.startswith("<") and number < len(links.chosen):
            places[number] = len(out)
            number += 1
            out.append(token)
        elif is_word(token) and token not in known:
            if not out or out[-1] != "~":
                out.append("~")
        else:
            out.append(token)
    return out, places


def role_terms(
    links: Links,
    number: int,
    tokens_: Sequence[str],
    places: Mapping[int, int],
    catalog: Catalog,
    purpose: str,
) -> Counter[str]:
    """Features of one link's role: what it is, what stands beside it, and what the question says."""
    link = links.chosen[number]
    here = places.get(number, 0)
    table = catalog.table(link.table) if link.table else None
    column = table.column(link.column) if table is not None and link.column else None
    kind = link.kind

    def at(offset: int) -> str:
        place = here + offset
        return tokens_[place] if 0 <= place < len(tokens_) else ("^" if place < 0 else "$")

    found = column.profile.found if column is not None else "none"
    same = sum(1 for other in links.chosen if other.kind == kind and other.column == link.column)
    counted: Counter[str] = Counter(
        {
            f"kind={kind}": 1,
            f"kind={kind}/{purpose}": 1,
            f"op={kind}{link.op}": 1,
            f"grain={kind}{link.grain}": 1,
            f"found={kind}{found}": 1,
            f"concept={kind}/{link.concept}": 1,
            f"adjective={kind}{bool(link.concept)}/{found}": 1,
            f"same={kind}{min(same, 3)}": 1,
            f"score={kind}{round(link.score, 1)}": 1,
            f"words={kind}{min(len(link.text.split()), 4)}": 1,
            f"titled={kind}{link.text[:1].isupper()}": 1,
            f"where={kind}{'first' if number == 0 else 'last' if number == len(links.chosen) - 1 else 'mid'}": 1,
            f"l1={at(-1)}|{kind}": 1,
            f"l2={at(-2)} {at(-1)}|{kind}": 1,
            f"r1={at(1)}|{kind}": 1,
            f"r2={at(1)} {at(2)}|{kind}": 1,
            f"lr={at(-1)} _ {at(1)}|{kind}": 1,
            f"l3={at(-3)} {at(-2)} {at(-1)}|{kind}": 1,
        }
    )
    if column is not None and table is not None:
        unique = column.profile.distinct >= 0.9 * max(table.rows, 1)
        counted[f"unique={kind}{unique}/{found}"] = 1
        counted[f"nulls={kind}{column.profile.null_share > 0}"] = 1
    for token in set(tokens_):
        counted[f"q={token}|{kind}{'*' if link.concept else ''}"] = 1
    if kind in ("column", "part"):  # in a search they restrict nothing, so what is learned there stays there
        return Counter({f"{purpose}/{term}": 1 for term in counted})
    return counted


# --- the module -------------------------------------------------------------------------------------


class Sketcher(dspy.Module, Parameter):
    """Question to Sketch. State is plain JSON; optimizers leave it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.vocabulary = Vocabulary()
        self.role_vocabulary = Vocabulary()
        self.fields: dict[str, Head] = {}
        self.roles = Head()
        self.skeletons: dict[str, int] = {}
        self.confidence = Head()
        self.signals: tuple[str, ...] = ()
        self.seed = 0

    @property
    def is_fitted(self) -> bool:
        return bool(self.fields)

    def forward(
        self, links: Links, masked: str, catalog: Catalog, dense: Dense | None = None, table: str | None = None
    ) -> dspy.Prediction:
        """`sketch` (None when the links cannot fill any skeleton), `confidence`, `draft`.

        `dense` gives the encoder's block of the question.
        """
        if not self.is_fitted:
            return dspy.Prediction(sketch=None, confidence=0.0, draft=Draft(None, None))
        draft = self.draft(links, masked, catalog, None if dense is None else dense(), table)
        return dspy.Prediction(
            sketch=draft.sketch,
            confidence=self.trust(draft) if draft.sketch is not None else 0.0,
            draft=draft,
        )

    # --- pieces that fitting uses as well ------------------------------------------------------------

    def field_probabilities(self, masked: str, dense: Floats | None = None) -> dict[str, dict[str, float]]:
        """For every skeleton field, class to probability."""
        columns, values = self.vocabulary.vector(terms(masked, self.vocabulary.known))
        return {name: head.probabilities(columns, values, dense) for name, head in self.fields.items()}

    def role_probabilities(
        self, links: Links, masked: str, catalog: Catalog, purpose: str
    ) -> list[dict[str, float]]:
        """For every chosen link, role to probability, among the roles of its kind."""
        tokens_, places = sequence(links, masked, self.role_vocabulary.known)
        out = []
        for number, link in enumerate(links.chosen):
            allowed = ROLES[link.kind]
            if len(allowed) == 1 or not self.roles.classes:
                out.append({"ignore": 1.0})
                continue
            counted = role_terms(links, number, tokens_, places, catalog, purpose)
            shares = self.roles.probabilities(*self.role_vocabulary.vector(counted))
            kept = {role: shares.get(role, 0.0) + FLOOR for role in allowed}
            total = sum(kept.values())
            out.append({role: share / total for role, share in kept.items()})
        return out

    def draft(
        self,
        links: Links,
        masked: str,
        catalog: Catalog,
        dense: Floats | None = None,
        table: str | None = None,
    ) -> Draft:
        """The best-filled skeleton, untrusted."""
        target = catalog.table(table) if table else main_table(links, catalog)
        if target is None:
            return Draft(None, None)
        fields = self.field_probabilities(masked, dense)
        roles = self.role_probabilities(links, masked, catalog, "sql")
        total = sum(self.skeletons.values()) or 1
        ranked: list[tuple[float, float, float, Skeleton, dict[int, str]]] = []
        for text, seen in self.skeletons.items():
            skeleton = Skeleton.of(text)
            shape = sum(
                math.log(fields[name].get(getattr(skeleton, name), 0.0) + FLOOR) for name in fields
            ) + 0.15 * math.log(seen / total)
            filled = fill(skeleton, links, roles)
            if filled is not None:
                assigned, cost = filled
                ranked.append((shape + cost, shape, cost, skeleton, assigned))
        if not ranked:
            return Draft(None, None)
        ranked.sort(key=lambda entry: entry[0], reverse=True)
        score, shape, cost, skeleton, assigned = ranked[0]
        sketch, assumptions = assemble(skeleton, links, assigned, target, catalog)
        words = [t for t in tokens(masked) if is_word(t)]
        unknown = sum(1 for word in words if word not in self.vocabulary.known)
        used = [n for n, role in assigned.items() if role != "ignore"]
        runner_up = ranked[1][0] if len(ranked) > 1 else score - 10
        signals = {
            "shape": shape,
            "cost": cost,
            "margin": min(score - runner_up, 10.0),
            "unknown": float(min(unknown, 6)),
            "unknown share": unknown / max(len(words), 1),
            "ignored": float(
                sum(1 for n, r in assigned.items() if r == "ignore" and links.chosen[n].kind != "table")
            ),
            "weakest link": min((links.chosen[n].score for n in used), default=1.0),
            "assumed": float(len(assumptions)),
            "rare": float(-math.log(self.skeletons[skeleton.text()] / total)),
            "links": float(len(used)),
            "length": float(min(len(words), 30)),
            "no table": float(all(link.kind != "table" for link in links.chosen)),
            "possible": 1.0 if sketch is not None else 0.0,
        }
        return Draft(sketch, skeleton, assigned, signals, assumptions)

    def trust(self, draft: Draft) -> float:
        """How likely the draft's rows are right, 0 to 1."""
        if not self.confidence.classes:
            return 0.0
        values = np.array([draft.signals.get(name, 0.0) for name in self.signals], dtype=np.float32)
        return self.confidence.probabilities(np.arange(len(values)), values)["right"]

    def filters(self, links: Links, masked: str, catalog: Catalog, table: str) -> tuple[list[int], float]:
        """For a search: the numbers of the links that restrict rows, and the weakest decision's probability."""
        roles = self.role_probabilities(links, masked, catalog, "search")
        chosen, surest = [], 1.0
        for number, shares in enumerate(roles):
            keep = shares.get("filter", 0.0) + shares.get("null", 0.0) + shares.get("not null", 0.0)
            if keep >= 0.5:
                chosen.append(number)
            if links.chosen[number].kind != "table":
                surest = min(surest, max(keep, 1 - keep))
        return chosen, surest

    # --- state ---------------------------------------------------------------------------------------

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary.dump(),
            "role_vocabulary": self.role_vocabulary.dump(),
            "fields": {name: head.dump() for name, head in self.fields.items()},
            "roles": self.roles.dump(),
            "skeletons": dict(self.skeletons),
            "confidence": self.confidence.dump(),
            "signals": list(self.signals),
            "seed": self.seed,
        }

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Sketcher:
        self.vocabulary = Vocabulary.load(state["vocabulary"])
        self.role_vocabulary = Vocabulary.load(state["role_vocabulary"])
        self.fields = {name: Head.load(head) for name, head in state["fields"].items()}
        self.roles = Head.load(state["roles"])
        self.skeletons = {text: int(n) for text, n in state["skeletons"].items()}
        self.confidence = Head.load(state["confidence"])
        self.signals = tuple(state["signals"])
        self.seed = int(state["seed"])
        return self

    def reset(self) -> None:
        """Does nothing: DSPy's optimizers reset prompts, and fitted weights are not theirs to clear."""


# --- filling a skeleton -----------------------------------------------------------------------------


def fill(
    skeleton: Skeleton, links: Links, roles: Sequence[Mapping[str, float]]
) -> tuple[dict[int, str], float] | None:
    """Roles for all links that satisfy the skeleton, with their log-probability; None when they cannot."""
    permitted = {"filter", "ignore", "null", "not null"}
    needed: dict[str, tuple[int, int]] = {}
    groups = int(skeleton.groups)
    if groups:
        permitted.add("group")
        needed["group"] = (groups, groups)
    if skeleton.aggregate in ("sum", "avg", "min", "max", "count_distinct"):
        permitted.add("measure")
        needed["measure"] = (1, 1)
    if skeleton.aggregate in ("share", "fraction"):
        permitted |= {"share", "share null"}
        needed["share"] = (1, 9)
    if skeleton.order.endswith("column"):
        permitted.add("order")
        needed["order"] = (1, 1)
    if "columns" in skeleton.show:
        permitted.add("select")
        needed["select"] = (1, 9)
    if skeleton.limit == "k":
        permitted.add("limit")
        needed["limit"] = (1, 1)
    if skeleton.having == "yes":
        permitted.add("having")
        needed["having"] = (1, 1)
    assigned: dict[int, str] = {}
    for number, shares in enumerate(roles):
        open_ = [role for role in shares if role in permitted]
        assigned[number] = max(open_, key=lambda role: shares[role]) if open_ else "ignore"

    def family(role: str) -> str:
        return "share" if role == "share null" else role

    def log(number: int, role: str) -> float:
        return math.log(roles[number].get(role, 0.0) + FLOOR)

    for role, (least, most) in needed.items():
        members = [n for n, r in assigned.items() if family(r) == role]
        while len(members) > most:  # too many: the one that loses least gives way
            drop = min(members, key=lambda n: log(n, assigned[n]) - log(n, "ignore"))
            rest = [r for r in roles[drop] if r in permitted and family(r) != role]
            assigned[drop] = max(rest, key=partial(log, drop)) if rest else "ignore"
            members.remove(drop)
        while len(members) < least:  # too few: the one that gains most steps in
            spare = [
                n
                for n, r in assigned.items()
                if role in ROLES[links.chosen[n].kind]
                and family(r) != role
                and not (family(r) in needed and _count(assigned, family(r), family) <= needed[family(r)][0])
            ]
            if not spare:
                break
            add = max(spare, key=lambda n: log(n, role) - log(n, assigned[n]))
            assigned[add] = role
            members.append(add)
        if len(members) < least and not _implied(role, links, assigned):
            return None
    return assigned, sum(log(number, role) for number, role in assigned.items())


def _count(assigned: Mapping[int, str], role: str, family: Any) -> int:
    return sum(1 for r in assigned.values() if family(r) == role)


def _implied(role: str, links: Links, assigned: Mapping[int, str]) -> bool:
    """Whether a missing slot is understood: the group of two compared values is their column."""
    return role == "group" and _compared(links, assigned) is not None


def _compared(links: Links, assigned: Mapping[int, str]) -> tuple[str, str] | None:
    values = [
        links.chosen[n] for n, r in assigned.items() if r == "filter" and links.chosen[n].kind == "value"
    ]
    counted = Counter((link.table or "", link.column or "") for link in values)
    return next((column for column, n in counted.items() if n >= 2), None)


# --- from slots to a sketch -------------------------------------------------------------------------


def assemble(
    skeleton: Skeleton, links: Links, assigned: Mapping[int, str], table: Table, catalog: Catalog
) -> tuple[Sketch | None, list[str]]:
    """The sketch of a filled skeleton, with the assumptions made; None when a slot stays empty."""
    from sqlrag_dspy.program.database import display_column

    assumptions: list[str] = []
    by_role: dict[str, list[Link]] = {}
    for number, role in sorted(assigned.items()):
        by_role.setdefault("share" if role == "share null" else role, []).append(links.chosen[number])
    restricting = [
        (links.chosen[n], role)
        for n, role in sorted(assigned.items())
        if role in ("filter", "null", "not null")
    ]
    filters = predicates(restricting, table, catalog, assumptions)
    shares = predicates(
        [(links.chosen[n], "null" if r == "share null" else "filter") for n, r in sorted(assigned.items())
         if r in ("share", "share null")],
        table, catalog, assumptions,
    )  # fmt: skip

    groups = [_item(link, table) for link in by_role.get("group", [])]
    if int(skeleton.groups) > len(groups):
        compared = _compared(links, assigned)
        if compared is None:
            return None, assumptions
        groups.append(Item(compared[0] or table.name, compared[1]))
    measured = [_item(link, table) for link in by_role.get("measure", [])]
    aggregate = skeleton.aggregate
    measure: Item | None = None
    if aggregate == "count":
        measure = Item(table.name, None, "count")
    elif aggregate in ("sum", "avg", "min", "max", "count_distinct"):
        if not measured or measured[0].column is None:
            return None, assumptions
        column = _column(catalog, measured[0])
        if aggregate in ("sum", "avg") and column is not None and not column.is_number:
            return None, assumptions
        measure = Item(measured[0].table, measured[0].column, _aggregate(aggregate), measured[0].part)
    having: tuple[tuple[Item, str, Any], ...] = ()
    if skeleton.having == "yes":
        bound = by_role.get("having", [])
        if not bound:
            return None, assumptions
        subject = measure if measure is not None else Item(table.name, None, "count")
        having = tuple((subject, op, value) for op, value in _comparisons(bound[0], "="))

    key = display_column(table)
    chosen = [_item(link, table) for link in by_role.get("select", [])]
    shown: list[Item] = []
    if skeleton.show == "measure" and measure is not None:
        shown = [measure]
    elif skeleton.show == "group":
        shown = list(groups)
    elif skeleton.show == "group+measure":
        shown = [*groups, *([measure] if measure is not None else [])]
    elif skeleton.show == "key":
        shown = [Item(table.name, key.name)]
    elif skeleton.show == "columns":
        shown = chosen
    elif skeleton.show == "key+columns":
        shown = [Item(table.name, key.name), *(item for item in chosen if item.column != key.name)]
    if not shown and not shares:
        return None, assumptions

    order: tuple[tuple[Item, bool], ...] = ()
    if skeleton.order != "none":
        direction, _, by = skeleton.order.partition(":")
        subject_ = {
            "measure": measure,
            "column": _item(by_role["order"][0], table) if by_role.get("order") else None,
            "group": groups[0] if groups else None,
            "shown": shown[0] if shown else None,
        }.get(by)
        if subject_ is None:
            return None, assumptions
        order = ((subject_, direction == "desc"),)
    limit = None
    if skeleton.limit == "one":
        limit = 1
    elif skeleton.limit == "k":
        value = by_role["limit"][0].value if by_role.get("limit") else None
        if not isinstance(value, (int, float)) or value < 1:
            return None, assumptions
        limit = int(value)
    # A group or a distinct list of something answers with somethings; rows that have none are left out.
    filled = [
        item for item in (*groups, *(shown if skeleton.distinct == "yes" else ())) if not item.aggregate
    ]
    for item in filled:
        column = _column(catalog, item)
        if column is not None and column.profile.null_share > 0 and item.column is not None:
            restricted = any(p.column == item.column for alternatives in filters for p in alternatives)
            if not restricted:
                filters = (*filters, (Predicate(item.table, item.column, "not null"),))
                assumptions.append(f"rows without {item.column} are left out")
    return (
        Sketch(
            table=table.name,
            select=tuple(groups) if shares else tuple(shown),
            distinct=skeleton.distinct == "yes",
            filters=filters,
            share=shares,
            is_fraction=aggregate == "fraction",
            group=tuple(groups),
            having=having,
            order=order,
            limit=limit,
        ),
        assumptions,
    )


def predicates(
    restricting: Sequence[tuple[Link, str]], table: Table, catalog: Catalog, assumptions: list[str]
) -> tuple[tuple[Predicate, ...], ...]:
    """The conjunction that links stand for; values of one column are alternatives of each other."""
    out: list[tuple[Predicate, ...]] = []
    equal: dict[tuple[str, str], list[Any]] = {}
    unequal: dict[tuple[str, str], list[Any]] = {}
    for link, role in restricting:
        where = link.table or table.name
        column = link.column
        if role in ("null", "not null") and column is not None:
            out.append((Predicate(where, column, role),))
        elif link.kind == "value" and column is not None:
            pool = unequal if link.op == "!=" else equal
            pool.setdefault((where, column), []).append(link.value)
        elif link.kind == "date":
            column = column or _main_date(table)
            if column is None:
                continue
            if link.concept:
                assumptions.append(link.concept)
            out.extend(_dates(link, where, column))
        elif link.kind == "number" and column is not None:
            out.extend((Predicate(where, column, op, value),) for op, value in _comparisons(link, "="))
    for (where, column), values in equal.items():
        distinct = tuple(dict.fromkeys(values))
        if len(distinct) == 1:
            out.append((Predicate(where, column, "=", distinct[0]),))
        else:
            out.append((Predicate(where, column, "in", distinct),))
    for (where, column), values in unequal.items():
        distinct = tuple(dict.fromkeys(values))
        if len(distinct) == 1:
            out.append((Predicate(where, column, "!=", distinct[0]),))
        else:
            out.append((Predicate(where, column, "not in", distinct),))
    return tuple(out)


def _dates(link: Link, table: str, column: str) -> list[tuple[Predicate, ...]]:
    if link.op == "!=":
        outside = []
        if link.value is not None:
            outside.append(Predicate(table, column, "<", link.value))
        if link.upper is not None:
            outside.append(Predicate(table, column, ">=", link.upper))
        return [tuple(outside)]
    out: list[tuple[Predicate, ...]] = []
    if link.value is not None:
        out.append((Predicate(table, column, ">=", link.value),))
    if link.upper is not None:
        out.append((Predicate(table, column, "<", link.upper),))
    return out


def _comparisons(link: Link, bare: str) -> list[tuple[str, Any]]:
    if link.op == "between":
        return [(">=", link.value), ("<=", link.upper)]
    return [(link.op or bare, link.value)]


def _item(link: Link, table: Table) -> Item:
    part: Part = link.grain if link.kind == "part" else ""  # type: ignore[assignment]
    return Item(link.table or table.name, link.column, "", part)


def _aggregate(name: str) -> Aggregate:
    return name  # type: ignore[return-value]


def _column(catalog: Catalog, item: Item) -> Column | None:
    table = catalog.table(item.table)
    return table.column(item.column) if table is not None and item.column else None


def _main_date(table: Table) -> str | None:
    return next((column.name for column in table.columns if column.is_date), None)


def main_table(links: Links, catalog: Catalog) -> Table | None:
    """The table a question is about: named ones first, then those of its columns and values.

    Ties go to the table with the longest texts, then the most rows.
    """
    if not catalog.tables:
        return None
    votes: Counter[str] = Counter()
    for place, link in enumerate(links.chosen):
        if link.table:
            votes[link.table] += {"table": 4, "column": 2, "value": 1}.get(link.kind, 1)
            if link.kind == "table" and not any(earlier.kind == "table" for earlier in links.chosen[:place]):
                votes[link.table] += 1
    return max(
        catalog.tables,
        key=lambda t: (votes[t.name], bool(t.text_columns), not t.is_view, t.rows),
    )


__all__ = ["FIELDS", "ROLES", "Draft", "Skeleton", "Sketcher", "abstract", "main_table", "predicates"]
