"""A program compiled once for all tests from some seventy labels over forty short articles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sample_trainset import make_trainset


@dataclass(frozen=True)
class Small:
    """Where the small program and what it was compiled from lie. Tests change none of it: they work on copies."""

    trainset: Path
    program: Path
    cache: Path
    card: Any


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """The trainset, and the program compiled from it."""
    from sqlrag_dspy.learn.compile import compile_program
    from sqlrag_dspy.settings import Settings

    place = tmp_path_factory.mktemp("small")
    folder = make_trainset(place / "trainsets" / "articles")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        card = compile_program([folder], folder, out=place / "compiled" / "small", settings=Settings())
    return Small(folder, place / "compiled" / "small", place / "cache", card)


@pytest.fixture(scope="session")
def small_database(small: Small) -> Iterator[Any]:
    """The small database, open and indexed; shared, so only for tests that read."""
    from sqlrag_dspy.learn.databases import open_trainset
    from sqlrag_dspy.settings import Settings

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(small.cache))
        database = open_trainset(small.trainset, Settings())
    yield database
    database.close()
