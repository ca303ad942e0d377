"""The delexicalised question, as tokens and as words."""

from __future__ import annotations

import re

import pytest

from sqlrag_dspy.link import Linker, mask, mask_words


@pytest.mark.parametrize(
    ("database", "question", "tokens", "words"),
    [
        (
            "articles",
            "How many Technology articles by Imogen Farrelly since March 2023?",
            "how many <VALUE> <TABLE> by <VALUE> <DATE:month:from> ?",
            "how many category records by person since month ?",
        ),
        (
            "articles",
            "average word count per year, more than 500 words",
            "average <COL:number> <PART:year> , <NUM:gt> <COL:number>",
            "average amount by year , more than number amount",
        ),
        (
            "articles",
            "the second longest article above average",
            "the <NUM:nth> <COL:number:max> <TABLE> <AVG:gt>",
            "the second highest amount records more than average",
        ),
        (
            "articles",
            "el artículo más largo de salud",
            "el <TABLE> <COL:number:max> de <VALUE>",
            "el records highest amount de category",
        ),
        (
            "articles",
            "wat verscheen er vóór 2020",
            "wat <COL:date> er <DATE:year:to>",
            "wat date er before year",
        ),
        (
            "articles",
            "top 5, newest first",
            "top <NUM> , <COL:date:max> first",
            "top number , latest date first",
        ),
        ("articles", "published on a Monday", "<COL:date> on a <PART:weekday:is>", "date on a on weekday"),
        ("articles", "not in 2023", "not in <DATE:year:not>", "not in not year"),
        ("films", "films from 1995", "<TABLE> from <NUM:eq>", "records from exactly number"),
    ],
)
def test_links_become_typed_tokens_or_words(
    linkers: dict[str, Linker], database: str, question: str, tokens: str, words: str
) -> None:
    links = linkers[database].link(question)
    assert mask(links) == tokens
    assert mask_words(links) == words


def test_there_is_one_token_a_link_and_no_other_angle_bracket(articles: Linker) -> None:
    links = articles.link("<b>fashion</b> articles with > 500 words << 2023 >> by Farrelly")
    found = re.findall(r"<[^<> ]+>", mask(links))
    assert len(found) == len(links.chosen)
    assert re.sub(r"<[^<> ]+>", "", mask(links)).count("<") == 0


def test_the_same_question_has_the_same_mask(articles: Linker) -> None:
    question = "stories by whitlock in fashion between 3 and 9 may, longer than 300 words"
    assert len({mask(articles.link(question)) for _ in range(5)}) == 1
