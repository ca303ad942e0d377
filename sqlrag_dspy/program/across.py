"""One search over several tables: their documents in one order, since scores of different tables are of one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.types import Hits, Search

if TYPE_CHECKING:
    from sqlrag_dspy.program.database import Database


def search_across(
    database: Database, text: str, tables: Sequence[str], k: int, known: Mapping[str, Any]
) -> Hits:
    """The `k` rows nearest in meaning among all rows of these tables; `known` as `Index.search` takes it.

    Raises IndexUnusable.
    """
    found = [database.search(text, table, k=k, known=known) for table in tables]
    documents = sorted(
        (document for hits in found for document in hits.documents), key=lambda document: -document.score
    )
    return Hits(
        tuple(documents[:k]),
        Search(
            sum(hits.search.rows_allowed for hits in found),
            sum(hits.search.rows_searched for hits in found),
            all(hits.search.exact for hits in found),
            tables=tuple(tables),
        ),
    )
