import random
import sqlite3

import pytest

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn import synthesize
from sqlrag_dspy.learn.databases import build
from sqlrag_dspy.learn.patterns import Pattern, Surfaces
from sqlrag_dspy.program import open_database
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.sql import read, write

SURFACES = {
    "tables": {"articles": {"en": ["article|articles"]}},
    "columns": {
        "articles.article_category": {"en": ["section|sections"]},
        "articles.word_count": {
            "en": ["word count|word counts"],
            "max": {"en": ["longest"]},
            "unit": {"en": ["words"]},
        },
    },
}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    from pathlib import Path

    build(Path(__file__).parents[2] / "trainsets" / "articles", folder / "articles.db")
    opened = open_database(Settings(source=f"sqlite:///{folder}/articles.db", store=str(folder / "store")))
    yield opened
    opened.close()


def made(database, pattern, restrictions=(), count=5):
    return synthesize.make(database, Surfaces(SURFACES), [pattern], list(restrictions), count, seed=1)


def test_a_pattern_becomes_a_question_and_the_sketch_it_stands_for(database):
    pattern = Pattern(
        q="average {measure} per {group}", lang="en", aggregate="avg", groups=("text",), show="group+measure"
    )
    found = made(database, pattern)
    assert {m.question for m in found} == {"average word count per section"}
    sql = write(found[0].sketch, database.catalog)
    assert database.run(database.check(sql)).values
    assert read(sql, database.catalog) is not None


def test_restrictions_are_said_and_meant(database):
    pattern = Pattern(q="how many {table}{filters}", lang="en", aggregate="count", show="measure")
    number = Pattern(q=" with more than {n} {measure}", lang="en", kind="number", op=">")
    for m in made(database, pattern, [number], count=30):
        assert bool(m.sketch.filters) == (" with more than " in m.question)


def test_a_place_and_an_average_are_said_and_meant(database):
    place = Pattern(q="{nth} {max} {row}", lang="en", order="desc:column", limit="nth", show="key")
    found = made(database, place, count=20)
    assert {(m.question.lower(), m.sketch.limit, m.sketch.offset) for m in found} == {
        (f"{said} longest article", 1, offset)
        for offset, words in ((1, ("second", "2nd")), (2, ("third", "3rd")))
        for said in words
    }
    pattern = Pattern(q="how many {table}{filters}", lang="en", aggregate="count", show="measure")
    average = Pattern(q=" with more {unit} than average", lang="en", kind="average", op=">")
    for m in made(database, pattern, [average], count=30):
        above = any(p.than == "average" for alternatives in m.sketch.filters for p in alternatives)
        assert above == ("than average" in m.question)
        assert read(write(m.sketch, database.catalog), database.catalog) == m.sketch


def test_words_are_said_and_meant(database):
    surfaces = {
        **SURFACES,
        "columns": {**SURFACES["columns"], "articles.title": {"en": ["headline|headlines"]}},
    }
    titles = Pattern(q="{titles} with the word {word} in them", lang="en", show="columns")
    how_many = Pattern(q="how many {table}{filters}", lang="en", aggregate="count", show="measure")
    inside = Pattern(q=" with {word} in the {column}", lang="en", kind="word")
    for m in synthesize.make(database, Surfaces(surfaces), [titles, how_many], [inside], 20, seed=1):
        patterns = [p.value for alternatives in m.sketch.filters for p in alternatives]
        assert all(value.strip("%") in m.question for value in patterns)
        assert bool(patterns) == (" with " in m.question)
        assert read(write(m.sketch, database.catalog), database.catalog) == m.sketch


