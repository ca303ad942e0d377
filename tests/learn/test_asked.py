"""Made questions for the router: patterns of every route, and nonsense."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn.asked import Asking, ask, asked_questions, nonsense, read_askings
from sqlrag_dspy.learn.patterns import LANGUAGES, Surfaces
from sqlrag_dspy.program.respond import DECLINED
from sqlrag_dspy.types import ROUTES

TRAINSETS = Path(__file__).parents[2] / "trainsets"


@pytest.fixture(scope="module")
def surfaces():
    found = Surfaces.read(TRAINSETS / "articles")
    assert found is not None
    return found


def test_choices_and_slots_are_filled_from_the_database(small_database, surfaces):
    asking = Asking("{delete|remove} the {row} about {topic|{value}} from {year}", "en", "decline", "write")
    made = ask(small_database, surfaces, [asking], 30, seed=1)
    told = [example for example in made if example.tags == ["write"]]
    assert len(told) >= 20
    for example in told:
        assert re.fullmatch(
            r"(delete|remove) the \w[\w ]* about \S.* from 20[012]\d", example.question.lower()
        )
        assert (example.route, example.database) == ("decline", small_database.name)


def test_the_same_seed_makes_the_same_questions(small_database, surfaces):
    askings = read_askings(TRAINSETS / "patterns")
    one, two, other = (
        [example.question for example in ask(small_database, surfaces, askings, 40, seed=seed)]
        for seed in (3, 3, 4)
    )
    assert one == two != other
    assert len(set(one)) == len(one) == 40


def test_a_pattern_of_what_the_table_lacks_makes_nothing(small_database, surfaces):
    lacking = Asking("the {max} of {number} and {number} and {number}", "en", "sql")
    assert {example.tags[0] for example in ask(small_database, surfaces, [lacking], 5)} <= {"too-vague"}


def test_nonsense_is_letters_that_no_text_holds(small_database):
    random_ = random.Random(0)
    words = {word for _ in range(40) for word in nonsense(random_).split() if len(word) > 4}
    assert len(words) > 40
    found = sum(small_database.index.nearness(word, {})[5] > 0 for word in sorted(words))
    assert found < 0.1 * len(words)


def test_the_patterns_ask_for_every_route_and_decline_for_every_reason():
    askings = read_askings(TRAINSETS / "patterns")
    for lang in LANGUAGES:
        mine = [asking for asking in askings if asking.lang == lang]
        assert {asking.route for asking in mine} == set(ROUTES)
        assert {asking.reason for asking in mine if asking.route == "decline"} == set(DECLINED)
        assert not any(asking.reason for asking in mine if asking.route != "decline")
        assert max(Counter(asking.q for asking in mine).values()) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"q": "what", "route": "guess"}, "no route 'guess'"),
        ({"q": "the {colour}", "route": "sql"}, "no slot {colour}"),
        ({"q": "what", "way": "sql"}, "way"),
    ],
)
def test_a_pattern_that_is_wrong_is_named(tmp_path, line, said):
    good = json.dumps({"q": "more", "route": "decline", "reason": "too-vague"})
    (tmp_path / "en.routes.jsonl").write_text(f"{good}\n{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"en\.routes\.jsonl, line 2: .*" + re.escape(said)):
        read_askings(tmp_path)


def test_a_trainset_without_surfaces_or_patterns_makes_nothing(small, small_database):
    assert asked_questions({"articles": small_database}, [small.trainset]) == []
