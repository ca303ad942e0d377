"""What is wrong with a labelled set: gold that does not run, keys that a filter hides, repeated phrasings, thin prose.

Reads the set and its database alone, never a program. Leaves out whether a key truly answers: that takes a reader.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn import gold, metrics
from sqlrag_dspy.learn.databases import path_of
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.link import mask
from sqlrag_dspy.program.database import Database

REASONS = (
    "no-column", "other-domain", "future", "opinion", "write", "smalltalk", "injection", "too-vague",
)  # fmt: skip
TAGS = frozenset(
    {
        "count", "list", "aggregate", "group", "having", "topk", "superlative", "ratio", "distinct", "null", "join",
        "nested", "compare-groups", "date-day", "date-month", "date-quarter", "date-year", "date-range", "date-open",
        "weekday", "number-range", "category", "author", "misspelt", "split-name", "deep-fact", "summary", "trend",
        "across-documents", "count-by-meaning", "typo", "terse", "chatty", "polite", "expert", "follow-up", "empty",
        *REASONS,
    }
)  # fmt: skip
MOST_ALIKE = 4
"""Questions of a database that may share a masked form."""
ALIKE = 90
"""How alike, of 100, two questions are that may not stand in two splits."""
RUN = 8
MOST_SHARED = 3
"""Rows that may hold the same run of RUN words."""


class Prose(NamedTuple):
    """Length of the documents of one column, in words, and the rows of its most repeated run of words."""

    table: str
    column: str
    rows: int
    shortest: int
    longest: int
    shared: int


def problems(wanted: Sequence[Label], database: Database) -> Iterator[str]:
    """One line for each thing wrong with a set of labels over its database; none when all is well."""
    for label in wanted:
        for said in _label_problems(label, database):
            yield f"{label.id}: {said}"
    for form, ids in repeated_forms(wanted, database).items():
        if len(ids) > MOST_ALIKE:
            yield f"{len(ids)} questions share the form {form!r}: {', '.join(ids)}"
    asked = Counter(" ".join(label.question.casefold().split()) for label in wanted)
    yield from (f"asked {count} times: {question!r}" for question, count in asked.items() if count > 1)


def repeated_forms(wanted: Sequence[Label], database: Database) -> dict[str, list[str]]:
    """Ids of the labels by their masked question, the most repeated first."""
    forms: dict[str, list[str]] = defaultdict(list)
    for label in wanted:
        forms[mask(database.link(label.question))].append(label.id)
    return dict(sorted(forms.items(), key=lambda item: -len(item[1])))


def near_duplicates(first: Sequence[Label], second: Sequence[Label]) -> list[tuple[str, str, float]]:
    """Ids of questions of two splits that are nearly the same, with how alike they are (0 to 100)."""
    from rapidfuzz import fuzz, process

    one, two = ([" ".join(label.question.casefold().split()) for label in part] for part in (first, second))
    alike = process.cdist(one, two, scorer=fuzz.ratio, score_cutoff=ALIKE, workers=-1)
    return [(first[a].id, second[b].id, round(float(alike[a, b]), 1)) for a, b in zip(*alike.nonzero())]


def prose(database: Database) -> list[Prose]:
    """What the text columns of every searched table hold."""
    out = []
    for table in database.text_tables:
        for column in table.text_columns:
            texts = [
                text.split()
                for (text,) in database.source.scan(table.name, [column])
                if isinstance(text, str) and text.strip()
            ]
            lengths = [len(words) for words in texts] or [0]
            runs = Counter(run for words in texts for run in _runs(words))
            shared = max(runs.values(), default=0)
            out.append(Prose(table.name, column, len(texts), min(lengths), max(lengths), shared))
    return out


def _runs(words: Sequence[str]) -> set[str]:
    plain = [w for word in words if (w := re.sub(r"\W", "", word.casefold()))]
    return {" ".join(plain[start : start + RUN]) for start in range(len(plain) - RUN + 1)}


def _label_problems(label: Label, database: Database) -> Iterator[str]:
    if unknown := sorted(set(label.tags) - TAGS):
        yield f"unknown tags {', '.join(unknown)}"
    reasons = [tag for tag in label.tags if tag in REASONS]
    if label.route == "decline" and len(reasons) != 1:
        yield f"a decline has one reason among its tags, and this one {len(reasons)}"
    if label.route != "decline" and reasons and "decline" not in label.also_ok:
        yield f"tagged {reasons[0]} and not declined"
    if label.table is not None and database.catalog.table(label.table) is None:
        yield f"no table {label.table!r}"
        return
    try:
        if label.route == "sql":
            yield from _sql_problems(label, database)
        elif label.route in ("vector", "hybrid"):
            yield from _search_problems(label, database)
    except LabelError as error:
        yield str(error)


def _sql_problems(label: Label, database: Database) -> Iterator[str]:
    from sqlrag_dspy.sql import ranking

    path = path_of(database)
    found = gold.rows(label, path)
    is_empty = not found or all(value is None for row in found for value in row)
    if is_empty and "empty" not in label.tags:
        yield "the gold query is empty and not tagged so"
    if not is_empty and "empty" in label.tags and found != ((0,),):
        yield "tagged empty, and it is not"
    if (ranked_by := ranking(label.sql or "")) is not None:
        limit, query = ranked_by
        ranked = gold.rows(label.model_copy(update={"sql": query}), path)
        if len(ranked) > limit and ranked[limit - 1] == ranked[limit]:
            yield f"the LIMIT cuts a tie at {ranked[limit]}"


def _search_problems(label: Label, database: Database) -> Iterator[str]:
    if label.route == "hybrid" and not label.filter_sql:
        yield "a hybrid label has no filter_sql"
    table = database.catalog.table(label.table or "")
    if table is None:
        return
    allowed = {
        metrics.key_plain(key) for key in gold.allowed(label, path_of(database), table.key or ("rowid",))
    }
    if not allowed:
        yield "the filter allows no row"
    if not label.keys:
        yield "no keys"
    for key in label.keys:
        if metrics.key_plain(key) not in allowed:
            yield f"the filter does not allow the key {key!r}"
