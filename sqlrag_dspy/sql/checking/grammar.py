"""Text to one parsed query, within bounds: the grammar is DuckDB's, with SQLite's extra syntax understood.

One grammar reads everything, so that checked SQL re-checks to itself: functions stay as they were written
(except the few that the repairs need to see), whatever dialect they come from. What parts a query may have
is in allowed.py; names and functions are checked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.calls import with_plain_calls
from sqlrag_dspy.sql.walking import nodes_of

MAX_CHARACTERS = 250_000
MAX_DEPTH = 30
"""Brackets within brackets; the parser spends about 20 Python frames on each."""


_SIGNS = {
    "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "ADD": "+", "SUB": "-", "MUL": "*",
    "DIV": "/", "DPIPE": "||",
}  # fmt: skip


class _Parser(DuckDBParser):
    FUNCTIONS = {  # noqa: RUF012
        **{
            name: DuckDBParser.FUNCTIONS[name]
            for name in ("COUNT", "SUM", "AVG", "COALESCE", "IFNULL", "NULLIF")
        },
        "IIF": lambda args: exp.If.from_arg_list(args),
        "NVL": DuckDBParser.FUNCTIONS["IFNULL"],
    }
    ARRAY_CONSTRUCTORS = {"ARRAY": exp.Array}  # noqa: RUF012 - list(…)[1] is an element of an aggregate
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: DuckDBParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION")
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        name: DuckDBParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("ANY", "CASE", "IF")
    }
    NO_PAREN_FUNCTIONS = {  # noqa: RUF012
        token: DuckDBParser.NO_PAREN_FUNCTIONS[token]
        for token in (TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP)
    }

    def _parse_ordered(self, parse_method: Callable[[], exp.Expr | None] | None = None) -> exp.Ordered | None:
        ordered = super()._parse_ordered(parse_method)
        if ordered is not None:
            said = self._tokens[max(self._index - 2, 0) : self._index]
            words = [token.text.upper() for token in said]
            ordered.meta["says_nulls"] = words in (["NULLS", "FIRST"], ["NULLS", "LAST"])
        return ordered


class _Generator(DuckDBGenerator):
    def ordered_sql(self, expression: exp.Ordered) -> str:
        # where NULLs go is written out once it is known: readers and databases differ in what they assume
        direction = " DESC" if expression.args.get("desc") else ""
        nulls = " NULLS FIRST" if expression.args.get("nulls_first") else " NULLS LAST"
        if expression.meta.get("says_nulls") is False:
            nulls = ""
        return f"{self.sql(expression, 'this')}{direction}{nulls}"

    def distinct_sql(self, expression: exp.Distinct) -> str:
        holder = expression.parent
        if isinstance(holder, exp.Order):
            holder = holder.parent
        if isinstance(holder, exp.Anonymous):
            return f"DISTINCT {self.expressions(expression, flat=True)}"
        return super().distinct_sql(expression)

    def any_sql(self, expression: exp.Any) -> str:
        return f"ANY {self._bracketed(expression)}"

    def all_sql(self, expression: exp.All) -> str:
        return f"ALL {self._bracketed(expression)}"

    def _bracketed(self, expression: exp.Any | exp.All) -> str:
        inner = expression.this
        while isinstance(inner, exp.Paren) or (
            isinstance(inner, exp.Subquery) and list(_said(inner)) == ["this"]
        ):
            inner = inner.this
        return f"({self.sql(inner)})"

    def ignorenulls_sql(self, expression: exp.IgnoreNulls) -> str:
        return f"{self.sql(expression, 'this')} IGNORE NULLS"

    def respectnulls_sql(self, expression: exp.RespectNulls) -> str:
        return f"{self.sql(expression, 'this')} RESPECT NULLS"


class Reading(DuckDB):
    """DuckDB's grammar with backticks, and with functions kept as written."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012

    Parser = _Parser
    Generator = _Generator


class BracketReading(Reading):
    """The same with [bracketed names], which only SQLite and SQL Server have."""

    class Tokenizer(Reading.Tokenizer):
        IDENTIFIERS = ['"', "`", ("[", "]")]  # noqa: RUF012

    Parser = _Parser
    Generator = _Generator


