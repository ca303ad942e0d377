"""How people ask: phrasing patterns of skeletons and restrictions, and what they call tables, columns and values."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import LabelError

LANGUAGES = ("en", "es", "nl")
SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Pattern:
    """One phrasing of a skeleton, or of a restriction (then `kind` is set)."""

    q: str
    lang: str
    kind: str = ""
    op: str = "="
    date: str = ""
    aggregate: str = "none"
    groups: tuple[str, ...] = ()
    show: str = ""
    order: str = "none"
    limit: str = "none"
    each: str = ""
    """What a limit "each" or "each k" holds within: "text" for a column or table, said as {each}, or a date part."""
    having: str = "no"
    distinct: str = "no"
    half: int = 1
    without: str = "no"
    """ "other": rows to which none of another table belongs; "own": shown values with which none of the rows occurs."""
    via: str = ""
    """Of the row that rows of a table refer to: "value" when it is named as {v}, "kind" when some {kind} is meant.

    {by} and {did} say how rows are referred to, the group "other" is that row.
    """
    span: bool = False
    """The measure, or what is ordered by, is the days between the table's two dates."""

    @property
    def slots(self) -> set[str]:
        return set(SLOT.findall(self.q))


def read_patterns(folder: Path) -> tuple[list[Pattern], list[Pattern]]:
    """Skeleton patterns and restriction patterns of a folder. Raises LabelError naming file and line."""
    skeletons: list[Pattern] = []
    restrictions: list[Pattern] = []
    for lang in LANGUAGES:
        for name, into in ((f"{lang}.jsonl", skeletons), (f"{lang}.filters.jsonl", restrictions)):
            path = folder / name
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if not line.strip():
                    continue
                try:
                    raw: dict[str, Any] = json.loads(line)
                    raw["groups"] = tuple(raw.get("groups") or ())
                    into.append(Pattern(lang=lang, **{k: v for k, v in raw.items() if k in _FIELDS}))
                except (ValueError, TypeError) as error:
                    raise LabelError(f"{path}, line {number}: {error}; correct that pattern") from error
    return skeletons, restrictions


_FIELDS = set(Pattern.__dataclass_fields__) - {"lang"}


class Surfaces:
    """What people call the tables, columns and values of one database."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._tables = raw.get("tables") or {}
        self._columns = raw.get("columns") or {}
        self._values = raw.get("values") or {}

    @classmethod
    def read(cls, folder: Path) -> Surfaces | None:
        """The surfaces of a trainset folder; None when it has none."""
        path = folder / "surfaces.json"
        if not path.is_file():
            return None
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise LabelError(f"{path} is not JSON: {error}") from error

    def knows(self, table: str, column: str | None = None) -> bool:
        return table in self._tables if column is None else f"{table}.{column}" in self._columns

    def noun(self, rng: random.Random, lang: str, table: str, column: str | None, plural: bool) -> str | None:
        """A noun for a table or column, or None when there is none in that language."""
        entry = self._tables.get(table) if column is None else self._columns.get(f"{table}.{column}")
        nouns = (entry or {}).get(lang)
        if not nouns:
            return None
        single, _, many = str(rng.choice(nouns)).partition("|")
        return (many or single) if plural else single

    def word(self, rng: random.Random, lang: str, table: str, column: str, sort: str) -> str | None:
        """An adjective or unit of a column: `sort` is max, min, more, less or unit."""
        found = ((self._columns.get(f"{table}.{column}") or {}).get(sort) or {}).get(lang)
        return rng.choice(found) if found else None

    def value(self, rng: random.Random, lang: str, table: str, column: str, value: Any) -> str:
        """How a stored value is said."""
        said = ((self._values.get(f"{table}.{column}") or {}).get(lang) or {}).get(str(value))
        if said and (lang != "en" or rng.random() < 0.3):
            return str(rng.choice(said))
        text = str(value)
        return text.lower() if rng.random() < 0.3 else text
