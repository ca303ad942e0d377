"""COUNT over something that is never NULL: a CASE with an ELSE, or a condition, whose false rows count as well."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.kinds import kind_of
from sqlrag_dspy.sql.linting.statement import Statement


def counted_else(statement: Statement) -> Iterator[str]:
    """COUNT(CASE WHEN … THEN 1 ELSE 0 END) and COUNT(a = b), which count rows that were not meant."""
    for call in statement.tree.find_all(exp.Count):
        inner, is_distinct = call.this, False
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            inner, is_distinct = inner.expressions[0], True
        inner = bare(inner) if isinstance(inner, exp.Expr) else inner
        if isinstance(inner, exp.Case | exp.If):
            given, otherwise = _results(inner)
            if not _is_value(otherwise):
                continue
            if is_distinct and all(map(_is_value, given)):
                continue  # so many classes
            if all(map(_is_value, given)) or is_distinct:
                shown = otherwise.sql() if otherwise is not None else ""
                yield (
                    f"COUNT(…) counts the rows of ELSE {shown} as well, since {shown} is not NULL; leave out ELSE"
                    + ("" if is_distinct else ", or use SUM(…)")
                )
        elif (
            kind_of(inner) == "boolean"
            and not isinstance(inner, exp.Column | exp.Subquery)
            and not is_distinct
        ):
            yield (
                "COUNT of a condition counts the rows where it is false as well; use COUNT(*) FILTER (WHERE …), or "
                "SUM(CASE WHEN … THEN 1 ELSE 0 END)"
            )


def _results(node: exp.Case | exp.If) -> tuple[list[exp.Expr | None], exp.Expr | None]:
    """What a CASE gives in its branches, and what otherwise."""
    if isinstance(node, exp.If):
        return [node.args.get("true")], node.args.get("false")
    return [branch.args.get("true") for branch in node.args.get("ifs", ())], node.args.get("default")


def _is_value(node: exp.Expr | None) -> bool:
    return node is not None and isinstance(bare(node), exp.Literal | exp.Boolean)
