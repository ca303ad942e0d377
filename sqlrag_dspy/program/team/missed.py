"""What the question names and a statement does not use: a critic that costs no call.

A statement that reads every table and holds every value and number that the question was linked to is seldom
wrong; one that misses some is wrong about every second time. Leaves out what words mean: links are all it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlrag_dspy.types import Catalog, CheckedSql, Link, Links

_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


def missed(links: Links, query: CheckedSql, catalog: Catalog) -> list[str]:
    """A line of advice for each link that the statement has no counterpart of; empty when it uses all."""
    return list(dict.fromkeys(_missing(links, query, catalog)))


def _missing(links: Links, query: CheckedSql, catalog: Catalog) -> Iterator[str]:
    text = query.text.casefold()
    numbers = {float(each) for each in _NUMBERS.findall(text)}
    tables = {*query.tables, *_referred(query, catalog)}
    for link in links.chosen:
        if link.kind == "table" and link.table not in tables:
            yield f"{link.text!r} of the question is table {link.table}, which the statement does not read"
        elif _is_literal(link) and not any(_held(value, text) for value in (link.value, *link.also)):
            where = f"{link.table}.{link.column}"
            yield f"{link.text!r} of the question is {where} = {link.value!r}, which the statement does not hold"
        elif _is_number(link) and float(str(link.value)) not in numbers:
            yield f"{link.text!r} of the question is the number {link.value}, which the statement does not hold"


def _referred(query: CheckedSql, catalog: Catalog) -> Iterator[str]:
    """Tables that the statement reads the keys of, in what refers to them."""
    for name, column in query.columns:
        table = catalog.table(name)
        for key in table.foreign_keys if table is not None else ():
            if column in key.columns:
                yield key.table


def _is_literal(link: Link) -> bool:
    """Whether a link is a value that the question names as it is stored, rather than by another word for it."""
    if link.concept == "state":
        return False
    said, stored = link.text.casefold(), str(link.value).casefold()
    return link.kind == "value" and (said in stored or stored.strip("%") in said)


def _held(value: object, text: str) -> bool:
    return str(value).strip("%").replace("'", "''").casefold() in text


def _is_number(link: Link) -> bool:
    """Whether a link is a number that must stand in a statement: one and none are written in many ways."""
    is_plain = link.kind == "number" and isinstance(link.value, int | float) and link.op != "nth"
    return is_plain and link.value not in (0, 1)
