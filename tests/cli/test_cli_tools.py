"""`sqlrag index`, `sqlrag search` and `sqlrag sql`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

ENDLESS = (
    "SELECT count(*) FROM range(90000) a, range(90000) b, range(90000) c WHERE a.range % 2 = b.range % 2 "
    "AND b.range % 2 = c.range % 2"
)


def keys(outcome):
    assert outcome.code == 0, outcome.err
    return [document["key"] for document in outcome.json["documents"]]


# --- index --------------------------------------------------------------------------------------------


def test_a_sync_reports_what_changed(sqlrag, stories):
    first = sqlrag("index", "--json").json
    assert set(first) == {"rows_seen", "added", "changed", "deleted", "chunks", "seconds", "generation"}
    assert (first["rows_seen"], first["added"]) == (5, 5)
    connection = sqlite3.connect(stories / "stories.db")
    connection.execute("DELETE FROM story WHERE id = 1")
    connection.execute("UPDATE story SET body = 'The canal was filled in.' WHERE id = 2")
    connection.execute(
        "INSERT INTO story VALUES (6, 'Kites', 'food', '2024-01-01', 3, 'A red kite nests on the mast.')"
    )
    connection.commit()
    connection.close()
    second = sqlrag("index", "--json").json
    assert [second[name] for name in ("rows_seen", "added", "changed", "deleted")] == [5, 1, 1, 1]
    third = sqlrag("index", "--json").json
    assert [third[name] for name in ("added", "changed", "deleted")] == [0, 0, 0]
    assert sqlrag("index", "--rebuild", "--json").json["chunks"] == third["chunks"]
    assert keys(sqlrag("search", "red kite", "-k", "1", "--json")) == [6]


def test_a_profile_that_moves_with_the_data_costs_no_new_index(sqlrag, stories):
    connection = sqlite3.connect(stories / "stories.db")
    connection.execute("UPDATE story SET body = ? WHERE id = 1", ("The harbour crane was inspected. " * 200,))
    connection.commit()
    assert sqlrag("index", "--json").json["added"] == 5
    # The texts of this column are short now, and long before.
    connection.execute("UPDATE story SET body = 'Crane sold.' WHERE id = 1")
    connection.commit()
    connection.close()
    told = sqlrag("index", "--json").json
    assert [told[name] for name in ("added", "changed", "deleted")] == [0, 1, 0]


def test_watch_syncs_again_until_ctrl_c(sqlrag, stories, monkeypatch):
    pauses = iter([None, None])

    def sleep(seconds):
        assert seconds == 5
        try:
            next(pauses)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("sqlrag_dspy.cli.index.time.sleep", sleep)
    outcome = sqlrag("index", "--watch", "5", "--json")
    assert outcome.code == 0
    assert [report["added"] for report in outcome.lines] == [5, 0, 0]


def test_watch_outlives_a_database_that_is_away_for_a_moment(sqlrag, stories, monkeypatch):
    steps = iter([("stories.db", "away.db"), ("away.db", "stories.db"), None])

    def sleep(seconds):
        step = next(steps)
        if step is None:
            raise KeyboardInterrupt
        (stories / step[0]).rename(stories / step[1])

    monkeypatch.setattr("sqlrag_dspy.cli.index.time.sleep", sleep)
    outcome = sqlrag("index", "--watch", "1", "--json")
    assert outcome.code == 0
    assert len(outcome.lines) == 2
    assert "stories.db" in outcome.err


# --- search -------------------------------------------------------------------------------------------


def test_search_gives_documents_and_how_they_were_searched(sqlrag, indexed):
    told = sqlrag("search", "honey bees", "-k", "2", "--json").json
    assert set(told) == {"documents", "search", "warnings"}
    assert told["documents"][0]["key"] == 4
    assert told["documents"][0]["passages"][0]["column"] == "body"
    assert told["search"] == {
        "rows_allowed": 5,
        "rows_searched": 5,
        "exact": True,
        "filters": [],
        "key_sql": None,
    }
    text = sqlrag("search", "honey bees", "-k", "1")
    assert "1." in text.out
    assert "story 4" in text.out
    assert "Beekeepers" in text.out


@pytest.mark.parametrize(
    ("argv", "right"),
    [
        (["--filter", "category=food"], {3, 4}),
        (["--filter", "category=food", "--filter", "category=travel"], {1, 3, 4, 5}),
        (["--filter", "words=410"], {1}),
        (["--filter", "category=food", "--filter", "words=520"], {4}),
        (["--where", "words > 400"], {1, 2, 4}),
        (["--where", "words > 400", "--filter", "category=food"], {4}),
        (["--where", "day >= '2023-04-01'", "--filter", "words=800", "--filter", "words=520"], {2, 4}),
        (["--where", "day IS NULL"], {5}),
    ],
)
def test_filters_choose_the_rows(sqlrag, indexed, argv, right):
    outcome = sqlrag("search", "news of the town", "-k", "10", "--json", *argv)
    assert set(keys(outcome)) == right
    search = outcome.json["search"]
    assert search["rows_allowed"] == search["rows_searched"] == len(right)
    assert (search["key_sql"] is not None) == ("--where" in argv or "words=" in " ".join(argv))


def test_a_stale_index_still_serves_and_says_so(sqlrag, indexed):
    connection = sqlite3.connect(indexed / "stories.db")
    connection.execute("DELETE FROM story WHERE id = 4")
    connection.commit()
    connection.close()
    outcome = sqlrag("search", "honey bees", "--json")
    assert 4 not in keys(outcome)
    assert "sqlrag index" in outcome.json["warnings"][0]
    assert "sqlrag index" in sqlrag("search", "honey bees").err
    sqlrag("index")
    assert sqlrag("search", "honey bees", "--json").json["warnings"] == []


def test_a_selection_of_nothing_is_an_empty_answer(sqlrag, indexed):
    outcome = sqlrag("search", "news", "--where", "words > 9000", "--json")
    assert keys(outcome) == []
    assert outcome.json["search"]["rows_allowed"] == 0
    text = sqlrag("search", "news", "--filter", "category=sports")
    assert text.code == 0
    assert "no row satisfies the filters" in text.err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["x", "--filter", "categroy=food"], "did you mean 'category'?"),
        (["x", "--filter", "words=many"], "story.words is a number"),
        (["x", "--table", "storys"], "did you mean 'story'?"),
        (["x", "--where", "wrds > 3"], "wrds"),
        (["x", "--where", "EXISTS (SELECT 1 FROM read_text('/etc/hostname'))"], "read_text"),
        (["x", "--where", "words >"], ""),
        (["  "], "empty"),
    ],
)
def test_what_does_not_fit_is_refused(sqlrag, indexed, argv, told):
    sqlrag("search", *argv).refused(told)


def test_search_by_lines(sqlrag, indexed):
    lines = [
        {"id": "a", "text": "bees", "k": 1},
        {"id": 7, "text": "bees", "filters": {"category": ["travel", "politics"]}, "where": "words > 300"},
        "not an object",
        {"id": "b", "where": "words > 1"},
        {"id": "c", "text": "x", "where": "EXISTS (SELECT 1 FROM read_text('a'))"},
        {"id": "d", "text": "x", "k": 0},
        {"id": "e", "text": "x", "filters": "food"},
        {"id": {"any": "id"}, "text": "x", "filters": {"words": 290}},
    ]
    (indexed / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = sqlrag("search", "--batch", "lines")
    assert outcome.code == 0
    found = outcome.lines
    assert [line["id"] for line in found] == ["a", 7, None, "b", "c", "d", "e", {"any": "id"}]
    assert [d["key"] for d in found[0]["documents"]] == [4]
    assert {d["key"] for d in found[1]["documents"]} == {1, 2}
    assert [("error" in line) for line in found] == [False, False, True, True, True, True, True, False]
    assert [line.get("wall") for line in found[2:7]] == [None, None, "check", None, None]
    assert [d["key"] for d in found[7]["documents"]] == [5]


@pytest.mark.parametrize("filters", [[], 0, "", False, 5])
def test_filters_of_a_line_that_are_no_object_are_refused(sqlrag, indexed, filters):
    lines = [
        {"text": "bees", "filters": filters},
        {"text": "bees", "filters": None},
        {"text": "bees", "filters": {}},
    ]
    (indexed / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused, *fine = sqlrag("search", "--batch", "lines").lines
    assert '"filters" is not an object' in refused["error"]
    assert all(line["documents"] for line in fine)


@pytest.mark.parametrize(
    ("command", "line", "told"),
    [
        (
            "search",
            {"text": "bees", "wehre": "words > 300"},
            '"wehre"; a line may have "text", "where", "filters"',
        ),
        (
            "search",
            {"text": "bees", "filter": {"words": 290}, "K": 3},
            '"filter" and 1 more; a line may have',
        ),
        ("sql", {"sql": "SELECT 1", "where": "words > 300"}, '"where"; a line may have "sql", "id"'),
    ],
)
def test_an_unknown_key_of_a_line_is_refused(sqlrag, indexed, command, line, told):
    (indexed / "lines").write_text(json.dumps({"id": 1, **line}))
    (found,) = sqlrag(command, "--batch", "lines").lines
    assert found["id"] == 1
    assert f"unknown key {told}" in found["error"]


# --- sql ----------------------------------------------------------------------------------------------


def test_sql_gives_rows_and_the_statement_that_ran(sqlrag, stories):
    told = sqlrag("sql", "SELECT category, count(*) AS n FROM story GROUP BY 1 ORDER BY 1", "--json").json
    assert list(told) == ["columns", "rows", "truncated", "sql", "warnings"]
    assert told["columns"] == ["category", "n"]
    assert told["rows"] == [["food", 2], ["politics", 1], ["travel", 2]]
    assert told["truncated"] is False
    assert told["sql"].startswith("SELECT")
    text = sqlrag("sql", "SELECT title FROM story WHERE id = 3")
    assert text.out.splitlines() == ["title", "---------------------", "Sourdough at altitude"]


def test_a_result_that_was_cut_says_so(sqlrag, stories, monkeypatch):
    monkeypatch.setenv("SQLRAG_LIMITS_ROWS", "2")
    told = sqlrag("sql", "SELECT id FROM story", "--json").json
    assert told["truncated"] is True
    assert len(told["rows"]) == 2
    assert "cut at 2 rows" in sqlrag("sql", "SELECT id FROM story").err


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT totl FROM story", "totl"),
        ("SELECT * FROM storys", "story"),
        ("DROP TABLE story", ""),
        ("SELECT 1; SELECT 2", ""),
        ("SELECT * FROM read_text('/etc/hostname')", "read_text"),
        ("SELEC 1", ""),
        ("   ", "empty"),
        ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x", ""),
    ],
)
def test_refused_statements_are_one_line(sqlrag, stories, statement, told):
    sqlrag("sql", statement).refused(told)


def test_a_statement_that_overstays_is_stopped(sqlrag, stories, monkeypatch):
    monkeypatch.setenv("SQLRAG_LIMITS_SECONDS", "0.5")
    sqlrag("sql", ENDLESS).refused("0.5 s")


def test_sql_by_lines(sqlrag, stories, monkeypatch):
    monkeypatch.setenv("SQLRAG_LIMITS_SECONDS", "0.5")
    lines = [
        {"id": 1, "sql": "SELECT count(*) FROM story"},
        {"id": 2, "sql": "SELECT * FROM read_text('x')"},
        {"id": 3, "sql": ENDLESS},
        {"id": 4},
        {"id": 5, "sql": "SELECT max(words) FROM story"},
    ]
    (stories / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = sqlrag("sql", "--batch", "lines").lines
    assert [line["id"] for line in found] == [1, 2, 3, 4, 5]
    assert found[0]["rows"] == [[5]]
    assert [line.get("wall") for line in found] == [None, "check", "limit", None, None]
    assert found[4]["rows"] == [[800]]


def test_a_batch_may_come_from_stdin(shell, stories):
    outcome = shell("sql", "--batch", "-", stdin=b'{"sql": "SELECT 1 AS x", "id": "\xc3\xa9"}\n\xff\n')
    assert outcome.code == 0
    assert [line["id"] for line in outcome.lines] == ["é", None]
    assert outcome.lines[0]["rows"] == [[1]]
    assert "UTF-8" in outcome.lines[1]["error"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "SELECT count(*) FROM story WHERE category = 'Food'",
            ["no row passes: category = 'Food'; the nearest stored value of 'category' is 'food'"],
        ),
        ("SELECT title FROM story ORDER BY category LIMIT 1", ["cuts a tie"]),
        (
            "SELECT title FROM story WHERE words > 5000",
            ["no row passes: words > 5000; 'words' runs from 290 to 800"],
        ),
        ("SELECT title FROM story WHERE day <> '2023-03-02'", ["note: rows where story.day"]),
    ],
)
def test_what_is_quietly_wrong_is_told(sqlrag, stories, statement, told):
    warnings = sqlrag("sql", statement, "--json").json["warnings"]
    shown = sqlrag("sql", statement).err
    for each in told:
        assert [each in warning for warning in warnings] == [True]
        assert each in shown
    assert "warning: note:" not in shown


def test_a_store_of_another_database_is_refused(sqlrag, indexed, tmp_path):
    config = Path("sqlrag.toml").read_text(encoding="utf-8")
    with closing(sqlite3.connect("other.db")) as connection, connection:
        connection.execute("CREATE TABLE memo(id INTEGER PRIMARY KEY, body TEXT)")
        text = "The heron waited at the weir until the evening came and the anglers went home. " * 4
        connection.execute("INSERT INTO memo VALUES (1, ?)", (text,))
    Path("other.toml").write_text('source = "other.db"\n[tables.memo]\ntext = ["body"]\n', encoding="utf-8")
    sqlrag("index", "--config", "other.toml").refused("holds the index of", "other.db", "--rebuild")
    assert sqlrag("index", "--json").json["added"] == 0
    assert Path("sqlrag.toml").read_text(encoding="utf-8") == config


def test_on_a_pipe_indexing_says_what_it_begins(sqlrag, stories):
    begun = sqlrag("index")
    assert begun.err == "indexing 5 rows\n"
    assert begun.out.count("\n") == 1
    assert sqlrag("index", "--rebuild", "--quiet").err == ""
    assert sqlrag("index", "--rebuild", "--json").err == ""