READING = Reading()
_BRACKETS = BracketReading()

_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM, TokenType.VALUES}

_DUCKDB_MARKS = re.compile(
    r"::|\b(?:qualify|ilike|exclude|try_cast)\b|\b(?:interval|date|timestamp)\s*'|\binterval\s+\d|"
    r"\b(?:date_trunc|date_part|date_diff|datediff|try_strptime|strptime|string_agg|regexp_matches|epoch|any_value|"
    r"arg_max|arg_min|list|year|month|quarter|day|monthname|dayname|extract|count_if|median)\s*\(",
    re.IGNORECASE,
)


def looks_like_duckdb(text: str) -> bool:
    """Whether the text uses what DuckDB has and SQLite has not, so that DuckDB's rules were meant."""
    return _DUCKDB_MARKS.search(text) is not None


def _names_in_brackets(text: str) -> bool:
    """Whether every [ in the text opens a name, as in SQLite and SQL Server, rather than a list or an index."""
    plain = re.sub(r"'(?:[^']|'')*'", "''", text)
    found = re.findall(r"(.?)(\[[^\]]*\]?)", plain, re.DOTALL)
    return bool(found) and all(
        not re.match(r"[\w)\]]", before) and re.fullmatch(r"\[[^\W\d][^\[\],'()]*\]", inside)
        for before, inside in found
    )


def parse(text: str, *, brackets: bool) -> exp.Query:
    """The one query in `text`; with `brackets`, [a name] may be an identifier.

    Raises SqlRejected for anything else than one query of allowed parts, and for text beyond the bounds.
    """
    text = text.removeprefix("\ufeff")  # the mark that some editors put before a file's text
    if len(text) > MAX_CHARACTERS:
        raise SqlRejected(
            f"the statement has {len(text):,} characters, more than {MAX_CHARACTERS:,}; shorten it, for example "
            "with a subquery instead of a long list of values"
        )
    if not text.strip():
        raise SqlRejected("the statement is empty; write one SELECT query")
    if "\0" in text:
        raise SqlRejected("the statement holds a NUL character; leave it out")
    if not text.isprintable() and re.search(r"[\ud800-\udfff]", text):
        raise SqlRejected("the statement holds half a character (a lone surrogate); leave it out")
    return _parse_as(text, _BRACKETS if brackets and "[" in text and _names_in_brackets(text) else READING)


def _parse_as(text: str, dialect: DuckDB) -> exp.Query:
    try:
        tokens = dialect.tokenize(text)
    except TokenError as error:
        raise SqlRejected(
            f"this is not valid SQL: {_first_line(error)}; check quotes and comments"
        ) from error
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SqlRejected("the statement holds only comments; write one SELECT query")
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise SqlRejected("several statements were given; send one SELECT query, without ';' inside")
    if tokens[0].token_type not in _STARTS:
        raise SqlRejected(_not_a_query(tokens[0]))
    for token, following in pairwise(tokens):
        if (
            token.token_type == TokenType.NUMBER
            and following.start == token.end + 1
            and following.text[0].isalpha()
        ):
            raise SqlRejected(f"{token.text}{following.text[:20]} is not a number; write numbers in decimal")
    tokens = _without_spare_brackets(tokens)
    try:
        trees = dialect.parser().parse(tokens, text)
    except ParseError as error:
        raise SqlRejected(f"this is not valid SQL: {_first_line(error)}") from error
    tree = trees[0] if len(trees) == 1 else None
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Values) and list(_said(tree)) == ["this"]:
        tree = tree.this
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(tree)
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise SqlRejected("only a query can run here: write one SELECT (or WITH … SELECT)")
    return with_plain_calls(_with_brackets(_with_plain_negation(_without_table_brackets(tree))))


def _said(tree: exp.Expr) -> dict[str, object]:
    return {key: value for key, value in tree.args.items() if value}


_HOLDERS = (exp.Subquery, exp.CTE, exp.SetOperation, exp.Exists, exp.In, exp.Any)


