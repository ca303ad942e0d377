"""Text in a statement put as it is stored: another letter case or spelling, or the column that really holds it.

The links of the question say what is stored where; only text that the question itself names is touched, and only
where the column compared with it does not hold it. Leaves out advice (`linting.spelling`) and looking into rows.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.grammar import render
from sqlrag_dspy.sql.checking.statement import resolved
from sqlrag_dspy.sql.kinds import Field
from sqlrag_dspy.sql.linting.spelling import fold, literals, stored_texts
from sqlrag_dspy.sql.mending.names import Mended, mend
from sqlrag_dspy.types import Catalog, Link, Links


def ground(sql: str, catalog: Catalog, links: Links) -> Mended | None:
    """The statement with its text as it is stored; None when it cannot be read or there is nothing to put right."""
    values = [
        each for each in (*links.chosen, *links.others) if each.kind == "value" and each.op in ("=", "!=")
    ]
    if not values:
        return None
    try:
        tree, _ = resolved(sql, catalog)
        changes: list[str] = []
        is_moved = False
        for node, found, text in list(literals(tree)):
            link = _meant(found, text, values)
            if link is None or found.column is None or found.table is None:
                continue
            is_elsewhere = (link.table, link.column) != (found.table.name, found.column.name)
            if is_elsewhere and not (
                isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.this, exp.Column)
            ):
                continue
            _put(node, text, str(link.value))
            changes.append(f"took {found.name} {text!r} for {link.table}.{link.column} {link.value!r}")
            if is_elsewhere:
                is_moved = True
                node.this.replace(_column(link))
        written = render(tree) if changes else ""
    except (SqlRejected, RecursionError):
        return None
    if not changes:
        return None
    joined = mend(written, catalog) if is_moved else None
    return Mended(joined.text if joined else written, (*changes, *(joined.changes if joined else ())))


def _meant(found: Field, text: str, values: list[Link]) -> Link | None:
    """The link of the question that names `text`, where the compared column does not hold it."""
    if found.column is None or found.table is None or found.column.profile.is_long_text:
        return None
    named = [each for each in values if fold(text) in (fold(each.text), fold(str(each.value)))]
    here = [each for each in named if (each.table, each.column) == (found.table.name, found.column.name)]
    stored = stored_texts(found.column)
    if text in stored or any(text in (each.value, *each.also) for each in here):
        return None
    if here:
        return here[0]
    is_known = bool(stored) or len(named) == 1
    return named[0] if named and is_known and named[0].value is not None else None


def _put(node: exp.Expr, text: str, stored: str) -> None:
    for literal in node.find_all(exp.Literal):
        if literal.is_string and literal.this == text:
            literal.set("this", stored)


def _column(link: Link) -> exp.Column:
    return exp.Column(
        this=exp.to_identifier(link.column, quoted=True), table=exp.to_identifier(link.table, quoted=True)
    )
