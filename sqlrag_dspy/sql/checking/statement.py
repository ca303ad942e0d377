"""The first wall: text to `CheckedSql`, or advice. One query, over known tables, with listed functions, bounded.

It judges the parsed statement, never words in names, strings or comments, and reads nothing but the catalog.
What it passes is DuckDB SQL with every name quoted as stored; checking that again gives the same text.
"""

from __future__ import annotations

import threading
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.allowed import refuse_unlisted
from sqlrag_dspy.sql.checking.functions import check_functions, listed
from sqlrag_dspy.sql.checking.grammar import looks_like_duckdb, parse, render, tokens_of
from sqlrag_dspy.sql.checking.names import Resolver
from sqlrag_dspy.sql.dialect import sqlite as dialects
from sqlrag_dspy.sql.words import words
from sqlrag_dspy.types import Catalog, CheckedSql

_WORDS_BEFORE_BRACKETS = frozenset(
    words(
        """
        and or not in as on using values over filter case when then else end select from where group by
        having order limit offset union all intersect except distinct exists any cast try_cast extract
        interval is like ilike glob escape between with join inner left right full outer cross natural
        window qualify partition rows range groups cube rollup grouping sets exclude nullif coalesce count sum avg
        substring trim strpos unnest semi anti decimal numeric materialized within similar to distinct
        current_date bigint double varchar text date timestamp struct row
        """
    )
)


def check(sql: str, catalog: Catalog, *, dialect: str | None = None, limit: int = 1000) -> CheckedSql:
    """The statement as DuckDB SQL that may run, with LIMIT `limit` + 1 at most, so that truncation shows.

    `dialect` is "sqlite" or "duckdb", the rules the text follows; None takes the catalog's, or DuckDB's when the
    text uses what only DuckDB has. Raises SqlRejected whose message says what to write instead.
    """
    try:
        return _check(sql, catalog, dialect, limit)
    except RecursionError:
        return _with_fresh_stack(sql, catalog, dialect, limit)


def resolved(sql: str, catalog: Catalog, *, dialect: str | None = None) -> tuple[exp.Query, Resolver]:
    """The parsed statement with its names tied to the catalog, nothing rewritten; for rooms beside this one."""
    source_is_sqlite = catalog.dialect == "sqlite"
    tree = parse(sql, brackets=source_is_sqlite or dialect == "sqlite")
    refuse_unlisted(tree)
    check_functions(tree)
    dialects.prepare(tree)
    resolver = Resolver(catalog, quotes_make_text=source_is_sqlite or dialect == "sqlite")
    resolver.statement(tree)
    return tree, resolver


class _Looked(threading.local):
    """The statement that this thread looked at last."""

    sql: str | None = None
    catalog: Catalog | None = None
    tree: exp.Query | None = None


_looked = _Looked()


def tree_of(sql: str, catalog: Catalog) -> exp.Query:
    """What `resolved` parses, for whoever changes nothing of it: lints, explanations and the like ask one after the
    other, and those after the first get the same tree."""
    if _looked.tree is None or _looked.sql != sql or _looked.catalog is not catalog:
        _looked.sql = _looked.tree = None
        _looked.tree, _ = resolved(sql, catalog)
        _looked.sql, _looked.catalog = sql, catalog
    return _looked.tree


def _check(sql: str, catalog: Catalog, dialect: str | None, limit: int) -> CheckedSql:
    source_is_sqlite = catalog.dialect == "sqlite"
    is_sqlite = dialect == "sqlite" or (dialect is None and source_is_sqlite and not looks_like_duckdb(sql))
    tree, resolver = resolved(sql, catalog, dialect=dialect)
    dialects.repair(tree, is_sqlite=is_sqlite, source_is_sqlite=source_is_sqlite or is_sqlite)
    text = render(_limited(tree, limit), is_spent=True)
    _check_calls(tokens_of(text))
    return CheckedSql(text, tuple(resolver.tables), resolver.columns)


def _with_fresh_stack(sql: str, catalog: Catalog, dialect: str | None, limit: int) -> CheckedSql:
    """Once more in a thread, whose stack is empty: how deep the caller stands must not decide what passes."""
    outcome: list[CheckedSql | SqlRejected] = []

    def attempt() -> None:
        try:
            outcome.append(_check(sql, catalog, dialect, limit))
        except SqlRejected as error:
            outcome.append(error)
        except RecursionError:
            outcome.append(
                SqlRejected(
                    "the statement is nested too deeply; use WITH, IN (…) or fewer brackets and operators"
                )
            )

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, SqlRejected):
        raise result
    return result


def _limited(tree: exp.Query, limit: int) -> exp.Query:
    """The query with a LIMIT of its own when that is smaller, else `limit` + 1."""
    outer: exp.Query = tree
    while isinstance(outer, exp.Subquery) and not any(
        outer.args.get(key) for key in ("limit", "order", "offset", "with_", "alias")
    ):
        outer = outer.this
    if outer is not tree:
        outer.pop()
    clause = outer.args.get("limit")
    count = clause and (clause.args.get("count") or clause.args.get("expression"))
    options = clause.args.get("limit_options") if clause is not None else None
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise SqlRejected("PERCENT and WITH TIES are not supported; use LIMIT with a plain number")
    if count is not None and not (isinstance(count, exp.Literal) and str(count.this).isdigit()):
        count = None if isinstance(count, exp.Neg) else count
        if count is not None:
            raise SqlRejected("LIMIT needs a plain number")
    rows = limit + 1 if count is None else min(int(count.this), limit + 1)
    outer.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    return outer


def _check_calls(tokens: list[Token]) -> None:
    """The last look, at the text itself: every name that a bracket follows is a listed function or a keyword."""
    allowed = listed()
    for token, following in pairwise(tokens):
        if following.token_type != TokenType.L_PAREN:
            continue
        if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER):
            continue
        word = token.text.lower()
        is_known = word in allowed or set(word.split()) <= _WORDS_BEFORE_BRACKETS
        if word[:1].isalpha() and not is_known:
            raise SqlRejected(f"function {word}() is not allowed; use plain SQL functions over the columns")
