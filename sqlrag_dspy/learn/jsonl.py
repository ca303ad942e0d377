"""The lines of a JSONL file, with their numbers for error messages. What a line holds is its reader's business."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlrag_dspy.errors import LabelError


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a JSONL file that are not blank, with their numbers from 1. Raises LabelError naming the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LabelError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise LabelError(f"cannot read {path}: {error.strerror}") from error
    # Not splitlines: a text in JSON may hold characters that end a line elsewhere (U+2028, U+0085).
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line
