"""Settings: a file, variables that override it, and what is wrong with either in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlrag_dspy.errors import SettingsError
from sqlrag_dspy.settings import Settings, load

README = Path(__file__).parent.parent / "README.md"


@pytest.fixture
def written(tmp_path):
    """Writes a settings file."""

    def written(text: str) -> Path:
        path = tmp_path / "sqlrag.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


VARIABLES = {
    "SQLRAG_SOURCE": ("a.db", lambda s: s.source, "a.db"),
    "SQLRAG_PROGRAM": ("mine", lambda s: s.program, "mine"),
    "SQLRAG_STORE": ("there", lambda s: s.store, "there"),
    "SQLRAG_LM": ("x/y", lambda s: s.lm, "x/y"),
    "SQLRAG_LM_SMALL": ("x/z", lambda s: s.lm_small, "x/z"),
    "SQLRAG_EMBEDDER": ("wordllama,gemini:m", lambda s: s.embedder, ["wordllama", "gemini:m"]),
    "SQLRAG_LIMITS_SECONDS": ("2.5", lambda s: s.limits.seconds, 2.5),
    "SQLRAG_BUDGET_CALLS": ("3", lambda s: s.budget.calls, 3),
    "SQLRAG_SEARCH_RERANK": ("fastembed:m", lambda s: s.search.rerank, "fastembed:m"),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_overrides_its_key_and_the_readme_names_it(written, name):
    value, read, expected = VARIABLES[name]
    text = (
        '[limits]\nseconds = 7\nmemory = "3GB"\n[budget]\ncalls = 9\n[search]\nrerank = "fastembed:other"\n'
    )
    assert read(load(written(text), {name: value})) == expected
    assert f"`{name}`" in README.read_text(encoding="utf-8")


def test_without_a_file_the_defaults_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load(None, {}) == Settings()


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        ("", {"SQLRAG_LIMITS_SECONDS": "soon"}, "SQLRAG_LIMITS_SECONDS: Input should be a valid number"),
        ("", {"SQLRAG_BUDGET_CALLS": "0"}, "SQLRAG_BUDGET_CALLS: Input should be greater than 0"),
        ("limits = 3\n", {"SQLRAG_LIMITS_SECONDS": "1"}, "sqlrag.toml: limits:"),
        ("[limits]\nseconds = 'soon'\n", {}, "sqlrag.toml: limits.seconds: Input should be a valid number"),
        ("sauce = 'a.db'\n", {}, "sqlrag.toml: sauce: Extra inputs are not permitted (known keys: source"),
        ("[search]\nranker = 'x'\n", {}, "(known keys: rerank)"),
        ("[tables.a]\nkeys = 'x'\n", {}, "(known keys: key, text, filters, synonyms)"),
        ("[limits\n", {}, "sqlrag.toml is not valid TOML"),
    ],
)
def test_what_is_wrong_is_said_of_where_it_stands(written, text, environ, said):
    with pytest.raises(SettingsError) as caught:
        load(written(text), environ)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_named_must_be_there(tmp_path):
    with pytest.raises(SettingsError, match=r"no settings file .* write one with 'sqlrag init URL'"):
        load(tmp_path / "none.toml", {})
