"""Which functions may be called, and how much the generating ones may make.

The list is data (functions.txt, written by scripts/list_functions.py); a few names that only SQLite has are
known besides, because dialect.py rewrites them. Nothing that is not listed runs.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from importlib.resources import files

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.dialect.grouping import AGGREGATES
from sqlrag_dspy.sql.kinds import function_name
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.sql.words import words

MAX_GENERATED = 100_000
"""Rows of range(…), or characters of repeat(…)."""
MAX_WIDTH = 10_000

REWRITTEN = frozenset(
    words(
        """
        date datetime time julianday unixepoch total ifnull iif char glob like hex max min sum
        """
    )
)
"""SQLite's own, which dialect.py turns into DuckDB's; and those of MAX(a, b)'s kind."""

_REFUSED = {
    "random": "it gives other rows each time; use ORDER BY a column",
    "uuid": "it gives another value each time",
    "nextval": "it changes the database",
    "current_setting": "settings cannot be read here",
    "getenv": "the environment cannot be read here",
    "columns": "list the columns instead",
}


@cache
def listed() -> frozenset[str]:
    """Names of the functions that may run."""
    text = (files("sqlrag_dspy.sql.checking") / "functions.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.split() if line)


def check_functions(tree: exp.Expr) -> None:
    """Raise SqlRejected for a function that is not listed, or that may make too much."""
    allowed = listed()
    for node in nodes_of(tree):
        if not isinstance(node, exp.Anonymous):
            continue
        name = function_name(node)
        # a quoted function name would be written out quoted, where the output check cannot see it
        node.set("this", name)
        is_source = isinstance(node.parent, exp.Table)
        if is_source and name not in ("range", "generate_series", "unnest"):
            from sqlrag_dspy.sql.checking.advice import no_table_function

            raise SqlRejected(no_table_function(name))
        if name not in allowed and name not in REWRITTEN and name != "unnest":
            raise SqlRejected(_not_allowed(name, allowed))
        if not node.expressions and name in (
            "max",
            "min",
            "group_concat",
            "string_agg",
            "total",
            "printf",
            "format",
        ):
            raise SqlRejected(f"{name}() needs an argument")
        if any(isinstance(each, exp.Order) and each.this is None for each in node.expressions):
            raise SqlRejected(f"{name}(…) orders nothing; put a column before ORDER BY")
        if name not in AGGREGATES and any(_is_distinct(each) for each in node.expressions):
            raise SqlRejected(
                f"DISTINCT has no meaning in {name}(…); it belongs in an aggregate or after SELECT"
            )
        if name in ("range", "generate_series"):
            generated_rows(node, name)
        elif name in ("repeat", "lpad", "rpad"):
            _bounded_text(node, name)
        elif name in ("printf", "format"):
            _bounded_format(node, name)
        elif name in ("like", "glob") and len(node.expressions) != 2:
            raise SqlRejected(f"{name}(…) needs a pattern and a text; or write text {name.upper()} pattern")


def _is_distinct(node: exp.Expr) -> bool:
    return isinstance(node.this if isinstance(node, exp.Order) else node, exp.Distinct)


def _not_allowed(name: str, allowed: frozenset[str]) -> str:
    if name in _REFUSED:
        return f"function {name}() is not allowed: {_REFUSED[name]}"
    from sqlrag_dspy.sql.checking.advice import nearest

    guess = nearest(name, allowed, cutoff=75, is_whole=True)
    remedy = f"did you mean {guess}()?" if guess else "use plain SQL functions over the columns of the tables"
    return f"function {name}() is not allowed; {remedy}"


def _number(node: exp.Expr | None) -> float | None:
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        return sign * float(node.this)
    return None


def generated_rows(call: exp.Expr, name: str) -> float:
    """How many rows a generating function makes, from its literal arguments; raises when it cannot be told."""
    arguments = call.expressions
    numbers = [_number(argument) for argument in arguments]
    if arguments and all(number is not None for number in numbers):
        known = [number for number in numbers if number is not None]
        start, stop = (0.0, known[0]) if len(known) == 1 else (known[0], known[1])
        step = known[2] if len(known) > 2 else 1.0
        count = abs(stop - start) / abs(step) if step else float("inf")
    else:
        count = _days(arguments, name)
    if count > MAX_GENERATED:
        raise SqlRejected(
            f"{name}(…) would make {count:,.0f} rows, more than {MAX_GENERATED:,}; ask for fewer"
        )
    return max(count, 1.0)


def _days(arguments: list[exp.Expr], name: str) -> float:
    """Rows of a series of dates with a literal step, counted in days at the finest."""
    dates = []
    for argument in arguments[:2]:
        text = argument.this if isinstance(argument, exp.Cast) else argument
        match = (
            re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)( 00:00:00)?", text.this)
            if isinstance(text, exp.Literal)
            else None
        )
        if match:
            dates.append(date(int(match[1]), int(match[2]), int(match[3])))
    step = arguments[2] if len(arguments) == 3 else None
    unit = (
        str(step.args["unit"]).upper().rstrip("S")
        if isinstance(step, exp.Interval) and step.args.get("unit")
        else ""
    )
    if len(dates) != 2 or unit not in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR"):
        raise SqlRejected(
            f"{name}(…) needs literal bounds, as in {name}(1, 12) or "
            f"{name}(DATE '2023-01-01', DATE '2023-12-01', INTERVAL 1 MONTH)"
        )
    return float(abs((dates[1] - dates[0]).days))


def _bounded_text(node: exp.Anonymous, name: str) -> None:
    arguments = node.expressions
    count = _number(arguments[1]) if len(arguments) > 1 else None
    if count is None:
        raise SqlRejected(f"{name}(…) needs a plain number as its second argument")
    text = arguments[0]
    is_literal = name == "repeat" and isinstance(text, exp.Literal)
    size = count * max(len(text.this), 1) if is_literal else count  # growth.py bounds what is not literal
    if size > MAX_WIDTH:
        raise SqlRejected(
            f"{name}(…) would make {size:,.0f} characters, more than {MAX_WIDTH:,}; ask for fewer"
        )


def _bounded_format(node: exp.Anonymous, name: str) -> None:
    pattern = node.expressions[0] if node.expressions else None
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise SqlRejected(f"{name}(…) needs a literal pattern as its first argument")
    if re.search(r"\d{4,}|\*|\{[^}]*\{", pattern.this):
        raise SqlRejected(f"{name}(…) asks for too wide a field; use a width below 1000")
