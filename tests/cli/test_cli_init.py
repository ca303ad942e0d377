"""`sqlrag init` and `sqlrag schema`: what is written down about a database."""

from __future__ import annotations

import sqlite3
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrag_dspy import settings
from sqlrag_dspy.cli import init


def make(path, script):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()


PROSE = "'" + "A sentence of ordinary prose that goes on for a while. " * 6 + "'"


def test_init_writes_settings_that_load_and_work(sqlrag, stories):
    (stories / "sqlrag.toml").unlink()
    outcome = sqlrag("init", "sqlite:///stories.db")
    assert outcome.code == 0, outcome.err
    assert "wrote sqlrag.toml" in outcome.out
    loaded = settings.load(None, {})
    assert (
        '# a cheaper model for checking and criticising; "" = the same one'
        in (stories / "sqlrag.toml").read_text()
    )
    assert loaded.source == "sqlite:///stories.db"
    assert loaded.program == "articles"
    assert loaded.tables["story"].key == "id"
    assert "body" in (loaded.tables["story"].text or [])
    assert loaded == loaded.model_copy(update={"limits": settings.Limits()})
    assert sqlrag("sql", "SELECT count(*) FROM story", "--json").json["rows"] == [[5]]


def test_json_lists_what_was_chosen(sqlrag, stories):
    (stories / "sqlrag.toml").unlink()
    told = sqlrag("init", "sqlite:///stories.db", "--json").json
    assert told["config"] == "sqlrag.toml"
    assert told["source"] == "sqlite:///stories.db"
    assert [table["name"] for table in told["tables"]] == ["story"]
    assert told["tables"][0]["rows"] == 5
    assert told["tables"][0]["text"]
    assert told["without_text"] == []


def test_settings_are_never_overwritten_without_force(sqlrag, stories):
    before = (stories / "sqlrag.toml").read_text()
    sqlrag("init", "sqlite:///stories.db").refused("sqlrag.toml already exists", "--force")
    assert (stories / "sqlrag.toml").read_text() == before
    assert sqlrag("init", "sqlite:///stories.db", "--force").code == 0
    assert (stories / "sqlrag.toml").read_text() != before


def test_force_keeps_the_policy(sqlrag, stories):
    path = stories / "sqlrag.toml"
    policy = '[policy]  # who sees what\ndeny_columns = [\n  "story.body",\n]\n[policy.masks]\n"story.title" = "hash"\n'
    path.write_text(f'source = "sqlite:///stories.db"\n{policy}[limits]\nseconds = 3\n')
    before = settings.load(None, {}).policy
    outcome = sqlrag("init", "sqlite:///stories.db", "--force")
    assert outcome.code == 0
    assert "[policy]" in outcome.err
    assert settings.load(None, {}).policy == before
    assert settings.load(None, {}).limits == settings.Limits()
    assert "# who sees what" in path.read_text()


def test_force_keeps_the_old_settings_beside_the_new(sqlrag, stories):
    path, old = stories / "sqlrag.toml", stories / "sqlrag.toml.old"
    path.write_text('source = "stories.db"\n[tables.story]\nsynonyms = { "" = ["tales"] }\n')
    before = path.read_bytes()
    outcome = sqlrag("init", "stories.db", "--force")
    assert (outcome.code, old.read_bytes()) == (0, before)
    assert "sqlrag.toml.old" in outcome.err
    outcome = sqlrag("init", "stories.db", "--force")  # nothing gets lost: what was kept stays
    assert (outcome.code, old.read_bytes()) == (0, before)
    assert "sqlrag.toml.old" not in outcome.err


@pytest.mark.parametrize(
    "written",
    [
        'policy.deny_columns = ["story.body"]\n',
        'policy = { deny_columns = ["story.body"] }\n',
        '[policy]\ndeny_columns = ["story.body"\n',
    ],
)
def test_force_refuses_where_a_policy_would_get_lost(sqlrag, stories, written):
    path = stories / "sqlrag.toml"
    path.write_text(written)
    sqlrag("init", "sqlite:///stories.db", "--force").refused("[policy]", "--config")
    assert path.read_text() == written


def test_a_refused_source_leaves_no_settings_behind(sqlrag, folder):
    sqlrag("init", "sqlite:///missing.db").refused("missing.db")
    assert list(folder.iterdir()) == []


