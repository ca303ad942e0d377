"""The values that cross rooms. Frozen dataclasses; pydantic stays at the edges (settings, labels, answers)."""

from sqlrag_dspy.types.catalog import Catalog, Column, ForeignKey, Found, Profile, Table
from sqlrag_dspy.types.found import Document, Hits, Passage, Search
from sqlrag_dspy.types.policy import Declared, Policy, SessionValue, WriteCondition
from sqlrag_dspy.types.question import ROUTES, Link, LinkKind, Links, Route
from sqlrag_dspy.types.rows import CheckedSql, DigestReader, RowReader, Rows
from sqlrag_dspy.types.sketch import Absence, Aggregate, Beside, Item, Part, Predicate, Same, Sketch
from sqlrag_dspy.types.values import Key, Value

__all__ = [
    "ROUTES",
    "Absence",
    "Aggregate",
    "Beside",
    "Catalog",
    "CheckedSql",
    "Column",
    "Declared",
    "DigestReader",
    "Document",
    "ForeignKey",
    "Found",
    "Hits",
    "Item",
    "Key",
    "Link",
    "LinkKind",
    "Links",
    "Part",
    "Passage",
    "Policy",
    "Predicate",
    "Profile",
    "Route",
    "RowReader",
    "Rows",
    "Same",
    "Search",
    "SessionValue",
    "Sketch",
    "Table",
    "Value",
    "WriteCondition",
]
