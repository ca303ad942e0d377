"""Words for money beside the name of an amount: "money awarded", "euros concedidos" mean the amount that is named.

Those that stand alone mean an amount of a table that is asked about, where one has any. Leaves out choosing among
several.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.named import NamedSpan
from sqlrag_dspy.link.text import stem

_NEAR = 12
"""Characters between the two."""


def settle_money(spans: Sequence[NamedSpan], asked: Container[str]) -> list[NamedSpan]:
    """The spans, those of words for money with the amounts alone that are named beside them, or are `asked` about."""
    return [_settled(span, spans, asked) if _is_money(span) else span for span in spans]


def _settled(money: NamedSpan, spans: Sequence[NamedSpan], asked: Container[str]) -> NamedSpan:
    for other in spans:
        gap = max(other.start - money.end, money.start - other.end)
        if not 0 <= gap <= _NEAR or _is_money(other):
            continue
        named = {(n.table, n.column) for n in other.found if n.score >= 0.6 and n.column and not n.end}
        kept = tuple(n for n in money.found if (n.table, n.column) in named)
        if kept and len(kept) < len(money.found):
            return replace(money, found=kept)
    own = tuple(n for n in money.found if n.table in asked)
    return replace(money, found=own) if own else money


def _is_money(span: NamedSpan) -> bool:
    return "nouns.money" in load().concepts.get(stem(span.text), ())
