"""A program compiled once for all tests from some seventy labels over forty short articles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sample_trainset import make_trainset

# The same tree gives the same result everywhere; `make fuzz` draws other examples each time.
settings.register_profile("steady", derandomize=True)
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile("steady")

THRESHOLDS = {"route": 0.5, "sql": 0.2, "doubt": 0.2, "filters": 0.5}


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
    from sqlrag_dspy.program import SqlRag, artifact
    from sqlrag_dspy.settings import Settings

    place = tmp_path_factory.mktemp("small")
    folder, out = make_trainset(place / "trainsets" / "articles"), place / "compiled" / "small"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        card = compile_program([folder], folder, out=out, settings=Settings())
    # Chosen on so few labels, thresholds hold for nothing; these let every sketch answer that makes sense.
    program = SqlRag()
    artifact.restore(program, out)
    for name, value in THRESHOLDS.items():
        setattr(program.thresholds, name, value)
    artifact.write(program, out, card)
    return Small(folder, out, place / "cache", card)


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
