"""JSON lines in and out: what is read from a line, and which lines there are."""

from __future__ import annotations

import pytest

from sqlrag_dspy.cli import batch
from sqlrag_dspy.errors import SqlRagError


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"not json", "line 3: not JSON"),
        (b'["list"]', "line 3: not a JSON object"),
        (b"12", "line 3: not a JSON object"),
        (b'{"question": NaN}', "NaN is no JSON number"),
        (b'{"question": "\xff"}', "line 3: not UTF-8"),
        (b"[" * 200_000, "line 3: nested too deeply"),
        (b"", "line 3: not JSON"),
        (b'{"question": 1' + b"0" * 5000 + b"}", "line 3: not JSON"),
    ],
)
def test_a_bad_line_says_which_and_why(raw, told):
    with pytest.raises(SqlRagError, match=told):
        batch.read(raw, 3)


def test_a_byte_order_mark_is_no_fault():
    assert batch.read(b'\xef\xbb\xbf{"question": "q"}', 1) == {"question": "q"}


@pytest.mark.parametrize(
    ("asked", "told"),
    [({}, "missing"), ({"q": 1}, "missing"), ({"question": 7}, "not a text"), ({"question": "  "}, "empty")],
)
def test_the_text_of_a_line_must_be_there(asked, told):
    with pytest.raises(SqlRagError, match=told):
        batch.text_of(asked, "question")


def test_blank_lines_count_inside_the_file_and_not_at_its_end(folder):
    (folder / "lines").write_bytes(b'{"a": 1}\n\n  \n{"b": 2}\n\n\n')
    found = [(number, raw.strip()) for number, raw in batch.lines("lines")]
    assert found == [(1, b'{"a": 1}'), (2, b""), (3, b""), (4, b'{"b": 2}')]


def test_a_last_line_needs_no_line_end(folder):
    (folder / "lines").write_bytes(b'{"a": 1}\r\n{"b": 2}')
    assert [raw.strip() for _, raw in batch.lines("lines")] == [b'{"a": 1}', b'{"b": 2}']
