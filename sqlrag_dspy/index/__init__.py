"""Search by meaning over a source's rows, always filtered first; the only room that imports faiss.

`sync` builds or updates the index of a source; `open_index` opens it for `Index.search`. FAISS, the splitter
and the embedding models load with the first use.
"""

from sqlrag_dspy.index.embed import Embedder, find_embedder
from sqlrag_dspy.index.search import Index, open_index
from sqlrag_dspy.index.syncing.lending import has_index
from sqlrag_dspy.index.syncing.store_sync import SyncReport, sync

__all__ = ["Embedder", "Index", "SyncReport", "find_embedder", "has_index", "open_index", "sync"]
