"""FitRouter and FitThresholds: the teleprompters of the router and of the confidences that open the gate.

Each takes a program and labelled examples and gives back the program with one learned parameter fitted, as
DSPy's own optimizers do. Confidence is calibrated on predictions that the fold never saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dspy
import numpy as np
from dspy.teleprompt import Teleprompter
from numpy.typing import NDArray

from sqlrag_dspy.learn.cases import Case, cases_of, dense_of, linked, scale_of
from sqlrag_dspy.learn.fit_sketch import FitSketch, held_out_trust
from sqlrag_dspy.learn.linear import (
    FOLDS,
    folds_of,
    known_words,
    logistic,
    matrix,
    scores_of,
    sparsen,
    temperature,
    vocabulary_of,
)
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.demonstrations import Demonstration
from sqlrag_dspy.program.features import Head, Vocabulary, halved, terms

REASON_TERMS = 2000
"""Terms that tell the reason of a decline; of the router's many, the others are not seen in declines."""


QUICK_SHARE = 0.2
"""How much the quick stage's scores count in the full one: more is right by it, held out from train, on databases
that the router was fitted on, and no less on others."""
MADE_WEIGHT = 0.15
"""How much a made question counts: its patterns are few, and its topics are no questions of people."""


class FitRouter(Teleprompter):
    """Fits `program.router` and fills the demonstration bank.

    `made` are examples that are fitted along (see `asked`); confidence is calibrated on labels alone. After
    `compile`, `routed` holds what FitThresholds needs: for each label, a confidence and whether the route was
    right, by heads that never saw it.
    """

    def __init__(
        self,
        seed: int = 0,
        strength: float = 8.0,
        full_strength: float = 2.0,
        made: Sequence[dspy.Example] = (),
    ) -> None:
        super().__init__()
        self.made = made
        self.routed: list[tuple[float, bool]] | None = None
        self.seed = seed
        self.strength = strength
        self.full_strength = full_strength

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student, its router fitted on `trainset`, temperature and gate chosen by cross-validation."""
        cases = cases_of(student, trainset)
        made = linked(student, self.made, MADE_WEIGHT)
        fitted = [*cases, *made]
        routes = [case.example.route for case in fitted]
        vocabulary, counted = vocabulary_for(fitted)
        scale = scale_of(cases)
        sparse = matrix(vocabulary, counted)
        weights = np.array([case.weight for case in fitted])
        stages = self.stages(vocabulary, counted, dense_of(fitted, scale), routes, weights)
        router = student.router
        router.vocabulary, router.scale, router.seed = vocabulary, scale, self.seed
        labelled = routes[: len(cases)]
        names = sorted(set(routes))
        order = [names.index(route) for route in labelled]
        held = self.held_out(cases, made)
        for name, head in stages.items():
            head.temperature = temperature(held[name], order)
            setattr(router, name, head)
        router.gate = self._gate(router.quick, held, order)
        self.routed = routed(held["full"], order, router.full.temperature)
        declined = [n for n, route in enumerate(routes) if route == "decline"]
        if declined:
            told = [_reason(fitted[n].example) for n in declined]
            reasons = logistic(sparse[declined], told, self.strength, weights[declined])
            router.reasons = sparsen(reasons, vocabulary.idf, REASON_TERMS)
        student.demonstrations.fill([_demonstration(case) for case in cases])
        return student

    def held_out(self, cases: Sequence[Case], made: Sequence[Case] = ()) -> dict[str, NDArray[np.float64]]:
        """Scores of every case by heads that never saw it, vocabulary included; classes in sorted order.

        The `made` cases are fitted along in every fold.
        """
        fitted = [*cases, *made]
        routes = [case.example.route for case in fitted]
        names = sorted(set(routes))
        fold = folds_of(routes[: len(cases)], self.seed)
        dense = dense_of(fitted, scale_of(cases))
        out = {name: np.zeros((len(cases), len(names))) for name in ("quick", "full")}
        for number in range(FOLDS):
            seen = [int(n) for n in np.flatnonzero(fold != number)]
            test = [int(n) for n in np.flatnonzero(fold == number)]
            if not test or not seen:
                continue
            train = [*seen, *range(len(cases), len(fitted))]
            vocabulary, counted = vocabulary_for([fitted[n] for n in train], fitted)
            weights = np.array([fitted[n].weight for n in train])
            stages = self.stages(
                vocabulary, [counted[n] for n in train], dense[train], [routes[n] for n in train], weights
            )
            for name, head in stages.items():
                block = dense[test] if name == "full" else None
                columns = [names.index(c) for c in head.classes]
                scores = scores_of(head, matrix(vocabulary, [counted[n] for n in test], block))
                out[name][np.ix_(np.array(test), np.array(columns))] = scores
        return out

    def stages(
        self,
        vocabulary: Vocabulary,
        counted: Sequence[Counter[str]],
        dense: NDArray[Any],
        routes: Sequence[str],
        weights: NDArray[Any],
    ) -> dict[str, Head]:
        """Both stages: "quick" over the counted terms alone, "full" with the dense block and a share of the quick
        one's scores."""
        sparse = matrix(vocabulary, counted)
        quick = logistic(sparse, routes, self.strength, weights, self.seed)
        joined = matrix(vocabulary, counted, dense)
        full = logistic(joined, routes, self.full_strength, weights, self.seed)
        return {"quick": quick, "full": blended(full, quick, QUICK_SHARE)}

    def _gate(self, quick: Head, held: dict[str, NDArray[np.float64]], right: Sequence[int]) -> float:
        """The lowest quick-stage confidence at which held-out accuracy loses nothing to the full stage."""
        confidence = np.array([sure for sure, _ in routed(held["quick"], right, quick.temperature)])
        first, second = held["quick"].argmax(axis=1) == right, held["full"].argmax(axis=1) == right
        choices = [
            (float(np.where(confidence >= gate, first, second).mean()), -gate)
            for gate in np.arange(0.3, 1.01, 0.02)
        ]
        top = max(score for score, _ in choices)
        return float(-max(negative for score, negative in choices if score >= top - 0.002))


