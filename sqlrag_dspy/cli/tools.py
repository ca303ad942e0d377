"""`sqlrag search` and `sqlrag sql`: the two tools alone, without a program and without DSPy."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.cli import answers, arguments, batch, opening
from sqlrag_dspy.cli.filters import check_names, narrowed, read_filters, search_tables
from sqlrag_dspy.cli.output import Screen
from sqlrag_dspy.errors import PolicyError, QueryFailed, SourceBusy, SqlRagError, SqlRejected

if TYPE_CHECKING:
    from sqlrag_dspy.program import Database
    from sqlrag_dspy.types import Table

K = 10
"""Rows that a search returns unless -k says otherwise."""


def add(commands: arguments.Commands) -> None:
    """Adds `search` and `sql`."""
    parser = arguments.add(
        commands,
        "search",
        run_search,
        does="find rows by meaning, inside exactly the rows that filters allow",
        example='sqlrag search "sleep and health" --where "published_date >= \'2023-06-01\'" -k 5',
    )
    parser.add_argument("text", nargs="?", type=arguments.text, metavar="TEXT")
    parser.add_argument("--where", type=arguments.text, metavar="SQL", help="a condition on the table's rows")
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        type=_filter,
        metavar="COL=VALUE",
        help="only rows with that value; give it again for more columns, or for another value of the same",
    )
    parser.add_argument(
        "-k", type=arguments.positive, default=K, metavar="N", help="rows to return (default: 10)"
    )
    parser.add_argument(
        "--table", type=arguments.text, metavar="T", help="table to search (default: every table with text)"
    )
    parser.add_argument(
        "--batch", metavar="FILE", help='JSON lines {"text": …, "where": …, "filters": {…}, "k": …}'
    )
    arguments.add_session(parser)

    parser = arguments.add(
        commands,
        "sql",
        run_sql,
        does="run one checked, read-only statement",
        example='sqlrag sql "SELECT article_category, count(*) FROM articles GROUP BY 1"',
    )
    parser.add_argument("query", nargs="?", type=arguments.text, metavar="QUERY")
    parser.add_argument(
        "--batch", metavar="FILE", help='JSON lines {"sql": …} in, one result a line out; - is stdin'
    )
    arguments.add_session(parser)


def _filter(text: str) -> tuple[str, str]:
    column, equals, value = arguments.text(text).partition("=")
    if not equals or not column.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not COL=VALUE")
    return column, value


# --- sql ----------------------------------------------------------------------------------------------


def run_sql(args: argparse.Namespace, screen: Screen) -> int:
    """Checks and runs the statement, or every line of the file."""
    arguments.one_of(args, "query")
    with opening.database(args) as database:
        if args.batch is not None:
            return batch.run(args.batch, screen, answer=_statement(database), failed=failure)
        if not args.query.strip():
            raise SqlRagError("the statement is empty; write a SELECT")
        result = compute(database, args.query)
    if screen.is_json:
        screen.json(result)
        return 0
    screen.table(result["columns"], result["rows"])
    if result["truncated"]:
        screen.warn(f"cut at {len(result['rows'])} rows; raise rows under [limits] in sqlrag.toml for more")
    for warning in result["warnings"]:
        screen.warn(warning)
    return 0


def _statement(database: Database) -> Callable[[batch.Line], batch.Line]:
    def answer(asked: batch.Line) -> batch.Line:
        batch.only(asked, "sql")
        return compute(database, batch.text_of(asked, "sql"))

    return answer


def compute(database: Database, statement: str) -> dict[str, Any]:
    """The result of a statement in the contract's shape. Raises SqlRejected or QueryFailed."""
    from sqlrag_dspy import sql

    query = database.check(statement)
    rows = database.run(query)
    most = database.settings.limits.rows
    advice, reasons, _ = sql.remarks(query, rows, database.catalog, database.run, limit=most)
    return {
        "columns": list(rows.columns),
        "rows": [list(row) for row in rows.values],
        "truncated": rows.truncated,
        "sql": query.text,
        "warnings": list(dict.fromkeys([*query.warnings, *advice, *reasons])),
    }


# --- search -------------------------------------------------------------------------------------------


def run_search(args: argparse.Namespace, screen: Screen) -> int:
    """Searches for the text, or for every line of the file."""
    arguments.one_of(args, "text")
    if args.text is not None and not args.text.strip():
        raise SqlRagError("the text to search for is empty; say what to look for")
    with opening.database(args) as database:
        if args.batch is not None:
            return batch.run(args.batch, screen, answer=_line(database, args), failed=failure)
        filters: dict[str, list[Any]] = {}
        for column, value in args.filter:
            filters.setdefault(column, []).append(value)
        result = search(database, args.text, table=args.table, where=args.where, filters=filters, k=args.k)
    if screen.is_json:
        screen.json(result)
        return 0
    from sqlrag_dspy.program.result import Document

    answers.documents([Document.model_validate(found) for found in result["documents"]], screen, most=args.k)
    if not result["documents"]:
        screen.note("no row satisfies the filters" if args.where or filters else "there is nothing to search")
    done = result["search"]
    how = "exactly" if done["exact"] else "approximately"
    where_from = f" in {', '.join(done['tables'])}" if "tables" in done else ""
    screen.note(f"searched {how} {done['rows_searched']} of {done['rows_allowed']} rows allowed{where_from}")
    for warning in result["warnings"]:
        screen.warn(warning)
    return 0


