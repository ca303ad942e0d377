"""Texts that are stored as HTML, shown to a person without tags and character references.

Only what an answer quotes from a passage is changed, and only on the screen: the answer itself stays verbatim, since
its citations count in it. Leaves out layout, scripts and anything but the elements of running text.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlrag_dspy.program import Answer

_INLINE = "a|abbr|b|cite|code|em|font|i|img|mark|q|s|small|span|strong|sub|sup|u"
_BLOCK = (
    "article|blockquote|br|div|dd|dl|dt|figure|h[1-6]|hr|li|ol|p|pre|section|table|tbody|td|th|thead|tr|ul"
)
_ATTRIBUTES = r"""(?:\s+[A-Za-z_:][-\w:.]*\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+))*"""
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE}){_ATTRIBUTES}\s*/?>", re.IGNORECASE)
_BLOCK_TAG = re.compile(rf" ?(?:</?(?:{_BLOCK}){_ATTRIBUTES}\s*/?>\s*)+", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def plain(text: str) -> str:
    """The text without tags of running text and with its characters in place of references to them."""
    bare = _BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", text))
    # Tags first: what was written as &lt;b&gt; is meant to be read as <b>.
    return _REFERENCE.sub(lambda found: unescape(found.group()), bare).strip() or text


def read(answer: Answer) -> str:
    """The answer's text with what it quotes from passages as plain text."""
    spans = sorted({each.answer_span for each in answer.citations if each.kind == "passage"})
    shown, position = "", 0
    for start, end in spans:
        if start >= position:
            shown += answer.answer[position:start] + plain(answer.answer[start:end])
            position = end
    return shown + answer.answer[position:]
