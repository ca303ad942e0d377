"""Labelled queries to a compiled program, and its scores: for research and for retraining offline.

from sqlrag_dspy import learn
examples = learn.labels.load("trainsets/articles", split="train")
program = learn.FitRouter(seed=0).compile(rag.program, trainset=examples)
"""

from __future__ import annotations

from typing import Any

__all__ = [
    *("FitDepth", "FitRouter", "FitSketch", "FitThresholds"),
    *("databases", "evaluate", "gold", "labels", "metrics"),
]

_CLASSES = {"FitDepth": "fit_depth", "FitRouter": "fit", "FitSketch": "fit_sketch", "FitThresholds": "fit"}


def __getattr__(name: str) -> Any:
    """Loads a module or teleprompter on first use (scikit-learn comes with the latter)."""
    from importlib import import_module

    if name in _CLASSES:
        return getattr(import_module(f"sqlrag_dspy.learn.{_CLASSES[name]}"), name)
    if name in __all__:
        return import_module(f"sqlrag_dspy.learn.{name}")
    raise AttributeError(f"module 'sqlrag_dspy.learn' has no attribute {name!r}")
