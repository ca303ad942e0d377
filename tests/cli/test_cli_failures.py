"""Whatever goes wrong in a command becomes one line and an exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sqlrag_dspy.cli import demo
from sqlrag_dspy.errors import QueryFailed, SqlRagError


def failing(monkeypatch, error):
    def run(args, screen):
        raise error

    monkeypatch.setattr(demo, "run", run)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (SqlRagError("no table 'x';\n  name another"), "sqlrag: no table 'x'; name another\n"),
        (QueryFailed("too slow", wall="limit"), "sqlrag: too slow\n"),
        (
            PermissionError(13, "Permission denied", "/root/x.db"),
            "sqlrag: /root/x.db: Permission denied; check the path and its permissions\n",
        ),
        (SqlRagError("\x1b[31mred\x1b[0m \ud800"), "sqlrag: \ufffd[31mred\ufffd[0m ?\n"),
    ],
)
def test_expected_errors_are_one_line(sqlrag, monkeypatch, error, line):
    failing(monkeypatch, error)
    outcome = sqlrag("demo", "--json")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", line)


def test_a_fault_of_ours_is_one_line_too_and_can_be_traced(sqlrag, monkeypatch):
    failing(monkeypatch, KeyError("gone"))
    outcome = sqlrag("demo")
    assert outcome.code == 1
    assert outcome.err.startswith("sqlrag: unexpected KeyError: 'gone'")
    assert outcome.err.count("\n") == 1
    monkeypatch.setenv("SQLRAG_TRACEBACK", "1")
    with pytest.raises(KeyError):
        sqlrag("demo")


def test_ctrl_c_exits_130_without_a_word(sqlrag, monkeypatch):
    failing(monkeypatch, KeyboardInterrupt())
    outcome = sqlrag("demo")
    assert (outcome.code, outcome.err) == (130, "")


def test_a_reader_that_goes_away_leaves_no_traceback(stories):
    questions = "".join('{"sql": "SELECT * FROM story"}\n' for _ in range(400))
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlrag_dspy.cli", "sql", "--batch", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(questions[:31].encode())
    process.stdin.flush()
    assert process.stdout.readline().startswith(b'{"id": null, "columns"')
    process.stdout.close()
    try:
        process.stdin.write(questions.encode())
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
