"""LEFT JOIN whose rows without a partner are dropped by WHERE: it then is an inner join, written otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlrag_dspy.sql.dialect.comparing import bare
from sqlrag_dspy.sql.linting.absence import required_by
from sqlrag_dspy.sql.linting.statement import Statement, sources_used, where_of
from sqlrag_dspy.sql.probing import first, within
from sqlrag_dspy.sql.telling.phrases import condition_text


def undone_join(statement: Statement) -> Iterator[str]:
    """Conditions of WHERE on the right side of a LEFT JOIN, which no row without a partner passes.

    `IS NOT NULL` says so in as many words, and is left alone.
    """
    for select in statement.selects():
        terms = where_of(select)
        for number, join in enumerate(select.args.get("joins") or ()):
            alias = join.this.alias_or_name.casefold()
            undoing = [each for each in terms if _drops(each, alias)] if join.side == "LEFT" else []
            if undoing and _loses_rows(statement, select, number, undoing) is not False:
                name = join.this.alias_or_name
                yield (
                    f"LEFT JOIN {name} keeps rows that have none, and WHERE {condition_text(undoing[0])} drops them "
                    "again; move the condition into ON to keep them, or write JOIN"
                )


def _drops(term: exp.Expr, alias: str) -> bool:
    """Whether a condition fails wherever the columns of that source are NULL, and does not say that alone."""
    inner = bare(term)
    is_plain = isinstance(inner, exp.Not) and isinstance(bare(inner.this), exp.Is)
    return not is_plain and any(place[0] == alias for place in required_by(term))


def _loses_rows(
    statement: Statement, select: exp.Select, number: int, undoing: Sequence[exp.Expr]
) -> bool | None:
    """Whether any row would be kept were the conditions in ON; None when it cannot be asked."""
    asked = within(select, [exp.Literal.number(1)], [])
    joins = asked.args["joins"]
    join, alias = joins[number], joins[number].this.alias_or_name.casefold()
    later = {each.this.alias_or_name.casefold() for each in joins[number + 1 :]}
    if join.args.get("on") is None or any(later & sources_used(each) for each in undoing):
        return None
    known = next(place for each in undoing for place in required_by(each) if place[0] == alias)
    join.set("on", exp.and_(join.args["on"].copy(), *(each.copy() for each in undoing), copy=False))
    partner = exp.column(
        exp.to_identifier(known[1], quoted=True), exp.to_identifier(join.this.alias_or_name, quoted=True)
    )
    kept = [each for each in where_of(select) if each not in undoing]
    for term in [*kept, exp.Is(this=partner, expression=exp.Null())]:
        asked = asked.where(term.copy(), copy=False)
    return statement.probe.has_rows(first(asked))
