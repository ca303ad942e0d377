"""Which columns identify a row, which are searched by meaning, which are mirrored as filters, and what refers
to what: the user's settings, else the profile.

Leaves out measuring: see `profile`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlrag_dspy.errors import SourceError
from sqlrag_dspy.source.introspect import RawTable
from sqlrag_dspy.source.measured import Measured

if TYPE_CHECKING:
    from sqlrag_dspy.settings import TableSettings

_KEY_NAMES = (
    "id",
    "key",
    "uuid",
    "guid",
    "slug",
    "code",
    "number",
    "no",
    "path",
    "isbn",
    "url",
    "title",
    "name",
)
_PROSE_NAMES = (
    "body", "text", "content", "contents", "description", "summary", "abstract", "note", "notes", "comment",
    "comments", "message", "review", "about", "bio", "biography", "story", "transcript", "remarks", "details",
    "answer", "question", "plot", "synopsis", "caption", "review_text", "long_description", "overview",
)  # fmt: skip
FILTER_LENGTH = 60
"""Mean characters up to which a text column may be a filter."""
FILTER_DISTINCT = 0.95
"""Share of distinct values above which a column names single rows and filters nothing."""


def stored_names(table: RawTable, wanted: Sequence[str], what: str) -> tuple[str, ...]:
    """The columns as stored, letter case aside. Raises SourceError with the nearest name."""
    stored = {column.name.casefold(): column.name for column in table.columns}
    found = []
    for name in wanted:
        match = stored.get(name.casefold())
        if match is None and name.casefold() == "rowid":
            match = "rowid"
        if match is None:
            near = difflib.get_close_matches(name, list(stored.values()), 1, 0.5)
            hint = f"; did you mean '{near[0]}'?" if near else f"; it has {', '.join(stored.values())[:200]}"
            raise SourceError(f"[tables.{table.name}] {what}: no column '{name}' in {table.name}{hint}")
        found.append(match)
    return tuple(found)


def key_of(
    table: RawTable, columns: Sequence[Measured], rows: int, settings: TableSettings | None
) -> tuple[str, ...]:
    """Settings, else the declared primary key, else a unique column, else ("rowid",)."""
    if settings is not None and settings.key_columns:
        return stored_names(table, settings.key_columns, "key")
    by_name = {m.raw.name.casefold(): m for m in columns}
    for names in (table.primary, *sorted(table.unique, key=len)):
        parts = [by_name[name.casefold()] for name in names if name.casefold() in by_name]
        # SQLite lets NULL into a primary key that is not INTEGER, and a NULL identifies nothing.
        if parts and len(parts) == len(names) and all(_is_filled(m, rows) for m in parts):
            return tuple(m.raw.name for m in parts)
    unique = [m for m in columns if m.is_unique and _may_be_key(m)]
    named = [m for m in unique if _key_rank(m.raw.name, table.name) < len(_KEY_NAMES)]
    if named:
        return (min(named, key=lambda m: _key_rank(m.raw.name, table.name)).raw.name,)
    # In a short table any column may happen to be unique; a view has no row number that stays.
    if unique and (rows >= 20 or table.is_view):
        return (min(unique, key=lambda m: m.profile.found != "integer").raw.name,)
    return ("rowid",)


def _is_filled(measured: Measured, rows: int) -> bool:
    return rows == 0 or measured.profile.null_share == 0


def _may_be_key(measured: Measured) -> bool:
    is_short = measured.max_length <= 200 and measured.profile.mean_length <= 100
    return is_short and measured.profile.found in ("integer", "text")


def _key_rank(name: str, table: str) -> int:
    low, owner = name.casefold(), table.casefold()
    stems = {owner, owner.removesuffix("s"), owner.removesuffix("es")}
    if low == "id" or any(low in (f"{stem}_id", f"{stem}id") for stem in stems):
        return -1
    for rank, word in enumerate(_KEY_NAMES):
        if low == word or low.endswith("_" + word) or (word == "id" and name.endswith(("Id", "ID"))):
            return rank
    return len(_KEY_NAMES)


def text_columns(
    table: RawTable, columns: Sequence[Measured], key: Sequence[str], settings: TableSettings | None
) -> tuple[str, ...]:
    """Settings, else long texts; a title joins when the long text is often missing; else short prose."""
    if settings is not None and settings.text is not None:
        return stored_names(table, settings.text, "text")
    texts = [m for m in columns if m.profile.found == "text"]
    long = {m.raw.name for m in texts if m.profile.is_long_text}
    if long:
        if all(m.profile.null_share > 0.2 for m in texts if m.raw.name in long):
            long |= {
                m.raw.name for m in texts if m.words >= 3 and not m.profile.is_categorical and _is_title(m)
            }
        return tuple(m.raw.name for m in columns if m.raw.name in long)
    loose = [
        m for m in texts if m.raw.name not in key and m.max_length and (_is_named_prose(m) or _is_phrase(m))
    ]
    return tuple(m.raw.name for m in loose)


def _is_title(measured: Measured) -> bool:
    return measured.raw.name.casefold() in ("title", "name", "subject", "headline", "heading", "summary")


def _is_named_prose(measured: Measured) -> bool:
    low = measured.raw.name.casefold()
    is_named = low in _PROSE_NAMES or any(low.endswith("_" + word) for word in _PROSE_NAMES)
    return is_named and measured.words > 1.05


def _is_phrase(measured: Measured) -> bool:
    """Texts of several words that hardly repeat."""
    filled = measured.profile.distinct
    return measured.words >= 4 and not (
        measured.profile.values and measured.profile.values[0][1] > max(2, filled / 4)
    )


def filter_columns(
    table: RawTable,
    columns: Sequence[Measured],
    key: Sequence[str],
    text: Sequence[str],
    rows: int,
    settings: TableSettings | None,
) -> tuple[str, ...]:
    """Settings, else booleans and short texts that repeat: neither dates, numbers, keys nor searched texts."""
    if settings is not None and settings.filters is not None:
        return stored_names(table, settings.filters, "filters")
    found = []
    for m in columns:
        profile = m.profile
        if m.raw.name in text or profile.is_long_text or list(key) == [m.raw.name]:
            continue
        is_short = (
            profile.found == "text" and 0 < profile.mean_length <= FILTER_LENGTH and m.max_length <= 300
        )
        filled = rows * (1 - profile.null_share)
        repeats = profile.distinct < FILTER_DISTINCT * filled or rows <= 50
        if profile.found == "boolean" or (is_short and repeats):
            found.append(m.raw.name)
    return tuple(found)
