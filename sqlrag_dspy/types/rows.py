"""What is asked of a source, and the rows that it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlrag_dspy.types.values import Key, Value


class RowReader(Protocol):
    """What the index and the linker need of a source: rows read in bulk."""

    def scan(
        self, table: str, columns: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """The named columns of every row, or of the rows with those keys, as clean JSON values."""
        ...


@runtime_checkable
class DigestReader(RowReader, Protocol):
    """A source that can also tell which rows changed without handing over their texts."""

    def digests(
        self, table: str, columns: Sequence[str], digested: Sequence[str], keys: Sequence[Key] | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """What `scan` gives, and behind each row a text that differs when the columns `digested` do."""
        ...


@dataclass(frozen=True)
class CheckedSql:
    """A statement that passed `sql.check`, in DuckDB's dialect; nothing else runs from outside."""

    text: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """A result: column names and values row by row; `truncated` when a limit cut it."""

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    truncated: bool = False
