"""The worker process: the only place where DuckDB runs, in a jail, one request a line in, one reply a line out.

Run as a script with the standard library and duckdb alone, so that it starts fast and needs nothing of the
application that started it. Requests and replies are JSON lines on stdin and stdout. It ends when its parent
closes stdin or is gone. It leaves out all knowledge of catalogs: what to run is sent to it.

First line: {"kind", "path", "extension", "memory", "threads"}; the reply is {"ready": true} or an error.
Then: {"op": "checked" | "trusted", "sql", "views", "params", "rows", "bytes", "seconds", "processor"}
replies {"columns", "rows", "truncated"} or {"error", "reason": time, memory, fatal, sql, open or jail}.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

import duckdb

PARENT = os.getppid()
EXIT_MEMORY = 86
"""Exit code when resident memory passed what the limit allows."""
MEMORY_SLACK = 400 << 20
"""Bytes that Python, DuckDB itself and a fetched result may take beyond DuckDB's own limit."""
POLL = 0.03
"""Seconds, at most, between two looks at clock and memory."""
BATCH = 256
LOCK_SECONDS = 5.0
"""How long to wait for another program's lock on a SQLite file."""
BUSY = ("database is locked", "attempt to write a readonly database")
"""What SQLite says then; the second when it meets another program's journal in the moment of a commit."""
LOCK_STEP = 0.02
"""Seconds between two tries: the scanner's own SQLite can wait in whole seconds only, so it does not wait."""
LOCK_DOWN = (
    "SET enable_external_access=false",
    "SET python_enable_replacements=false",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET lock_configuration=true",
)
SERIES = {"range", "generate_series", "unnest"}
"""All that SQL from outside may put in FROM besides views and its own subqueries."""
_FROM = {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "CTE"}
_QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"}
_TELLING = {
    "current_setting",
    "getvariable",
    "getenv",
    "current_database",
    "current_schema",
    "current_schemas",
}
"""Functions that tell of settings and names, besides the pg_… macros, which read view definitions."""
_AS_TEXT = (
    "TIMESTAMP WITH TIME ZONE",
    "TIME WITH TIME ZONE",
    "INTERVAL",
    "UUID",
    "BIT",
    "VARIANT",
    "GEOMETRY",
)


class CannotServeError(Exception):
    """The worker will not serve: the source cannot be opened (open) or the jail leaks (jail)."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def open_jail(config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the source attached READ_ONLY as `src`, locked down and proved so."""
    options: dict[str, Any] = {"threads": config["threads"], "memory_limit": config["memory"]}
    if config["kind"] == "sqlite":
        # The file comes from the pinned package beside duckdb itself; hashing its 35 MB at each start takes
        # 0.1 s. Nothing can be loaded after the lock-down, signed or not.
        options["allow_unsigned_extensions"] = "true"
    con = duckdb.connect(":memory:", config=options)
    con.execute("SET temp_directory=''")
    con.execute("SET TimeZone='UTC'")
    con.execute("SET errors_as_json=false")
    form = "READ_ONLY"
    if config["kind"] == "sqlite":
        con.execute(f"LOAD {quote(config['extension'])}")
        con.execute("SET sqlite_all_varchar=true")
        form = "TYPE sqlite, READ_ONLY, BUSY_TIMEOUT 0"
    try:
        patiently(lambda: con.execute(f"ATTACH {quote(config['path'])} AS src ({form})"))
    except duckdb.Error as error:
        raise CannotServeError(one_line(error), "open") from error
    for statement in LOCK_DOWN:
        con.execute(statement)
    prove_jail(con, config)
    return con


def patiently(work: Callable[[], Any], deadline: float | None = None) -> Any:
    """What the work gives, tried again while another program holds the file, but not beyond the deadline.

    Another program's commit locks the file for moments; what is read is read again from the start.
    """
    until = min(time.monotonic() + LOCK_SECONDS, deadline or math.inf)
    while True:
        try:
            return work()
        except duckdb.Error as error:
            if not any(words in str(error) for words in BUSY) or time.monotonic() >= until:
                raise
            time.sleep(LOCK_STEP)


def prove_jail(con: duckdb.DuckDBPyConnection, config: dict[str, Any]) -> None:
    """Try what must be refused; raise CannotServeError when anything is not."""
    here = quote(os.path.abspath(__file__))
    out = quote(os.path.abspath(__file__) + ".leak")
    forbidden = [
        f"SELECT content FROM read_text({here})",
        f"SELECT * FROM {here}",
        f"ATTACH {here} AS other",
        f"COPY (SELECT 1) TO {out}",
        "SET threads=3",
        "SET enable_external_access=true",
        "INSTALL httpfs",
        f"LOAD {here}",
        "CREATE TABLE src.main.sqlrag_probe(x INTEGER)",
    ]
    for statement in forbidden:
        try:
            con.execute(statement)
        except duckdb.Error:
            continue
        raise CannotServeError(f"the jail let this run: {statement.split('(')[0][:60]}", "jail")
    # DuckDB raises on the first write only; an attach that says it is read-only refuses all of them.
    row = con.execute("SELECT readonly FROM duckdb_databases() WHERE database_name = 'src'").fetchone()
    if not row or not row[0]:
        raise CannotServeError("the source is not attached read-only", "jail")


