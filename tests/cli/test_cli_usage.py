"""Help, bad usage and exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sqlrag_dspy
from sqlrag_dspy.cli import HOMES


def test_help_names_every_command(sqlrag):
    outcome = sqlrag("--help")
    assert outcome.code == 0
    for command in HOMES:
        assert f"    {command} " in outcome.out


@pytest.mark.parametrize("command", HOMES)
def test_every_command_has_an_example_and_the_common_options(sqlrag, command):
    outcome = sqlrag(command, "--help")
    assert outcome.code == 0
    assert f"example:\n  sqlrag {command}" in outcome.out
    for option in ("--config", "--json", "--quiet"):
        assert option in outcome.out


def test_version(sqlrag):
    outcome = sqlrag("--version")
    assert outcome.code == 0
    assert outcome.out == f"sqlrag {sqlrag_dspy.__version__}\n"


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["ask"],
        ["ask", "a question", "--batch", "file"],
        ["sql"],
        ["search", "x", "-k", "0"],
        ["search", "x", "-k", "many"],
        ["search", "x", "--filter", "category"],
        ["index", "--watch", "0"],
        ["index", "--watch", "soon"],
        ["compile", "--train", "x"],
        ["compile", "--train", "x", "-o", "y", "--budget", "dollars=3"],
        ["compile", "--train", "x", "-o", "y", "--budget", "calls=lots"],
        ["eval"],
        ["ask", "q", "--jso"],
    ],
)
def test_bad_usage_exits_2(sqlrag, argv):
    outcome = sqlrag(*argv)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "usage: sqlrag" in outcome.err


def test_common_options_may_stand_before_the_command(sqlrag, stories):
    for argv in (["--json", "sql", "SELECT 1 AS one"], ["sql", "SELECT 1 AS one", "--json"]):
        assert sqlrag(*argv).json["rows"] == [[1]]
    moved = stories / "elsewhere.toml"
    (stories / "sqlrag.toml").rename(moved)
    assert sqlrag("--config", str(moved), "sql", "SELECT count(*) FROM story", "--json").json["rows"] == [[5]]
    assert sqlrag("sql", "SELECT count(*) FROM story", "--json", "--config", str(moved)).json["rows"] == [[5]]


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from sqlrag_dspy.cli import main; code = main(['--help']);"
        "heavy = {'dspy', 'duckdb', 'faiss', 'sqlglot', 'numpy', 'pydantic', 'rich'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_exit_codes_reach_the_shell(shell):
    assert shell("--help").code == 0
    assert shell("sql", "SELECT 1").code == 1
    assert shell("nonsense").code == 2
