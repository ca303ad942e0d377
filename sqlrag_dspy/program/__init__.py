"""The DSPy program: route, evidence, answer. Read rag.py first."""

from __future__ import annotations

from sqlrag_dspy.program.artifact import Card, load
from sqlrag_dspy.program.database import Database, open_database
from sqlrag_dspy.program.rag import SqlRag
from sqlrag_dspy.program.result import Answer

__all__ = ["Answer", "Card", "Database", "SqlRag", "load", "open_database"]