def one_line(error: BaseException) -> str:
    """DuckDB's message without its excerpt of the statement, on one line of at most 400 characters."""
    text = str(error).split("\n\nLINE ")[0].split("\nLINE ")[0].split("\n\nPossible solutions")[0]
    return " ".join(text.split())[:400]


AS_IS = frozenset({str, int, bool, type(None)})
"""Types of values that are JSON already: nearly all that are read."""


def clean(value: Any) -> Any:
    """One value as JSON: dates as ISO text, decimals as numbers, bytes as text, NaN and infinity as None."""
    if type(value) in AS_IS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() and abs(value) > 2**53 else float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        text = raw.decode("utf-8", "replace")
        return raw.hex() if text.count("�") * 4 > len(text) or "\x00" in text else text
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return str(value)


def size(row: list[Any]) -> int:
    return sum(len(value) + 4 if isinstance(value, str) else 12 for value in row)


class Watch(threading.Thread):
    """Interrupts the running statement at its deadline, and ends the process when memory runs over."""

    def __init__(self, con: duckdb.DuckDBPyConnection, memory: int) -> None:
        super().__init__(daemon=True)
        self.con = con
        self.ceiling = memory + MEMORY_SLACK
        self.deadline: float | None = None
        self.spent: float | None = None
        self.fired = False
        self.lock = threading.Lock()

    def begin(self, seconds: float | None, processor: float | None) -> None:
        """A statement starts, with so many seconds to run, and so many of processor time."""
        with self.lock:
            self.fired = False
            self.deadline = None if seconds is None else time.monotonic() + seconds
            self.spent = None if processor is None else time.process_time() + processor

    def end(self) -> None:
        """The statement is over: from here on nothing is interrupted."""
        with self.lock:
            self.deadline = self.spent = None

    def run(self) -> None:
        while True:
            deadline = self.deadline
            left = POLL if deadline is None else deadline - time.monotonic()
            time.sleep(min(POLL, left) if left > 0 else POLL)
            with self.lock:
                # Another statement may have begun meanwhile, with a deadline of its own.
                if (self.deadline is not None and time.monotonic() >= self.deadline) or (
                    self.spent is not None and time.process_time() >= self.spent
                ):
                    self.fired = True
                    self.con.interrupt()
            if os.getppid() != PARENT:  # a forked child of it may still hold stdin open
                os._exit(0)
            if resident() > self.ceiling:
                os._exit(EXIT_MEMORY)


