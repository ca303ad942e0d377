"""The row conditions of a policy: parsed, tied to the declared tables, their parameters filled in as literals.

A condition is run by the source's own engine, inside the view that everything else reads, so it is written in the
source's SQL and means there what it would mean in a WHERE. Allowed are comparisons over the table's own columns,
a few text functions, and `column IN (SELECT column FROM other WHERE …)`. Leaves out which rows a policy restricts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.types import Declared, SessionValue, Value, WriteCondition

_ALLOWED = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between,
    exp.Is, exp.Null, exp.Boolean, exp.Literal, exp.Neg, exp.Like, exp.DPipe, exp.Column, exp.Identifier,
    exp.Placeholder, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Coalesce, exp.Subquery,
)  # fmt: skip
_INSIDE = (exp.Select, exp.From, exp.Where, exp.Table)
_COMPARES = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_IN_WORDS = "comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, lower, upper, trim, length, coalesce"
_NUMBERS = re.compile(r"INT|REAL|FLOA|DOUB|DEC|NUM", re.IGNORECASE)
_TEXTS = re.compile(r"CHAR|CLOB|TEXT|STRING", re.IGNORECASE)
_TRUTHS = {"true": True, "false": False}
_ESCAPE = "\x1f"
"""Marks in a pattern what stands for itself: a character that is in no text."""
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


def parameters(condition: str) -> tuple[str, ...]:
    """The names after a colon in a condition, each once. Raises SqlRejected when it cannot be parsed."""
    tree = _parsed(condition, "sqlite")
    return tuple(dict.fromkeys(_name(node) for node in tree.find_all(exp.Placeholder)))


def writer(session: Mapping[str, SessionValue]) -> WriteCondition:
    """`row_condition` for the values of one session."""
    return partial(row_condition, session=session)


def row_condition(
    condition: str,
    table: Declared,
    tables: Sequence[Declared],
    dialect: str,
    *,
    session: Mapping[str, SessionValue],
) -> str:
    """The condition as the source's own SQL ("sqlite" or "duckdb"), names quoted as declared.

    Raises SqlRejected for anything but one condition of the allowed parts, for an unknown column, and for a
    parameter that is not set or does not suit the column it is compared with.
    """
    tree = _parsed(condition, dialect)
    holder = exp.Paren(this=tree)
    _Writing(tables, session, dialect).condition(holder, table)
    return holder.sql(dialect=dialect, comments=False)


def _parsed(condition: str, dialect: str) -> exp.Expr:
    try:
        tree: exp.Expr = sqlglot.parse_one(condition, into=exp.Condition, dialect=dialect)
    except (ParseError, TokenError) as error:
        raise SqlRejected("this is not one SQL condition; write it as after WHERE") from error
    except RecursionError as error:
        raise SqlRejected("the condition is nested too deeply; simplify it") from error
    for node in tree.walk():
        if not isinstance(node, _ALLOWED) and not (isinstance(node, _INSIDE) and node.find_ancestor(exp.In)):
            raise SqlRejected(
                f"{type(node).__name__} is not supported in a row condition; it may hold {_IN_WORDS} and "
                "column IN (SELECT column FROM table WHERE …)"
            )
    return tree


def _name(node: exp.Placeholder) -> str:
    if not isinstance(node.this, str) or not node.this:
        raise SqlRejected("a parameter needs a name, as in :tenant")
    return node.this


class _Writing:
    """One condition on its way: names tied table by table, parameters replaced."""

    def __init__(self, tables: Sequence[Declared], session: Mapping[str, SessionValue], dialect: str) -> None:
        self._tables = {table.name.casefold(): table for table in tables}
        self._session = session
        self._dialect = dialect

    def condition(self, holder: exp.Expr, table: Declared) -> None:
        """Ties and fills everything under `holder` that is not a query inside it."""
        stack = [holder]
        names: list[exp.Column] = []
        marks: list[exp.Placeholder] = []
        patterns: dict[int, exp.Like] = {}
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Column):
                names.append(node)
                continue
            if isinstance(node, exp.Subquery):
                self._query(node)
                continue
            if isinstance(node, exp.Placeholder):
                marks.append(node)
                continue
            stack.extend(node.iter_expressions())
        for mark in marks:
            if (pattern := _pattern_of(mark)) is not None:
                patterns[id(pattern)] = pattern
            self._fill(mark, table, is_pattern=pattern is not None)
        for column in names:
            stored = _declared(column, table)
            quoted = [exp.to_identifier(name, quoted=True) for name in (stored, table.name)]
            column.replace(exp.Column(this=quoted[0], table=quoted[1]))
        for pattern in patterns.values():
            escape = exp.Literal.string(_ESCAPE)
            pattern.replace(exp.Escape(this=pattern.copy(), expression=escape))

    def _query(self, node: exp.Subquery) -> None:
        query = node.this
        parts = {key for key, value in query.args.items() if value}
        start = query.args.get("from_")
        source = start.this if start is not None else None
        is_plain = (
            isinstance(node.parent, exp.In)
            and isinstance(query, exp.Select)
            and parts <= {"expressions", "from_", "where"}
            and len(query.expressions) == 1
            and isinstance(query.expressions[0], exp.Column)
            and isinstance(source, exp.Table)
            and {key for key, value in source.args.items() if value} == {"this"}
            and {key for key, value in node.args.items() if value} == {"this"}
        )
        if not is_plain or not isinstance(source, exp.Table):
            raise SqlRejected("a query inside must be column IN (SELECT column FROM table WHERE …), no more")
        table = self._tables.get(source.name.casefold())
        if table is None:
            raise SqlRejected(f"it names a table {source.name!r} that the source does not have")
        self.condition(query.expressions[0], table)
        if (where := query.args.get("where")) is not None:
            self.condition(where, table)
        relation = exp.to_table(table.relation, dialect=self._dialect)
        relation.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        source.replace(relation)

    # --- parameters ---------------------------------------------------------------------------------

    def _fill(self, mark: exp.Placeholder, table: Declared, *, is_pattern: bool) -> None:
        name = _name(mark)
        if name not in self._session:
            raise SqlRejected(f"the session has no parameter {name!r}")
        value = self._session[name]
        if is_pattern and isinstance(value, str):
            # Of a pattern only what the condition itself says is a wildcard.
            value = re.sub(f"[%_{_ESCAPE}]", lambda found: _ESCAPE + found[0], value)
        kind = "text" if is_pattern else _kind_beside(mark, table)
        if not isinstance(value, tuple):
            mark.replace(self._literal(name, value, kind))
            return
        if not isinstance(mark.parent, exp.In) or mark.arg_key != "expressions":
            raise SqlRejected(f"the parameter {name!r} has several values; write column IN (:{name})")
        listed = [self._literal(name, one, kind) for one in value] or [exp.null()]
        others = [item for item in mark.parent.expressions if item is not mark]
        mark.parent.set("expressions", [*others, *listed])

    def _literal(self, name: str, value: Value, kind: str) -> exp.Expr:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise SqlRejected(f"the parameter {name!r} is {value}; give a text or a number")
        if isinstance(value, str) and "\0" in value:
            raise SqlRejected(f"the parameter {name!r} holds a NUL character")
        if isinstance(value, bool) and kind == "text":
            raise SqlRejected(
                f"the parameter {name!r} is true or false and is compared with a text; give a text"
            )
        if isinstance(value, str) and kind in ("number", "boolean") and value.casefold() in _TRUTHS:
            value = _TRUTHS[value.casefold()]
        if isinstance(value, bool):
            # SQLite keeps both as numbers.
            is_kept = self._dialect == "duckdb" and kind != "number"
            value = str(value).lower() if is_kept else int(value)
        is_number = not isinstance(value, str) or _PLAIN_NUMBER.fullmatch(value) is not None
        if kind == "number" and not is_number:
            # SQLite sorts every text after every number, which would let all rows through a "<=".
            raise SqlRejected(f"the parameter {name!r} is compared with numbers and is none")
        if self._dialect == "duckdb" or kind == "text" or not is_number:
            # DuckDB reads a literal text as whatever it is compared with.
            return exp.Literal.string(value if isinstance(value, str) else repr(value))
        number = value if isinstance(value, str) else repr(value)
        if kind != "number" and isinstance(value, str):
            return exp.Literal.string(value)
        literal = exp.Literal.number(number.removeprefix("-"))
        return exp.Paren(this=exp.Neg(this=literal)) if number.startswith("-") else literal


def _declared(column: exp.Column, table: Declared) -> str:
    stored = {name.casefold(): name for name, _ in table.columns}
    is_own = column.table.casefold() in ("", table.name.casefold()) and not column.args.get("db")
    if not is_own or column.name.casefold() not in stored:
        raise SqlRejected(f"it names a column {column.sql()} that {table.name} does not have")
    return stored[column.name.casefold()]


def _kind_beside(mark: exp.Placeholder, table: Declared) -> str:
    """ "number", "text", "boolean" or "any": what the column holds that a parameter is compared with."""
    parent = mark.parent
    if not isinstance(parent, (*_COMPARES, exp.In, exp.Between)):
        return "any"
    sides = [parent.this, parent.args.get("expression")]
    return next((kind for side in sides if (kind := _kind_of(side, table))), "any")


def _pattern_of(mark: exp.Placeholder) -> exp.Like | None:
    """The LIKE whose pattern a parameter is in, or is part of."""
    node: exp.Expr = mark
    while isinstance(node.parent, (exp.DPipe, exp.Paren)):
        node = node.parent
    return node.parent if isinstance(node.parent, exp.Like) and node.arg_key == "expression" else None


def _kind_of(side: exp.Expr | None, table: Declared) -> str:
    """What a side of a comparison holds; "" when that is not known."""
    while isinstance(side, (exp.Paren, exp.Coalesce)):
        side = side.this
    if isinstance(side, (exp.Lower, exp.Upper, exp.Trim, exp.DPipe)):
        return "text"
    if isinstance(side, exp.Length):
        return "number"
    if not isinstance(side, exp.Column):
        return ""
    kind = {name.casefold(): kind for name, kind in table.columns}.get(side.name.casefold(), "")
    if _TEXTS.search(kind) and not re.search("INT", kind, re.IGNORECASE):
        return "text"
    if _NUMBERS.search(kind) and "POINT" not in kind.upper():
        return "number"
    return "boolean" if "BOOL" in kind.upper() else "any"
