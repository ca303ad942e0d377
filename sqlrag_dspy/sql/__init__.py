"""SQL as values: checked before it runs, repaired for DuckDB, written from sketches, read into them, explained.

The only room that imports sqlglot. It runs nothing: whoever needs rows passes a function in. Public names are
loaded on first use, since the grammar takes a tenth of a second to import; their files have other names than
they, or Python would put the file in the function's place.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrag_dspy.sql.assuming import assumptions
    from sqlrag_dspy.sql.building import keys_query, keys_where, write
    from sqlrag_dspy.sql.checking import check
    from sqlrag_dspy.sql.emptiness import explain_empty, is_empty
    from sqlrag_dspy.sql.explaining import explain
    from sqlrag_dspy.sql.grounding import ground
    from sqlrag_dspy.sql.linting import lint, misspelt, notices
    from sqlrag_dspy.sql.mending import mend
    from sqlrag_dspy.sql.reading import read
    from sqlrag_dspy.sql.remarks import remarks
    from sqlrag_dspy.sql.row_conditions import parameters, row_condition, writer
    from sqlrag_dspy.sql.ties import ranking

_HOMES = {
    "assumptions": "assuming",
    "check": "checking",
    "explain": "explaining",
    "explain_empty": "emptiness",
    "ground": "grounding",
    "is_empty": "emptiness",
    "keys_query": "building",
    "keys_where": "building",
    "lint": "linting",
    "mend": "mending",
    "misspelt": "linting",
    "notices": "linting",
    "parameters": "row_conditions",
    "ranking": "ties",
    "read": "reading",
    "remarks": "remarks",
    "row_condition": "row_conditions",
    "write": "building",
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
