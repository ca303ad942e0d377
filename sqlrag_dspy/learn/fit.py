"""The teleprompters of the learned tier: FitRouter, FitSketch, FitThresholds.

Each takes a program and labelled examples and gives back the program with one learned parameter fitted, as
DSPy's own optimizers do. Confidence is calibrated on predictions that the fold never saw. The only place
that imports scikit-learn.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dspy
import numpy as np
from dspy.teleprompt import Teleprompter
from numpy.typing import NDArray

from sqlrag_dspy.errors import LabelError, SqlRagError
from sqlrag_dspy.learn import gold, metrics
from sqlrag_dspy.learn.align import roles_of, skeleton_of
from sqlrag_dspy.learn.databases import path_of
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.demonstrations import Demonstration
from sqlrag_dspy.program.encoder import embedding, multilingual
from sqlrag_dspy.program.features import Floats, Head, Vocabulary, is_word, terms, tokens
from sqlrag_dspy.program.inquiry import readings_of
from sqlrag_dspy.program.roles import outline_terms, role_terms, sequence, sort_of
from sqlrag_dspy.program.skeleton import FIELDS
from sqlrag_dspy.program.sketch import Draft, Sketcher
from sqlrag_dspy.types import ROUTES, Links, Sketch

FOLDS = 5


@dataclass
class Case:
    """One labelled query with its links, as the fitters need it."""

    example: dspy.Example
    database: Database
    links: Links
    masked: str

    @cached_property
    def dense(self) -> Floats:
        """The encoder's block of the question."""
        return embedding(multilingual, readings_of(self.links))


def cases_of(program: SqlRag, examples: Sequence[dspy.Example]) -> list[Case]:
    """Links every example over its own bound database. Raises LabelError when there are none."""
    from sqlrag_dspy.link import mask

    if not examples:
        raise LabelError("no labelled queries to fit on")
    out = []
    for example in examples:
        database = program.bound(example.get("database"))
        links = database.link(example.question)
        out.append(Case(example, database, links, mask(links)))
    return out


# --- linear algebra ----------------------------------------------------------------------------------


def known_words(masks: Sequence[str], databases: Sequence[str]) -> frozenset[str]:
    """Words that say how something is asked, not what about: shared by databases, or frequent in one."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for masked, database in zip(masks, databases):
        for word in {t for t in tokens(masked) if is_word(t)}:
            seen[word][database] += 1
    many = len(set(databases)) > 1
    return frozenset(
        word
        for word, counts in seen.items()
        if (many and len(counts) >= 2 and sum(counts.values()) >= 3)
        or max(counts.values()) >= (6 if many else 3)
    )


def vocabulary_of(counted: Sequence[Counter[str]], known: frozenset[str], least: int = 2) -> Vocabulary:
    """The terms that occur in at least `least` questions, with smoothed inverse document frequencies."""
    frequency: Counter[str] = Counter()
    for terms_ in counted:
        frequency.update(terms_.keys())
    kept = sorted(term for term, n in frequency.items() if n >= least)
    total = len(counted)
    idf = np.array([math.log((1 + total) / (1 + frequency[t])) + 1 for t in kept], dtype=np.float32)
    return Vocabulary({term: column for column, term in enumerate(kept)}, idf, known)


def matrix(vocabulary: Vocabulary, counted: Sequence[Counter[str]], dense: NDArray[Any] | None = None) -> Any:
    """The sparse design matrix, (questions, terms + dense)."""
    from scipy import sparse

    data, columns, starts = [], [], [0]
    for terms_ in counted:
        where, values = vocabulary.vector(terms_)
        columns.append(where)
        data.append(values)
        starts.append(starts[-1] + len(where))
    shape = (len(counted), len(vocabulary.index))
    plain = sparse.csr_matrix((np.concatenate(data), np.concatenate(columns), starts), shape=shape)
    return plain if dense is None else sparse.hstack([plain, sparse.csr_matrix(dense)]).tocsr()


def logistic(
    features: Any, classes: Sequence[str], strength: float, weights: Any = None, seed: int = 0
) -> Head:
    """A multinomial logistic regression as a Head; a lone class gives a constant one."""
    from sklearn.linear_model import LogisticRegression

    names = sorted(set(classes))
    if len(names) == 1:
        return Head((names[0],), np.zeros((1, features.shape[1]), np.float32), np.zeros(1, np.float32))
    model = LogisticRegression(C=strength, max_iter=1000, random_state=seed)
    model.fit(features, list(classes), sample_weight=weights)
    coefficients, bias = model.coef_, model.intercept_
    if len(names) == 2:  # scikit-learn keeps one row for two classes
        coefficients, bias = np.vstack([-coefficients, coefficients]) / 2, np.array([-bias[0], bias[0]]) / 2
    return Head(
        tuple(str(name) for name in model.classes_),
        coefficients.astype(np.float32),
        bias.astype(np.float32),
    )


def scores_of(head: Head, features: Any) -> NDArray[np.float64]:
    """Raw scores of many questions, (questions, classes)."""
    return np.asarray(features @ head.weights.T.astype(np.float64) + head.bias, dtype=np.float64)


def temperature(scores: NDArray[np.float64], right: Sequence[int]) -> float:
    """The temperature that makes held-out softmax confidences honest (least negative log-likelihood)."""
    best_, at = math.inf, 1.0
    rows = np.arange(len(right))
    for candidate in np.geomspace(0.2, 5, 60):
        scaled = scores / candidate
        scaled = scaled - scaled.max(axis=1, keepdims=True)
        loss = float(-(scaled[rows, right] - np.log(np.exp(scaled).sum(axis=1))).mean())
        if loss < best_:
            best_, at = loss, float(candidate)
    return at


def folds_of(classes: Sequence[str], seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """A fold number for every example, balanced over the classes."""
    random = np.random.default_rng(seed)
    out = np.zeros(len(classes), np.int64)
    for name in sorted(set(classes)):
        members = np.array([n for n, c in enumerate(classes) if c == name])
        out[random.permutation(members)] = np.arange(len(members)) % folds
    return out


def dense_of(cases: Sequence[Case]) -> Floats:
    """The encoder's block of every case, (cases, features)."""
    return np.stack([case.dense for case in cases])


