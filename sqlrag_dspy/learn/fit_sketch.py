"""FitSketch: the teleprompter of the learned SQL writer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy
import numpy as np
from dspy.teleprompt import Teleprompter

from sqlrag_dspy.errors import LabelError, SqlRagError
from sqlrag_dspy.learn import gold, metrics
from sqlrag_dspy.learn.align import roles_of, skeleton_of
from sqlrag_dspy.learn.cases import Case, cases_of
from sqlrag_dspy.learn.databases import path_of
from sqlrag_dspy.learn.equivalents import told_by_row
from sqlrag_dspy.learn.linear import FOLDS, folds_of, known_words, logistic, matrix, prune, vocabulary_of
from sqlrag_dspy.learn.synthesize import Made
from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.features import ending_terms, terms
from sqlrag_dspy.program.sketching.qualifiers import qualifiers
from sqlrag_dspy.program.sketching.roles import outline_terms, role_terms, sequence, sort_of
from sqlrag_dspy.program.sketching.skeleton import FIELDS, Skeleton
from sqlrag_dspy.program.sketching.sketch import Draft, Sketcher, crossed, within
from sqlrag_dspy.types import Sketch

MANY = 1000
"""Drafts from which on products of signals, as well as signals, tell whether a draft is right."""
CONFIDENCE_STRENGTH = 10.0
"""Divided by the number of drafts it is fitted on: a thousand products of signals for some thousand drafts."""
TERMS = 7000
"""Terms kept by each vocabulary; the rest weigh next to nothing and cost megabytes."""

TOGETHER = ", or fit them together with those of other databases"
"""What helps who has few labels."""

Outcome = tuple[Case, list[tuple[Draft, bool]]]
"""A held-out question with its drafts, the likeliest first, and whether each one's rows were the gold rows."""


@dataclass
class Aligned:
    """A case whose gold restriction or query was laid over its links."""

    case: Case
    roles: dict[int, str]
    purpose: str
    skeleton: Skeleton | None = None
    weight: float = 1.0


_FIRST_ROWS = re.compile(
    r"(?:\bIN|=)\s*\((SELECT\b.*\bORDER BY\b.*\bLIMIT \d+)\)\s*$", re.IGNORECASE | re.DOTALL
)


def read_gold(case: Case) -> Sketch | None:
    """The gold query, or the gold filter as a listing of keys, as a Sketch; None beyond the grammar."""
    from sqlrag_dspy.sql import read

    example, catalog = case.example, case.database.catalog
    table = catalog.table(example.get("table") or "")
    if example.route == "sql":
        return read(example.sql, catalog)
    if example.route in ("vector", "hybrid") and table is not None:
        if not example.get("filter_sql"):
            return Sketch(table.name, ())
        keys = ", ".join('"' + name.replace('"', '""') + '"' for name in table.key)
        inner = _FIRST_ROWS.search(example.filter_sql)
        if inner is not None:  # "title IN (SELECT title … ORDER BY … LIMIT 10)": the first rows by a column
            return read(inner.group(1), catalog)
        return read(f'SELECT {keys} FROM "{table.name}" WHERE {example.filter_sql}', catalog)
    return None


def align(cases: Sequence[Case]) -> list[Aligned]:
    """The cases whose gold lies within the grammar, with their roles and skeletons."""
    out = []
    for case in cases:
        sketch = read_gold(case)
        if sketch is not None:
            out.append(align_sketch(case, sketch, "sql" if case.example.route == "sql" else "search"))
    return out


def align_sketch(case: Case, sketch: Sketch, purpose: str) -> Aligned:
    """One case laid over the sketch it stands for."""
    catalog = case.database.catalog
    sketch = told_by_row(sketch, case.links, catalog)
    roles = roles_of(sketch, case.links, catalog if purpose == "sql" else None)
    skeleton = None
    table = catalog.table(sketch.table)
    if purpose == "sql" and table is not None:
        display = case.database.display_column(table).name
        shown = {case.links.chosen[n].column or "" for n, role in roles.items() if role == "select"}
        skeleton = skeleton_of(sketch, display, shown)
    return Aligned(case, roles, purpose, skeleton)


