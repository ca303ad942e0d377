"""`sqlrag doctor`: every check says ok, warn or fail, and what to do."""

from __future__ import annotations

import sqlite3

import pytest


def found(outcome):
    return {(check["check"], check["status"]): check["message"] for check in outcome.json["checks"]}


def test_all_is_well(sqlrag, program):
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 0, outcome.out
    assert outcome.json["ok"] is True
    checks = found(outcome)
    for name in ("python", "packages", "settings", "source", "tables", "jail", "index", "program", "model"):
        assert (name, "ok") in checks, checks
    text = sqlrag("doctor")
    assert text.code == 0
    assert text.out.startswith("ok    python: 3.")


def test_a_stale_index_is_told(sqlrag, program):
    connection = sqlite3.connect(program / "stories.db")
    connection.execute("DELETE FROM story WHERE id = 1")
    connection.commit()
    connection.close()
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 0
    assert "sqlrag index" in found(outcome)["index", "warn"]
    assert sqlrag("index").code == 0
    assert ("index", "ok") in found(sqlrag("doctor", "--json"))


def test_no_settings_at_all(sqlrag, folder):
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 1
    assert "sqlrag init" in found(outcome)["settings", "fail"]


@pytest.mark.parametrize(
    ("old", "new", "check", "told"),
    [
        ("stories.db", "missing.db", "source", "missing.db"),
        ('"wordllama"', '"use-multilingual"', "index", "sqlrag index"),
        ('program = "program"', 'program = "nowhere"', "program", "nowhere"),
        (
            'program = "program"',
            'lm = "gemini/gemini-2.5-flash"\nprogram = "program"',
            "model",
            "GEMINI_API_KEY",
        ),
        ("source =", "sorce =", "settings", "sorce"),
    ],
)
def test_what_fails_says_what_to_do(sqlrag, program, old, new, check, told):
    path = program / "sqlrag.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 1
    assert told in found(outcome)[check, "fail"]
    quiet = sqlrag("doctor", "--quiet")
    assert quiet.code == 1
    assert [line for line in quiet.out.splitlines() if line.startswith("ok")] == []


def test_prompts_of_another_version_are_told(sqlrag, program):
    import json

    path = program / "program" / "card.json"
    card = json.loads(path.read_text())
    card["signatures"] = {"BuildSql": "0" * 16}
    path.write_text(json.dumps(card))
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 0
    assert "BuildSql" in found(outcome)["program", "warn"]


def test_a_model_file_that_is_cut_short_is_told(sqlrag, program, monkeypatch):
    (program / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00\x02")
    monkeypatch.setenv("SQLRAG_LM", "gguf:cut.gguf")
    outcome = sqlrag("doctor", "--json")
    assert outcome.code == 1
    told = found(outcome)["model", "fail"]
    assert "cut.gguf" in told
    assert "cut short" in told
    assert "fetch the file again" in told
    sqlrag("ask", "how many stories are there").refused("cut.gguf", "cut short")
