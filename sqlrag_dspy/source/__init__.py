"""The user's database: attached read-only in jailed worker processes, profiled, queried and read in bulk.

The only room that imports duckdb, and only in the worker. Importing it is fast.
"""

from sqlrag_dspy.source.cancelling import Cancellation
from sqlrag_dspy.source.catalog import schema_json
from sqlrag_dspy.source.database import Source, describe, open_source

__all__ = ["Cancellation", "Source", "describe", "open_source", "schema_json"]
