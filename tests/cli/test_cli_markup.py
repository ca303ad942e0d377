"""Texts stored as HTML are shown plain; the answer and its citations stay as stored."""

from __future__ import annotations

import pytest

from sqlrag_dspy import Answer
from sqlrag_dspy.cli.markup import plain, read
from sqlrag_dspy.program.result import Citation


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (
            "Fish &amp; chips cost &pound;7 &#8211; at caf&eacute; Jo&#xE9;",
            "Fish & chips cost £7 – at café Joé",
        ),
        ("<p>The <b>river</b> rose.</p><p>It fell.</p>", "The river rose. It fell."),
        ("See <a href=\"https://x.org/?a=1&amp;b=2\" title='t'>the page</a><br/>below", "See the page below"),
        ("write &lt;b&gt; for bold", "write <b> for bold"),
        # what only looks like markup
        (
            "if a < b and b > c then List<String> or Map<a, b>",
            "if a < b and b > c then List<String> or Map<a, b>",
        ),
        ("AT&T, R&D; and &nosuch; stay", "AT&T, R&D; and &nosuch; stay"),
        ("so a <b and c> d", "so a <b and c> d"),
        ("mail <ann@example.org> today", "mail <ann@example.org> today"),
        ("<p></p>", "<p></p>"),
    ],
)
def test_markup_is_read_and_nothing_else(stored, shown):
    assert plain(stored) == shown


def test_only_quoted_passages_are_changed():
    quoted = "Tea &amp; <i>toast</i>."
    text = f"A &amp; B:\n{quoted}"
    span = (len(text) - len(quoted), len(text))
    cited = Citation(kind="passage", answer_span=span, table="t", key=1, column="c", start=0, end=len(quoted))
    answer = Answer(question="q", route="vector", answer=text, citations=[cited, cited])
    assert read(answer) == "A &amp; B:\nTea & toast."
    assert answer.answer == text
