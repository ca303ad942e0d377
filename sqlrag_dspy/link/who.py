"""Which column "who" asks for: the persons of the tables asked about, or of those that their rows refer to.

Leaves out names of persons: they are stored values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.names import name_words
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.link.text import stem, word_set
from sqlrag_dspy.link.values import ValueStore
from sqlrag_dspy.types import Link, Table

WHO = word_set("who whose whom wie wiens quien quienes")
NOBODY = word_set(
    "unsigned anonymous unattributed uncredited anonimo anonima anonimos anonimas ongesigneerd ongesigneerde "
    "anoniem anonieme"
)


def who_links(reading: Reading, values: ValueStore) -> Iterable[Link]:
    """ "Who wrote …" asks for the column that holds persons, of the first table asked about that has one.

    "Unsigned" speaks of the same column: that it holds nobody. "Who ordered …" asks for the customers that orders
    refer to; of several such tables for the one whose persons do what the question says.
    """
    asking = [word for word in reading.words if word.text in WHO or word.text in NOBODY]
    home = _home(reading, values) if asking else None
    if home is None:
        return
    is_own = any(home[0] == table.name for table in reading.tables)
    for word in asking:
        if not is_own and _is_relative(reading.text[: word.start]):
            continue
        yield reading.link(
            "column",
            word.start,
            word.end,
            table=home[0],
            column=home[1],
            concept="who" if word.text in WHO else "nobody",
            grain="text",
            score=0.7,
        )


_ASKED_AFTER = re.compile(
    r"(?:^|[^\w\s]|\b(?:and|to|by|with|from|for|of|y|a|de|con|por|en|van|door|met|aan))\s*$"
)


def _is_relative(before: str) -> bool:
    """ "Customers who …" speaks of the customers and asks for nobody."""
    return not _ASKED_AFTER.search(before[-20:])


def _home(reading: Reading, values: ValueStore) -> tuple[str, str] | None:
    people: dict[str, str] = {}
    for column in values.columns:
        if column.kind == "person":
            people.setdefault(column.table, column.column)
    for table in reading.tables:
        if table.name in people:
            return table.name, people[table.name]
        if not reading.is_told and len(people) > 1:
            return None
        referred = list(dict.fromkeys(k.table for k in table.foreign_keys if k.table in people))
        if len(referred) > 1:
            done = [name for name in referred if _does(reading.catalog.table(name), reading)]
            return (done[0], people[done[0]]) if done else None
        if referred:
            return referred[0], people[referred[0]]
    return None


def _does(table: Table | None, reading: Reading) -> bool:
    """Whether persons of a table do what the question says: customers buy, employees sell."""
    words = name_words(table.name) if table is not None else []
    concepts = {c for word in words for c in load().concepts.get(stem(word), ())}
    done = {verb for concept in concepts for verb in load().doers.get(concept, ())}
    return any(word.text in done for word in reading.words)
