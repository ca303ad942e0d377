"""The learned SQL writer: which query a question asks for, as a `Sketch`, with a calibrated confidence.

Linear heads over the delexicalised question predict the skeleton (aggregate, groups, what is shown, order,
limit, having); another head gives every link its role (filter, group, measure, …) in a given skeleton. Decoding
picks the skeleton, among those seen in training, that both like best. A last head, fitted on held-out
executions, says how likely the result is right. Writing SQL text is `sql.build`'s; fitting is `learn.fit`'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.program.features import (
    Floats,
    Head,
    Vocabulary,
    ending_terms,
    is_word,
    pack,
    terms,
    tokens,
    unpack,
)
from sqlrag_dspy.program.sketching.referring import reference_of
from sqlrag_dspy.program.sketching.roles import outline_terms, role_terms, sequence, sort_of
from sqlrag_dspy.program.sketching.shapes import Shapes
from sqlrag_dspy.program.sketching.signals import ambiguities, likelihoods, oddities, omissions
from sqlrag_dspy.program.sketching.skeleton import FLOOR, RESTRICTING, Skeleton, fill, open_roles
from sqlrag_dspy.program.sketching.slots import assemble, main_table
from sqlrag_dspy.types import Catalog, Links, Sketch


@dataclass
class Draft:
    """A decoded sketch before it is trusted: its slots, its score, and what the confidence head looks at."""

    sketch: Sketch | None
    skeleton: Skeleton | None
    roles: dict[int, str] = field(default_factory=dict)
    signals: dict[str, float] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)


class _Filled(NamedTuple):
    """A skeleton with the roles that fill it, and how likely both are (logarithms)."""

    score: float
    shape: float
    cost: float
    skeleton: Skeleton
    assigned: dict[int, str]
    decided: list[dict[str, float]]


RIVALS = 5
"""Drafts of one question that the confidence head chooses from."""


class _Open(NamedTuple):
    """The roles that a link may take, those of them that are scored, with their places, and the link's sort."""

    allowed: tuple[str, ...]
    scored: list[tuple[str, int]]
    sort: str


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
        self.centre = np.zeros(0, np.float32)
        self.spread = np.zeros(0, np.float32)
        self.idle: frozenset[str] = frozenset()
        """Qualifying words that restrict nothing, learned."""
        self.seed = 0
        self._outlines: dict[tuple[Skeleton, str], Floats] = {}
        self._shapes: Shapes | None = None

    @property
    def is_fitted(self) -> bool:
        return bool(self.fields)

    def forward(
        self, links: Links, masked: str, catalog: Catalog, table: str | None = None
    ) -> dspy.Prediction:
        """`sketch` (None when the links cannot fill any skeleton), `confidence`, `draft`."""
        if not self.is_fitted:
            return dspy.Prediction(sketch=None, confidence=0.0, draft=Draft(None, None))
        draft = self.draft(links, masked, catalog, table)
        return dspy.Prediction(
            sketch=draft.sketch,
            confidence=self.trust(draft),
            draft=draft,
        )

    # --- pieces that fitting uses as well ------------------------------------------------------------

    def field_probabilities(self, links: Links, masked: str) -> dict[str, dict[str, float]]:
        """For every skeleton field, class to probability."""
        counted = terms(masked, self.vocabulary.known) + ending_terms(links, masked)
        columns, values = self.vocabulary.vector(counted)
        return {name: head.probabilities(columns, values) for name, head in self.fields.items()}

    def role_scores(self, links: Links, masked: str, catalog: Catalog, purpose: str) -> list[Floats]:
        """For every chosen link, raw scores of all roles, whatever the query."""
        tokens_, places = sequence(links, masked, self.role_vocabulary.known)
        return [
            self.roles.scores(
                *self.role_vocabulary.vector(role_terms(links, number, tokens_, places, catalog, purpose))
            )
            for number in range(len(links.chosen))
        ]

    def role_probabilities(
        self, links: Links, scores: Sequence[Floats], catalog: Catalog, skeleton: Skeleton | None = None
    ) -> list[dict[str, float]]:
        """For every chosen link, role to probability among the roles of its kind, in a query of that skeleton."""
        return self._shared_out(self._open(links, catalog), scores, skeleton)

    def _open(self, links: Links, catalog: Catalog) -> list[_Open | None]:
        """The roles that every chosen link may take, whatever the query; None where nothing is known of its kind."""
        are_several = len({link.table for link in links.chosen if link.table}) > 1
        dated = {(link.table, link.column) for link in links.chosen if link.kind == "date"}
        out: list[_Open | None] = []
        for link in links.chosen:
            allowed = open_roles(link)
            if link.kind == "column" and (link.table, link.column) in dated:
                allowed = tuple(role for role in allowed if not role.endswith("null"))
            refers = link.kind in ("table", "value") and bool(reference_of(catalog.table(link.table or "")))
            if link.kind == "value" and not refers:
                allowed = tuple(role for role in allowed if role != "via")
            if link.kind == "table" and not are_several and not refers:  # nothing would be left to group
                allowed = ("subject", "ignore")
            # A program from before tables played a role says nothing of them.
            is_known = link.kind != "table" or "kind=table" in self.role_vocabulary.index
            if not is_known or not self.roles.classes:
                out.append(None)
                continue
            scored = [(role, n) for n, role in enumerate(self.roles.classes) if role in allowed]
            out.append(_Open(allowed, scored, sort_of(link, catalog)))
        return out

    def _shared_out(
        self, open_: Sequence[_Open | None], scores: Sequence[Floats], skeleton: Skeleton | None = None
    ) -> list[dict[str, float]]:
        """What `role_probabilities` gives, from what does not depend on the skeleton."""
        out = []
        for link, raw in zip(open_, scores):
            if link is None:
                out.append({"ignore": 1.0})
                continue
            if skeleton is not None:
                raw = raw + self._outline(skeleton, link.sort)
            given = raw.tolist()
            top = max((given[n] for _, n in link.scored), default=0.0)  # none was seen in few labels
            kept = {role: math.exp(given[n] - top) + FLOOR for role, n in link.scored}
            for role in link.allowed:
                kept.setdefault(role, FLOOR)
            total = sum(kept.values())
            out.append({role: share / total for role, share in kept.items()})
        return out

    def _outline(self, skeleton: Skeleton, sort: str) -> Floats:
        """What a skeleton adds to the scores of a sort of link; remembered, as there are few of both."""
        asked = (skeleton, sort)
        if asked not in self._outlines:
            columns, values = self.role_vocabulary.vector(outline_terms(skeleton, sort))
            added = self.roles.weights[:, columns] @ values
            self._outlines[asked] = np.asarray(added, dtype=np.float32)
        return self._outlines[asked]

    def _all_shapes(self) -> Shapes:
        """The skeletons beside the heads that say how likely they are; made anew where either was."""
        shapes = self._shapes
        if shapes is None or shapes.made_of[0] is not self.skeletons or shapes.made_of[1] is not self.fields:
            self._shapes = shapes = Shapes(self.skeletons, self.fields)
        return shapes

    def draft(self, links: Links, masked: str, catalog: Catalog, table: str | None = None) -> Draft:
        """The draft that is likeliest right."""
        drafts = self.drafts(links, masked, catalog, table)
        if not drafts:
            return Draft(None, None)
        # The confidence head of a program of format 2 has seen first drafts alone, so it cannot choose.
        return max(drafts, key=self.trust) if "place" in self.signals else drafts[0]

    def drafts(self, links: Links, masked: str, catalog: Catalog, table: str | None = None) -> list[Draft]:
        """The skeletons that are best filled, untrusted, the likeliest first; at most `RIVALS`."""
        target = catalog.table(table) if table else main_table(links, catalog)
        if target is None:
            return []
        fields = self.field_probabilities(links, masked)
        scores = self.role_scores(links, masked, catalog, "sql")
        open_ = self._open(links, catalog)
        total = sum(self.skeletons.values()) or 1
        ranked: list[_Filled] = []
        for shape, skeleton in self._all_shapes().ranked(fields):
            if len(ranked) > RIVALS and shape <= ranked[RIVALS].score:
                break  # filling only costs, so nothing further down can come before those
            decided = self._shared_out(open_, scores, skeleton)
            filled = fill(skeleton, links, decided)
            if filled is not None:
                assigned, cost = filled
                ranked.append(_Filled(shape + cost, shape, cost, skeleton, assigned, decided))
                ranked.sort(key=lambda entry: entry.score, reverse=True)
        free = self._shared_out(open_, scores)
        words = [t for t in tokens(masked) if is_word(t)]
        unknown = sum(1 for word in words if word not in self.vocabulary.known)
        out = []
        for place, entry in enumerate(ranked[:RIVALS]):
            sketch, assumptions = assemble(entry.skeleton, links, entry.assigned, target, catalog)
            rival = max((e.score for e in ranked[: RIVALS + 1] if e is not entry), default=entry.score - 10)
            used = [n for n, role in entry.assigned.items() if role != "ignore"]
            signals = {
                "place": float(place),
                "shape": entry.shape,
                "cost": entry.cost,
                "margin": max(min(entry.score - rival, 10.0), -10.0),
                "margin squashed": math.tanh(entry.score - rival),
                "unknown": float(min(unknown, 6)),
                "unknown share": unknown / max(len(words), 1),
                "all known": float(unknown == 0),
                "weakest link": min((links.chosen[n].score for n in used), default=1.0),
                "assumed": float(len(assumptions)),
                "rare": float(-math.log(self.skeletons[entry.skeleton.text()] / total)),
                "links": float(len(used)),
                "length": float(min(len(words), 30)),
                "no table": float(all(link.kind != "table" for link in links.chosen)),
                "possible": 1.0 if sketch is not None else 0.0,
                **likelihoods(entry.skeleton, fields, entry.decided, free, entry.assigned),
                **omissions(links, entry.assigned, sketch),
                **oddities(entry.skeleton, links, entry.assigned, sketch),
                **ambiguities(links, entry.assigned, sketch, catalog),
            }
            out.append(Draft(sketch, entry.skeleton, entry.assigned, signals, assumptions))
        return out

    def trust(self, draft: Draft) -> float:
        """How likely the draft's rows are right, 0 to 1."""
        if not self.confidence.classes or draft.sketch is None:
            return 0.0
        raw = np.array([draft.signals.get(name, 0.0) for name in self.signals], dtype=np.float32)
        deviations = (raw - self.centre) / self.spread
        values = within(deviations) if "place" in self.signals else deviations
        if self.confidence.weights.shape[1] > len(values):  # fitted on enough drafts to read products as well
            values = crossed(values)
        return self.confidence.probabilities(np.arange(len(values)), values)["right"]

    def filters(self, links: Links, masked: str, catalog: Catalog) -> tuple[list[tuple[int, str]], float]:
        """For a search: the links that restrict rows, by number, with how; and the least sure decision's probability.

        How is "filter", "null", "not null", "true" or "false"; or "order" and "limit" for the few first rows by a
        column ("of the ten longest").
        """
        scores = self.role_scores(links, masked, catalog, "search")
        chosen: list[tuple[int, str]] = []
        surest = 1.0
        for number, shares in enumerate(self.role_probabilities(links, scores, catalog)):
            restricting = {role: shares.get(role, 0.0) for role in (*RESTRICTING, "order", "limit")}
            keep = sum(restricting.values())
            if keep >= 0.5:
                chosen.append((number, max(restricting, key=lambda role: restricting[role])))
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
            "centre": pack(self.centre),
            "spread": pack(self.spread),
            "idle": sorted(self.idle),
            "seed": self.seed,
        }

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Sketcher:
        self.vocabulary = Vocabulary.load(state["vocabulary"])
        self.role_vocabulary = Vocabulary.load(state["role_vocabulary"])
        self.fields = {name: Head.load(head) for name, head in state["fields"].items()}
        self.roles = Head.load(state["roles"])
        # Spelt anew: a program of an older format has skeletons of fewer fields.
        self.skeletons = {Skeleton.of(text).text(): int(n) for text, n in state["skeletons"].items()}
        self.confidence = Head.load(state["confidence"])
        self.signals = tuple(state["signals"])
        self.centre = unpack(state["centre"], len(self.signals))
        self.spread = unpack(state["spread"], len(self.signals))
        # A program from before they were learned takes every word of asking for one.
        self.idle = frozenset(state.get("idle", self.vocabulary.known))
        self.seed = int(state["seed"])
        self._outlines = {}
        return self

    def reset(self) -> None:
        """Does nothing: DSPy's optimizers reset prompts, and fitted weights are not theirs to clear."""


FAR_OUT = 3.0
"""Standard deviations beyond which a signal counts no more: what no label shows must not decide alone."""


def within(deviations: Floats) -> Floats:
    """Signals in standard deviations, none beyond `FAR_OUT`."""
    return np.clip(deviations, -FAR_OUT, FAR_OUT).astype(np.float32)


def crossed(signals: Floats) -> Floats:
    """Scaled signals, (n,), followed by their products two by two, (n * (n + 1) / 2,)."""
    rows, columns = np.triu_indices(len(signals))
    return np.concatenate([signals, signals[rows] * signals[columns]]).astype(np.float32)
