"""Delexicalised questions to numbers: n-gram terms, a fitted vocabulary, and linear heads over it.

Inference only, in NumPy; fitting lives in `learn`. State is JSON with weights as base64, so that
loading a compiled program runs no code and needs no scikit-learn.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.types import Links

Floats = NDArray[np.float32]

_TOKEN = re.compile(r"<[^<> ]+>|\w+|[^\w\s]")
UNKNOWN = "~"
"""Stands for a run of words that no labelled query of two databases shares: most often, a topic."""


def tokens(masked: str) -> list[str]:
    """Typed tokens, words and punctuation of a masked question, in order."""
    return _TOKEN.findall(masked.lower() if "<" not in masked else masked)


def is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def abstract(words: Sequence[str], known: frozenset[str]) -> list[str]:
    """The same tokens with every run of unknown words replaced by one `~`."""
    out: list[str] = []
    for word in words:
        token = word if not is_word(word) or word in known else UNKNOWN
        if token != UNKNOWN or not out or out[-1] != UNKNOWN:
            out.append(token)
    return out


def unknown_words(masked: str, known: frozenset[str]) -> int:
    """How many words of the masked question are outside the shared vocabulary."""
    return sum(1 for token in tokens(masked) if is_word(token) and token not in known)


def terms(masked: str, known: frozenset[str]) -> Counter[str]:
    """Counted features of a masked question, in three blocks.

    Word 1- to 3-grams over typed tokens and known words; character 3- to 5-grams inside words ("c:…": they
    carry inflection, compounds and typing errors); and its outline ("#…": which kinds of link it holds, how
    many unknown words, how long it is).
    """
    raw = tokens(masked)
    counted: Counter[str] = Counter()
    sequence = ["^", *abstract(raw, known), "$"]
    for size in (1, 2, 3):
        for start in range(len(sequence) - size + 1):
            counted[" ".join(sequence[start : start + size])] += 1
    for word in raw:
        if is_word(word):
            padded = f"_{word}_"
            for size in (3, 4, 5):
                for start in range(len(padded) - size + 1):
                    counted["c:" + padded[start : start + size]] += 1
    typed = [token for token in raw if token.startswith("<")]
    unknown = sum(1 for token in raw if is_word(token) and token not in known)
    counted[f"#unknown={min(unknown, 6)}"] += 1
    counted[f"#length={min(len(raw) // 3, 8)}"] += 1
    counted[f"#first={raw[0] if raw else ''}"] += 1
    for token in typed:
        counted[f"#{token}"] += 1
        counted[f"#{token.strip('<>').partition(':')[0]}"] += 1
    counted["#kinds=" + " ".join(sorted({token.strip("<>").partition(":")[0] for token in typed}))] += 1
    return counted


def ending_terms(links: Links, masked: str) -> Counter[str]:
    """How the linked names end, since a plural asks for more than one ("#…", with the outline)."""
    typed = [token for token in tokens(masked) if token.startswith("<")]
    return Counter(
        f"#{token}~{link.text[-2:].lower()}"
        for token, link in zip(typed, links.chosen)
        if link.kind in ("table", "column", "part")
    )


def block_of(term: str) -> int:
    """The block a term belongs to: 0 words, 1 characters, 2 outline."""
    return 1 if term.startswith("c:") else 2 if term.startswith("#") else 0


SINGLE, HALF = "<f4", "<f2"
"""How numbers are written: in four bytes, or in two where they lose nothing by it."""


def pack(values: NDArray[Any], size: str = SINGLE) -> str:
    """An array as base64 of its bytes, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=size).tobytes()).decode("ascii")


def unpack(text: str, *shape: int, size: str = SINGLE) -> Floats:
    """The array that `pack` wrote. Raises ValueError when the number of values does not fit `shape`."""
    if size not in (SINGLE, HALF):
        raise ValueError(f"numbers are written as {SINGLE} or {HALF}, not as {size!r}")
    flat = np.frombuffer(base64.b64decode(text), dtype=size).astype(np.float32)
    return flat.reshape(shape)


