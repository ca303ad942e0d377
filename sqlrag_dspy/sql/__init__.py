"""SQL as values: checked before it runs, repaired for DuckDB, written from sketches, read into them, explained.

The only room that imports sqlglot. It runs nothing: whoever needs rows passes a function in. Public names are
loaded on first use, since the grammar takes a tenth of a second to import; their files have other names than
they, or Python would put the file in the function's place.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrag_dspy.sql.checking.statement import check
    from sqlrag_dspy.sql.linting import lint, misspelt, notices
    from sqlrag_dspy.sql.mending.grounding import ground
    from sqlrag_dspy.sql.mending.names import mend
    from sqlrag_dspy.sql.reading.queries import read
    from sqlrag_dspy.sql.row_conditions import parameters, row_condition, writer
    from sqlrag_dspy.sql.telling.assuming import assumptions
    from sqlrag_dspy.sql.telling.emptiness import explain_empty, is_empty
    from sqlrag_dspy.sql.telling.explaining import explain
    from sqlrag_dspy.sql.telling.remarks import remarks
    from sqlrag_dspy.sql.ties import ranking
    from sqlrag_dspy.sql.writing.building import write
    from sqlrag_dspy.sql.writing.keys import keys_query, keys_where

_HOMES = {
    "assumptions": "telling.assuming",
    "check": "checking.statement",
    "explain": "telling.explaining",
    "explain_empty": "telling.emptiness",
    "ground": "mending.grounding",
    "is_empty": "telling.emptiness",
    "keys_query": "writing.keys",
    "keys_where": "writing.keys",
    "lint": "linting",
    "mend": "mending.names",
    "misspelt": "linting",
    "notices": "linting",
    "parameters": "row_conditions",
    "ranking": "ties",
    "read": "reading.queries",
    "remarks": "telling.remarks",
    "row_condition": "row_conditions",
    "write": "writing.building",
    "writer": "row_conditions",
}

__all__ = [
    "assumptions",
    "check",
    "explain",
    "explain_empty",
    "ground",
    "is_empty",
    "keys_query",
    "keys_where",
    "lint",
    "mend",
    "misspelt",
    "notices",
    "parameters",
    "ranking",
    "read",
    "remarks",
    "row_condition",
    "write",
    "writer",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
