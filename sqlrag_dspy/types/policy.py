"""Who may see what of a source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlrag_dspy.types.values import Value

SessionValue = Value | tuple[Value, ...]
"""What a session parameter stands for: a value, or several for `IN :name`."""


@dataclass(frozen=True)
class Policy:
    """What one session may see of a source; see docs/security.md.

    Tables are named alone, columns as "table.column". `allow_tables` None allows every table; a table that
    `allow_columns` names shows those columns alone. `rows` are (table, condition), the condition with :name for
    the parameters of `session`; `masks` are (column, "hash" | "null" | "text:…"). Views and virtual tables of the
    source show what they were made from, so only those in `allow_views` are seen. `secret` keys the hashes.
    """

    allow_tables: tuple[str, ...] | None = None
    deny_tables: tuple[str, ...] = ()
    allow_views: tuple[str, ...] = ()
    allow_columns: tuple[str, ...] = ()
    deny_columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
    masks: tuple[tuple[str, str], ...] = ()
    session: tuple[tuple[str, SessionValue], ...] = ()
    secret: str = field(default="", repr=False)

    @property
    def digest(self) -> str:
        """A hash of all of it: what belongs to one session is kept under it."""
        shape = [
            self.allow_tables,
            *map(sorted, (self.deny_tables, self.allow_views, self.allow_columns, self.deny_columns)),
            *map(sorted, (self.rows, self.masks)),
            sorted((name, type(value).__name__, value) for name, value in self.session),
            self.secret,
        ]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Declared:
    """A table as the source declares it: `relation` is how the source's own SQL names it, `columns` are
    (name, declared type)."""

    name: str
    relation: str
    columns: tuple[tuple[str, str], ...]


WriteCondition = Callable[[str, Declared, Sequence[Declared], str], str]
"""A row condition of a policy, its table, all tables and the source's dialect to the source's own SQL, with the
parameters filled in. Raises SqlRejected."""
