"""Names become models, or one clear line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sqlrag_dspy.errors import LmError
from sqlrag_dspy.lm import connect


def test_importing_the_room_imports_neither_dspy_nor_google() -> None:
    heavy = "{'dspy', 'google.genai', 'litellm', 'numpy'}"
    code = f"import sys, sqlrag_dspy.lm; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "environ", "options", "words"),
    [
        ("", {}, {}, ["no language model", "gemini/"]),
        ("gemini/", {"GEMINI_API_KEY": "k"}, {}, ["names no model", "gemini/gemini-2.5-flash"]),
        ("gemini/m", {}, {}, ["gemini/m", "GEMINI_API_KEY", "GOOGLE_API_KEY"]),
        ("gemini/m", {"GEMINI_API_KEY": "  "}, {}, ["GEMINI_API_KEY"]),
        ("gemini/m", {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, {}, ["GOOGLE_CLOUD_PROJECT"]),
        ("gemini/m", {"GEMINI_API_KEY": "k"}, {"temprature": 1}, ["'temprature'", "temperature"]),
        ("gemini/m", {"GEMINI_API_KEY": "k"}, {"timeout": 0}, ["timeout", "above 0"]),
        ("gemini/m", {"GEMINI_API_KEY": "k"}, {"base_url": "localhost"}, ["'localhost'", "https://"]),
        ("gemini/m", {"GEMINI_API_KEY": "k"}, {"num_retries": -1}, ["gemini/m", "num_retries"]),
        ("gguf:/models/a.gguf", {}, {}, ["no model file /models/a.gguf"]),
        ("openai/gpt-4o-mini", {}, {}, ["openai/gpt-4o-mini", "OPENAI_API_KEY"]),
        ("gpt-4o-mini", {}, {}, ["OPENAI_API_KEY"]),
        ("openai/", {}, {}, ["openai/", "no model id"]),
        ("openai/m", {"OPENAI_API_BASE": "nowhere"}, {}, ["'nowhere'", "https://"]),
        ("anthropic/claude", {"OPENAI_API_KEY": "k"}, {}, ["ANTHROPIC_API_KEY"]),
        ("nonsense", {}, {}, ["'nonsense'", "openai/gpt-4o-mini"]),
    ],
)
def test_what_cannot_work_fails_at_once_in_one_line(name, environ, options, words) -> None:
    with pytest.raises(LmError) as caught:
        connect(name, environ=environ, **options)
    line = str(caught.value)
    assert "\n" not in line
    assert not [word for word in words if word not in line], line


def test_an_address_never_carries_a_secret_and_is_not_repeated() -> None:
    with pytest.raises(LmError) as caught:
        connect("openai/m", environ={}, api_base="https://me:hunter2@host/v1?key=abc")
    assert "hunter2" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_other_names_are_dspys_own() -> None:
    lm = connect(
        "openai/gpt-4o-mini", environ={"OPENAI_API_KEY": "k"}, temperature=0.3, cache=False, timeout=7
    )
    assert (lm.model, lm.engine, lm.cache) == ("openai/gpt-4o-mini", "auto", False)
    assert (lm.kwargs["temperature"], lm.kwargs["timeout"], lm.kwargs["api_key"]) == (0.3, 7, "k")


def test_a_local_server_needs_no_key() -> None:
    lm = connect("openai/local", environ={"OPENAI_API_BASE": "http://127.0.0.1:8080/v1"})
    assert lm.kwargs["api_base"] == "http://127.0.0.1:8080/v1"
    assert connect("ollama_chat/llama3", environ={}).model == "ollama_chat/llama3"


def test_the_process_environment_is_the_default(monkeypatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_GENAI_USE_VERTEXAI", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "from-process")
    assert connect("gemini/m").engine.account.api_key == "from-process"


def test_vertex_takes_a_project_or_a_key() -> None:
    vertex = {"GOOGLE_GENAI_USE_VERTEXAI": "1"}
    by_project = connect("gemini/m", environ={**vertex, "GOOGLE_CLOUD_PROJECT": "p"}).engine.account
    assert (by_project.vertexai, by_project.project) == (True, "p")
    assert connect("gemini/m", environ={**vertex, "GOOGLE_API_KEY": "k"}).engine.account.api_key == "k"
