"""Which database a store was made of, so that an index is not thrown away for another one's.

Leaves out whether the rows changed: that is the sync's own business.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sqlrag_dspy.errors import IndexUnusable
from sqlrag_dspy.index import store
from sqlrag_dspy.types import Table

_NAME = "origin"


def claim(
    connection: sqlite3.Connection,
    folder: Path,
    origin: Path,
    tables: Sequence[Table],
    *,
    is_replaced: bool = False,
) -> bool:
    """Notes the database file in the store; whether that was news.

    Raises IndexUnusable when the store holds the index of another: its file is another and still there, or is not
    known or gone while a table that is indexed is not here. A file that was moved, or copied together with the
    store, keeps its index. One that `is_replaced` may be anybody's.
    """
    now = {"path": str(origin), "from_store": _from(folder, origin)}
    noted = store.meta(connection, _NAME)
    if noted == now:
        return False
    before = noted["path"] if noted is not None else None
    names = [name for (name,) in connection.execute("SELECT name FROM tables ORDER BY id").fetchall()]
    here = {table.name for table in tables}
    if before is None:
        is_other = bool(names) and here.isdisjoint(names)
    elif noted["from_store"] == now["from_store"]:
        is_other = False  # copied together
    elif Path(before).is_file():
        is_other = bool(names) and not _is_same(Path(before), origin)
    else:
        is_other = not here.issuperset(names)
    if is_other and not is_replaced:
        of = f"of {before}" if before is not None else f"of another database, with {', '.join(names)}"
        raise IndexUnusable(
            f"the store {folder} holds the index {of}, and the source is {origin}; "
            "set 'store' in sqlrag.toml to another folder, or replace that index with 'sqlrag index --rebuild'"
        )
    store.set_meta(connection, _NAME, now)
    return True


def _from(folder: Path, origin: Path) -> str:
    try:
        return os.path.relpath(origin, folder)
    except ValueError:  # on another drive of Windows
        return str(origin)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
