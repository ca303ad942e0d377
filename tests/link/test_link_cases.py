"""Questions in three languages over four databases, with the links that must be chosen (cases/*.txt)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlrag_dspy.link import Linker
from sqlrag_dspy.types import Link

FOLDER = Path(__file__).parent / "cases"


def spell(link: Link) -> str:
    """A link as one readable phrase."""
    if link.kind == "table":
        return f"table {link.table}"
    if link.kind == "column":
        return f"column {link.column} {link.op}".strip()
    if link.kind == "value":
        return (
            f"{link.column} {link.op}" if link.concept == "state" else f"{link.column} {link.op} {link.value}"
        )
    if link.kind == "date":
        return f"{link.column} {'not ' if link.op else ''}{link.value or ''}..{link.upper or ''}"
    until = "" if link.upper is None else f"-{link.upper}" if link.kind == "part" else f"..{link.upper}"
    if link.kind == "part":
        return f"part {link.grain} {link.column} {'' if link.value is None else link.value}{until}".strip()
    if link.grain == "average":
        return f"number {link.column} {link.op} average"
    return f"number {link.column or '?'} {link.op or '#'} {link.value}{until}"


def cases() -> list[tuple[str, str, str]]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                question, _, expected = line.partition(" =>")
                found.append((path.stem, question, expected.strip()))
    return found


@pytest.mark.parametrize(("database", "question", "expected"), cases())
def test_question_is_tied_to_the_database(
    linkers: dict[str, Linker], database: str, question: str, expected: str
) -> None:
    assert "; ".join(map(spell, linkers[database].link(question).chosen)) == expected


def test_there_are_cases_enough_in_every_language() -> None:
    assert len(cases()) >= 150
