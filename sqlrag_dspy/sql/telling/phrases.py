"""Predicates and conditions in plain words."""

from __future__ import annotations

import re

from sqlglot import exp

from sqlrag_dspy.sql.checking.grammar import render
from sqlrag_dspy.sql.dialect.comparing import uncased
from sqlrag_dspy.types import Catalog, Predicate, Value

_WHEN = {">=": "from", "<": "before", ">": "after", "<=": "up to"}
_WORDS = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}


def plain_name(name: str) -> str:
    """A column or table name as words: article_category becomes article category."""
    return re.sub(r"[_\s]+", " ", name).strip() or name


def value_text(value: Value | tuple[Value, ...]) -> str:
    """A value for a person."""
    if isinstance(value, tuple):
        shown = [value_text(each) for each in value]
        return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 2 else shown)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    if isinstance(value, int):
        return str(value)
    if value is None:
        return "missing"
    return "''" if value == "" else str(value)


def groups_text(groups: tuple[tuple[Predicate, ...], ...], table: str, catalog: Catalog) -> str:
    """All groups as one clause: `category is politics and date from 2023-03-01 to before 2023-04-01`."""
    said: list[str] = []
    used: set[int] = set()
    for at, group in enumerate(groups):
        if at in used:
            continue
        opens = len(group) == 1 and group[0].op == ">=" and not group[0].than
        other = _closing(groups, at, used) if opens else None
        if other is not None:
            used.add(other)
            first, last = group[0], groups[other][0]
            said.append(f"{_name(first, table)} {_range(first, last, catalog)}")
            continue
        said.append(" or ".join(predicate_text(each, table, catalog) for each in group))
    return " and ".join(
        f"({each})" if " or " in each and len(said) > 1 and _has_or(each) else each for each in said
    )


def _has_or(text: str) -> bool:
    return " is " in text.partition(" or ")[2]


def _closing(groups: tuple[tuple[Predicate, ...], ...], at: int, used: set[int]) -> int | None:
    start = groups[at][0]
    for other, group in enumerate(groups):
        if other in used or other == at or len(group) != 1 or group[0].op not in ("<", "<="):
            continue
        each = group[0]
        if each.than:
            continue
        if (each.table, each.column, each.part, each.since) == (
            start.table,
            start.column,
            start.part,
            start.since,
        ):
            return other
    return None


def _is_date(each: Predicate, catalog: Catalog) -> bool:
    table = catalog.table(each.table)
    column = table.column(each.column) if table is not None else None
    return column is not None and column.is_date and not each.part and not each.since


def _range(first: Predicate, last: Predicate, catalog: Catalog) -> str:
    low, high = value_text(first.value), value_text(last.value)
    if _is_date(first, catalog):
        return f"from {low} to before {high}" if last.op == "<" else f"from {low} to {high}"
    return f"is at least {low} and {_WORDS[last.op]} {high}"


def _name(each: Predicate, table: str) -> str:
    owner = f"{plain_name(each.table)} " if each.table != table else ""
    owner += f"{plain_name(each.via)} " if each.via else ""
    if each.since:
        return f"number of days from {owner}{plain_name(each.since)} to {plain_name(each.column)}"
    part = f"{each.part.replace('_', ' ')} of " if each.part else ""
    return f"{part}{owner}{plain_name(each.column)}"


def predicate_text(each: Predicate, table: str, catalog: Catalog) -> str:
    """One predicate: `word count is more than 500`, `title contains bank`."""
    name, op = _name(each, table), each.op
    value = "the average" if each.than else value_text(each.value)
    if op == "null":
        return f"{name} is missing"
    if op == "not null":
        return f"{name} is present"
    if op in ("=", "in"):
        return f"{name} is {value}"
    if op == "!=":
        return f"{name} is not {value}"
    if op == "not in":
        return f"{name} is none of {value.replace(' or ', ' and ')}"
    if op in ("like", "not like"):
        return f"{name} {_like_text(str(each.value), negated=op == 'not like')}"
    if _is_date(each, catalog):
        return f"{name} {_WHEN[op]} {value}"
    return f"{name} is {_WORDS[op]} {value}"


def _like_text(pattern: str, *, negated: bool) -> str:
    inner = pattern.strip("%")
    starts, ends = not pattern.startswith("%"), not pattern.endswith("%")
    verbs = {(True, True): ("is like", "is not like"), (True, False): ("starts with", "does not start with")}
    verbs |= {
        (False, True): ("ends with", "does not end with"),
        (False, False): ("contains", "does not contain"),
    }
    return f"{verbs[starts, ends][negated]} {inner}"


def condition_text(node: exp.Expr) -> str:
    """A SQL condition for a person: names without quotes, dates without casts."""
    said = render(node.transform(uncased) if node.find(exp.Anonymous) else node)
    said = re.sub(r"(?:TRY_)?CAST\(('[^']*') AS (?:DATE|TIMESTAMP)\)", r"\1", said)
    said = re.sub(r"TRY_STRPTIME\((\"[^\"]*\"(?:\.\"[^\"]*\")?), (?:'[^']*'|\[[^\]]*\])\)", r"\1", said)
    said = re.sub(r"CAST\((\"[^\"]*\"(?:\.\"[^\"]*\")?) AS DATE\)", r"\1", said)
    said = re.sub(r"ANY_VALUE\((\"[^\"]*\"(?:\.\"[^\"]*\")?)\)", r"\1", said)
    said = re.sub(r"\"([^\"]*)\"", r"\1", said)
    return said if len(said) <= 200 else f"{said[:197]}…"
