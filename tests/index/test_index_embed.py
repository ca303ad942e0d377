from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from index_fakes import ToyEmbedder
from safetensors import safe_open
from tokenizers import Tokenizer

from sqlrag_dspy.errors import IndexUnusable, LmError
from sqlrag_dspy.index.embed import find_embedder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(("name", "dimensions"), [("wordllama", 256), ("use-multilingual", 512)])
def test_packaged_models_give_unit_vectors_without_network(name: str, dimensions: int) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    texts = ["a night train to Vienna", "sleeper trains", "how to bake rye bread"]
    vectors = find_embedder(name)(texts)
    assert vectors.shape == (3, dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert (root.handlers, root.level) == before


def test_the_multilingual_model_reads_across_languages() -> None:
    embedder = find_embedder("use-multilingual")
    trains, bread, question = embedder(
        ["night trains through Europe", "bread recipes", "¿qué trenes nocturnos hay?"]
    )
    assert embedder.is_multilingual
    assert trains @ question > bread @ question


def test_a_long_list_is_embedded_in_order() -> None:
    embedder = find_embedder("use-multilingual")
    texts = [f"sentence number {n}" for n in range(40)]
    assert np.allclose(embedder(texts)[33], embedder([texts[33]])[0], atol=1e-4)


def test_a_function_from_outside_is_normalised_and_wins() -> None:
    embedder = find_embedder(
        "gemini:some-model", {"gemini:some-model": lambda texts: [[3.0, 4.0]] * len(texts)}
    )
    assert np.allclose(embedder(["x", "y"]), [[0.6, 0.8], [0.6, 0.8]])
    assert embedder.is_multilingual


def test_a_text_without_words_is_a_zero_vector() -> None:
    vectors = find_embedder("toy", {"toy": ToyEmbedder()})(["", "word"])
    assert not vectors[0].any()
    assert np.isclose(np.linalg.norm(vectors[1]), 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("word2vec", "no embedder named 'word2vec'; write wordllama"),
        ("gemini:gemini-embedding-001", "GEMINI_API_KEY"),
        ("fastembed:BAAI/bge-small-en-v1.5", "pip install fastembed"),
        ("fastembed", "no embedder named"),
    ],
)
def test_a_missing_embedder_is_one_clear_line(name: str, says: str) -> None:
    with pytest.raises(IndexUnusable, match=says) as error:
        find_embedder(name)
    assert "\n" not in str(error.value)


def test_a_failing_function_is_one_clear_line() -> None:
    def fail(_: list[str]) -> None:
        raise ConnectionError("no route\nto host")

    with pytest.raises(IndexUnusable, match=r"embedder far failed .*no route to host.*sqlrag.toml"):
        find_embedder("far", {"far": fail})(["x"])

    def refuse(_: list[str]) -> None:
        raise LmError("quota is spent")

    with pytest.raises(LmError, match="quota"):
        find_embedder("far", {"far": refuse})(["x"])


def test_wordllama_is_the_packages_own_model() -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    import wordllama

    root.handlers[:], root.level = handlers, level
    folder = Path(wordllama.__file__).parent
    with safe_open(folder / "weights" / "l2_supercat_256.safetensors", framework="np") as weights:
        embedding = weights.get_tensor("embedding.weight")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    package = wordllama.WordLlamaInference(embedding, tokenizer)
    texts = ["a night train to Vienna", "bread", "¿qué trenes nocturnos hay? " * 40]
    assert np.allclose(find_embedder("wordllama")(texts), package.embed(texts, norm=True), atol=1e-5)
