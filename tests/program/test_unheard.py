"""Negations of a question that its query has nothing for."""

from __future__ import annotations

import pytest

from sqlrag_dspy.program.sketching.unheard import unheard
from sqlrag_dspy.types import Absence, Item, Link, Links, Predicate, Sketch


def sketch(*predicates: Predicate, **given) -> Sketch:
    filters = tuple((predicate,) for predicate in predicates)
    return Sketch("books", (Item("books", "title"),), filters=filters, **given)


def genre(op: str, value) -> Predicate:
    return Predicate("books", "genre", op, value)


PLAIN = sketch(genre("=", "crime"))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("how many books were not borrowed in 2024", "not"),
        ("crime books nobody reviewed", "nobody"),
        ("libros sin reseñas", "sin"),
        ("¿qué libros no tienen autor?", "no"),
        ("boeken zonder recensie", "zonder"),
        ("books that aren't crime", "aren't"),
    ],
)
def test_a_negation_that_the_query_lacks_is_named(question, found):
    assert unheard(Links(question, ()), PLAIN) == found


@pytest.mark.parametrize(
    "heard",
    [
        sketch(genre("!=", "crime")),
        sketch(genre("not in", ("crime", "poetry"))),
        sketch(genre("null", None)),
        sketch(genre("not like", "%crime%")),
        sketch(without=Absence("reviews")),
        sketch(distinct=True),
        Sketch(
            "books",
            (Item("books", "title"),),
            filters=(
                (
                    Predicate("books", "published", "<", "2024-01-01"),
                    Predicate("books", "published", ">=", "2025-01-01"),
                ),
            ),
        ),
    ],
)
def test_a_negation_that_the_query_has_is_not(heard):
    assert unheard(Links("books not of that kind", ()), heard) is None


def test_neither_and_nor_are_two():
    links = Links("members neither from Gent nor from Leeds", ())
    assert unheard(links, sketch(genre("!=", "Gent"), genre("=", "Leeds"))) == "neither, nor"
    assert unheard(links, sketch(genre("not in", ("Gent", "Leeds")))) is None


@pytest.mark.parametrize(
    ("question", "kind", "text"),
    [
        ("books of no more than 300 pages", "number", "no more than 300"),
        ("who wrote Without Me", "value", "Without Me"),
    ],
)
def test_a_word_inside_a_number_or_a_name_is_no_negation(question, kind, text):
    start = question.index(text)
    assert unheard(Links(question, (Link(kind, start, start + len(text), text),)), PLAIN) is None


@pytest.mark.parametrize("question", ["all crime books", "knot theory", "notes on Nigeria", "sinfonías"])
def test_other_words_are_none(question):
    assert unheard(Links(question, ()), PLAIN) is None
