"""The statements tried for one question: four at most, none twice, and which of them was best."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlrag_dspy.program.gather import Evidence
from sqlrag_dspy.program.result import Depth
from sqlrag_dspy.program.team.typed import Issue
from sqlrag_dspy.types import CheckedSql

ATTEMPTS = 4
"""Statements that are tried for one question, however they are spent."""


@dataclass
class Attempt:
    """One statement, how far it came, and what is wrong with it; `fitted` is how it runs after `changes`.

    `source` is the step that refused it, "" for none, and `advice` what whoever repairs it is told. `query` alone
    is set when it passed the check and was not run, because a literal of it is stored otherwise.
    """

    sql: str
    query: CheckedSql | None = None
    evidence: Evidence | None = None
    source: str = ""
    advice: str = ""
    fitted: str = ""
    changes: tuple[str, ...] = ()
    issues: list[Issue] = field(default_factory=list)
    depth: Depth = "call"
    is_approved: bool = False

    @property
    def runs(self) -> bool:
        return self.evidence is not None

    @property
    def severe(self) -> int:
        """How many severe issues are known: the critic's, doubts that call for another statement, and no rows."""
        doubts = wrong(self.evidence) if self.evidence is not None else [self.advice]
        is_empty = self.evidence is not None and bool(self.evidence.notes)
        return len(doubts) + is_empty + sum(issue.severity == "severe" for issue in self.issues)


@dataclass
class Attempts:
    """What has been tried so far. `spent` counts statements that were tried before a model was asked."""

    spent: int = 0
    tried: list[Attempt] = field(default_factory=list)

    @property
    def left(self) -> int:
        return ATTEMPTS - self.spent - len(self.tried)

    @property
    def count(self) -> int:
        """Statements that a model wrote so far."""
        return len(self.tried)

    @property
    def last(self) -> Attempt | None:
        return self.tried[-1] if self.tried else None

    def same(self, sql: str) -> Attempt | None:
        """The attempt with that statement, but for space, letter case outside quotes and a semicolon."""
        wanted = _normal(sql)
        return next((each for each in self.tried if _normal(each.sql) == wanted), None)

    def best(self) -> Attempt | None:
        """What runs before what does not, then the fewest severe issues, the most others alike, the earliest."""
        ready = [each for each in self.tried if each.runs or each.query is not None]
        return min(ready, key=lambda each: (not each.runs, each.severe, -self._alike(each)), default=None)

    def _alike(self, attempt: Attempt) -> int:
        """How many statements gave the same rows."""
        rows = attempt.evidence.rows if attempt.evidence is not None else None
        if rows is None:
            return 0
        others = (each.evidence.rows for each in self.tried if each.evidence is not None)
        return sum(other is not None and other.values == rows.values for other in others)


def wrong(evidence: Evidence) -> list[str]:
    """The doubts that call for another statement; a note only tells a fact."""
    return [said for said in evidence.doubts if not said.startswith("note: ")]


def _normal(sql: str) -> str:
    """The statement for comparing: text in quotes as it stands, the rest in small letters and single spaces."""
    parts = sql.strip().rstrip(";").split("'")
    return "'".join(
        part if number % 2 else " ".join(part.casefold().split()) for number, part in enumerate(parts)
    )
