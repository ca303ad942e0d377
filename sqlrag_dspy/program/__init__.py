"""The DSPy program: route, evidence, answer. Read rag.py first.

Public names are loaded on first use: a database can be opened without importing DSPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrag_dspy.program.artifact import Card, load
    from sqlrag_dspy.program.database import Database, open_database
    from sqlrag_dspy.program.rag import SqlRag
    from sqlrag_dspy.program.result import Answer

_HOMES = {
    "Answer": "result",
    "Card": "artifact",
    "Database": "database",
    "SqlRag": "rag",
    "load": "artifact",
    "open_database": "database",
}

__all__ = ["Answer", "Card", "Database", "SqlRag", "load", "open_database"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
