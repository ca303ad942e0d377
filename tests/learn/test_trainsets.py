"""The labelled sets themselves: formats, gold that runs, keys that are allowed, phrasings that differ, splits apart."""

from __future__ import annotations

import hashlib
import sqlite3
import tomllib
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from sqlrag_dspy import Label
from sqlrag_dspy.learn import checks, labels
from sqlrag_dspy.learn.databases import build, check_databases, missing_variable, open_trainset
from sqlrag_dspy.settings import Settings

ROOT = Path(__file__).parents[2] / "trainsets"
FOLDERS = sorted(path.parent for path in ROOT.glob("*/source.toml"))
OURS = [folder for folder in FOLDERS if (folder / "schema.sql").is_file()]
BY_QUESTION = ("articles", "shop")
"""Databases whose splits are by question."""
MAIN = [folder for folder in OURS if folder.name not in BY_QUESTION]
POOL = "pool"
"""Labels that belong to no split yet."""


@cache
def read(folder: Path, split: str | None = None) -> tuple[Label, ...]:
    files = [f for name in ([split] if split else labels.SPLITS) if (f := folder / f"{name}.jsonl").is_file()]
    return tuple(label for file in files for label in labels.read(file))


def named(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_every_label_is_right_as_far_as_a_machine_can_tell(folder, tmp_path, monkeypatch):
    if missing := missing_variable(folder):
        pytest.skip(f"the database of {folder.name} is not here: set {missing}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    database = open_trainset(folder, Settings(), is_searched=False)
    try:
        found = (*read(folder), *read(folder, POOL))
        check_databases(found, {folder.name: database})
        assert list(checks.problems(found, database)) == []
        if folder in MAIN:
            part = max(checks.prose(database), key=lambda part: (part.longest >= 80, part.shortest))
            assert part.rows >= 60
            assert part.shortest >= 80
            assert part.longest <= 800
            assert part.shared <= checks.MOST_SHARED
    finally:
        database.close()


@pytest.mark.parametrize("folder", OURS, ids=named)
def test_a_database_is_built_the_same_again(folder, tmp_path):
    build(folder, tmp_path / "one.db")
    build(folder, tmp_path / "two.db")
    assert content(tmp_path / "one.db") == content(tmp_path / "two.db")


def content(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()
    finally:
        connection.close()


def test_ids_are_of_one_label_each():
    seen = Counter(label.id for folder in FOLDERS for label in (*read(folder), *read(folder, POOL)))
    assert [id_ for id_, count in seen.items() if count > 1] == []


def test_no_question_stands_in_two_splits_nearly_word_for_word():
    splits = {
        name: [label for folder in FOLDERS for label in read(folder, name)] for name in (*labels.SPLITS, POOL)
    }
    found = [pair for a, b in combinations(splits.values(), 2) for pair in checks.near_duplicates(a, b)]
    assert found == []


def test_there_are_enough_databases_labels_and_facts():
    assert len(MAIN) >= 12
    benchmark = [label for folder in MAIN for label in read(folder)]
    assert len(benchmark) >= 2400
    shares = Counter(label.route for label in benchmark)
    for route, share in (("sql", 0.35), ("hybrid", 0.27), ("vector", 0.20), ("decline", 0.18)):
        assert abs(shares[route] / len(benchmark) - share) <= 0.03, route
    stated = [label for label in benchmark if label.answer and label.route in ("vector", "hybrid")]
    assert len(stated) >= 150
    assert (
        sum(bool({"across-documents", "trend", "compare-groups"} & set(label.tags)) for label in stated) >= 40
    )


def test_databases_are_of_one_split_each_but_for_articles():
    for folder in FOLDERS:
        splits = [name for name in labels.SPLITS if (folder / f"{name}.jsonl").is_file()]
        assert len(splits) == 1 or folder.name in BY_QUESTION
        assert tomllib.loads((folder / "source.toml").read_text(encoding="utf-8"))
