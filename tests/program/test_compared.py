"""Comparisons of two dates or values that a query lumps together."""

from __future__ import annotations

import pytest

from sqlrag_dspy.program.sketching.unheard import unheard
from sqlrag_dspy.types import Beside, Item, Link, Links, Predicate, Sketch

GENRE, PRINTED = Item("books", "genre"), Item("books", "printed")
COUNT = Item("books", None, "count")


def links(question: str, *said: tuple[str, str, str]) -> Links:
    """Links of (kind, words, column), in the order in which they stand."""
    out, start = [], 0
    for kind, words, column in said:
        start = question.index(words, start)
        out.append(Link(kind, start, start + len(words), words, "books", column))
    return Links(question, tuple(out))


def spring(**given) -> Sketch:
    bounds = (
        (Predicate("books", "printed", ">=", "2023-04-01"),),
        (Predicate("books", "printed", "<", "2023-06-01"),),
    )
    return Sketch("books", (GENRE,), filters=bounds, order=((COUNT, True),), limit=1, **given)


@pytest.mark.parametrize(
    ("question", "first", "second", "word"),
    [
        ("which genre has more books in April than in May 2023", "April", "May 2023", "than"),
        ("genres with fewer books in April compared with May", "April", "May", "compared with"),
        ("¿qué género tiene más libros en abril que en mayo?", "abril", "mayo", "que"),
        ("welk genre heeft meer boeken in april dan in mei", "april", "mei", "dan"),
    ],
)
def test_two_periods_compared_are_not_one(question, first, second, word):
    said = links(question, ("date", first, "printed"), ("date", second, "printed"))
    assert unheard(said, spring(group=(GENRE,))) == word


def test_two_values_compared_are_not_one():
    said = links("did crime sell more than poetry", ("value", "crime", "genre"), ("value", "poetry", "genre"))
    both = (Predicate("books", "genre", "in", ("crime", "poetry")),)
    assert unheard(said, Sketch("books", (COUNT,), filters=(both,))) == "than"
    assert unheard(said, Sketch("books", (GENRE,), filters=(both,), group=(GENRE,))) is None
    assert unheard(said, Sketch("books", (), share=(both,))) is None


@pytest.mark.parametrize(
    "question",
    [
        "which genre has the most books in April and May 2023",
        "genres with books in April or in May 2023",
        "books printed in April that are longer than the one that Ines wrote and sent us in May 2023",
    ],
)
def test_near_misses_are_not_comparisons(question):
    said = links(question, ("date", "April", "printed"), ("date", "May 2023", "printed"))
    assert unheard(said, spring(group=(GENRE,))) is None


def test_a_query_by_month_hears_the_comparison():
    said = links("books in April versus May", ("date", "April", "printed"), ("date", "May", "printed"))
    assert unheard(said, Sketch("books", (COUNT,), group=(Item("books", "printed", part="month"),))) is None
    assert unheard(said, spring(group=(GENRE,))) == "versus"


def test_two_periods_set_beside_each_other_are_told_apart():
    question = "which genres had more books in April than in May 2023"
    found = links(question, ("date", "April", "printed"), ("date", "May 2023", "printed"))
    month = lambda start, end: (  # noqa: E731
        (Predicate("books", "printed", ">=", start),),
        (Predicate("books", "printed", "<", end),),
    )
    parts = month("2023-04-01", "2023-05-01"), month("2023-05-01", "2023-06-01")
    sketch = Sketch("books", (GENRE,), group=(GENRE,), beside=Beside(COUNT, *parts, "more"))
    assert unheard(found, sketch) is None
