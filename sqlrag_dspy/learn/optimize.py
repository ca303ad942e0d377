"""The LM tier, compiled by DSPy's own optimizers with the confidence gate closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from sqlrag_dspy.errors import LmError, SqlRagError
from sqlrag_dspy.learn import gold, metrics
from sqlrag_dspy.learn.databases import path_of
from sqlrag_dspy.program import SqlRag

OPTIMIZERS = ("bootstrap", "random-search")


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
            ordered = "order by" in example.sql.casefold()
            good = metrics.rows_match(expected, prediction.rows, is_ordered=ordered)
        elif good and example.route in ("vector", "hybrid"):
            found = [document["key"] for document in prediction.documents]
            good = metrics.recall_at(example.get("keys") or [], found, 5) >= 0.5
        if trace is not None:
            return bool(good and prediction.attempts <= 1 and not prediction.flagged)
        return float(good)

    return metric


class _Budget(dspy.utils.callback.BaseCallback):
    """Stops a compilation that has used up its calls or minutes."""

    def __init__(self, budget: Mapping[str, float]) -> None:
        self.calls = budget.get("calls", float("inf"))
        self.until = time.monotonic() + 60 * budget.get("minutes", float("inf"))
        self.used = 0

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.used += 1

    @property
    def is_spent(self) -> bool:
        return self.used >= self.calls or time.monotonic() >= self.until


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
    if optimizer not in OPTIMIZERS:
        raise SqlRagError(f"no optimizer {optimizer!r}; choose one of {', '.join(OPTIMIZERS)}")
    spending = _Budget(budget or {})
    whole = right(program)

    def metric(example: dspy.Example, prediction: Any, trace: Any = None) -> Any:
        if spending.is_spent:
            return False if trace is not None else 0.0
        return whole(example, prediction, trace)

    affordable = list(examples)
    if spending.calls != float("inf"):  # a question costs about three calls
        affordable = affordable[: max(1, int(spending.calls // 3))]
    program.gate_open = False
    engine, program.engine.lm = program.engine.lm, "dspy"
    try:
        with dspy.context(lm=lm, callbacks=[*(dspy.settings.callbacks or []), spending]):
            if optimizer == "bootstrap":
                compiler: Any = dspy.BootstrapFewShot(
                    metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0, max_rounds=1
                )
                compiled = compiler.compile(program, trainset=affordable)
            else:
                compiler = dspy.BootstrapFewShotWithRandomSearch(
                    metric=metric, max_bootstrapped_demos=4, max_labeled_demos=0, num_candidate_programs=4
                )
                compiled = compiler.compile(program, trainset=affordable)
    except SqlRagError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise LmError(f"the optimizer {optimizer} stopped: {type(error).__name__}: {first}") from error
    finally:
        program.engine.lm = engine
        program.gate_open = True
    # An optimizer marks what it compiled; a marked part vanishes from its parent's saved state.
    compiled._compiled = False
    compiled.gate_open = True
    return compiled  # type: ignore[no-any-return]
