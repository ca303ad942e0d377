"""What the declared type of a column says, for columns whose values do not: SQLite's affinities, dates apart.

Leaves out what the values say: where there are any, they decide (`source/profile.py`).
"""

from __future__ import annotations

from typing import Literal

Family = Literal["number", "bool", "date", "blob", "any", "text"]


def family(declared: str) -> Family:
    """What a declared type hints at; "any" for none."""
    kind = declared.upper()
    if "BOOL" in kind:
        return "bool"
    if "INT" in kind and "POINT" not in kind and "INTERVAL" not in kind:
        return "number"
    if "DATE" in kind or "TIMESTAMP" in kind:
        return "date"
    if any(word in kind for word in ("CHAR", "CLOB", "TEXT", "STRING")):
        return "text"
    if any(word in kind for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY")):
        return "number"
    if "BLOB" in kind or "BYTE" in kind:
        return "blob"
    return "text" if kind else "any"


def kind_when_empty(
    declared: str,
) -> Literal["integer", "number", "boolean", "date", "timestamp", "text"]:
    """The kind that a column without any value is read as, in the view of either engine."""
    kind = declared.upper()
    if "[" in kind or kind.startswith(("STRUCT", "MAP", "UNION", "ENUM")):
        return "text"
    hint = family(declared)
    if hint == "number":
        return "integer" if "INT" in kind else "number"
    if hint == "date":
        return "timestamp" if "TIME" in kind else "date"
    return "boolean" if hint == "bool" else "text"
