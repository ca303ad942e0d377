"""The LM tier, compiled by DSPy's own optimizers with the confidence gate closed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

import dspy

from sqlrag_dspy.errors import LmError, SqlRagError
from sqlrag_dspy.learn import gold, metrics
from sqlrag_dspy.learn.databases import path_of
from sqlrag_dspy.program import SqlRag
from sqlrag_dspy.program.engine import Engine

OPTIMIZERS = ("bootstrap", "random-search")
HOPELESS = 3
"""Calls of which none was answered, after which a model is given up."""


def right(program: SqlRag) -> Callable[..., Any]:
    """The metric of a whole answer: the route, then the gold rows or a gold document.

    A float; a bool while DSPy traces, and then False as well for an answer that needed repair or fell back
    to the learned tier, so that no failed attempt becomes a demonstration.
    """

    def metric(example: dspy.Example, prediction: Any, trace: Any = None) -> Any:
        good = metrics.route(example, prediction) == 1.0
        if good and example.route == "sql":
            database = program.bound(example.database)
            expected = gold.rows(example.gold, path_of(database))
            ordered = gold.is_ordered(example.sql)
            good = metrics.rows_match(expected, prediction.rows, is_ordered=ordered)
        elif good and example.route in ("vector", "hybrid"):
            found = [document["key"] for document in prediction.documents]
            good = metrics.recall_at(example.get("keys") or [], found, 5) >= 0.5
        if trace is not None:
            return bool(good and prediction.attempts <= 1 and not prediction.flagged)
        return float(good)

    return metric


def check_optimizer(name: str) -> None:
    """Raises SqlRagError for an optimizer that is none of OPTIMIZERS."""
    if name not in OPTIMIZERS:
        raise SqlRagError(f"no optimizer {name!r}; choose one of {', '.join(OPTIMIZERS)}")


class _Budget(dspy.utils.callback.BaseCallback):
    """Calls and minutes of a compilation: once they are spent, the engine has no model and nothing is called.

    They are spent on a model that never answers, too.
    """

    def __init__(self, budget: Mapping[str, float], engine: Engine) -> None:
        self.calls = budget.get("calls", float("inf"))
        self.until = time.monotonic() + 60 * budget.get("minutes", float("inf"))
        self.engine = engine
        self.used = 0
        self.failed = 0
        self.failure: Exception | None = None

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.used += 1

    def on_lm_end(
        self, call_id: str, outputs: dict[str, Any] | None, exception: Exception | None = None
    ) -> None:
        if exception is not None:
            self.failed += 1
            self.failure = exception
        if self.is_spent:
            self.engine.lm = None

    @property
    def is_spent(self) -> bool:
        if self.used >= self.calls or time.monotonic() >= self.until:
            return True
        return self.is_broken and self.failed >= HOPELESS

    @property
    def is_broken(self) -> bool:
        """Whether the model was called and never answered."""
        return 0 < self.used == self.failed

    def fail(self) -> None:
        """Raises LmError with the last failure."""
        from sqlrag_dspy.lm import explain

        failure = self.failure or RuntimeError("no answer")
        raise explain(failure) from failure


class _Affordable(list[dspy.Example]):
    """Examples that end, for whoever walks over them, when the budget is spent; the first is always there."""

    def __init__(self, examples: Iterable[dspy.Example], spending: _Budget) -> None:
        super().__init__(examples)
        self.spending = spending

    def __iter__(self) -> Iterator[dspy.Example]:
        for number, example in enumerate(super().__iter__()):
            if number and self.spending.is_spent:
                return
            yield example


def optimize(
    program: SqlRag,
    examples: Sequence[dspy.Example],
    lm: Any,
    *,
    optimizer: str = "bootstrap",
    budget: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SqlRag:
    """The program with its LM predictors compiled on `examples`; its learned parameters are as they were.

    Raises LmError when the model cannot be used at all, SqlRagError for an unknown optimizer.
    """
    check_optimizer(optimizer)
    engine = program.engine.lm
    spending = _Budget(budget or {}, program.engine)
    whole = right(program)

    def metric(example: dspy.Example, prediction: Any, trace: Any = None) -> Any:
        if spending.is_spent:
            program.engine.lm = None
            return False if trace is not None else 0.0
        return whole(example, prediction, trace)

    most = len(examples)
    if spending.calls != float("inf"):  # a question costs about three calls
        most = max(1, int(spending.calls // 3))
    affordable = _Affordable(examples[:most], spending)
    program.gate_open = False
    program.engine.lm = "dspy"
    try:
        callbacks = [*(dspy.settings.callbacks or []), spending]
        # DSPy's optimizers print what they do; standard output belongs to the caller.
        with redirect_stdout(sys.stderr), dspy.context(lm=lm, callbacks=callbacks):
            if optimizer == "bootstrap":
                compiler: Any = dspy.BootstrapFewShot(
                    metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0, max_rounds=1
                )
                compiled = compiler.compile(program, trainset=affordable)
            else:
                compiler = dspy.BootstrapFewShotWithRandomSearch(
                    metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0, num_candidate_programs=4
                )
                compiled = compiler.compile(program, trainset=affordable, valset=list(examples[:most]))
        if spending.is_broken:
            spending.fail()
    except SqlRagError:
        raise
    except Exception as error:
        if spending.is_broken:
            spending.fail()
        first = (str(error).strip().splitlines() or [""])[0]
        raise LmError(f"the optimizer {optimizer} stopped: {type(error).__name__}: {first}") from error
    finally:
        program.engine.lm = engine
        program.gate_open = True
    # An optimizer marks what it compiled; a marked part vanishes from its parent's saved state.
    compiled._compiled = False
    compiled.__dict__.pop("candidate_programs", None)  # every candidate, weights and all
    compiled.gate_open = True
    return compiled  # type: ignore[no-any-return]
