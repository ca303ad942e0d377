"""SQL that runs but is quietly wrong, and what to write instead. One file, one kind of mistake.

Certain mistakes are repaired or refused by `check`; these are only likely, so the query runs and the advice goes
with the answer. Most lints read the statement and the catalog alone; what they can only suspect they look up in
the data, when a function to run checked SQL is passed in, and say nothing where the data clear it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.statement import tree_of
from sqlrag_dspy.sql.linting.contradiction import contradiction
from sqlrag_dspy.sql.linting.count_nulls import count_nulls
from sqlrag_dspy.sql.linting.counted_else import counted_else
from sqlrag_dspy.sql.linting.cut_tie import cut_tie
from sqlrag_dspy.sql.linting.date_form import date_form
from sqlrag_dspy.sql.linting.division import division
from sqlrag_dspy.sql.linting.fan_out import fan_out
from sqlrag_dspy.sql.linting.last_day import last_day
from sqlrag_dspy.sql.linting.misfits import misfits
from sqlrag_dspy.sql.linting.namesakes import namesakes
from sqlrag_dspy.sql.linting.null_average import null_average
from sqlrag_dspy.sql.linting.null_order import null_order
from sqlrag_dspy.sql.linting.null_rows import negation, not_in
from sqlrag_dspy.sql.linting.out_of_range import out_of_range
from sqlrag_dspy.sql.linting.spelling import fold, nearest_stored, spelling, stored_spelling
from sqlrag_dspy.sql.linting.statement import NoRow, Notice, Rule, Statement
from sqlrag_dspy.sql.linting.text_order import text_order
from sqlrag_dspy.sql.linting.undone_join import undone_join
from sqlrag_dspy.sql.probing import Probe
from sqlrag_dspy.types import Catalog, CheckedSql, Rows

__all__ = [
    "LINTS",
    "NOTES",
    "Notice",
    "fold",
    "lint",
    "misspelt",
    "nearest_stored",
    "notices",
    "stored_spelling",
]

LINTS: tuple[tuple[str, Rule], ...] = (
    ("fan-out", fan_out),
    ("counted-else", counted_else),
    ("misfits", misfits),
    ("spelling", spelling),
    ("contradiction", contradiction),
    ("not-in-null", not_in),
    ("undone-join", undone_join),
    ("date-form", date_form),
    ("last-day", last_day),
    ("text-order", text_order),
    ("out-of-range", out_of_range),
    ("namesakes", namesakes),
    ("division", division),
    ("null-order", null_order),
    ("cut-tie", cut_tie),
    ("count-nulls", count_nulls),
    ("null-average", null_average),
    ("null-negation", negation),
)
"""Every lint, most serious first: wrong numbers, then nothing found, then rows that are chance or missing."""

NOTES = frozenset({"null-average", "null-negation"})
"""Lints that say which rows are passed over because a value is missing, which is mostly what was meant."""


WIDE = 800
"""Parts of a statement beyond which it is not looked at: some lints compare every condition with every other."""
MANY = 40
"""Pieces of advice after which a lint is not asked for more."""
SHOWN = 4
"""Pieces of advice that one lint gives of one statement, at most."""


def lint(
    query: CheckedSql,
    catalog: Catalog,
    run: Callable[[CheckedSql], Rows] | None = None,
    *,
    limit: int = 1000,
    told: Sequence[exp.Expr] = (),
) -> tuple[str, ...]:
    """Advice on a checked query, most serious first, each once; () when nothing looks wrong.

    What is only a note begins with `note: `.

    `run` executes a checked query, and `limit` is what `check` was given; see `notices`, also for
    `told`.
    """
    found = notices(query, catalog, run, limit=limit, told=told)
    return tuple(dict.fromkeys(f"note: {each.advice}" if each.is_note else each.advice for each in found))


def misspelt(
    query: CheckedSql, catalog: Catalog, run: Callable[[CheckedSql], Rows] | None = None
) -> tuple[str, ...]:
    """Advice for texts of a checked query that are stored otherwise, before it runs; the lint `spelling` alone."""
    try:
        tree = tree_of(query.text, catalog)
    except (SqlRejected, RecursionError):
        return ()
    if next(islice(tree.walk(), WIDE, None), None) is not None:
        return ()
    statement = Statement(tree, catalog, Probe(tree, catalog, run), 0)
    return tuple(dict.fromkeys(islice(spelling(statement), SHOWN)))


def notices(
    query: CheckedSql,
    catalog: Catalog,
    run: Callable[[CheckedSql], Rows] | None = None,
    *,
    limit: int = 1000,
    told: Sequence[exp.Expr] = (),
) -> tuple[Notice, ...]:
    """What each lint says of a checked query, in the order of LINTS.

    With `run`, suspicions are looked up: some forty short queries at most, none more after one ran out of time.
    Without it ties are not seen, and missing values are told as the profile suspects them.
    `told`: conditions of which the reader learns elsewhere that no row passes them; that is not said again.
    """
    try:
        tree = tree_of(query.text, catalog)
    except (SqlRejected, RecursionError):
        return ()
    if next(islice(tree.walk(), WIDE, None), None) is not None:
        said = "the statement is too long to be looked through for what may be quietly wrong"
        return (Notice("wide", said, is_note=True),)
    statement = Statement(tree, catalog, Probe(tree, catalog, run), limit)
    found: list[Notice] = []
    for name, rule in LINTS:
        given = list(dict.fromkeys(islice(rule(statement), MANY)))
        given = [each for each in given if not (isinstance(each, NoRow) and each.is_about(told))]
        found += [Notice(name, advice, name in NOTES) for advice in given[:SHOWN]]
        if (left := len(given) - SHOWN) > 0:
            more = f"{left} or more" if len(given) == MANY else str(left)
            found.append(
                Notice(name, f"the same is true of {more} other places in the statement", name in NOTES)
            )
    return tuple(found)
