"""`sqlrag demo`: the tour, in a folder of its own and with nothing from outside."""

from __future__ import annotations

import pytest

from sqlrag_dspy.cli import demo
from sqlrag_dspy.program import artifact

needs_program = pytest.mark.skipif(
    not (artifact.CHECKOUT / "compiled" / "articles" / "program.json").is_file(),
    reason="compiled/articles is made by 'sqlrag compile'",
)


def test_the_sample_database_is_built_with_its_settings(folder):
    database, settings = demo.prepare(folder / "tour", demo.find_corpus())
    assert database.is_file()
    assert settings.source == f"sqlite:///{database}"
    assert settings.lm == ""
    assert settings.tables["articles"].key == "title"


def test_a_missing_corpus_says_where_it_was_looked_for(sqlrag, folder, monkeypatch):
    monkeypatch.setattr(artifact, "CHECKOUT", folder)
    monkeypatch.setattr(artifact, "SHIPPED", folder)
    sqlrag("demo").refused("the sample corpus is missing", str(folder))


@needs_program
def test_the_five_questions(sqlrag, folder, monkeypatch):
    monkeypatch.setenv("SQLRAG_LM", "gemini/gemini-2.5-flash")
    monkeypatch.setenv("GEMINI_API_KEY", "not a key")
    told = sqlrag("demo", "--json").json
    answers = told["answers"]
    assert [answer["question"] for answer in answers] == list(demo.QUESTIONS)
    assert [answer["route"] for answer in answers] == ["sql", "vector", "vector", "hybrid", "hybrid"]
    assert all(answer["usage"]["lm_calls"] == 0 for answer in answers)
    assert told["index"]["rows_seen"] == 144
    counts = {tuple(map(str, row[:2])): row[2] for row in answers[0]["rows"]}
    assert counts["2023", "business"] == 19
    assert sum(counts.values()) == 144
    assert {document["fields"]["article_category"] for document in answers[2]["documents"]} == {"fashion"}
    assert answers[2]["search"]["key_sql"] is None
    assert answers[3]["search"]["key_sql"] is not None
    assert len(answers[4]["documents"]) == 1
    monkeypatch.delenv("SQLRAG_LM")
    again = sqlrag("ask", "--config", ".sqlrag-demo/sqlrag.toml", demo.QUESTIONS[2], "--json")
    assert again.json["documents"] == answers[2]["documents"]


@needs_program
def test_the_tour_shows_its_steps(sqlrag, folder):
    outcome = sqlrag("demo", "--folder", "a tour")
    assert outcome.code == 0, outcome.err
    assert "--config 'a tour/sqlrag.toml'" in outcome.err
    for number, question in enumerate(demo.QUESTIONS, 1):
        assert f"{number}. {question}" in outcome.out
    for text in ("tool search_database", "tool search_documents", "rows chosen by", "answer:"):
        assert text in outcome.out
