"""Pure metrics: they score routes, rows and keys, never SQL text. Floats; bools while DSPy traces."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import dspy


def route(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
    """1.0 when the route is the label's or one that is as good."""
    if getattr(prediction, "needs_model", False):
        return False if trace is not None else 0.0
    right = prediction.route == example.route or prediction.route in (example.get("also_ok") or [])
    return right if trace is not None else float(right)


def plain(value: Any) -> Any:
    """A value reduced for comparison: numbers rounded to 4 significant decimals, numeric text as numbers."""
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        if math.isnan(value):
            return None
        return float(f"{value:.6g}")
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text.removesuffix(" 00:00:00")
    return float(f"{number:.6g}") if math.isfinite(number) else text


def rows_match(gold: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]], *, is_ordered: bool) -> bool:
    """Whether a result holds the gold rows: the same number of rows, and every gold column in some column.

    The order of rows counts only when the gold query orders them; the order of columns never does. Further
    columns are tolerated, further rows are not.
    """
    if len(gold) != len(found):
        return False
    if not gold:
        return True
    wide, narrow = len(found[0]), len(gold[0])
    if wide < narrow or wide > narrow + 4:
        return False
    want = [tuple(plain(v) for v in row) for row in gold]
    have = [tuple(plain(v) for v in row) for row in found]
    candidates = []
    for column in range(narrow):
        values = Counter(row[column] for row in want)
        candidates.append([c for c in range(wide) if Counter(row[c] for row in have) == values])
    if any(not options for options in candidates):
        return False
    return _fits(want, have, candidates, (), is_ordered)


def _fits(
    want: Sequence[tuple[Any, ...]],
    have: Sequence[tuple[Any, ...]],
    candidates: Sequence[Sequence[int]],
    chosen: tuple[int, ...],
    is_ordered: bool,
) -> bool:
    """Whether the columns `chosen` for the first gold columns can be completed; wrong beginnings end early."""
    size = len(chosen)
    picked = [tuple(row[c] for c in chosen) for row in have]
    begun = [row[:size] for row in want]
    if picked != begun if is_ordered else Counter(picked) != Counter(begun):
        return False
    if size == len(candidates):
        return True
    return any(
        _fits(want, have, candidates, (*chosen, column), is_ordered)
        for column in candidates[size]
        if column not in chosen
    )


def recall_at(keys: Collection[Any], found: Sequence[Any], k: int) -> float:
    """Share of the gold keys among the first `k` found; normalised, so that k is no ceiling."""
    if not keys:
        return 1.0
    gold = {key_plain(key) for key in keys}
    hit = gold & {key_plain(key) for key in found[:k]}
    return len(hit) / min(len(gold), k)


def reciprocal_rank(keys: Collection[Any], found: Sequence[Any]) -> float:
    """1 / rank of the first gold key, 0 when none is found."""
    gold = {key_plain(key) for key in keys}
    return next((1 / rank for rank, key in enumerate(found, 1) if key_plain(key) in gold), 0.0)


def key_plain(key: Any) -> Any:
    """A key reduced for comparison; lists and tuples alike."""
    return tuple(plain(part) for part in key) if isinstance(key, (list, tuple)) else plain(key)