def resident() -> int:
    """Bytes of memory in use now; 0 where the system does not say cheaply."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def refuse_sources(con: duckdb.DuckDBPyConnection, sql: str, views: list[str]) -> None:
    """Raise when the SELECT reads anything but these views and what it defines itself.

    DuckDB's own parser says what it reads, so this holds whatever checked the statement before: the attached
    source, other catalogs and schemas, files, and functions that return tables cannot be named.
    """
    # Spelt out and not bound: a parameter is planned anew for its value, which takes longer than all the rest.
    row = con.execute(f"SELECT json_serialize_sql({quote(sql)})").fetchone()
    parsed = json.loads(row[0]) if row else {"error": True}
    if parsed["error"]:
        raise duckdb.InvalidInputException("only one SELECT statement can run here")
    known = {name.casefold() for name in views}
    stack: list[tuple[Any, frozenset[str]]] = [(parsed["statements"], frozenset(known))]
    while stack:
        node, names = stack.pop()
        if isinstance(node, list):
            stack.extend((item, names) for item in node)
            continue
        if not isinstance(node, dict):
            continue
        refuse_source(node, names)
        # A WITH query sees those before it; what follows sees all of them. Its body is walked first.
        for entry in (node.get("cte_map") or {}).get("map", ()):
            stack.append((entry["value"], names))
            names |= {entry["key"].casefold()}
        for name, part in node.items():
            # Only the second part of a recursive query sees the query itself.
            is_within = name == "right" and node.get("type") == "RECURSIVE_CTE_NODE"
            if name != "cte_map":
                stack.append((part, names | {node["cte_name"].casefold()} if is_within else names))


def refuse_source(node: dict[str, Any], names: frozenset[str]) -> None:
    """Raise when one node of a parsed statement reads what is not among the names."""
    kind = str(node.get("type"))
    source = node.get("from_table")
    if source is not None and source["type"] not in _FROM:
        raise _unreadable(source["type"])
    if kind == "BASE_TABLE":
        is_bare = not node["catalog_name"] and not node["schema_name"]
        if not is_bare or node["table_name"].casefold() not in names:
            raise _unreadable(node["table_name"])
    elif kind == "TABLE_FUNCTION":
        if node["function"].get("function_name") not in SERIES:
            raise _unreadable(str(node["function"].get("function_name")))
    elif kind == "FUNCTION":
        called = node["function_name"].casefold()
        if called in _TELLING or called.startswith("pg_"):
            raise _unreadable(called)
    elif kind in ("SHOW_REF", "PIVOT") or (kind.endswith("_NODE") and kind not in _QUERIES):
        raise _unreadable(kind)


def _unreadable(name: str) -> duckdb.Error:
    return duckdb.InvalidInputException(
        f"{name[:80]} cannot be read here; select from the tables of the schema"
    )


def select_text(
    con: duckdb.DuckDBPyConnection, sql: str, rows: int, views: list[str]
) -> tuple[str, list[str]]:
    """The statement cut to `rows` + 1 rows and with exotic types as text, and its own column names.

    Refuses anything but one SELECT over the views, whoever checked it before.
    """
    statements = con.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise duckdb.InvalidInputException("only one SELECT statement can run here")
    refuse_sources(con, sql, views)
    relation = con.sql(sql)
    items = []
    for place, kind in enumerate(relation.types, start=1):
        name = str(kind)
        exotic = name.endswith("]") or ("(" in name and not name.startswith("DECIMAL")) or name in _AS_TEXT
        items.append(f"CAST(#{place} AS VARCHAR)" if exotic else f"#{place}")
    return f"SELECT {', '.join(items)} FROM (\n{sql}\n) LIMIT {rows + 1}", list(relation.columns)


def answer(con: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> dict[str, Any]:
    sql, limit, room = request["sql"], request.get("rows"), request.get("bytes")
    names: list[str] | None = None
    if request["op"] == "checked":
        limit = limit or 1000
        sql, names = select_text(con, sql, limit, request["views"])
    cursor = con.execute(sql, request.get("params") or None)
    names = names or [column[0] for column in cursor.description or ()]
    out: list[list[Any]] = []
    used, truncated = 0, False
    while batch := cursor.fetchmany(BATCH):
        for row in batch:
            values = [value if type(value) in AS_IS else clean(value) for value in row]
            used += 0 if room is None else size(values)
            if (limit is not None and len(out) >= limit) or (room is not None and used > room and out):
                truncated = True
                break
            out.append(values)
        if truncated:
            break
    return {"columns": names, "rows": out, "truncated": truncated}


def failure(error: BaseException, watch: Watch) -> dict[str, Any]:
    reason = "sql"
    if watch.fired or isinstance(error, duckdb.InterruptException):
        reason = "time"
    elif isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        reason = "memory"
    elif isinstance(error, duckdb.FatalException | duckdb.InternalException):
        reason = "fatal"
    return {"error": one_line(error), "reason": reason}


def read_lines(source: BinaryIO, lines: queue.Queue[bytes]) -> None:
    """Feed request lines to the queue; when the parent is gone, so is this process, whatever it runs."""
    for line in iter(source.readline, b""):
        lines.put(line)
    os._exit(0)


def main() -> None:
    # A parsed statement comes as JSON nested several times as deep as the statement.
    sys.setrecursionlimit(20_000)
    # Ctrl-C in a terminal reaches the whole group; ending this process is the parent's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # stdout carries replies alone: whatever a library prints goes to stderr.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
        replies.write(b"\n")
        replies.flush()

    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=read_lines, args=(sys.stdin.buffer, lines), daemon=True).start()
    config = json.loads(lines.get())
    try:
        con = open_jail(config)
    except CannotServeError as error:
        reply({"error": str(error), "reason": error.reason})
        return
    except (duckdb.Error, OSError) as error:
        reply({"error": one_line(error), "reason": "open"})
        return
    watch = Watch(con, config["ceiling"])
    watch.start()
    reply({"ready": True})
    while True:
        request = json.loads(lines.get())
        watch.begin(request.get("seconds"), request.get("processor"))
        try:
            message = patiently(lambda: answer(con, request), watch.deadline)  # noqa: B023 - called at once
        except (duckdb.Error, MemoryError, ValueError, RuntimeError) as error:
            message = failure(error, watch)
        finally:
            watch.end()
        reply(message)
        if message.get("reason") == "fatal":
            return


if __name__ == "__main__":
    main()
