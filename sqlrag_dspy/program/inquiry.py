"""One question on its way to an answer: its database, its links, its trace and its bill."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import dspy

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.encoder import ENCODER, LONGEST, embedding, encoded, multilingual
from sqlrag_dspy.program.features import Floats
from sqlrag_dspy.program.nearness import nearness
from sqlrag_dspy.program.result import Depth, Step, Usage
from sqlrag_dspy.program.router import Sense
from sqlrag_dspy.types import Links

Listener = Callable[[Step], None]
BILLED = ("lm_calls", "cached_calls", "tokens_in", "tokens_out", "cost_usd")


def whole(text: str) -> str:
    """The text with "?" for each half of a surrogate pair: text to Python, but nothing can encode it."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Meter(dspy.Module):
    """Collects the LM calls made while it stands among DSPy's calling modules (a history of its own)."""

    @contextmanager
    def running(self) -> Iterator[None]:
        callers = [*(dspy.settings.caller_modules or []), self]
        with dspy.context(caller_modules=callers):
            yield

    def usage(self, since: int = 0) -> Usage:
        """What the calls after the first `since` cost."""
        total = Usage()
        for entry in self.history[since:]:
            if _is_cached(entry):
                total.cached_calls += 1
                continue
            used = entry.get("usage") or {}
            total.lm_calls += 1
            total.tokens_in += int(used.get("prompt_tokens") or used.get("input_tokens") or 0)
            total.tokens_out += int(used.get("completion_tokens") or used.get("output_tokens") or 0)
            total.cost_usd += _cost(entry, used)
        return total


