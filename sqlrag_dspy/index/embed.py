"""Texts to unit vectors: one `Embedder` per name a user may write under `embedder`.

Heavy packages load with the first text, not before. Leaves out: network clients (functions for
`gemini:MODEL` and the like are passed in) and any cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlrag_dspy.errors import IndexUnusable, SqlRagError

Vectors = NDArray[np.float32]
"""Shape (texts, dimensions), rows of length 1 (or 0 for a text without any known token)."""

EmbedFunction = Callable[[list[str]], Any]
_BATCH = 16
KNOWN = "wordllama, use-multilingual, fastembed:MODEL, gemini:MODEL or litellm:MODEL"


class Embedder:
    """Turns texts into unit vectors; the model behind it loads at the first call."""

    def __init__(
        self,
        name: str,
        load: Callable[[], EmbedFunction],
        *,
        is_multilingual: bool,
        reads_words: bool = False,
    ) -> None:
        """`reads_words`: whether single words that mean alike get vectors alike, at little cost."""
        self.name = name
        self.is_multilingual = is_multilingual
        self.reads_words = reads_words
        self._load = load
        self._function: EmbedFunction | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32, shape (texts, dimensions). Raises IndexUnusable when the model fails."""
        if self._function is None:
            self._function = self._load()
        try:
            raw = self._function([text.encode("utf-8", "replace").decode("utf-8") for text in texts])
        except SqlRagError:
            raise
        except Exception as error:
            raise IndexUnusable(
                f"embedder {self.name} failed ({type(error).__name__}: {' '.join(str(error).split())[:200]}); "
                "check its key and network, or set another embedder in sqlrag.toml"
            ) from error
        vectors = np.nan_to_num(np.asarray(raw, dtype=np.float32).reshape(len(texts), -1))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
        return unit


def find_embedder(name: str, functions: Mapping[str, EmbedFunction] | None = None) -> Embedder:
    """The embedder of that name; a function passed under the name wins.

    Raises IndexUnusable for an unknown name, or when its package or function is missing.
    """
    kind, _, model = name.partition(":")
    if functions and name in functions:
        function = functions[name]
        return Embedder(
            name,
            lambda: function,
            is_multilingual=_speaks_many(kind, model),
            reads_words=name == "use-multilingual",
        )
    if name == "wordllama":
        return Embedder(name, _load_wordllama, is_multilingual=False)
    if name == "use-multilingual":
        return Embedder(name, _load_use, is_multilingual=True, reads_words=True)
    if kind == "fastembed" and model:
        if find_spec("fastembed") is None:
            raise IndexUnusable(f"embedder {name} needs the package fastembed; pip install fastembed")
        return Embedder(name, lambda: _load_fastembed(model), is_multilingual=_speaks_many(kind, model))
    if kind == "litellm" and model:
        return Embedder(name, lambda: _load_litellm(model), is_multilingual=_speaks_many(kind, model))
    if kind == "gemini" and model:
        raise IndexUnusable(f"embedder {name} has no key; set GEMINI_API_KEY, or use wordllama")
    raise IndexUnusable(f"no embedder named {name!r}; write {KNOWN}")


def _speaks_many(kind: str, model: str) -> bool:
    """Hosted models read many languages; a local one says so in its name."""
    name = model.casefold()
    return kind in ("gemini", "litellm", "use-multilingual") or any(
        w in name for w in ("multilingual", "m3", "labse")
    )


def _once(load: Callable[[], EmbedFunction]) -> Callable[[], EmbedFunction]:
    """`load`, run once however many threads ask at the same time."""
    lock = Lock()
    loaded: list[EmbedFunction] = []

    @wraps(load)
    def shared() -> EmbedFunction:
        with lock:
            if not loaded:
                loaded.append(load())
            return loaded[0]

    return shared


@_once
def _load_wordllama() -> EmbedFunction:
    """WordLlama from its packaged files alone.

    Its own loader looks for the tokenizer in the wrong folder and then tries to download it, and importing it
    takes 0.2 s and configures the root logger. A text's vector is the mean of its tokens' vectors.
    """
    from safetensors import safe_open
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise IndexUnusable("embedder wordllama needs the package wordllama; pip install wordllama")
    folder = Path(spec.origin).parent
    with safe_open(folder / "weights" / "l2_supercat_256.safetensors", framework="np") as weights:
        # Half precision as stored: unpacking all of it takes longer than the rows of a question ever will.
        embedding = weights.get_tensor("embedding.weight")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: list[str]) -> Vectors:
        vectors = np.zeros((len(texts), embedding.shape[1]), dtype=np.float32)
        ids = [encoded.ids for encoded in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        for start in range(0, len(texts), _BATCH):
            filled = [at for at in range(start, min(start + _BATCH, len(texts))) if ids[at]]
            if filled:
                vectors[filled] = means([ids[at] for at in filled])
        return vectors

    def means(ids: list[list[int]]) -> Vectors:
        """The mean of each text's tokens. The rows of several texts are read in one step: small steps wait for
        their turn among threads."""
        lengths = [len(own) for own in ids]
        tokens = np.minimum(np.fromiter(chain.from_iterable(ids), np.int64, sum(lengths)), len(embedding) - 1)
        rows = embedding[tokens].astype(np.float32)
        found = np.empty((len(ids), rows.shape[1]), dtype=np.float32)
        end = 0
        for at, length in enumerate(lengths):
            np.add.reduce(rows[end : end + length], axis=0, out=found[at])
            end += length
        found /= np.array(lengths, dtype=np.float32)[:, None]
        return found

    return encode


@_once
def _load_use() -> EmbedFunction:
    from sqlrag_dspy.index import multilingual

    # Long lists are spread over Python threads: numpy lets go of the lock, and its own threads are off.
    model = multilingual.load()
    workers = min(4, os.cpu_count() or 1)

    def encode(texts: list[str]) -> Vectors:
        if len(texts) <= _BATCH or workers == 1:
            return np.asarray(model.encode(texts), dtype=np.float32)
        batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        model.encode(batches[0][:1])  # loads the lazy parts once, before threads share them
        with ThreadPoolExecutor(workers) as pool:
            return np.concatenate(list(pool.map(model.encode, batches)))

    return encode


def _load_fastembed(model: str) -> EmbedFunction:
    from fastembed import TextEmbedding  # type: ignore[import-not-found,unused-ignore]

    encoder = TextEmbedding(model)

    def encode(texts: list[str]) -> Vectors:
        # It pads every batch to its longest text, so texts of one length go together.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = np.array(list(encoder.embed([texts[at] for at in order])), dtype=np.float32)
        vectors = np.empty_like(found)
        vectors[order] = found
        return vectors

    return encode


def _load_litellm(model: str) -> EmbedFunction:
    import dspy

    embedder = dspy.Embedder(model)
    return lambda texts: embedder(texts)