def test_days_and_absences_are_said_and_meant(tmp_path):
    from pathlib import Path

    folder = Path(__file__).parents[2] / "trainsets" / "tickets"
    build(folder, tmp_path / "tickets.db")
    opened = open_database(Settings(source=f"sqlite:///{tmp_path}/tickets.db", store=str(tmp_path / "store")))
    lacking = Pattern(q="{table} without {absents}{absent_filters}", lang="en", show="key", without="other")
    slowest = Pattern(q="the slowest {row}{filters}", lang="en", order="desc:column", limit="one", span=True)
    mean = Pattern(q="days from {start} to {end}", lang="en", aggregate="avg", show="measure", span=True)
    days = Pattern(q=" that took more than {n} days", lang="en", kind="days", op=">")
    table = Pattern(q="{table}{filters}", lang="en", show="key")
    day = Pattern(q=" in {year}", lang="en", kind="date", date="year")
    try:
        found = synthesize.make(opened, Surfaces.read(folder), [slowest, mean, table], [days], 30, seed=1)
        asked = [
            k.since for m in found for k in [*m.sketch.select, *(i for i, _ in m.sketch.order)] if k.since
        ]
        assert set(asked) == {"opened"}
        for m in synthesize.make(opened, Surfaces.read(folder), [lacking], [day], 20, seed=1):
            assert m.sketch.without.table == "tickets"
            assert bool(m.sketch.without.filters) == (" in 20" in m.question)
            assert read(write(m.sketch, opened.catalog), opened.catalog) == m.sketch
        for m in found:
            bounded = any(p.since for alternatives in m.sketch.filters for p in alternatives)
            assert bounded == ("took more than" in m.question)
            assert opened.run(opened.check(write(m.sketch, opened.catalog))) is not None
            assert read(write(m.sketch, opened.catalog), opened.catalog) == m.sketch
    finally:
        opened.close()


WHOLES = [
    Pattern(q="the {max} {row} of each {each}{filters}", lang="en", order="desc:column", limit="each", each="text"),
    Pattern(q="the {limit} {max} {table} of every year", lang="en", order="desc:column", limit="each k", each="year"),
    Pattern(
        q="the {group} with the most {measure} in each {each}", lang="en", aggregate="sum", groups=("text",),
        show="group", order="desc:measure", limit="each", each="text",
    ),
    Pattern(q="{groups} with both {v1} and {v2} {table}", lang="en", groups=("text",), show="group", having="both"),
    Pattern(q="{groups} with {table} in {y1} and {y2}", lang="en", groups=("text",), show="group", having="both"),
    Pattern(q="percent of the {measure} that is {share}", lang="en", aggregate="share+sum", show="measure"),
    Pattern(q="fraction of the {measure} that is {share}", lang="en", aggregate="fraction+sum", show="measure"),
    Pattern(q="from the {max} to the {min} {row}", lang="en", aggregate="range", show="measure"),
    Pattern(q="days between the ends of the {table}", lang="en", aggregate="range", show="measure"),
    Pattern(q="how many {groups} have {having} {table}", lang="en", aggregate="count", groups=("text",),
            show="groups", having="yes"),
    Pattern(q="lowest, highest and mean {measure}", lang="en", aggregate="min+max+avg", show="measure"),
    Pattern(q="first and last {date}", lang="en", aggregate="min+max", show="measure"),
    Pattern(
        q="mean {measure} per {group}, only those with {having} {table}", lang="en", aggregate="avg",
        groups=("text",), show="group+measure", having="count",
    ),
    Pattern(q="{measure} of a {group} on average", lang="en", aggregate="sum", groups=("text",), show="mean"),
]  # fmt: skip


@pytest.mark.parametrize("pattern", WHOLES, ids=lambda pattern: pattern.q)
def test_questions_about_groups_as_wholes_are_read_as_they_were_made(pattern, tmp_path):
    from pathlib import Path

    folder = Path(__file__).parents[2] / "trainsets" / "tickets"
    build(folder, tmp_path / "tickets.db")
    opened = open_database(Settings(source=f"sqlite:///{tmp_path}/tickets.db", store=str(tmp_path / "store")))
    year = Pattern(q=" in {year}", lang="en", kind="date", date="year")
    try:
        found = synthesize.make(opened, Surfaces.read(folder), [pattern], [year], 8, seed=2)
        assert found
        for m in found:
            assert opened.run(opened.check(write(m.sketch, opened.catalog))) is not None
            assert read(write(m.sketch, opened.catalog), opened.catalog) == m.sketch
    finally:
        opened.close()


