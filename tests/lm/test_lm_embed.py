"""Hosted embeddings against a real local server."""

from __future__ import annotations

import numpy as np
import pytest
from gemini_server import failure, send, vectors

from sqlrag_dspy.errors import LmError
from sqlrag_dspy.lm import embed_function

MODEL = "gemini:gemini-embedding-001"


def test_many_texts_go_in_batches_and_come_back_in_order(gemini, environ) -> None:
    gemini.says(vectors)
    texts = ["x" * (n % 50 + 1) for n in range(250)]
    found = embed_function(MODEL, environ=environ)(texts)
    assert found.dtype == np.float32
    assert found.shape == (250, 2)
    assert found[:, 0].tolist() == [float(len(text)) for text in texts]
    assert [len(asked["requests"]) for asked in gemini.bodies()] == [100, 100, 50]
    assert gemini.asked[0][0] == "/v1beta/models/gemini-embedding-001:batchEmbedContents"


def test_blank_texts_are_rows_of_zeros_and_are_not_sent(gemini, environ) -> None:
    gemini.says(vectors)
    embed = embed_function(MODEL, environ=environ)
    assert embed([]).shape == (0, 0)
    assert embed(["", " \n"]).tolist() == [[0, 0], [0, 0]]
    assert embed(["", "abc"]).tolist() == [[0, 0], [3, 1]]
    assert embed([]).shape == (0, 2)


def test_half_a_character_does_not_stop_a_batch(gemini, environ) -> None:
    gemini.says(vectors)
    assert embed_function(MODEL, environ=environ)(["a\ud800b"]).tolist() == [[3, 1]]
    assert gemini.bodies()[0]["requests"][0]["content"]["parts"] == [{"text": "a?b"}]


def test_task_and_dimensions_are_sent(gemini, environ) -> None:
    gemini.says(vectors)
    embed_function(MODEL, environ=environ, task="RETRIEVAL_QUERY", dimensions=2)(["a"])
    one = gemini.bodies()[0]["requests"][0]
    assert (one["taskType"], one["outputDimensionality"]) == ("RETRIEVAL_QUERY", 2)


def test_transient_failures_are_retried_and_bounded(gemini, environ) -> None:
    busy = send(failure(429, "RESOURCE_EXHAUSTED", "slow"), 429)
    gemini.says(busy, send(b"oops", 500), vectors)
    embed = embed_function(MODEL, environ=environ, first_wait=0.01)
    assert embed(["abc"]).tolist() == [[3, 1]]
    assert len(gemini.asked) == 3
    gemini.says(busy)
    with pytest.raises(LmError, match=r"gemini-embedding-001.*slow.*quota"):
        embed(["abc"])
    assert len(gemini.asked) == 3 + 5


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (send(failure(404, "NOT_FOUND", "no such model"), 404), "check the model's name"),
        (send(failure(401, "UNAUTHENTICATED", "who?"), 401), "key"),
        (send({"embeddings": [{"values": [1.0]}]}), "1 vectors"),
        (send({"embeddings": [{"values": [1.0]}, {"values": [1.0, 2.0]}]}), "2 vectors"),
        (send({}), "0 vectors"),
    ],
)
def test_lasting_failures_are_one_line_at_once(gemini, environ, reply, words) -> None:
    gemini.says(reply)
    with pytest.raises(LmError) as caught:
        embed_function(MODEL, environ=environ)(["a", "b"])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(gemini.asked) == 1


def test_names_and_keys_are_checked_at_once() -> None:
    with pytest.raises(LmError, match="GEMINI_API_KEY"):
        embed_function(MODEL, environ={})
    with pytest.raises(LmError, match="gemini:gemini-embedding-001"):
        embed_function("gemini", environ={"GEMINI_API_KEY": "k"})