def blended(full: Head, quick: Head, share: float) -> Head:
    """The head whose scores are those of `full` with a share of those of `quick`, which reads its first columns.

    Both are linear, so it is as quick as `full` alone. They must have the same classes.
    """
    weights = (1 - share) * full.weights
    weights[:, : quick.weights.shape[1]] += share * quick.weights
    return Head(full.classes, halved(weights), (1 - share) * full.bias + share * quick.bias)


def vocabulary_for(
    cases: Sequence[Case], read: Sequence[Case] | None = None
) -> tuple[Vocabulary, list[Counter[str]]]:
    """The vocabulary of the cases, and the counted terms of all that are `read` by it (by default, the same)."""
    said = [case for case in cases if not case.example.get("is_nonsense")]
    known = known_words([case.masked for case in said], [case.database.name for case in said])
    vocabulary = vocabulary_of([terms(case.masked, known) for case in cases], known)
    return vocabulary, [terms(case.masked, known) for case in (cases if read is None else read)]


def routed(scores: NDArray[np.float64], right: Sequence[int], temperature: float) -> list[tuple[float, bool]]:
    """Of every row of scores, the calibrated confidence of its best class, and whether that one is right."""
    scaled = scores / (temperature or 1.0)
    shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    confidence = shares.max(axis=1) / shares.sum(axis=1)
    hit = scores.argmax(axis=1) == np.asarray(right)
    return [(float(sure), bool(ok)) for sure, ok in zip(confidence, hit)]


def _reason(example: dspy.Example) -> str:
    from sqlrag_dspy.program.respond import DECLINED

    return next((tag for tag in example.get("tags") or [] if tag in DECLINED), "other-domain")


def _demonstration(case: Case) -> Demonstration:
    example = case.example
    return Demonstration(
        question=example.question,
        masked=case.masked,
        route=example.route,
        table=example.get("table"),
        schema=case.database.catalog.fingerprint,
        sql=example.get("sql"),
        condition=example.get("filter_sql"),
    )


DOUBT = 0.4
"""Trust below which a sketch is not run. A little under even odds: a flagged answer shows its SQL."""


class FitThresholds(Teleprompter):
    """Chooses the confidences above which the learned tier answers, on held-out predictions.

    `wrong` is the share of sql questions that may be answered wrongly, `right` the share of those answered without
    a flag that must be right; `route_precision` the accuracy asked of the routes that are not handed to a model.
    `trusted` is what FitSketch held out and `routed` what FitRouter did, where they have just run.
    """

    def __init__(
        self,
        seed: int = 0,
        wrong: float = 0.05,
        right: float = 0.9,
        route_precision: float = 0.97,
        trusted: Sequence[tuple[float, bool]] | None = None,
        routed: Sequence[tuple[float, bool]] | None = None,
    ) -> None:
        super().__init__()
        self.routed = routed
        self.trusted = trusted
        self.seed = seed
        self.wrong = wrong
        self.right = right
        self.route_precision = route_precision

    def compile(
        self, student: SqlRag, *, trainset: Sequence[dspy.Example], teacher: Any = None, valset: Any = None
    ) -> SqlRag:
        """The student with its thresholds set."""
        cases = cases_of(student, trainset)
        student.thresholds.route = self._route(student, cases)
        trusted = self.trusted
        if trusted is None:
            trusted = held_out_trust(FitSketch(self.seed).held_out(student, trainset), self.seed)
        beyond = sum(1 for case in cases if case.example.route == "sql") - len(trusted)
        student.thresholds.sql = lowest(trusted, self.wrong, len(trusted) + max(beyond, 0), self.right)
        student.thresholds.doubt = min(DOUBT, student.thresholds.sql)
        student.thresholds.filters = 0.8
        return student

    def _route(self, student: SqlRag, cases: Sequence[Case]) -> float:
        found = self.routed
        if found is None:
            routes = [case.example.route for case in cases]
            scores = FitRouter(self.seed).held_out(cases)["full"]
            names = sorted(set(routes))
            right = [names.index(route) for route in routes]
            found = routed(scores, right, student.router.full.temperature)
        for threshold in np.arange(0.3, 0.99, 0.01):
            kept = [ok for confidence, ok in found if confidence >= threshold]
            if kept and sum(kept) / len(kept) >= self.route_precision:
                return float(round(threshold, 2))
        return 0.99


def lowest(trusted: Sequence[tuple[float, bool]], wrong: float, total: int, right: float = 0.0) -> float:
    """The lowest confidence at which at most `wrong` of `total` questions are answered wrongly, and at least `right`
    of those that are answered are answered rightly."""
    for threshold in np.arange(0.05, 1.0, 0.01):
        answered = [is_right for confidence, is_right in trusted if confidence >= threshold]
        mistakes = len(answered) - sum(answered)
        if mistakes <= min(wrong * total, (1 - right) * len(answered)):
            return float(round(threshold, 2))
    return 1.0