class FitSketch(Teleprompter):
    """Fits `program.sketcher`: skeleton heads, role head, and confidence from held-out executions.

    `made` are made questions by database (see learn.synthesize): they count `made_weight` of a labelled one,
    are part of every fold's training, and are never scored.
    """

    def __init__(
        self,
        seed: int = 0,
        strength: float = 20.0,
        role_strength: float = 10.0,
        made: Sequence[tuple[str, Made]] = (),
        made_weight: float = 0.5,
    ) -> None:
        super().__init__()
        self.seed = seed
        self.strength = strength
        self.role_strength = role_strength
        self.made = made
        self.made_weight = made_weight
        self.outcomes: list[Outcome] = []
        self.trusted: list[tuple[float, bool]] = []
        """For every held-out draft, its trust by a confidence head that never saw it, and whether it was right."""

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student, its sketcher fitted on `trainset`; runs every held-out sketch on its database."""
        cases = cases_of(student, trainset)
        known = known_words([case.masked for case in cases], [case.database.name for case in cases])
        aligned = align(cases)
        extra = self._extra(student)
        self.outcomes = self._held_out(cases, aligned, extra, known)
        self._fit_heads(student.sketcher, [*aligned, *extra], known)
        self.trusted = held_out_trust(self.outcomes, self.seed)
        fit_confidence(student.sketcher, self.outcomes, self.seed)
        student.sketcher.idle = idle_words(self.outcomes, extra)
        student.sketcher.seed = self.seed
        return student

    def held_out(self, student: SqlRag, trainset: Sequence[dspy.Example]) -> list[Outcome]:
        """Every sql question with its draft by heads that never saw it, and whether its rows were right."""
        cases = cases_of(student, trainset)
        known = known_words([case.masked for case in cases], [case.database.name for case in cases])
        return self._held_out(cases, align(cases), self._extra(student), known)

    def _held_out(
        self,
        cases: Sequence[Case],
        aligned: Sequence[Aligned],
        extra: Sequence[Aligned],
        known: frozenset[str],
    ) -> list[Outcome]:
        """Drafts of every sql question; for one whose gold lies beyond the grammar the right thing is little trust."""
        fold = folds_of([f"{a.purpose}{a.case.database.name}" for a in aligned], self.seed)
        within = {id(a.case) for a in aligned}
        beyond = [case for case in cases if case.example.route == "sql" and id(case) not in within]
        out: list[Outcome] = []
        for number in range(FOLDS):
            sketcher = Sketcher()
            seen = [a for a, f in zip(aligned, fold) if f != number]
            self._fit_heads(sketcher, [*seen, *extra], known)
            asked = [a.case for a, f in zip(aligned, fold) if f == number and a.purpose == "sql"]
            for case in (*asked, *beyond[number::FOLDS]):
                drafts = sketcher.drafts(case.links, case.masked, case.database.catalog)
                out.append((case, [(draft, is_right(case, draft.sketch)) for draft in drafts]))
        return out

    @property
    def _least(self) -> int:
        """Questions that a term must occur in: more where many questions are made from few patterns."""
        return 5 if len(self.made) > 1000 else 2

    def _extra(self, student: SqlRag) -> list[Aligned]:
        """The made questions, linked and aligned with the sketches they were made from."""
        out = []
        for name, made in self.made:
            example = dspy.Example(question=made.question, database=name, route="sql", lang=made.lang)
            case = cases_of(student, [example.with_inputs("question", "database")])[0]
            aligned = align_sketch(case, made.sketch, "sql")
            aligned.weight = self.made_weight
            out.append(aligned)
        return out

    def _fit_heads(self, sketcher: Sketcher, aligned: Sequence[Aligned], known: frozenset[str]) -> None:
        shaped = [a for a in aligned if a.skeleton is not None]
        if not shaped:
            raise LabelError(
                f"too few sql labels have a gold query that a sketch can say; add sql labels{TOGETHER}"
            )
        counted = [terms(a.case.masked, known) + ending_terms(a.case.links, a.case.masked) for a in shaped]
        sketcher.vocabulary = vocabulary_of(counted, known, self._least)
        features = matrix(sketcher.vocabulary, counted)
        weights = np.array([a.weight for a in shaped])
        sketcher.fields = {
            name: logistic(
                features, [getattr(a.skeleton, name) for a in shaped], self.strength, weights, seed=self.seed
            )
            for name in FIELDS
        }
        sketcher.vocabulary = prune(sketcher.vocabulary, list(sketcher.fields.values()), TERMS)
        sketcher.skeletons = dict(sorted(Counter(a.skeleton.text() for a in shaped if a.skeleton).items()))
        role_counts, role_names, role_weights = [], [], []
        for a in aligned:
            tokens_, places = sequence(a.case.links, a.case.masked, known)
            for number, link in enumerate(a.case.links.chosen):
                if link.kind == "table" and a.purpose != "sql":
                    continue
                catalog = a.case.database.catalog
                counted_ = role_terms(a.case.links, number, tokens_, places, catalog, a.purpose)
                if a.skeleton is not None:
                    counted_ += outline_terms(a.skeleton, sort_of(link, catalog))
                role_counts.append(counted_)
                role_names.append(a.roles[number])
                role_weights.append(a.weight)
        sketcher.role_vocabulary = vocabulary_of(role_counts, known, self._least)
        sketcher._outlines = {}
        sketcher.roles = logistic(
            matrix(sketcher.role_vocabulary, role_counts),
            role_names,
            self.role_strength,
            np.array(role_weights),
            seed=self.seed,
        )
        sketcher.role_vocabulary = prune(sketcher.role_vocabulary, [sketcher.roles], TERMS)


SHARED = 3
"""Databases over which made questions must share a qualifying word that restricts nothing; of labels two will do."""


def idle_words(outcomes: Sequence[Outcome], made: Sequence[Aligned]) -> frozenset[str]:
    """Qualifying words that questions of several databases have and that their right queries do without.

    Words for a state or an extreme are none, whatever the questions: there they were missed by luck.
    """
    glossary = load()
    homes: dict[str, set[tuple[str, int]]] = defaultdict(set)
    right = [case for case, drafts in outcomes if any(right for _, right in drafts)]
    for cases, weight in ((right, SHARED), ([each.case for each in made], 2)):
        for case in cases:
            for word in qualifiers(case.links, case.masked):
                homes[word].add((case.database.name, weight))
    return frozenset(
        word
        for word, found in homes.items()
        if sum(weight for _, weight in found) >= 2 * SHARED
        and word not in glossary.states
        and word not in glossary.adjectives
    )


def is_right(case: Case, sketch: Sketch | None) -> bool:
    """Whether the sketch, written, checked and run, gives the gold rows."""
    from sqlrag_dspy.sql import write

    if sketch is None:
        return False
    database = case.database
    try:
        found = database.run(database.check(write(sketch, database.catalog)))
    except SqlRagError:
        return False
    expected = gold.rows(case.example.gold, path_of(database))
    return metrics.rows_match(expected, found.values, is_ordered=gold.is_ordered(case.example.sql))


def fit_confidence(sketcher: Sketcher, outcomes: Sequence[Outcome], seed: int) -> None:
    """A logistic regression from a draft's signals, and their products, to "right"."""
    usable = [(d.signals, right) for _, drafts in outcomes for d, right in drafts if d.sketch is not None]
    if len({right for _, right in usable}) < 2:
        how = "all were" if usable and usable[0][1] else "none was"
        raise LabelError(
            f"too few sql labels to learn when a query can be trusted: {how} written right by "
            f"a program fitted on the others; add labels{TOGETHER}"
        )
    names = sorted(usable[0][0])
    raw = np.array([[signals[name] for name in names] for signals, _ in usable])
    sketcher.centre = raw.mean(axis=0).astype(np.float32)
    sketcher.spread = (raw.std(axis=0) + 1e-6).astype(np.float32)
    features = within((raw - sketcher.centre) / sketcher.spread)
    if len(features) >= MANY:
        features = np.stack([crossed(row) for row in features])
    sketcher.confidence = logistic(
        features,
        ["right" if r else "wrong" for _, r in usable],
        CONFIDENCE_STRENGTH / len(usable),
        seed=seed,
    )
    sketcher.signals = tuple(names)


def held_out_trust(outcomes: Sequence[Outcome], seed: int) -> list[tuple[float, bool]]:
    """For every question its most trusted draft's trust, by a confidence head fitted on the other folds, with
    whether that draft was right."""
    fold = folds_of([str(any(right for _, right in drafts)) for _, drafts in outcomes], seed)
    out = []
    for number in range(FOLDS):
        sketcher = Sketcher()
        fit_confidence(sketcher, [o for o, f in zip(outcomes, fold) if f != number], seed)
        for (_, drafts), f in zip(outcomes, fold):
            if f == number and drafts:
                out.append(max((sketcher.trust(draft), right) for draft, right in drafts))
    return out
