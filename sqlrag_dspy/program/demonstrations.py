"""Labelled queries kept with the program, found again by how alike their masked questions are.

Routing demonstrations fit any database. SQL demonstrations name columns: each remembers the fingerprint of
its schema and is shown only over that schema. When a schema has changed, `move` tells which still fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import dspy
import numpy as np
from dspy.predict.parameter import Parameter

from sqlrag_dspy.errors import ProgramError, SqlRejected
from sqlrag_dspy.program.features import Floats, Vocabulary, terms

if TYPE_CHECKING:
    from sqlrag_dspy.program.database import Database


@dataclass(frozen=True)
class Demonstration:
    """One labelled query: its question, its mask, its route, and its gold SQL, or condition on `table`."""

    question: str
    masked: str
    route: str
    schema: str
    sql: str | None = None
    condition: str | None = None
    table: str | None = None


class Demonstrations(dspy.Module, Parameter):
    """A bank of demonstrations. State is plain JSON; optimizers leave it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lm = None
        self.bank: list[Demonstration] = []
        self._vectors: list[tuple[Any, Floats]] | None = None
        self._vocabulary: Vocabulary | None = None

    def forward(
        self, masked: str, vocabulary: Vocabulary, *, k: int, schema: str | None = None, want: str = ""
    ) -> list[Demonstration]:
        """The `k` demonstrations with the most similar masks, most similar last.

        With `schema`, only those of that schema; `want` ("sql" or "condition") only those that have one.
        """
        if self._vectors is None or self._vocabulary is not vocabulary:
            self._vectors = [vocabulary.vector(terms(d.masked, vocabulary.known)) for d in self.bank]
            self._vocabulary = vocabulary
        width = len(vocabulary.index)
        asked = np.zeros(width, np.float32)
        columns, values = vocabulary.vector(terms(masked, vocabulary.known))
        asked[columns] = values
        scored = [
            (float(asked[columns] @ values), number)
            for number, (columns, values) in enumerate(self._vectors)
            if (schema is None or self.bank[number].schema == schema)
            and (not want or getattr(self.bank[number], want) is not None)
        ]
        nearest = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:k]
        return [self.bank[number] for _, number in reversed(nearest)]

    def fill(self, demonstrations: Sequence[Demonstration]) -> None:
        """Replaces the bank."""
        self.bank = list(demonstrations)
        self._vectors = None

    def move(self, then: str, database: Database, *, is_same: bool = True) -> list[str]:
        """Moves the SQL demonstrations of the schema `then` to the one that `database` has now.

        Those that do not pass its check are dropped, and a line for each is given back. Raises ProgramError for
        one that names a column which its table no longer has, unless it is another database of the same name
        (`is_same` False).
        """
        now = database.catalog.fingerprint
        kept: list[Demonstration] = []
        left_out: list[str] = []
        for each in self.bank:
            if each.schema == then and (refused := _refusal(each, database)) is not None:
                told = f"the demonstration {each.question[:80]!r} does not fit {database.name}: {refused}"
                if is_same and refused.startswith("no column"):
                    raise ProgramError(f"{told} (the schema has changed since; compile the program again)")
                left_out.append(told)
            else:
                kept.append(replace(each, schema=now) if each.schema == then else each)
        self.fill(kept)
        return left_out

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"bank": [asdict(d) for d in self.bank]}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> Demonstrations:
        self.fill([Demonstration(**d) for d in state["bank"]])
        return self

    def reset(self) -> None:
        """Does nothing: the bank is data, not a prompt."""


def _refusal(each: Demonstration, database: Database) -> str | None:
    """Why the SQL of a demonstration does not pass; None when it does, or has none."""
    from sqlrag_dspy import sql as sql_room

    try:
        if each.sql is not None:
            database.check(each.sql)
        elif each.condition is not None:
            tables = [each.table] if each.table else [table.name for table in database.text_tables]
            if len(tables) != 1:
                return "it does not say which table its condition is about"
            database.check_keys(sql_room.keys_where(tables[0], each.condition, database.catalog))
    except SqlRejected as error:
        return str(error)
    return None
