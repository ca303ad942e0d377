"""[policy] from the command line: --session says who asks, and every command shows what that session may see."""

from __future__ import annotations

import json

import pytest

POLICY = """
[policy]
deny_columns = ["story.words"]
[policy.rows]
story = "category = :topic"
[policy.masks]
"story.title" = "hash"
"""


@pytest.fixture
def limited(program):
    """The stories with a policy, indexed."""
    with (program / "sqlrag.toml").open("a") as file:
        file.write(POLICY)
    return program


COMMANDS = (
    ("schema", "--json"),
    ("sql", "SELECT 1", "--json"),
    ("search", "bread", "--json"),
    ("ask", "what about bread?", "--json"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_the_parameter_nothing_is_shown(sqlrag, limited, command):
    asked = sqlrag(*command)
    asked.refused("asks for the session parameter 'topic'", "--session topic=VALUE")
    assert asked.out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_session(sqlrag, limited, command):
    sqlrag("index", "--quiet")
    told = sqlrag(*command, "--session", "topic=food")
    assert told.code == 0, told.err
    for hidden in ("travel", "politics", "canal", "Sleeper", "words", "Sourdough", "stories about"):
        assert hidden not in told.out


def test_a_search_finds_the_sessions_rows_alone(sqlrag, limited):
    sqlrag("index", "--quiet")
    for topic, keys in (("food", {3, 4}), ("travel", {1, 5}), ("nothing", set())):
        found = sqlrag("search", "canal lock", "--table", "story", "--session", f"topic={topic}", "--json")
        assert {document["key"] for document in found.json["documents"]} == keys
        assert found.json["search"]["rows_allowed"] == len(keys)


def test_the_sessions_index_may_be_built_beforehand(sqlrag, limited):
    whole = sqlrag("index", "--json").json
    own = sqlrag("index", "--session", "topic=food", "--json").json
    assert (whole["rows_seen"], own["rows_seen"]) == (5, 2)
    assert sqlrag("doctor", "--session", "topic=food").out.count("up to date") == 1


def test_a_denied_column_is_an_unknown_column_in_a_batch(sqlrag, limited):
    statements = ("SELECT words FROM story", "SELECT nothing FROM story", "SELECT id FROM story ORDER BY id")
    lines = [{"id": number, "sql": statement} for number, statement in enumerate(statements)]
    (limited / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    denied, unknown, fine = sqlrag("sql", "--batch", "lines.jsonl", "--session", "topic=food").lines
    assert denied["wall"] == unknown["wall"] == "check"
    assert denied["error"].replace("words", "nothing") == unknown["error"]
    assert fine["rows"] == [[3], [4]]


def test_a_policy_that_does_not_fit_is_its_own_wall(sqlrag, limited):
    with (limited / "sqlrag.toml").open("a") as file:
        file.write('"story.nothing" = "null"\n')
    (limited / "lines.jsonl").write_text('{"sql": "SELECT 1"}\n')
    (line,) = sqlrag("sql", "--batch", "lines.jsonl", "--session", "topic=food").lines
    assert line["wall"] == "policy"
    assert "no column 'story.nothing'" in line["error"]


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ('[policy]\ndeny_tabels = ["x"]\n', "deny_tabels"),
        ('[policy]\ndeny_columns = ["words"]\n', "write 'table.column'"),
        ('[policy.masks]\n"story.title" = "md5"\n', "write 'hash', 'null' or 'text:…'"),
        ('[policy.rows]\nstory = " "\n', "is empty"),
        ('[policy.rows]\nstory = "category = :a OR"\n', "not one SQL condition"),
        ('[policy]\nrows = "category = 1"\n', "policy.rows"),
    ],
)
def test_a_wrong_policy_is_refused_in_one_line(sqlrag, program, added, told):
    with (program / "sqlrag.toml").open("a") as file:
        file.write(added)
    sqlrag("sql", "SELECT 1").refused(told)


def test_a_session_without_a_policy_is_refused(sqlrag, program):
    """Whoever says who asks counts on a policy; without one everything would be shown."""
    sqlrag("sql", "SELECT 1", "--session", "tenant=1").refused("'tenant' is not used")
    assert sqlrag("sql", "SELECT 1", "--session", "tenant").code == 2
