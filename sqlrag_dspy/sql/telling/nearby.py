"""What a column holds instead of what a condition asks for: the nearest stored text, its values, or its range."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrag_dspy.sql.checking.advice import nearest
from sqlrag_dspy.sql.dialect.comparing import bare, string, uncased
from sqlrag_dspy.sql.kinds import Field, field_of, function_name
from sqlrag_dspy.sql.linting import nearest_stored, stored_spelling
from sqlrag_dspy.sql.probing import Probe, first, within

_COMPARED = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Like, exp.ILike, exp.Between)
_SAMPLED = 500
_LISTED = 12


def held_instead(term: exp.Expr, select: exp.Select, probe: Probe) -> str:
    """`; …` for the comparisons of a condition, each told once; "" when there is nothing to say."""
    told: dict[str, None] = {}
    for found, node, text in _comparisons(term):
        line = _held(found, node, text, select, probe)
        if line:
            told.setdefault(line)
    return "".join(f"; {line}" for line in told)


def _comparisons(term: exp.Expr) -> Iterator[tuple[Field, exp.Expr, str | None]]:
    """(stored column, comparison, literal text or None) of each comparison in a condition."""
    for node in bare(term).find_all(*_COMPARED):
        found = field_of(_subject(node.this))
        if found is None or found.column is None or found.table is None:
            continue
        if isinstance(node, exp.In):
            for each in node.expressions:
                yield found, node, string(_inner(each))
        else:
            right = node.args.get("expression")
            yield found, node, string(_inner(right)) if right is not None else None


def _subject(node: exp.Expr) -> exp.Expr:
    node = bare(node)
    while isinstance(node, exp.Cast) or function_name(node) in ("try_strptime", "lower", "upper", "strftime"):
        node = bare(node.this if isinstance(node, exp.Cast) else node.expressions[0])
    return node


def _inner(node: exp.Expr) -> exp.Expr:
    return uncased(node)


def _held(found: Field, node: exp.Expr, text: str | None, select: exp.Select, probe: Probe) -> str:
    column = found.column
    if column is None:
        return ""
    profile = column.profile
    if profile.found != "text" or profile.date_formats:
        if profile.minimum is None or profile.found == "boolean":
            return ""
        return f"{found.name!r} runs from {profile.minimum} to {profile.maximum}"
    if text is None:
        return ""
    asked = text.strip("%")
    meant = stored_spelling(asked if isinstance(node, exp.Like | exp.ILike) else text, column)
    if meant is None and not profile.is_categorical and asked:
        meant = _seen(found, node, asked, select, probe)
    if meant is not None and meant != text:
        return f"the nearest stored value of {found.name!r} is {meant!r}"
    if profile.is_categorical and not any(asked == each for each, _ in profile.values):
        return f"{found.name!r} holds {', '.join(repr(each) for each, _ in profile.values[:_LISTED])}"
    return ""


def _seen(found: Field, node: exp.Expr, text: str, select: exp.Select, probe: Probe) -> str | None:
    """The nearest text in a column whose values are not listed; for a pattern, among some of its values."""
    if not isinstance(node, exp.Like | exp.ILike):
        return nearest_stored(probe, found, text)
    query = within(select, [_subject(node.this)], [])
    query.set("distinct", exp.Distinct())
    rows = probe.rows(first(query, _SAMPLED))
    stored = [str(row[0]) for row in rows.values if row[0] is not None] if rows is not None else []
    return nearest(text, stored, cutoff=80)
