"""The small program over the small database: the learned tier, and with any LM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Make = Callable[..., Any]


@pytest.fixture(scope="session")
def rag(small: Any, small_database: Any) -> Iterator[Any]:
    """The learned tier alone, loaded as an application loads it; shared, so only for asking."""
    from sqlrag_dspy.program import load

    with load(small.program, settings=small_database.settings) as loaded:
        yield loaded


@pytest.fixture
def make(small: Any, small_database: Any) -> Make:
    """A program of its own over the shared database: `make(lm=…, thresholds={…})`."""
    from sqlrag_dspy.program import SqlRag, artifact

    def make(thresholds: dict[str, float] | None = None, **options: Any) -> Any:
        program = SqlRag({small_database.name: small_database}, **options)
        artifact.restore(program, small.program)
        for name, value in (thresholds or {}).items():
            setattr(program.thresholds, name, value)
        return program

    return make