def halved(values: NDArray[Any]) -> Floats:
    """The nearest values that two bytes hold, three to four digits of each; infinity where they hold none so large."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


@dataclass
class Vocabulary:
    """Term to column, with inverse document frequencies; `known` are the words kept when abstracting.

    Every block of terms is scaled to unit length by itself, so that none drowns another.
    """

    index: dict[str, int] = field(default_factory=dict)
    idf: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._blocks = np.fromiter((block_of(term) for term in self.index), np.int64, len(self.index))

    def vector(self, counted: Mapping[str, int]) -> tuple[NDArray[np.int64], Floats]:
        """Columns and their sublinear tf-idf values, of unit length in every block."""
        # In one order, whichever the terms were counted in: sums of floats depend on it, and so would what is fitted.
        found = sorted((self.index[term], n) for term, n in counted.items() if term in self.index)
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        columns = np.fromiter((c for c, _ in found), np.int64, len(found))
        counts = np.fromiter((1 + math.log(n) for _, n in found), np.float32, len(found))
        values = counts * self.idf[columns]
        blocks = self._blocks[columns]
        lengths = np.sqrt(np.bincount(blocks, weights=values**2, minlength=3)).astype(np.float32)
        return columns, (values / np.maximum(lengths, 1e-9)[blocks]).astype(np.float32)

    def dump(self) -> dict[str, Any]:
        return {"terms": list(self.index), "idf": pack(self.idf), "known": sorted(self.known)}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Vocabulary:
        index = {term: column for column, term in enumerate(state["terms"])}
        return cls(index, unpack(state["idf"], len(index)), frozenset(state["known"]))


@dataclass
class Head:
    """A multinomial linear classifier: `weights` is (classes, features), `bias` (classes,)."""

    classes: tuple[str, ...] = ()
    weights: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    bias: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    temperature: float = 1.0
    """Scores are divided by it before the softmax; chosen at compile time so that confidence is honest."""

    def scores(self, columns: NDArray[np.int64], values: Floats, dense: Floats | None = None) -> Floats:
        """Raw scores, (classes,), of one sparse vector; `dense` features follow the sparse ones."""
        width = self.weights.shape[1] - (0 if dense is None else dense.shape[0])
        total = self.weights[:, :width][:, columns] @ values + self.bias
        if dense is not None:
            total = total + self.weights[:, width:] @ dense
        return np.asarray(total, dtype=np.float32)

    def probabilities(
        self, columns: NDArray[np.int64], values: Floats, dense: Floats | None = None
    ) -> dict[str, float]:
        """Class to calibrated probability."""
        scaled = self.scores(columns, values, dense) / self.temperature
        exponents = np.exp(scaled - scaled.max())
        shares = exponents / exponents.sum()
        return dict(zip(self.classes, (float(share) for share in shares)))

    def dump(self) -> dict[str, Any]:
        """JSON; where most features weigh nothing, only the others are written, with their places."""
        size = HALF if np.array_equal(self.weights, halved(self.weights)) else SINGLE
        state: dict[str, Any] = {
            "classes": list(self.classes),
            "weights": pack(self.weights, size),
            "size": size,
            "bias": pack(self.bias),
            "temperature": self.temperature,
        }
        weighing = np.flatnonzero(np.abs(self.weights).max(axis=0)) if self.weights.size else np.zeros(0, int)
        width = self.weights.shape[1]
        if 2 * len(weighing) < width:
            state["weights"] = pack(self.weights[:, weighing], size)
            state["columns"], state["width"] = [int(n) for n in weighing], width
        return state

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Head:
        classes = tuple(state["classes"])
        bias = unpack(state["bias"], len(classes))
        weights = np.zeros((0, 0), np.float32)
        if classes:
            weights = unpack(state["weights"], len(classes), -1, size=str(state.get("size", SINGLE)))
        if "columns" in state:
            whole = np.zeros((len(classes), int(state["width"])), np.float32)
            whole[:, state["columns"]] = weights
            weights = whole
        return cls(classes, weights, bias, float(state["temperature"]))


def best(probabilities: Mapping[str, float], among: Iterable[str] | None = None) -> tuple[str, float]:
    """The likeliest class and its probability, within `among` when given."""
    pool = probabilities if among is None else {k: probabilities.get(k, 0.0) for k in among}
    winner = max(pool, key=lambda name: pool[name])
    return winner, pool[winner]
