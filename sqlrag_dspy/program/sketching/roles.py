"""Features of a link's role in a query: what it is, what stands beside it, and the query's outline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlrag_dspy.program.features import is_word, tokens
from sqlrag_dspy.program.sketching.skeleton import Skeleton
from sqlrag_dspy.types import Catalog, Column, Link, Links


def sequence(links: Links, mask: str, known: frozenset[str]) -> tuple[list[str], dict[int, int]]:
    """Tokens of the masked question, and for every chosen link (by number) its place among them.

    Typed tokens stand in `mask` in the order of the chosen links.
    """
    out: list[str] = []
    places: dict[int, int] = {}
    number = 0
    for token in tokens(mask):
        if token.startswith("<") and number < len(links.chosen):
            places[number] = len(out)
            number += 1
            out.append(token)
        elif is_word(token) and token not in known:
            if not out or out[-1] != "~":
                out.append("~")
        else:
            out.append(token)
    return out, places


def role_terms(
    links: Links,
    number: int,
    tokens_: Sequence[str],
    places: Mapping[int, int],
    catalog: Catalog,
    purpose: str,
) -> Counter[str]:
    """Features of one link's role: what it is, what stands beside it, and what the question says."""
    link = as_value(links.chosen[number])
    here = places.get(number, 0)
    table = catalog.table(link.table) if link.table else None
    column = table.column(link.column) if table is not None and link.column else None
    kind = link.kind

    def at(offset: int) -> str:
        place = here + offset
        return tokens_[place] if 0 <= place < len(tokens_) else ("^" if place < 0 else "$")

    found = _holds(link, column)
    same = sum(1 for other in links.chosen if other.kind == kind and other.column == link.column)
    counted: Counter[str] = Counter(
        {
            f"kind={kind}": 1,
            f"kind={kind}/{purpose}": 1,
            f"op={kind}{link.op}": 1,
            f"grain={kind}{link.grain}": 1,
            f"found={kind}{found}": 1,
            f"concept={kind}/{link.concept}": 1,
            f"adjective={kind}{bool(link.concept)}/{found}": 1,
            f"same={kind}{min(same, 3)}": 1,
            f"score={kind}{round(link.score, 1)}": 1,
            f"end={kind}{link.text[-2:].lower()}": 1,
            f"words={kind}{min(len(link.text.split()), 4)}": 1,
            f"titled={kind}{link.text[:1].isupper()}": 1,
            f"where={kind}{'first' if number == 0 else 'last' if number == len(links.chosen) - 1 else 'mid'}": 1,
            f"l1={at(-1)}|{kind}": 1,
            f"l2={at(-2)} {at(-1)}|{kind}": 1,
            f"r1={at(1)}|{kind}": 1,
            f"r2={at(1)} {at(2)}|{kind}": 1,
            f"lr={at(-1)} _ {at(1)}|{kind}": 1,
            f"l3={at(-3)} {at(-2)} {at(-1)}|{kind}": 1,
        }
    )
    if column is not None and table is not None:
        unique = column.profile.distinct >= 0.9 * max(table.rows, 1)
        counted[f"unique={kind}{unique}/{found}"] = 1
        counted[f"nulls={kind}{column.profile.null_share > 0}"] = 1
    if kind == "table":
        counted[f"table={_standing(links, number, catalog)}"] = 1
    for token in set(tokens_):
        counted[f"q={token}|{kind}{'*' if link.concept else ''}"] = 1
    counted[f"sort={sort_of(link, catalog)}"] = 1
    if kind in ("column", "part"):
        counted[f"text={link.text.lower()}"] = 1
    if kind in ("column", "part"):  # in a search they restrict nothing, so what is learned there stays there
        return Counter({f"{purpose}/{term}": 1 for term in counted})
    return counted


def _standing(links: Links, number: int, catalog: Catalog) -> str:
    """How a named table stands to the others that are spoken of: alone, or one that they lead to or come from."""
    name = links.chosen[number].table
    others = {link.table for link in links.chosen if link.table and link.table != name}
    table = catalog.table(name or "")
    if not others or table is None:
        return "alone"
    is_parent = any(
        key.table == name for other in others if (found := catalog.table(other)) for key in found.foreign_keys
    )
    is_child = any(key.table in others for key in table.foreign_keys)
    again = any(link.kind == "table" and link.table == name for link in links.chosen[:number])
    return f"{'parent' if is_parent else ''}{'child' if is_child else ''}{'again' if again else ''}" or "far"


def _holds(link: Link, column: Column | None) -> str:
    """What a link's column holds, "days" for the time that leads to it, "none" without a column."""
    if link.since:
        return "days"
    if link.kind == "value":
        return "text"
    return column.profile.found if column is not None else "none"


def as_value(link: Link) -> Link:
    """A state ("still open") as the stored value that another database would have for it: its role is the same."""
    return replace(link, op="=", concept="category") if link.concept == "state" else link


def sort_of(link: Link, catalog: Catalog) -> str:
    """What sort of link it is, roughly: its kind, its sign and what its column holds."""
    link = as_value(link)
    table = catalog.table(link.table) if link.table else None
    column = table.column(link.column) if table is not None and link.column else None
    found = _holds(link, column)
    sign = link.op if link.kind in ("column", "number", "part") else ""
    who = link.concept if link.concept in ("who", "nobody") else ""
    return f"{link.kind}{who}:{sign}:{found}"


def outline_terms(skeleton: Skeleton, sort: str) -> Counter[str]:
    """Features of a link's role that the rest of the query decides (their own block, "#…")."""
    aggregate, order = skeleton.aggregate, skeleton.order
    return Counter(
        {
            f"#aggregate={aggregate}|{sort}": 1,
            f"#groups={skeleton.groups}|{sort}": 1,
            f"#show={skeleton.show}|{sort}": 1,
            f"#order={order}|{sort}": 1,
            f"#limit={skeleton.limit}|{sort}": 1,
            f"#having={skeleton.having}|{sort}": 1,
            f"#aggregate={aggregate}&groups={skeleton.groups}|{sort}": 1,
            f"#aggregate={aggregate}&order={order}|{sort}": 1,
            f"#show={skeleton.show}&order={order}|{sort}": 1,
            f"#without={skeleton.without}|{sort}": 1,
            f"#all={skeleton.text()}|{sort}": 1,
        }
    )
