from __future__ import annotations

import pytest

from sqlrag_dspy.index.words.language import detect, majority


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("what articles about children do you have", "en"),
        ("Which technology stories have to do with cars?", "en"),
        ("¿qué artículos hay sobre los niños?", "es"),
        ("textos cortos, de menos de 200 palabras, sobre ferris", "es"),
        ("welke artikelen gaan over kinderen", "nl"),
        ("goedgekeurde plannen rond bijen, motten of andere insecten", "nl"),
        ("welche Artikel gibt es über Kinder", "de"),
        ("quels articles parlent des enfants", "fr"),
        ("子供についての記事はありますか", "ja"),
        ("статьи о детях", "ru"),
        ("", None),
        ("12345 67", None),
        ("XK-17", None),
    ],
)
def test_detect(text: str, language: str | None) -> None:
    assert detect(text) == language


def test_majority_needs_most_of_the_known() -> None:
    assert majority(["en", "en", None, "en", "en", "es"]) == "en"
    assert majority(["en", "es"]) is None
    assert majority([None, None]) is None
    assert majority([]) is None
