"""The law of a policy: a session's database is the same database without what the session may not see.

Everything is compared with a file that holds only the visible rows, masked: results, warnings, refusals, profiles,
linked values, searches with their scores, explanations of empty results.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from two_tenants import COLUMNS, POLICY, SECRET_WORDS, build, reduced, rows

from sqlrag_dspy.cli import tools
from sqlrag_dspy.errors import IndexUnusable, PolicyError, QueryFailed, SqlRagError, SqlRejected
from sqlrag_dspy.program import open_database
from sqlrag_dspy.program import session as sessions
from sqlrag_dspy.settings import PolicySettings, Settings
from sqlrag_dspy.source import schema_json

QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


def opened(url: str, store: Path, policy: PolicySettings | None = None, **options: Any) -> Any:
    chosen = Settings(source=url, store=str(store), embedder=["wordllama"], policy=policy or PolicySettings())
    return open_database(chosen, name="desk", **options)


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def both(request, tmp_path_factory):
    """`seen`: the full file as tenant 1 sees it; `own`: the file that holds just that."""
    folder = tmp_path_factory.mktemp(request.param)
    full = rows(is_lenient=request.param == "sqlite")
    url = build(folder / "full.db", full, request.param)
    whole = opened(url, folder / "store", POLICY, is_whole=True)
    whole.sync()
    whole.close()
    seen = opened(url, folder / "store", POLICY, session={"tenant": 1})
    secret = (folder / "store" / "policy.key").read_text()
    own = opened(
        build(folder / "own.db", reduced(full, 1, secret), request.param, is_reduced=True), folder / "own"
    )
    own.sync()
    yield SimpleNamespace(seen=seen, own=own, kind=request.param, folder=folder, url=url)
    seen.close()
    own.close()


# --- queries ----------------------------------------------------------------------------------------

NAMES = [*COLUMNS, "everything", "nothing"]
ANY_COLUMN = sorted({name for columns in COLUMNS.values() for name in columns} | {"nowhere"})
NUMBERS = ("id", "tenant_id", "customer_id", "ticket_id", "hours", "credit", "salary", "pay")
TEXTS = (
    "name",
    "email",
    "body",
    "note",
    "opened",
    "phone",
    "status",
    "title",
    "author",
    "code",
    "label",
    "who",
)
LITERALS = ["1", "2", "10", "999983", "'open'", "'escalated'", "'Ada Lund'", "'Bo Quillfeather'", "'hidden'",
            "'2023-05-06'", "'zebrastripe'", "NULL", "'1'"]  # fmt: skip


@st.composite
def conditions(draw: Any, alias: str, columns: list[str]) -> str:
    column, literal = f"{alias}.{draw(st.sampled_from(columns))}", draw(st.sampled_from(LITERALS))
    shape = draw(
        st.sampled_from(
            ["{c} = {v}", "{c} <> {v}", "{c} > {v}", "{c} <= {v}", "{c} IS NULL", "{c} IS NOT NULL",
             "{c} IN ({v}, 'open', 3)", "{c} NOT IN ({v})", "CAST({c} AS VARCHAR) LIKE '%a%'", "NOT {c} = {v}",
             "length(CAST({c} AS VARCHAR)) > 3", "{c} = (SELECT max({b}) FROM {t} m)",
             "EXISTS (SELECT 1 FROM {t} m WHERE m.{b} = {c})", "{c} IN (SELECT m.{b} FROM {t} m)"]
        )
    )  # fmt: skip
    # Of one kind: whether a failing comparison is reached at all is the engine's to choose.
    kinds = NUMBERS if column.split(".")[1] in NUMBERS else TEXTS
    inner = draw(st.sampled_from([table for table in sorted(COLUMNS) if set(kinds) & set(COLUMNS[table])]))
    within = draw(st.sampled_from([name for name in sorted(COLUMNS[inner]) if name in kinds]))
    return shape.format(c=column, v=literal, t=inner, b=within)


@st.composite
def selects(draw: Any, depth: int = 1) -> str:
    """A query over one or two sources, whose columns are all shown in ORDER BY, so that LIMIT is certain."""
    table = draw(
        st.sampled_from(["tickets", "customers", "notes", "tickets", "customers", "regions", *NAMES])
    )
    columns = sorted(COLUMNS.get(table, COLUMNS["tickets"]))
    source = f"{table} a"
    kind = draw(st.sampled_from(["plain", "plain", "join", "left", "sub", "self", "cte"]))
    head = ""
    if kind in ("join", "left"):
        other = draw(st.sampled_from(sorted(COLUMNS)))
        # Of one kind: whether a failing comparison is reached at all is the engine's to choose.
        kinds = TEXTS if "regions" in (table, other) else draw(st.sampled_from([NUMBERS, TEXTS]))
        here = draw(st.sampled_from([name for name in columns if name in kinds]))
        there = draw(st.sampled_from([name for name in sorted(COLUMNS[other]) if name in kinds]))
        on = f"a.{here} = b.{there}"
        source += f" {'LEFT ' if kind == 'left' else ''}JOIN {other} b ON {on}"
    elif kind == "sub":
        source = f"(SELECT * FROM {table} i WHERE {draw(conditions('i', columns))}) a"
    elif kind == "self":
        source += f" JOIN {table} b ON a.id < b.id AND {draw(conditions('b', columns))}"
    elif kind == "cte":
        head, source = f"WITH w AS (SELECT * FROM {table}) ", "w a"
    where = f" WHERE {draw(conditions('a', columns))}" if draw(st.booleans()) else ""
    if where and draw(st.booleans()):
        where += f" {draw(st.sampled_from(['AND', 'OR']))} {draw(conditions('a', columns))}"
    x, y = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
    shape = draw(st.sampled_from(["rows", "rows", "star", "group", "whole", "window", "distinct", "cast"]))
    if shape == "rows":
        body = f"SELECT a.{x}, a.{y} FROM {source}{where} ORDER BY 1, 2"
    elif shape == "star":
        return f"{head}SELECT a.* FROM {source}{where}"
    elif shape == "group":
        having = draw(st.sampled_from(["", " HAVING count(*) > 2", f" HAVING max(a.{y}) > 5"]))
        body = f"SELECT a.{x}, count(*), min(a.{y}), count(DISTINCT a.{y}) FROM {source}{where} "
        body += f"GROUP BY a.{x}{having} ORDER BY 1, 2, 3, 4"
    elif shape == "whole":
        body = f"SELECT count(*), count(a.{x}), min(a.{x}), max(a.{y}), sum(a.hours) FROM {source}{where}"
        if draw(st.booleans()):
            body = body.replace("sum(a.hours)", f"count(DISTINCT a.{y})")
    elif shape == "window":
        body = f"SELECT a.{x}, rank() OVER (PARTITION BY a.{y} ORDER BY a.{x}), count(*) OVER () "
        body += f"FROM {source}{where} ORDER BY 1, 2, 3"
    elif shape == "distinct":
        body = f"SELECT DISTINCT a.{x} FROM {source}{where} ORDER BY 1 DESC"
    else:
        body = f"SELECT max(CAST(a.{x} AS INTEGER)) FROM {table} a"
        head = ""
    if shape not in ("star", "whole", "cast") and draw(st.booleans()):
        body += f" LIMIT {draw(st.integers(0, 20))}"
    if depth and not head and draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]))
        return f"SELECT * FROM ({body}) {word} SELECT * FROM ({draw(selects(depth=0))})"
    return head + body


def outcome(database: Any, sql: str) -> Any:
    """What a session gets of a statement. Sums of floats are rounded: their order is the engine's.

    So is the choice of which of its own values a failing query names first, so there it is only seen to that no
    hidden value is named.
    """
    try:
        found = tools.compute(database, sql)
    except SqlRejected as error:
        return "rejected", error.wall, str(error)
    except QueryFailed as error:
        tells_nothing(str(error), besides=sql)
        return "failed", error.wall
    told = [json.dumps([round(v, 9) if isinstance(v, float) else v for v in row]) for row in found["rows"]]
    return {**found, "rows": sorted(told)}


def tells_nothing(told: Any, besides: str = "") -> None:
    """No word of hidden rows is in it, but for those that the question said itself."""
    text = json.dumps(told, default=str)
    assert not [word for word in SECRET_WORDS if word in text and word not in besides]


@settings(QUICK, max_examples=300)
@given(sql=selects())
def test_a_query_gives_what_the_reduced_database_gives(both, sql):
    assert outcome(both.seen, sql) == outcome(both.own, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM tickets WHERE status = 'escalated'",
        "SELECT * FROM salaries",
        "SELECT * FROM everything",
        "SELECT salary FROM customers",
        "SELECT credit FROM customers ORDER BY credit",
        "SELECT name FROM customers ORDER BY email, id",
        "SELECT count(*) FROM customers WHERE email LIKE '%own.org'",
        "SELECT count(*) FROM customers WHERE phone = '06-0004'",
        "SELECT CAST(title AS INTEGER) FROM tickets",
        "SELECT sum(CAST(opened AS DATE) - DATE '2020-01-01') FROM tickets",
        "SELECT rowid FROM tickets",
        "SELECT * FROM main.salaries",
        "SELECT * FROM src.main.tickets",
        "SELECT a.id FROM tickets a, (SELECT * FROM tickets) b WHERE a.id = b.id + 1",
        "SELECT count(*) FROM notes n LEFT JOIN tickets t ON t.id = n.ticket_id WHERE t.id IS NULL",
        "WITH salaries AS (SELECT 1 AS x) SELECT * FROM salaries",
        "SELECT 1 FROM tickets WHERE 1 / (CASE WHEN hours > 900000 THEN 0 ELSE 1 END) > 0 LIMIT 1",
    ],
)
def test_a_known_way_round_is_none(both, sql):
    assert outcome(both.seen, sql) == outcome(both.own, sql)


@pytest.mark.parametrize(
    "failing", ["json_extract_string(title, '$.a') = 'x'", "regexp_matches('x', title || '(')"]
)
def test_a_hidden_row_does_not_speak_through_an_error(both, failing):
    """Were the expression tried before the policy's filter, the message would hold another tenant's title."""
    for where in ("hours < 5 AND ", "status = 'closed' AND ", ""):
        sql = f"SELECT count(*) FROM tickets WHERE {where}{failing}"
        with pytest.raises(QueryFailed) as caught:
            tools.compute(both.seen, sql)
        tells_nothing(str(caught.value))
        assert outcome(both.seen, sql) == outcome(both.own, sql)
    foreign = f"SELECT count(*) FROM tickets WHERE status = 'escalated' AND {failing}"
    assert outcome(both.seen, foreign) == outcome(both.own, foreign)


# --- what is known without asking ---------------------------------------------------------------------


def test_the_catalog_is_that_of_the_reduced_database(both):
    assert schema_json(both.seen.catalog) == schema_json(both.own.catalog)
    tells_nothing(schema_json(both.seen.catalog))


def test_stored_values_are_those_of_the_reduced_database(both):
    assert [dataclasses.asdict(c) for c in both.seen.values().columns] == [
        dataclasses.asdict(c) for c in both.own.values().columns
    ]


WORDS = st.sampled_from(
    ["escalated", "open", "waiting", "Quillfeather", "Quilfeather", "Bo Lund", "Ada Lnd", "unobtainium", "hidden",
     "tickets", "customers", "salaries", "salary", "notes", "in 1999", "in may 2023", "over 900000 hours",
     "more than 3 hours", "Vane", "stapler", "Europe", "how many", "about", "by"]
)  # fmt: skip


@QUICK
@given(words=st.lists(WORDS, min_size=1, max_size=6))
def test_a_question_links_as_over_the_reduced_database(both, words):
    question = " ".join(words)
    assert both.seen.link(question) == both.own.link(question)


# --- searches -------------------------------------------------------------------------------------------


@QUICK
@given(
    words=st.lists(
        st.sampled_from(["stapler", "lamp", "zebrastripe", "zebra stripe", "zebrastrip", "unobtainium", "printer",
                         "router", "Quillfeather", "coffee", "phone", "Lund", "opgeroepen", "refund", "3"]),
        min_size=1, max_size=5,
    ),
    table=st.sampled_from([None, "tickets", "notes", "salaries", "everything"]),
    where=st.sampled_from([None, "status = 'open'", "hours > 5", "id < 20", "status = 'escalated'", "tenant_id = 2"]),
    filters=st.sampled_from([{}, {"status": ["closed"]}, {"status": ["escalated"]}, {"author": ["Ada Lund"]}]),
    k=st.integers(1, 60),
)  # fmt: skip
def test_a_search_finds_what_it_finds_in_the_reduced_database(both, words, table, where, filters, k):
    def found(database: Any) -> Any:
        try:
            return tools.search(database, " ".join(words), table=table, where=where, filters=filters, k=k)
        except SqlRagError as error:
            return type(error).__name__, str(error)

    assert found(both.seen) == found(both.own)


def test_a_search_says_nothing_of_a_change_elsewhere(both):
    both.seen.source.place.path.touch()
    assert not both.seen.is_stale
    assert tools.search(both.seen, "stapler", table=None, where=None, filters={}, k=3)["warnings"] == []


def test_rows_read_by_key_are_those_of_the_session(both):
    source = both.seen.source
    mine = list(source.scan("tickets", ["id", "tenant_id"], list(range(1, 81))))
    assert {tenant for _, tenant in mine} == {1}
    assert list(source.scan("customers", ["id"], [1, 5])) == []
    assert source.matching("customers", "name", "Quillf") == []
    with pytest.raises(SqlRagError, match="no column 'salary'"):
        list(source.scan("customers", ["salary"]))


QUESTIONS = [
    "how many tickets are there",
    "how many tickets are escalated",
    "how many open tickets per author",
    "tickets about the stapler",
    "what was said about unobtainium?",
    "notes about printers by Bo Quillfeather",
    "which customer has the highest salary",
    "the latest ticket",
    "average hours of closed tickets",
    "how much does Quillfeather earn",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_that_over_the_reduced_database(both, small, question):
    def answered(database: Any) -> Any:
        from sqlrag_dspy.program import SqlRag, artifact

        program = SqlRag({"desk": database})
        artifact.restore(program, small.program)
        told = program.ask(question, trace=True).model_dump(exclude={"usage"})
        return {**told, "steps": [{**step, "seconds": 0} for step in told["steps"]]}

    seen = answered(both.seen)
    assert seen == answered(both.own)
    tells_nothing(seen, besides=question)


def test_a_program_loads_over_what_a_session_sees(both, small):
    from sqlrag_dspy.program import load

    chosen = Settings(
        source=both.url, store=str(both.folder / "store"), embedder=["wordllama"], policy=POLICY
    )
    with load(small.program, settings=chosen, session={"tenant": 1}) as rag:
        assert rag.left_out == []
        assert rag.ask("how many tickets are there").rows == [[30]]
    with pytest.raises(PolicyError, match="tenant"):
        load(small.program, settings=chosen)


# --- sessions beside each other --------------------------------------------------------------------------


def test_two_sessions_of_one_store_share_nothing_but_hashes(both):
    with_other = opened(both.url, both.folder / "store", POLICY, session={"tenant": 2})
    try:
        assert with_other.store != both.seen.store
        assert with_other.linker.link("escalated").chosen
        assert not both.seen.linker.link("escalated").chosen
        theirs = tools.search(with_other, "zebrastripe", table="tickets", where=None, filters={}, k=100)
        ours = tools.search(both.seen, "zebrastripe", table="tickets", where=None, filters={}, k=100)
        assert not {d["key"] for d in theirs["documents"]} & {d["key"] for d in ours["documents"]}
    finally:
        with_other.close()


def test_a_search_without_any_index_says_how_to_build_one(both, tmp_path):
    bare = opened(both.url, tmp_path / "bare", POLICY, session={"tenant": 1})
    try:
        with pytest.raises(IndexUnusable, match="sqlrag index"):
            bare.search("stapler", "tickets")
    finally:
        bare.close()


def test_a_tenant_without_rows_sees_empty_tables(both):
    nobody = opened(both.url, both.folder / "store", POLICY, session={"tenant": 3})
    try:
        assert tools.compute(nobody, "SELECT count(*) FROM tickets")["rows"] == [[0]]
        with pytest.raises(SqlRagError, match="nothing can be searched"):
            tools.search(nobody, "stapler", table=None, where=None, filters={}, k=3)
    finally:
        nobody.close()


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "session", "message"),
    [
        (POLICY, {}, "asks for the session parameter 'tenant'"),
        (POLICY, None, "asks for the session parameter 'tenant'"),
        (POLICY, {"tenant": 1, "tennant": 1}, "'tennant' is not used"),
        (POLICY, {"tenant": None}, "is None"),
        (POLICY, {"tenant": "1 OR 1=1"}, "compared with numbers and is none"),
        (POLICY, {"tenant": [1, 2]}, "has several values"),
        (PolicySettings(), {"tenant": 1}, "'tenant' is not used"),
        (PolicySettings(deny_tables=["salarie"]), {}, "no table 'salarie'"),
        (PolicySettings(deny_columns=["customers.salry"]), {}, "no column 'customers.salry'"),
        (PolicySettings(masks={"nobody.email": "hash"}), {}, "no column 'nobody.email'"),
        (PolicySettings(rows={"tickets": "tenant_id = 1; DROP TABLE x"}), {}, "not one SQL condition"),
        (PolicySettings(rows={"tickets": "owner = 1"}), {}, "a column owner that tickets does not have"),
    ],
)
def test_a_policy_that_cannot_hold_shows_nothing(both, tmp_path, rules, session, message):
    def look() -> None:
        database = opened(both.url, tmp_path / "store", rules, session=session)
        try:
            _ = database.catalog
        finally:
            database.close()

    with pytest.raises(PolicyError, match=message) as caught:
        look()
    assert "\n" not in str(caught.value)
    assert "salaries" not in str(caught.value)
    assert caught.value.wall == "policy"


def test_tables_and_columns_that_are_not_allowed_are_not_there(both, tmp_path):
    rules = PolicySettings(
        allow_tables=["tickets", "customers"],
        allow_columns=["customers.id", "customers.name"],
        deny_columns=["tickets.body"],
    )
    database = opened(both.url, tmp_path / "store", rules)
    try:
        shown = {table.name: [column.name for column in table.columns] for table in database.catalog.tables}
        assert shown["customers"] == ["id", "name"]
        assert "body" not in shown["tickets"]
        assert sorted(shown) == ["customers", "tickets"]
    finally:
        database.close()


def test_a_view_is_seen_when_it_is_allowed(both, tmp_path):
    database = opened(both.url, tmp_path / "store", PolicySettings(allow_views=["everything"]))
    try:
        assert tools.compute(database, "SELECT count(*) FROM everything")["rows"] == [[80]]
    finally:
        database.close()


def test_a_rule_without_parameters_needs_no_session(both, tmp_path):
    database = opened(both.url, tmp_path / "store", PolicySettings(rows={"tickets": "tenant_id IN (2, 3)"}))
    try:
        assert tools.compute(database, "SELECT DISTINCT tenant_id FROM tickets")["rows"] == [[2]]
    finally:
        database.close()


@pytest.mark.parametrize("shown", [["open", "closed"], [], "draft", ["nothing"]])
def test_a_parameter_may_have_several_values(both, tmp_path, shown):
    rules = PolicySettings(rows={"tickets": "status IN (:shown)"})
    database = opened(both.url, tmp_path / "store", rules, session={"shown": shown})
    try:
        wanted = [
            row for row in rows()["tickets"] if row[3] in (shown if isinstance(shown, list) else [shown])
        ]
        assert tools.compute(database, "SELECT count(*) FROM tickets")["rows"] == [[len(wanted)]]
    finally:
        database.close()


@pytest.mark.parametrize("who", ["O'Brien", "' OR '1'='1", "a\\'; --", '"', "ü € 名", "Ada Lund"])
def test_a_parameter_of_any_letters_is_a_value(both, tmp_path, who):
    rules = PolicySettings(rows={"notes": "author = :who"})
    database = opened(both.url, tmp_path / "store", rules, session={"who": who})
    try:
        wanted = sum(row[2] == who for row in rows()["notes"])
        assert tools.compute(database, "SELECT count(*) FROM notes")["rows"] == [[wanted]]
        assert len(list(database.source.scan("notes", ["id"]))) == wanted
    finally:
        database.close()


def test_the_key_of_the_hashes_is_its_owners(both):
    key = both.folder / "store" / "policy.key"
    assert key.stat().st_mode & 0o077 == 0
    assert len(key.read_text()) == 64


def test_hashes_stay_equal_and_are_keyed_by_the_store(both, tmp_path):
    sql = "SELECT email FROM customers ORDER BY id"
    first = tools.compute(both.seen, sql)["rows"]
    again = opened(both.url, both.folder / "store", POLICY, session={"tenant": 1})
    other = opened(both.url, tmp_path / "store", POLICY, session={"tenant": 1})
    try:
        assert tools.compute(again, sql)["rows"] == first
        assert tools.compute(other, sql)["rows"] != first
    finally:
        again.close()
        other.close()


def test_a_masked_key_finds_its_rows_and_tells_no_stored_one(both, tmp_path):
    rules = PolicySettings(
        masks={"regions.code": "hash", "tickets.id": "hash"}, allow_tables=["regions", "tickets"]
    )
    database = opened(both.url, tmp_path / "store", rules)
    try:
        database.sync()
        (table,) = [table for table in database.catalog.tables if table.name == "tickets"]
        assert table.key == ("id",)
        found = database.search("stapler", "tickets", k=3).documents
        assert len(found) == 3
        assert all(str(document.key).startswith("#") for document in found)
        assert list(database.source.scan("regions", ["label"], ["eu"])) == []
    finally:
        database.close()


def test_settings_that_name_what_is_hidden_are_no_error(both, tmp_path):
    tables = {
        "salaries": {"text": ["who"]},
        "customers": {"key": ["id"], "filters": ["salary", "name"], "synonyms": {"salary": ["wage"]}},
        "tickets": {"text": ["title", "body"]},
    }
    rules = POLICY.model_copy(update={"masks": {"tickets.title": "text:-"}})
    chosen = Settings(
        source=both.url, store=str(tmp_path / "store"), embedder=["wordllama"], policy=rules, tables=tables
    )
    database = open_database(chosen, session={"tenant": 1})
    try:
        assert database.catalog.table("tickets").text_columns == ("body",)
        assert database.catalog.table("customers").filter_columns == ("name",)
        assert not [link for link in database.link("the highest wage").chosen if link.column]
    finally:
        database.close()


@pytest.mark.parametrize("session", [["tenant"], "tenant=7", 7])
def test_a_session_that_is_no_mapping_is_refused(session, tmp_path):
    with pytest.raises(PolicyError, match="by name"):
        sessions.bind(PolicySettings(rows={"t": "tenant = :tenant"}), session, tmp_path)


@pytest.mark.parametrize(
    ("value", "said"), [(None, "is None"), ([[7]], "list of lists"), ([None], "is None")]
)
def test_a_parameter_that_is_no_value_is_refused(value, said, tmp_path):
    with pytest.raises(PolicyError, match=said):
        sessions.bind(PolicySettings(rows={"t": "tenant IN (:tenant)"}), {"tenant": value}, tmp_path)