def _line(database: Database, args: argparse.Namespace) -> Callable[[batch.Line], batch.Line]:
    def answer(asked: batch.Line) -> batch.Line:
        batch.only(asked, "text", "where", "filters", "k", "table")
        k, where = asked.get("k", args.k), asked.get("where")
        filters, table = asked.get("filters"), asked.get("table") or args.table
        filters = {} if filters is None else filters
        if isinstance(k, bool) or not isinstance(k, int) or k <= 0:
            raise SqlRagError(f'"k" is {k!r}; give a whole number above 0')
        if where is not None and not isinstance(where, str):
            raise SqlRagError('"where" is not a text; write a SQL condition')
        if not isinstance(filters, dict):
            raise SqlRagError('"filters" is not an object; write {"column": value}')
        if table is not None and not isinstance(table, str):
            raise SqlRagError('"table" is not a text; name a table')
        text = batch.text_of(asked, "text")
        lists = {
            str(column): value if isinstance(value, list) else [value] for column, value in filters.items()
        }
        return search(database, text, table=table, where=where or None, filters=lists, k=k)

    return answer


def search(
    database: Database,
    text: str,
    *,
    table: str | None,
    where: str | None,
    filters: Mapping[str, list[Any]],
    k: int,
) -> dict[str, Any]:
    """Documents and how they were searched, in the contract's shape, with warnings: why a selection is empty.

    Without `table` all tables with text are searched that the filters fit, and their documents stand in one order.
    Raises SqlRejected, QueryFailed, IndexUnusable, or SqlRagError for a table or filter that does not fit.
    """
    from sqlrag_dspy.program.database import STALE

    tables = search_tables(database, table)
    check_names(tables, filters)
    parts: list[dict[str, Any]] = []
    searched: list[str] = []
    unfit: list[tuple[str, SqlRagError]] = []
    for one in tables:
        try:
            parts.append(_search_one(database, one, text, where, filters, k))
            searched.append(one.name)
        except SqlRagError as error:
            # A filter that does not fit the table; whatever else fails, fails for all of them.
            if not isinstance(error, SqlRejected) and type(error) is not SqlRagError:
                raise
            unfit.append((one.name, error))
    if not parts:
        raise unfit[0][1]
    warnings = [f"{name} was not searched: {error}" for name, error in unfit]
    if any(part["search"]["rows_allowed"] for part in parts):
        warnings += [STALE] if database.is_stale else []
    else:
        warnings += [warning for part in parts for warning in part["warnings"]]
    documents = sorted(
        (document for part in parts for document in part["documents"]), key=lambda found: -found["score"]
    )
    return {
        "documents": documents[:k],
        "search": _summed(searched, parts),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _search_one(
    database: Database,
    table: Table,
    text: str,
    where: str | None,
    filters: Mapping[str, list[Any]],
    k: int,
) -> dict[str, Any]:
    """The same of one table."""
    from sqlrag_dspy.program import result

    wanted = read_filters(table, filters)
    selection = narrowed(database, table, where, wanted)
    told = {"filters": wanted.told, "key_sql": selection.key_sql}
    if selection.allowed is not None and not selection.allowed:
        nothing = {"rows_allowed": 0, "rows_searched": 0, "exact": True, **told}
        return {"documents": [], "search": nothing, "warnings": selection.notes}
    hits = database.search(text, table.name, k=k, allowed=selection.allowed, filters=wanted.mirrored or None)
    return {
        "documents": [result.document(document).model_dump() for document in hits.documents],
        "search": {**result.search(hits.search).model_dump(), **told},
        "warnings": [],
    }


def _summed(tables: list[str], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """How several tables were searched: rows added up, and which tables."""
    if len(parts) == 1:
        search: dict[str, Any] = parts[0]["search"]
        return search
    told = [part["search"] for part in parts]
    filters = [filter_ for one in told for filter_ in one["filters"]]
    statements = [one["key_sql"] for one in told if one["key_sql"]]
    return {
        "rows_allowed": sum(one["rows_allowed"] for one in told),
        "rows_searched": sum(one["rows_searched"] for one in told),
        "exact": all(one["exact"] for one in told),
        "filters": [filter_ for at, filter_ in enumerate(filters) if filter_ not in filters[:at]],
        "key_sql": ";\n".join(statements) or None,
        "tables": tables,
    }


def failure(asked: batch.Line, message: str, error: BaseException | None) -> batch.Line:
    """The result of a line that was refused or failed; `wall` is null when no wall stopped it."""
    wall = error.wall if isinstance(error, SqlRejected | QueryFailed | PolicyError | SourceBusy) else None
    return {"error": message, "wall": wall}
