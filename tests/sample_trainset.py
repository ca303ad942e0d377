"""A trainset small enough for tests: fifty short articles, made sql labels, and some of the sample's other labels.

Figures over it mean nothing; that every part is there, fitted and working, is what tests look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ARTICLES = Path(__file__).parent.parent / "trainsets" / "articles"
CATEGORIES = ("business", "health", "travel", "technology", "politics", "fashion", "sports", "entertainment")
TRAIN = {"vector": 14, "hybrid": 14, "decline": 12}
DEV = {"sql": 2, "vector": 2, "hybrid": 2, "decline": 2}


def make_trainset(folder: Path) -> Path:
    """The folder, with schema, rows, source.toml and labels (train and dev)."""
    folder.mkdir(parents=True)
    for name in ("schema.sql", "source.toml"):
        (folder / name).write_text((ARTICLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    rows = read(ARTICLES / "articles.jsonl")
    short = [{**row, "full_content": (row["full_content"] or "")[:500]} for row in rows[::3]]
    write(folder / "articles.jsonl", short)
    write(folder / "train.jsonl", [*sql_labels(), *chosen(read(ARTICLES / "train.jsonl"), TRAIN)])
    write(folder / "dev.jsonl", chosen(read(ARTICLES / "dev.jsonl"), DEV))
    return folder


def sql_labels() -> list[dict[str, Any]]:
    """Thirty sql labels of a few shapes, of which some are asked in a way that no other is."""
    asked: list[tuple[str, str]] = []
    for number, category in enumerate(CATEGORIES):
        where = f"article_category = '{category}'"
        said = ("how many {} articles are there", "count the {} articles", "number of {} articles")[
            number % 3
        ]
        asked.append((said.format(category), f"SELECT COUNT(*) FROM articles WHERE {where}"))
    for number, month in enumerate(("January", "February", "March", "April", "May"), 1):
        where = f"published_date >= '2023-0{number}-01' AND published_date < '2023-0{number + 1}-01'"
        asked += [
            (f"how many articles appeared in {month} 2023", f"SELECT COUNT(*) FROM articles WHERE {where}"),
            (
                f"number of articles per category in {month} 2023",
                f"SELECT article_category, COUNT(*) FROM articles WHERE {where} GROUP BY article_category",
            ),
            (
                f"list the titles of articles from {month} 2023",
                f"SELECT title FROM articles WHERE {where}",
            ),
        ]
    for category in CATEGORIES[:5]:
        where = f"article_category = '{category}'"
        asked.append(
            (
                f"what is the longest {category} article",
                f"SELECT title FROM articles WHERE {where} ORDER BY word_count DESC LIMIT 1",
            )
        )
    asked += [
        (
            "does it say who wrote more than twice",
            "SELECT authors FROM articles GROUP BY 1 HAVING COUNT(*) > 2",
        ),
        ("years, please", "SELECT DISTINCT strftime('%Y', published_date) FROM articles"),
    ]
    return [
        {
            "id": f"s-{number:04}", "database": "articles", "table": "articles", "question": question,
            "lang": "en", "route": "sql", "sql": sql,
        }
        for number, (question, sql) in enumerate(asked, 1)
    ]  # fmt: skip


def chosen(labels: Iterable[dict[str, Any]], counts: dict[str, int]) -> list[dict[str, Any]]:
    """The first labels of every route, in their order."""
    left = dict(counts)
    out = []
    for label in labels:
        if left.get(label["route"], 0) > 0:
            left[label["route"]] -= 1
            out.append(label)
    return out


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
