"""What the header of a GGUF file says of its length, so that a file cut short is known before it is loaded.

Leaves out what the values mean. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of each kind of value that has a fixed size."""
_STRING, _ARRAY = 8, 9
_PACKED = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
}  # fmt: skip
"""(numbers, bytes) of one block of a tensor, by its type; of others only the beginning is checked."""
_LONGEST = 1 << 27
"""More bytes than any text of a header, and more entries than any list of it, has."""


def fault(path: Path) -> str | None:
    """What is wrong with the file, in a few words; None when it is as long as its header says.

    Reads the header alone, which holds the vocabulary. Raises OSError.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return "it is not a GGUF file"
        try:
            needed = _length(file)
        except (EOFError, struct.error):
            return "its header is cut short"
        except ValueError as error:
            return str(error)
        held = os.fstat(file.fileno()).st_size
    if held < needed:
        return f"it is cut short: it has {held:,} of at least {needed:,} bytes"
    return None


def _length(file: BinaryIO) -> int:
    """Bytes that the file must have."""
    (version,) = struct.unpack("<I", _read(file, 4))
    if version not in _VERSIONS:
        raise ValueError(f"its header names version {version} of the format, which is not known")
    tensors, pairs = struct.unpack("<QQ", _read(file, 16))
    if max(tensors, pairs) > _LONGEST:
        raise ValueError("its header is damaged")
    alignment = 32
    for _ in range(pairs):
        key = _text(file)
        (kind,) = struct.unpack("<I", _read(file, 4))
        if key == b"general.alignment" and kind == 4:
            (alignment,) = struct.unpack("<I", _read(file, 4))
        else:
            _skip(file, kind)
    if not alignment:
        raise ValueError("its header is damaged")
    end = 0
    for _ in range(tensors):
        _text(file)
        (axes,) = struct.unpack("<I", _read(file, 4))
        if axes > 8:
            raise ValueError("its header is damaged")
        shape = struct.unpack(f"<{axes}Q", _read(file, 8 * axes))
        kind, offset = struct.unpack("<IQ", _read(file, 12))
        numbers = 1
        for length in shape:
            numbers *= length
        block, packed = _PACKED.get(kind, (1, 0))
        end = max(end, offset + numbers // block * packed)
    start = -(-file.tell() // alignment) * alignment
    return start + end if tensors else file.tell()


def _read(file: BinaryIO, size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        raise EOFError
    return found


def _text(file: BinaryIO) -> bytes:
    (size,) = struct.unpack("<Q", _read(file, 8))
    if size > _LONGEST:
        raise ValueError("its header is damaged")
    return _read(file, size)


def _skip(file: BinaryIO, kind: int, depth: int = 0) -> None:
    """Passes over one value."""
    if kind in _SIZES:
        _read(file, _SIZES[kind])
    elif kind == _STRING:
        _text(file)
    elif kind == _ARRAY and depth < 4:
        inner, count = struct.unpack("<IQ", _read(file, 12))
        if count > _LONGEST:
            raise ValueError("its header is damaged")
        if inner in _SIZES:
            _read(file, count * _SIZES[inner])
        else:
            for _ in range(count):
                _skip(file, inner, depth + 1)
    else:
        raise ValueError("its header is damaged")
