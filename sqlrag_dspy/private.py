"""Files and folders that their owner alone may read: what is kept of a database holds its texts and values.

What exists already keeps the permissions that it has. Leaves out what is written.
"""

from __future__ import annotations

import os
from pathlib import Path

FILE, FOLDER = 0o600, 0o700


def make_folder(path: Path) -> None:
    """The folder, with those above it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """An empty file, for a library that then writes into it; one that is there stays. Raises OSError."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))


def write_text(path: Path, text: str) -> None:
    """The text as the file's whole content, in UTF-8. Raises OSError."""
    make_file(path)
    path.write_text(text, encoding="utf-8")
