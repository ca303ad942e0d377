"""Words within a few typing errors of a given word, found through an inverted index of their pieces.

A word with d errors must contain at least one of d + 1 pieces of the right word unharmed, near its place;
so a look-up touches the few words that share a piece, however many there are (the Pass-Join filter).
Swapped neighbours count as one error. Leaves out meaning, sound and frequency.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz.distance import OSA

MOST_ERRORS = 3


def allowed_errors(length: int) -> int:
    """How many typing errors a word of that many letters may have and still be recognised."""
    return 0 if length < 5 else 1 if length < 8 else 2 if length < 14 else MOST_ERRORS


class Nearby:
    """Folded words without spaces, to be found again when misspelt.

    >>> Nearby(["dooley", "whitlock"]).find("wihtlock")
    [('whitlock', 1)]
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._pieces: dict[tuple[int, int, str], list[str]] = defaultdict(list)
        self._lengths: set[int] = set()
        for word in dict.fromkeys(entries):
            errors = allowed_errors(len(word))
            if not errors:
                continue
            self._lengths.add(len(word))
            for number, (start, end) in enumerate(_cut(len(word), errors)):
                self._pieces[len(word), number, word[start:end]].append(word)

    def find(self, word: str) -> list[tuple[str, int]]:
        """Entries within their allowed errors of the word (itself left out), nearest first, then by name."""
        if len(word) < 4:
            return []
        candidates: set[str] = set()
        for length in range(len(word) - MOST_ERRORS, len(word) + MOST_ERRORS + 1):
            errors = allowed_errors(length)
            if length not in self._lengths or abs(length - len(word)) > errors:
                continue
            for number, (start, end) in enumerate(_cut(length, errors)):
                shift = abs(length - len(word)) if errors == 1 else errors
                for place in range(max(0, start - shift), min(len(word) - (end - start), start + shift) + 1):
                    piece = word[place : place + end - start]
                    found = self._pieces.get((length, number, piece))
                    if found:
                        candidates.update(found)
        for place in range(len(word) - 1):  # a swap across the cut of a one-error word harms both pieces
            swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
            if (len(swapped), 0, swapped[: len(swapped) // 2]) in self._pieces:
                candidates.update(self._pieces[len(swapped), 0, swapped[: len(swapped) // 2]])
        near = []
        for candidate in candidates:
            most = allowed_errors(len(candidate))
            distance = OSA.distance(word, candidate, score_cutoff=most)
            if 0 < distance <= most:
                near.append((candidate, distance))
        return sorted(near, key=lambda pair: (pair[1], pair[0]))


def _cut(length: int, errors: int) -> list[tuple[int, int]]:
    """The spans of errors + 1 pieces of nearly equal length."""
    size, rest = divmod(length, errors + 1)
    spans, start = [], 0
    for number in range(errors + 1):
        end = start + size + (number > errors - rest)
        spans.append((start, end))
        start = end
    return spans