# --- the router --------------------------------------------------------------------------------------


class FitRouter(Teleprompter):
    """Fits `program.router` and fills the demonstration bank."""

    def __init__(self, seed: int = 0, strength: float = 8.0, full_strength: float = 8.0) -> None:
        super().__init__()
        self.seed = seed
        self.strength = strength
        self.full_strength = full_strength

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student, its router fitted on `trainset`, temperature and gate chosen by cross-validation."""
        cases = cases_of(student, trainset)
        routes = [case.example.route for case in cases]
        databases = [case.database.name for case in cases]
        known = known_words([case.masked for case in cases], databases)
        counted = [terms(case.masked, known) for case in cases]
        vocabulary = vocabulary_of(counted, known)
        dense = dense_of(cases)
        sparse = matrix(vocabulary, counted)
        joined = matrix(vocabulary, counted, dense)
        router = student.router
        router.vocabulary, router.seed = vocabulary, self.seed
        held = self.held_out(cases)
        for name, features, strength in (
            ("quick", sparse, self.strength),
            ("full", joined, self.full_strength),
        ):
            head = logistic(features, routes, strength, seed=self.seed)
            scores = held[name]
            order = [sorted(set(routes)).index(route) for route in routes]
            head.temperature = temperature(scores, order)
            setattr(router, name, head)
        router.gate = self._gate(router.quick, held, routes)
        declined = [
            (n, _reason(case.example)) for n, case in enumerate(cases) if case.example.route == "decline"
        ]
        if declined:
            router.reasons = logistic(
                sparse[[n for n, _ in declined]], [r for _, r in declined], self.strength
            )
        student.demonstrations.fill([_demonstration(case) for case in cases])
        return student

    def held_out(self, cases: Sequence[Case]) -> dict[str, NDArray[np.float64]]:
        """Scores of every case by heads that never saw it, vocabulary included; classes in sorted order."""
        routes = [case.example.route for case in cases]
        names = sorted(set(routes))
        fold = folds_of(routes, self.seed)
        dense = dense_of(cases)
        out = {name: np.zeros((len(cases), len(names))) for name in ("quick", "full")}
        for number in range(FOLDS):
            train = [int(n) for n in np.flatnonzero(fold != number)]
            test = [int(n) for n in np.flatnonzero(fold == number)]
            if not test or not train:
                continue
            known = known_words([cases[n].masked for n in train], [cases[n].database.name for n in train])
            counted = [terms(case.masked, known) for case in cases]
            vocabulary = vocabulary_of([counted[n] for n in train], known)
            for name, block, strength in (
                ("quick", None, self.strength),
                ("full", dense, self.full_strength),
            ):
                features = matrix(vocabulary, counted, block)
                head = logistic(features[train], [routes[n] for n in train], strength, seed=self.seed)
                columns = [names.index(c) for c in head.classes]
                out[name][np.ix_(np.array(test), np.array(columns))] = scores_of(head, features[test])
        return out

    def _gate(self, quick: Head, held: dict[str, NDArray[np.float64]], routes: Sequence[str]) -> float:
        """The lowest quick-stage confidence at which held-out accuracy loses nothing to the full stage."""
        names = sorted(set(routes))
        right = np.array([names.index(route) for route in routes])
        scaled = held["quick"] / quick.temperature
        shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        confidence = shares.max(axis=1) / shares.sum(axis=1)
        first, second = held["quick"].argmax(axis=1) == right, held["full"].argmax(axis=1) == right
        choices = [
            (float(np.where(confidence >= gate, first, second).mean()), -gate)
            for gate in np.arange(0.3, 1.01, 0.02)
        ]
        top = max(score for score, _ in choices)
        return float(-max(negative for score, negative in choices if score >= top - 0.002))


def _reason(example: dspy.Example) -> str:
    from sqlrag_dspy.program.respond import DECLINED

    return next((tag for tag in example.get("tags") or [] if tag in DECLINED), "other-domain")


def _demonstration(case: Case) -> Demonstration:
    example = case.example
    return Demonstration(
        question=example.question,
        masked=case.masked,
        route=example.route,
        schema=case.database.catalog.fingerprint,
        sql=example.get("sql"),
        condition=example.get("filter_sql"),
    )


# --- the sketcher ------------------------------------------------------------------------------------


@dataclass
class Aligned:
    """A case whose gold restriction or query was laid over its links."""

    case: Case
    roles: dict[int, str]
    purpose: str
    skeleton: Any = None


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
        return read(f'SELECT {keys} FROM "{table.name}" WHERE {example.filter_sql}', catalog)
    return None


def align(cases: Sequence[Case]) -> list[Aligned]:
    """The cases whose gold lies within the grammar, with their roles and skeletons."""
    out = []
    for case in cases:
        sketch = read_gold(case)
        if sketch is None:
            continue
        purpose = "sql" if case.example.route == "sql" else "search"
        roles = roles_of(sketch, case.links)
        skeleton = None
        if purpose == "sql":
            table = case.database.catalog.table(sketch.table)
            if table is not None:
                display = case.database.display_column(table).name
                shown = {case.links.chosen[n].column or "" for n, role in roles.items() if role == "select"}
                skeleton = skeleton_of(sketch, display, shown)
        out.append(Aligned(case, roles, purpose, skeleton))
    return out


class FitSketch(Teleprompter):
    """Fits `program.sketcher`: skeleton heads, role head, and confidence from held-out executions."""

    def __init__(self, seed: int = 0, strength: float = 6.0, role_strength: float = 3.0) -> None:
        super().__init__()
        self.seed = seed
        self.strength = strength
        self.role_strength = role_strength

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student, its sketcher fitted on `trainset`; runs every held-out sketch on its database."""
        cases = cases_of(student, trainset)
        known = known_words([case.masked for case in cases], [case.database.name for case in cases])
        aligned = align(cases)
        outcomes = self.held_out(aligned, known)
        self._fit_heads(student.sketcher, aligned, known)
        _fit_confidence(student.sketcher, outcomes, self.seed)
        student.sketcher.seed = self.seed
        return student

    def held_out(self, aligned: Sequence[Aligned], known: frozenset[str]) -> list[tuple[Case, Draft, bool]]:
        """Every sql case with its draft by heads that never saw it, and whether its rows were right."""
        fold = folds_of([f"{a.purpose}{a.case.database.name}" for a in aligned], self.seed)
        out = []
        for number in range(FOLDS):
            sketcher = Sketcher()
            self._fit_heads(sketcher, [a for a, f in zip(aligned, fold) if f != number], known)
            for item, f in zip(aligned, fold):
                if f == number and item.purpose == "sql":
                    case = item.case
                    draft = sketcher.draft(case.links, case.masked, case.database.catalog, case.dense)
                    out.append((case, draft, is_right(case, draft.sketch)))
        return out

    def _fit_heads(self, sketcher: Sketcher, aligned: Sequence[Aligned], known: frozenset[str]) -> None:
        shaped = [a for a in aligned if a.skeleton is not None]
        if not shaped:
            raise LabelError(
                "no sql label has a gold query within the sketch grammar; add some to the trainset"
            )
        counted = [terms(a.case.masked, known) for a in shaped]
        sketcher.vocabulary = vocabulary_of(counted, known)
        features = matrix(sketcher.vocabulary, counted, dense_of([a.case for a in shaped]))
        sketcher.fields = {
            name: logistic(
                features, [getattr(a.skeleton, name) for a in shaped], self.strength, seed=self.seed
            )
            for name in FIELDS
        }
        sketcher.skeletons = dict(sorted(Counter(a.skeleton.text() for a in shaped).items()))
        role_counts, role_names = [], []
        for a in aligned:
            tokens_, places = sequence(a.case.links, a.case.masked, known)
            for number, link in enumerate(a.case.links.chosen):
                if link.kind == "table":
                    continue
                catalog = a.case.database.catalog
                counted_ = role_terms(a.case.links, number, tokens_, places, catalog, a.purpose)
                if a.skeleton is not None:
                    counted_ += outline_terms(a.skeleton, sort_of(link, catalog))
                role_counts.append(counted_)
                role_names.append(a.roles[number])
        sketcher.role_vocabulary = vocabulary_of(role_counts, known)
        sketcher._outlines = {}
        sketcher.roles = logistic(
            matrix(sketcher.role_vocabulary, role_counts), role_names, self.role_strength, seed=self.seed
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
    return metrics.rows_match(expected, found.values, is_ordered="order by" in case.example.sql.casefold())


def _fit_confidence(sketcher: Sketcher, outcomes: Sequence[tuple[Case, Draft, bool]], seed: int) -> None:
    """A logistic regression from a draft's signals to "right"; scaling is folded into its weights."""
    usable = [(draft.signals, right) for _, draft, right in outcomes if draft.sketch is not None]
    if len({right for _, right in usable}) < 2:
        raise LabelError(
            "held-out sketches are all right or all wrong; confidence cannot be fitted: add labels"
        )
    names = sorted(usable[0][0])
    raw = np.array([[signals[name] for name in names] for signals, _ in usable])
    centre, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-6
    head = logistic((raw - centre) / spread, ["right" if r else "wrong" for _, r in usable], 1.0, seed=seed)
    weights = head.weights / spread
    sketcher.confidence = Head(
        head.classes, weights.astype(np.float32), (head.bias - weights @ centre).astype(np.float32)
    )
    sketcher.signals = tuple(names)


# --- the thresholds ----------------------------------------------------------------------------------


class FitThresholds(Teleprompter):
    """Chooses the confidences above which the learned tier answers, on held-out predictions.

    `wrong` is the share of sql questions that may be answered wrongly; `route_precision` the accuracy asked
    of the routes that are not handed to a model.
    """

    def __init__(self, seed: int = 0, wrong: float = 0.06, route_precision: float = 0.97) -> None:
        super().__init__()
        self.seed = seed
        self.wrong = wrong
        self.route_precision = route_precision

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student with its thresholds set."""
        cases = cases_of(student, trainset)
        student.thresholds.route = self._route(student, cases)
        known = known_words([case.masked for case in cases], [case.database.name for case in cases])
        outcomes = FitSketch(self.seed).held_out(align(cases), known)
        trusted = [(student.sketcher.trust(draft), right) for _, draft, right in outcomes if draft.sketch]
        beyond = sum(1 for case in cases if case.example.route == "sql") - len(trusted)
        student.thresholds.sql = lowest(trusted, self.wrong, len(trusted) + max(beyond, 0))
        student.thresholds.filters = 0.8
        return student

    def _route(self, student: SqlRag, cases: Sequence[Case]) -> float:
        routes = [case.example.route for case in cases]
        names = sorted(set(routes))
        scores = FitRouter(self.seed).held_out(cases)["full"] / (student.router.full.temperature or 1.0)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        confidence = shares.max(axis=1) / shares.sum(axis=1)
        right = scores.argmax(axis=1) == np.array([names.index(route) for route in routes])
        for threshold in np.arange(0.3, 0.99, 0.01):
            kept = confidence >= threshold
            if kept.any() and right[kept].mean() >= self.route_precision:
                return float(round(threshold, 2))
        return 0.99


def lowest(trusted: Sequence[tuple[float, bool]], wrong: float, total: int) -> float:
    """The lowest confidence at which at most `wrong` of `total` questions are answered wrongly."""
    for threshold in np.arange(0.05, 1.0, 0.01):
        mistakes = sum(1 for confidence, right in trusted if confidence >= threshold and not right)
        if mistakes <= wrong * total:
            return float(round(threshold, 2))
    return 1.0


Progress = Callable[[str], None]
__all__ = ["ROUTES", "Case", "FitRouter", "FitSketch", "FitThresholds", "align", "cases_of"]
