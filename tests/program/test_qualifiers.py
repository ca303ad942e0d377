"""Words that qualify the rows asked about and that no link explains."""

from __future__ import annotations

import re

import pytest

from sqlrag_dspy.link import mask
from sqlrag_dspy.program.sketching.qualifiers import qualifiers
from sqlrag_dspy.program.sketching.unheard import unheard
from sqlrag_dspy.types import Item, Link, Links, Sketch

KINDS = {
    "T": {"kind": "table"},
    "V": {"kind": "value", "op": "=", "concept": "category"},
    "P": {"kind": "value", "op": "=", "concept": "person"},
    "D": {"kind": "column", "grain": "date"},
    "M": {"kind": "date", "grain": "month", "value": "2023-03-01", "upper": "2023-04-01"},
}


def read(text: str) -> Links:
    """A question in which "[T incidents]" is linked to a table, [V …] to a value, [M …] to a date."""
    plain, links = "", []
    for piece in re.split(r"(\[[A-Z] [^\]]+\])", text):
        said = piece[3:-1] if piece.startswith("[") else piece
        if piece.startswith("["):
            links.append(Link(start=len(plain), end=len(plain) + len(said), text=said, **KINDS[piece[1]]))
        plain += said
    return Links(plain, tuple(links))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how many serious [T incidents] were there", ["serious"]),
        ("how many badly damaged [T parcels] came in [M March 2023]", ["badly", "damaged"]),
        ("how many [T orders] were [V delivered] late", ["late"]),
        ("how many [T orders] were [D placed] online in [M March 2023]?", ["online"]),
        ("how many [T homes] are haunted", ["haunted"]),
        ("which [T homes] are still haunted?", ["haunted"]),
        ("cuántas [T viviendas] están embrujadas", ["embrujadas"]),
        ("hoeveel gevaarlijke [T incidenten] waren er", ["gevaarlijke"]),
        ("hoeveel [T huizen] zijn behekst?", ["behekst"]),
        ("how many [T jobs] in Porto", ["porto"]),
        ("[T orders] from the Azores", ["azores"]),
        ("how many [T incidents] were there", []),
        ("how many [T orders] were [V delivered] in [M March 2023]", []),
        ("which [T customers] reviewed [T products]", []),
        ("how many [T pieces] did [P Petra Nwosu] write", []),
        ("how many [T jobs] in [V Porto]", []),
        ("How Many [T Jobs] In Porto", []),
    ],
)
def test_what_qualifies_rows_unlinked_is_found(text, expected):
    links = read(text)
    assert qualifiers(links, mask(links)) == expected


def test_an_answer_is_flagged_for_a_qualifier_unless_it_is_known_to_restrict_nothing():
    links = read("how many serious [T incidents] were there")
    everything = Sketch("incidents", (Item("incidents", None, "count"),))
    assert unheard(links, everything, mask(links)) == "serious"
    assert unheard(links, everything, mask(links), {"serious"}) is None
