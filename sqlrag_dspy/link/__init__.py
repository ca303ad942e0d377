"""Ties a question to the database: values, dates, numbers, columns, tables (see types.Link and types.Links)."""

from sqlrag_dspy.link.linker import Linker
from sqlrag_dspy.link.mask import mask, mask_words
from sqlrag_dspy.link.schema.index import SchemaIndex
from sqlrag_dspy.link.schema.join_paths import Join, JoinPath, join_paths
from sqlrag_dspy.link.values import ValueColumn, ValueStore, read_values, save_values

__all__ = [
    "Join",
    "JoinPath",
    "Linker",
    "SchemaIndex",
    "ValueColumn",
    "ValueStore",
    "join_paths",
    "mask",
    "mask_words",
    "read_values",
    "save_values",
]