def _is_cached(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of DSPy's history came from its cache.

    DSPy marks the replies of some engines; of the others it keeps the token counts and empties the bill.
    """
    response = entry.get("response")
    if isinstance(response, (list, tuple)):
        response = response[0] if response else None
    if getattr(response, "cache_hit", False):
        return True
    counted = getattr(response, "usage", None)
    counts = (getattr(counted, name, None) for name in ("input_tokens", "output_tokens", "total_tokens"))
    return not entry.get("usage") and any(count is not None for count in counts)


def _cost(entry: Mapping[str, Any], used: Mapping[str, Any]) -> float:
    """US dollars of one call; DSPy prices its own engines, and the lm room the others."""
    if (cost := entry.get("cost")) is None:
        from sqlrag_dspy.lm import cost_usd

        cost = cost_usd(str(entry.get("model") or ""), used)
    return float(cost or 0.0)


class Inquiry:
    """The state of one question; `step` times and records what is done for it.

    Raises SqlRagError for a question that is empty or no text.
    """

    def __init__(self, question: str, database: Database, listener: Listener | None = None) -> None:
        if not isinstance(question, str):
            raise SqlRagError(f"the question is a {type(question).__name__}; ask it as text")
        if not question.strip():
            raise SqlRagError("the question is empty; ask something")
        self.question = whole(question)
        self.database = database
        self.steps: list[Step] = []
        self.warnings: list[str] = []
        self.assumptions: list[str] = []
        self.attempts = 0
        self.depth: Depth | None = None
        self.flagged = False
        self.failure_source: str | None = None
        self.has_lost_model = self.has_lost_small = False
        """Whether the model, or the small one, failed in a way that no second call can mend."""
        self.meter = Meter()
        self._listener = listener
        self._meant: dict[str, Floats] = {}
        self._overdrawn = False
        self._started = time.perf_counter()

    @cached_property
    def links(self) -> Links:
        """The question's links to the database."""
        with self.step("link", self.question) as step:
            found = self.database.link(self.question)
            step.output = "; ".join(describe_link(link) for link in found.chosen) or "nothing"
        return found

    @cached_property
    def masked(self) -> str:
        """The delexicalised question, with typed tokens."""
        from sqlrag_dspy.link import mask

        return mask(self.links)

    @cached_property
    def sense(self) -> Sense:
        """What the encoder makes of the question, for the learned heads."""
        readings = readings_of(self.links)
        vectors = encoded(multilingual, readings)
        self._meant = {text: vector for text, vector in zip(readings, vectors) if 0 < len(text) <= LONGEST}
        return sense_from(readings, vectors, self.database)

    def meant(self, text: str) -> dict[str, Floats]:
        """The text's unit vectors by the encoder's name, where the route was decided by them; else nothing."""
        vector = self._meant.get(text)
        return {} if vector is None else {ENCODER: vector}

    def likely_tables(self) -> tuple[str, ...]:
        """The tables that the question may need, the likeliest first, out of however many there are."""
        return self.database.schema_index.relevant([self.question])

    @contextmanager
    def step(self, name: str, given: Any = None) -> Iterator[Step]:
        """Records one step: time, LM calls, and the error if it raises (which it passes on).

        Calls of steps inside it are on their bills, not on its own.
        """
        record = Step(name=name, input=None if given is None else str(given)[:4000])
        calls, inner = len(self.meter.history), len(self.steps)
        start = time.perf_counter()
        try:
            yield record
        except Exception as error:
            record.error = f"{type(error).__name__}: {error}"[:1000]
            raise
        finally:
            for text in ("input", "output", "error"):
                if (said := getattr(record, text)) is not None:
                    setattr(record, text, whole(said))
            record.seconds = round(time.perf_counter() - start, 6)
            spent = self.meter.usage(calls)
            for name in BILLED:
                already = sum(getattr(each, name) for each in self.steps[inner:])
                setattr(record, name, getattr(spent, name) - already)
            self.steps.append(record)
            if self._listener is not None:
                self._listener(record)

    def hop(self, question: str) -> Inquiry:
        """A further question for the same answer: links of its own; the same trace, warnings and bill."""
        other = copy.copy(self)
        other.question = whole(question) or self.question
        for name in ("links", "masked", "sense"):
            other.__dict__.pop(name, None)
        return other

    def join(self, other: Inquiry) -> None:
        """Takes over what a hop came to."""
        carried = ("attempts", "flagged", "failure_source", "has_lost_model", "has_lost_small", "_overdrawn")
        for name in carried:
            setattr(self, name, getattr(other, name))

    def fail(self, source: str, warning: str) -> None:
        """Notes that a stage failed and the answer is second best."""
        self.flagged = True
        self.failure_source = self.failure_source or source
        self.warnings.append(whole(warning))

    def is_overdrawn(self) -> bool:
        """Whether a limit of [budget] is reached; the first time, the answer is flagged with which.

        Looked at before every call: one that is under way is not cut short.
        """
        if self._overdrawn:
            return True
        if (spent := self.database.settings.budget.overdrawn(self.usage())) is None:
            return False
        self._overdrawn = True
        self.fail("budget", f"the budget of the question is spent ({spent}); this is the best so far")
        return True

    def usage(self) -> Usage:
        """The bill so far."""
        total = self.meter.usage()
        total.seconds = round(time.perf_counter() - self._started, 6)
        return total


def sense_of(links: Links, database: Database) -> Sense:
    """A question's meaning, and how near it is to what its database holds."""
    readings = readings_of(links)
    return sense_from(readings, encoded(multilingual, readings), database)


def sense_from(readings: Sequence[str], vectors: Floats, database: Database) -> Sense:
    """The same from a question's readings and their unit vectors."""
    # The reading with kinds for names is near to nothing in particular.
    return Sense(embedding(vectors), nearness(database, readings[1:], vectors[1:]))


def readings_of(links: Links) -> tuple[str, ...]:
    """The question with its links spelt as kinds, the question itself, and what no link explains."""
    from sqlrag_dspy.link import mask_words

    return mask_words(links), links.question, without(links, range(len(links.chosen)))


def without(links: Links, numbers: Iterable[int]) -> str:
    """The question without the stretches of the links of those numbers."""
    text, position = "", 0
    for number in sorted(numbers):
        link = links.chosen[number]
        text += links.question[position : link.start] + " "
        position = link.end
    return " ".join((text + links.question[position:]).split())


def describe_link(link: Any) -> str:
    """One link in a line, for traces and prompts."""
    where = ".".join(part for part in (link.table, link.column) if part)
    if link.kind == "date":
        return f"'{link.text}' -> dates {link.value or '…'} to before {link.upper or '…'}" + (
            f" ({where})" if where else ""
        )
    where = f"days from {link.since} to {where}" if link.since else where
    if link.kind == "number":
        if link.op == "nth":
            return f"'{link.text}' -> number {link.value} of an order"
        value = "the average" if link.grain == "average" else link.value
        bound = f"{link.op or '='} {value}" + (f" and {link.upper}" if link.upper is not None else "")
        return f"'{link.text}' -> {where or 'a number'} {bound}"
    if link.kind == "value" and link.concept == "state":
        return f"'{link.text}' -> {where} is {link.op}"
    if link.kind == "value":
        return f"'{link.text}' -> {where} {link.op or '='} {link.value!r}"
    if link.kind == "part":
        return f"'{link.text}' -> {link.grain} of {where}"
    return f"'{link.text}' -> {link.kind} {where}"
