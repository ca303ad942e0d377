"""The small program's makings, with the cache that its database was built in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def cached(small: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder that already holds the small database and its index."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(small.cache))
    return small.cache


@pytest.fixture
def fresh(small: Any, small_database: Any) -> Callable[..., Any]:
    """Programs of their own over the shared database: `fresh()` is unfitted, `fresh(True)` the small program."""
    from sqlrag_dspy.program import SqlRag, artifact

    def fresh(is_fitted: bool = False, **options: Any) -> Any:
        program = SqlRag({small_database.name: small_database}, **options)
        if is_fitted:
            artifact.restore(program, small.program)
        return program

    return fresh


@pytest.fixture
def trainset(small: Any, tmp_path: Path) -> Path:
    """A copy of the small trainset, to be changed."""
    return shutil.copytree(small.trainset, tmp_path / "labels" / "articles")
