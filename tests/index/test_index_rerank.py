from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from index_fakes import TOY, ToyEmbedder, note, notes, notes_table

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import open_index, sync
from sqlrag_dspy.index.rerank import find_reranker
from sqlrag_dspy.types import Document, Passage


class FewestWords:
    """A stand-in for fastembed's TextCrossEncoder: the shorter a passage, the better."""

    asked: list[tuple[str, int]]

    def __init__(self, model_name: str) -> None:
        if model_name == "none":
            raise ValueError("Model none is not supported in TextCrossEncoder.")

    def rerank(self, query: str, documents: list[str], batch_size: int = 64) -> object:
        self.asked.append((query, len(documents)))
        yield from (-float(len(text.split())) for text in documents)


@pytest.fixture
def cross_encoder(monkeypatch: pytest.MonkeyPatch) -> type[FewestWords]:
    FewestWords.asked = []
    names = ("fastembed", "fastembed.rerank", "fastembed.rerank.cross_encoder")
    for name in names:
        module = ModuleType(name)
        module.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules[names[-1]].TextCrossEncoder = FewestWords  # type: ignore[attr-defined]
    return FewestWords


ROWS = [
    note(1, "red kite over the river at noon"),
    note(2, "red kite red kite"),
    note(3, "kite"),
    note(4, None),
]


def test_a_reranker_reads_the_first_rows_again(tmp_path: Path, cross_encoder: type[FewestWords]) -> None:
    reader, functions = notes(*ROWS), {"toy": ToyEmbedder()}
    sync(tmp_path, reader, [notes_table()], TOY, embed_functions=functions)
    index = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions, rerank="fastembed:tiny")
    hits = index.search("red kite", "notes", k=2, reader=reader)
    assert [document.key for document in hits.documents] == [3, 2]
    assert cross_encoder.asked == [("red kite", 3)]
    scores = [document.score for document in hits.documents]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    hits = index.search("red kite", "notes", k=4, allowed=[1, 4], reader=reader)
    assert [document.key for document in hits.documents] == [1, 4], "rows without a passage stay, last"
    plain = open_index(tmp_path, [notes_table()], TOY, embed_functions=functions)
    assert plain.search("red kite", "notes", k=1, reader=reader).documents[0].key == 2


def test_a_reranker_that_cannot_be_had(
    cross_encoder: type[FewestWords], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_reranker("") is None
    with pytest.raises(IndexUnusable, match="no reranker named 'magic'; write fastembed:MODEL"):
        find_reranker("magic")
    broken = find_reranker("fastembed:none")
    assert broken is not None
    document = Document("notes", 1, 0.5, passages=(Passage("body", 0, 4, "kite", 0.5),))
    with pytest.raises(IndexUnusable, match=r"reranker fastembed:none failed \(ValueError.*rerank = \"\""):
        broken("kite", [document])
    for name in list(sys.modules):
        if name.startswith("fastembed"):
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(IndexUnusable, match="needs the package fastembed"):
        find_reranker("fastembed:tiny")
