"""Fitting linear heads: vocabulary, design matrix, logistic regression, temperature, folds.

Inference is `program.features`; this is the home of scikit-learn.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.program.features import Head, Vocabulary, halved, is_word, tokens

FOLDS = 5


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
    model = LogisticRegression(C=strength, max_iter=300, tol=1e-3, random_state=seed)
    model.fit(features, list(classes), sample_weight=weights)
    coefficients, bias = model.coef_, model.intercept_
    if len(names) == 2:  # scikit-learn keeps one row for two classes
        coefficients, bias = np.vstack([-coefficients, coefficients]) / 2, np.array([-bias[0], bias[0]]) / 2
    return Head(
        tuple(str(name) for name in model.classes_),
        halved(coefficients),  # a program is half as large for it
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


def prune(vocabulary: Vocabulary, heads: Sequence[Head], most: int) -> Vocabulary:
    """The vocabulary with the `most` terms that any head weighs most; the heads lose the other columns."""
    size = len(vocabulary.index)
    if size <= most:
        return vocabulary
    weight = np.zeros(size)
    for head in heads:
        weight = np.maximum(weight, np.abs(head.weights[:, :size]).max(axis=0) * vocabulary.idf)
    kept = np.sort(np.argsort(-weight)[:most])
    for head in heads:
        head.weights = np.ascontiguousarray(np.hstack([head.weights[:, kept], head.weights[:, size:]]))
    names = list(vocabulary.index)
    index = {names[old]: new for new, old in enumerate(kept)}
    return Vocabulary(index, vocabulary.idf[kept], vocabulary.known)


def sparsen(head: Head, idf: NDArray[Any], most: int) -> Head:
    """The head with the weights of the `most` terms that weigh most; the others weigh nothing."""
    weight = np.abs(head.weights).max(axis=0) * idf
    if len(weight) > most:
        head.weights[:, np.argsort(-weight)[most:]] = 0.0
    return head