def test_the_same_seed_makes_the_same_questions(database):
    pattern = Pattern(q="{max} {table}", lang="en", order="desc:column", limit="one")
    assert made(database, pattern) == made(database, pattern)


def test_a_pattern_that_fits_no_column_makes_nothing(database):
    pattern = Pattern(
        q="who wrote the {max} {row} by {who}", lang="nl", show="columns", order="desc:column", limit="one"
    )
    assert made(database, pattern) == []


def test_a_bad_pattern_is_named_with_its_line(tmp_path):
    (tmp_path / "en.jsonl").write_text('{"q": "how many {table}"}\nnot json\n', encoding="utf-8")
    with pytest.raises(LabelError, match=r"en\.jsonl, line 2"):
        synthesize.read_patterns(tmp_path)


def test_surfaces_give_plurals_on_request():
    assert Surfaces(SURFACES).noun(random.Random(0), "en", "articles", None, plural=True) == "articles"
    assert Surfaces(SURFACES).noun(random.Random(0), "es", "articles", None, plural=True) is None


@pytest.mark.parametrize("slots", ["{v1} than {v2} {table}", "{table} in {p1} than in {p2}"])
def test_a_comparison_of_two_parts_is_said_and_meant(database, slots):
    pattern = Pattern(q=f"how many more {slots}", lang="en", aggregate="count", show="difference")
    found = made(database, pattern)
    assert found
    assert all(m.sketch.beside.how == "difference" and not m.sketch.filters for m in found)
    for m in found:
        written = write(m.sketch, database.catalog)
        assert read(written, database.catalog) == m.sketch
        assert database.run(database.check(written)).values


def test_rows_like_one_that_is_named_are_asked_for(database):
    pattern = Pattern(q="{table} in the same {alike} as {v}", lang="en", show="key", without="same")
    found = made(database, pattern)
    assert found
    for m in found:
        assert m.sketch.same.item.column == "article_category"
        assert str(m.sketch.same.filters[0][0].value) in m.question
        assert read(write(m.sketch, database.catalog), database.catalog) == m.sketch


def test_rows_that_refer_to_others_are_asked_for_by_those(tmp_path):
    with sqlite3.connect(tmp_path / "staff.db") as connection:
        connection.execute(
            "CREATE TABLE staff (name TEXT PRIMARY KEY, job TEXT, boss TEXT REFERENCES staff(name))"
        )
        jobs = ("chief", "clerk", "porter")
        connection.executemany(
            "INSERT INTO staff VALUES (?, ?, ?)",
            [(f"Ada {n}", jobs[min(n, 2)], f"Ada {n // 3}" if n else None) for n in range(30)],
        )
    words = {"by": {"en": ["under"]}, "did": {"en": ["lead"]}}
    surfaces = Surfaces({"tables": {"staff": {"en": ["worker|workers"]}}, "columns": {"staff.boss": words}})
    opened = open_database(Settings(source=f"sqlite:///{tmp_path}/staff.db", store=str(tmp_path / "store")))
    under = Pattern(q="{table} {by} {v}", lang="en", show="key", via="value")
    leading = Pattern(
        q="{table} who {did} {having} others",
        lang="en",
        aggregate="count",
        groups=("other",),
        show="group",
        having="yes",
    )
    try:
        found = synthesize.make(opened, surfaces, [under, leading], [], 20, seed=1)
        assert {len(m.sketch.group) for m in found} == {0, 1}
        for m in found:
            assert m.question.split()[:1] in (["workers"], ["Workers"])
            assert (m.sketch.filters or m.sketch.group)[0]
            assert read(write(m.sketch, opened.catalog), opened.catalog) == m.sketch
        assert not made_of(opened, under, Surfaces({"tables": {"staff": {"en": ["worker|workers"]}}}))
    finally:
        opened.close()


def made_of(database, pattern, surfaces):
    return synthesize.make(database, surfaces, [pattern], [], 5, seed=1)
