"""Questions in plain language, answered from the SQL database that you already have.

    import sqlrag_dspy
    rag = sqlrag_dspy.load("articles", source="sqlite:///articles.db")
    rag.ask("technology articles about crypto in 2023")

Importing this package is fast: DSPy, DuckDB and FAISS load with the first program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlrag_dspy.errors import Cancelled, SqlRagError

if TYPE_CHECKING:
    from sqlrag_dspy.learn.labels import Label
    from sqlrag_dspy.program import Answer, SqlRag, load
    from sqlrag_dspy.source import Cancellation

__version__ = "0.1.0"
__all__ = ["Answer", "Cancellation", "Cancelled", "Label", "SqlRag", "SqlRagError", "__version__", "load"]

_LAZY = {
    "load": "sqlrag_dspy.program",
    "SqlRag": "sqlrag_dspy.program",
    "Answer": "sqlrag_dspy.program",
    "Cancellation": "sqlrag_dspy.source",
    "Label": "sqlrag_dspy.learn.labels",
}


def __getattr__(name: str) -> Any:
    """Loads the public names on first use."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'sqlrag_dspy' has no attribute {name!r}")