def test_no_text_anywhere_is_one_warning(sqlrag, folder):
    make(folder / "n.db", "CREATE TABLE n (id INTEGER PRIMARY KEY, x REAL); INSERT INTO n VALUES (1, 2.5)")
    outcome = sqlrag("init", "sqlite:///n.db")
    assert outcome.code == 0
    assert outcome.err.count("\n") == 1
    assert "no table has a text column" in outcome.err
    assert sqlrag("sql", "SELECT x FROM n", "--json").json["rows"] == [[2.5]]
    assert "no table has a text column" in sqlrag("index").err
    sqlrag("search", "anything").refused("text column", "sqlrag.toml")


def test_a_broken_view_is_named_and_left_out(sqlrag, folder):
    make(
        folder / "c.db",
        f"""CREATE TABLE customer (id INTEGER PRIMARY KEY, bio TEXT);
        INSERT INTO customer VALUES (1, {PROSE}), (2, {PROSE}), (3, 'Keeps bees.');
        CREATE TABLE gone (x INT); CREATE VIEW v_old AS SELECT x FROM gone; DROP TABLE gone;""",
    )
    told = sqlrag("init", "sqlite:///c.db", "--json").json
    assert [broken["name"] for broken in told["broken"]] == ["v_old"]
    assert any("v_old cannot be read" in warning for warning in told["warnings"])
    assert "v_old" in (folder / "sqlrag.toml").read_text()


def test_odd_names_survive(sqlrag, folder):
    make(
        folder / "o.db",
        f'''CREATE TABLE "my ""table""" ("order" INTEGER PRIMARY KEY, "Ünï côl" TEXT);
        INSERT INTO "my ""table""" VALUES (1, {PROSE}), (2, {PROSE})''',
    )
    assert sqlrag("init", "o.db").code == 0
    loaded = settings.load(None, {})
    assert loaded.tables['my "table"'].text == ["Ünï côl"]
    assert loaded.tables['my "table"'].key == "order"
    assert sqlrag("schema", "--json").json["tables"][0]["name"] == 'my "table"'


def test_the_source_is_relative_below_the_working_folder(sqlrag, stories):
    (stories / "sqlrag.toml").unlink()
    assert (
        sqlrag("init", f"sqlite:///{stories / 'stories.db'}", "--json").json["source"]
        == "sqlite:///stories.db"
    )
    other = stories / "other"
    other.mkdir()
    told = sqlrag("init", "sqlite:///stories.db", "--config", "other/sqlrag.toml", "--json").json
    assert told["source"] == f"sqlite:///{stories / 'stories.db'}"
    assert sqlrag("sql", "SELECT 1 AS x", "--config", "other/sqlrag.toml").code == 0
    assert settings.load(stories / "other" / "sqlrag.toml").store == str(stories / "other" / ".sqlrag")


def test_a_bare_path_is_enough(sqlrag, stories):
    assert sqlrag("init", "stories.db", "--force").code == 0
    assert sqlrag("sql", "SELECT count(*) FROM story", "--json").json["rows"] == [[5]]


def test_schema_shows_tables_columns_and_what_they_hold(sqlrag, stories):
    outcome = sqlrag("schema")
    assert outcome.code == 0
    assert "table story: 5 rows, key id" in outcome.out
    for text in ("category", "filter", "integer", "290 to 800"):
        assert text in outcome.out
    told = sqlrag("schema", "--json").json
    assert told["tables"][0]["name"] == "story"
    assert {column["name"] for column in told["tables"][0]["columns"]} >= {"id", "title", "body"}


@pytest.mark.parametrize("url", ["postgresql://user@host/db", "mysql://host/db", "redis://x"])
def test_other_databases_are_refused_in_one_line(sqlrag, url):
    sqlrag("init", url).refused(url.partition(":")[0])


@given(st.recursive(st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_toml_values_read_back(value):
    try:
        str(value).encode()
    except UnicodeEncodeError:  # TOML files are UTF-8
        return
    assert tomllib.loads(f"x = {init.quoted(value)}") == {"x": value}


@given(st.text(min_size=1))
def test_table_names_read_back(name):
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(f"[tables.{init._bare_key(name)}]\nkey = 1") == {"tables": {name: {"key": 1}}}
