"""Alternatives of one expression brought to one type: SQLite gives whichever it takes, DuckDB wants them alike."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.sql.dialect.dates import cast
from sqlrag_dspy.sql.kinds import kind_of


def as_text(node: exp.Expr) -> exp.Expr:
    """The expression as text; a list and what is unknown stay as they are."""
    if isinstance(node, exp.Distinct):
        if len(node.expressions) == 1:
            return exp.Distinct(expressions=[as_text(node.expressions[0])])
        return node
    return node if kind_of(node) in ("text", None, "list") else cast(node, "VARCHAR")


def coalesce(node: exp.Coalesce) -> exp.Expr | None:
    """COALESCE with every part as text where one is; None when nothing changes."""
    parts = [node.this, *node.expressions]
    kinds = {kind_of(each) for each in parts if not isinstance(each, exp.Null)}
    if "text" not in kinds or not kinds - {"text", None}:
        return None
    fixed = [as_text(each) for each in parts]
    return exp.Coalesce(this=fixed[0], expressions=fixed[1:])


def case(node: exp.Case) -> None:
    """CASE, changed in place."""
    branches = [*((each, "true") for each in node.args.get("ifs", ())), (node, "default")]
    _to_text(branches)


def either(node: exp.If) -> None:
    """IIF, changed in place; the branches of CASE are nodes of the same type."""
    if not isinstance(node.parent, exp.Case):
        _to_text([(node, "true"), (node, "false")])


def _to_text(branches: list[tuple[exp.Expr, str]]) -> None:
    """Numbers as text where another branch is text."""
    results = [(holder, key, each) for holder, key in branches if (each := holder.args.get(key)) is not None]
    kinds = {kind_of(each) for _, _, each in results}
    if "text" not in kinds or not kinds & {"integer", "number"}:
        return
    for holder, key, each in results:
        if kind_of(each) in ("integer", "number", "boolean"):
            holder.set(key, as_text(each))
