"""Text, tables and JSON on the screen."""

from __future__ import annotations

import io
import json

import pytest

from sqlrag_dspy.cli.output import Screen, cell, clean, dumps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_is_one_readable_line_without_nan():
    assert dumps({"a": "café\nbar"}) == '{"a": "café\\nbar"}'
    assert json.loads(dumps("\ud800")) == "\ud800"
    with pytest.raises(ValueError, match="JSON"):
        dumps(float("nan"))


def test_stored_text_cannot_steer_the_terminal():
    assert clean("a\x1b[2Jb\x9bc\r\nd\te\x00") == "a�[2Jb�c\nd\te�"


def test_a_plain_table_is_aligned_and_says_null():
    screen = Screen(out=io.StringIO(), err=io.StringIO())
    screen.table(["name", "n"], [["a\nb", 1], [None, 20]])
    assert screen.out.getvalue() == "name | n\n-----+---\na b  | 1\nNULL | 20\n"


def test_long_cells_are_cut():
    assert len(cell("x" * 500)) == 80


def test_a_terminal_gets_a_table_and_a_progress_bar():
    screen = Screen(out=Terminal(), err=Terminal())
    screen.table(["name", "n"], [["[bold]a[/bold]", 1]])
    assert "[bold]a[/bold]" in screen.out.getvalue()
    with screen.progress("rows") as tell:
        tell(1, 2)
        tell(2, 2)
    assert "rows" in screen.err.getvalue()


def test_quiet_and_json_keep_notes_away_but_not_errors():
    for options in ({"is_quiet": True}, {"is_json": True}):
        screen = Screen(out=io.StringIO(), err=Terminal(), **options)
        screen.note("note")
        screen.warn("warning")
        with screen.progress("rows") as tell:
            assert tell is None
        screen.fail("it\nfailed")
        assert screen.err.getvalue() == "sqlrag: it failed\n"
    screen.text("for a person")
    screen.table(["a"], [[1]])
    assert screen.out.getvalue() == ""