def _with_brackets(tree: exp.Query) -> exp.Query:
    """Brackets of their own around a query that is an argument, as in f(SELECT …)."""
    for node in nodes_of(tree):
        is_query = isinstance(node, exp.Select | exp.SetOperation)
        if is_query and node.parent is not None and not isinstance(node.parent, _HOLDERS):
            held = exp.Null()
            node.replace(held)
            held.replace(exp.Subquery(this=node))
    return tree


def _without_table_brackets(tree: exp.Query) -> exp.Query:
    """FROM (a JOIN b ON …) and FROM (a) without the brackets, which mean nothing there."""
    for node in nodes_of(tree):
        inner = node.this
        if isinstance(node, exp.Subquery) and isinstance(inner, exp.Table) and list(_said(node)) == ["this"]:
            is_alone = isinstance(node.parent, exp.Join) and not inner.args.get("joins")
            if isinstance(node.parent, exp.From) or is_alone:
                node.replace(inner)
    return tree


def _with_plain_negation(tree: exp.Query) -> exp.Query:
    """NOT LIKE and IS NOT as NOT over the condition: a flag on the condition is lost when a rule rebuilds it."""
    for node in nodes_of(tree):
        if node.args.get("negate") and isinstance(node, exp.Like | exp.ILike | exp.Is):
            node.set("negate", None)
            whole = node.parent if isinstance(node.parent, exp.Escape) else node
            held = exp.Null()
            whole.replace(held)
            held.replace(exp.Not(this=whole))
    return tree


def _not_a_query(token: Token) -> str:
    word = token.text.upper()
    if re.fullmatch(r"[A-Z]+", word) and token.token_type not in (TokenType.VAR, TokenType.STRING):
        return f"{word} is not allowed: this tool only reads; write one SELECT (or WITH … SELECT) query"
    if word in ("CHECKPOINT", "VACUUM", "IMPORT", "PREPARE", "EXECUTE", "DEALLOCATE", "REINDEX", "REVOKE"):
        return f"{word} is not allowed: this tool only reads; write one SELECT (or WITH … SELECT) query"
    return f"this is not a SQL query: it starts with {token.text[:40]!r}; write one SELECT query"


def _first_line(error: Exception) -> str:
    line = re.sub(r"\x1b\[\d*m", "", str(error)).strip().splitlines()[0]
    # The parser's own words name its classes.
    line = re.sub(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>", _lacking, line)
    line = re.sub(r"<Token token_type: \S+, text: (.*?), line: \d+.*?>(?=$|\.)", r"'\1'", line)
    return line.rstrip(".")[:200]


def _lacking(found: re.Match[str]) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", found[1]).upper()
    return f"a part of {_SIGNS.get(name, name)} is missing"


def _without_spare_brackets(tokens: list[Token]) -> list[Token]:
    """Brackets written three times or more are written twice, which means the same; then depth is bounded."""
    opened: list[int] = []
    closes: dict[int, int] = {}
    for position, token in enumerate(tokens):
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            opened.append(position)
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE) and opened:
            start = opened.pop()
            if token.token_type == TokenType.R_PAREN and tokens[start].token_type == TokenType.L_PAREN:
                closes[start] = position
    spare: set[int] = set()
    for start, end in closes.items():
        if closes.get(start + 1) == end - 1 and closes.get(start + 2) == end - 2:
            spare |= {start, end}
    kept = [token for position, token in enumerate(tokens) if position not in spare] if spare else tokens
    depth = deepest = 0
    for token in kept:
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
            deepest = max(deepest, depth)
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
    if deepest > MAX_DEPTH:
        raise SqlRejected(
            f"the statement is nested too deeply ({deepest} brackets, {MAX_DEPTH} are allowed); "
            "use WITH or fewer brackets"
        )
    return kept


def render(tree: exp.Expr, *, is_spent: bool = False) -> str:
    """The tree as DuckDB SQL on one line, comments left out. `is_spent`: the tree is not used again."""
    return tree.sql(dialect=READING, comments=False, copy=not is_spent)


def tokens_of(text: str) -> list[Token]:
    return READING.tokenize(text)


def literal(value: Any) -> exp.Expr:
    """A JSON value as a SQL literal."""
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float):
        number = exp.Literal.number(repr(abs(value)))
        return exp.Neg(this=number) if value < 0 else number
    return exp.Literal.string(str(value))
