"""Ties a question to the database: values, dates, numbers, columns, tables (see types.Link and types.Links)."""

from sqlrag_dspy.link.linker import Linker
from sqlrag_dspy.link.mask import mask, mask_words
from sqlrag_dspy.link.values import ValueStore

__all__ = ["Linker", "ValueStore", "mask", "mask_words"]
