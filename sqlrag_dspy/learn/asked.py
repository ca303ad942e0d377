"""Questions with their route, made from phrasing patterns and what a database holds, and nonsense.

Patterns (`trainsets/patterns/*.routes.jsonl`) say how people ask for each route with the same words: "delete
the review of …" is declined, "reviews deleted in 2020" is not. They are fitted along with the labels at a lower
weight, and never scored. Leaves out the SQL: `synthesize` makes that.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn.patterns import LANGUAGES, Surfaces
from sqlrag_dspy.learn.phrases import Draw, round_number, value_of
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.types import ROUTES, Route

COUNT = 300
"""Made questions a database."""
NONSENSE = 0.08
"""Share of them that are no language at all."""
DECLINES = 2.0
"""How often a declined question is drawn, against one of any other route."""
_CHOICE = re.compile(r"\{([^{}]*)\}")
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_MONTHS = {
    "en": ("January", "March", "May", "July", "October"),
    "es": ("enero", "marzo", "mayo", "julio", "octubre"),
    "nl": ("januari", "maart", "mei", "juli", "oktober"),
}


@dataclass(frozen=True)
class Asking:
    """One way to ask: `q` holds slots `{topic}` and choices `{a|b}`, which may hold slots."""

    q: str
    lang: str
    route: Route
    reason: str = ""


def read_askings(folder: Path) -> list[Asking]:
    """The route patterns of a folder. Raises LabelError naming file and line."""
    out: list[Asking] = []
    for lang in LANGUAGES:
        path = folder / f"{lang}.routes.jsonl"
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                asking = Asking(lang=lang, **json.loads(line))
            except (ValueError, TypeError) as error:
                raise LabelError(f"{path}, line {number}: {error}; correct that pattern") from error
            if asking.route not in ROUTES:
                known = ", ".join(ROUTES)
                raise LabelError(f"{path}, line {number}: no route {asking.route!r}; routes are {known}")
            for slot in re.findall(r"\{(\w*)\}", asking.q):
                if slot not in SLOTS:
                    known = ", ".join(sorted(SLOTS))
                    raise LabelError(f"{path}, line {number}: no slot {{{slot}}}; slots are {known}")
            out.append(asking)
    return out


def asked_questions(
    databases: Mapping[str, Database], folders: Iterable[Path], *, seed: int = 0, count: int = COUNT
) -> list[dspy.Example]:
    """Made examples over every database that has surfaces, from the `patterns` folder beside the trainsets."""
    out: list[dspy.Example] = []
    for folder in folders:
        surfaces, askings = Surfaces.read(folder), read_askings(folder.parent / "patterns")
        name = folder.resolve().name
        if surfaces is not None and askings and name in databases:
            out.extend(ask(databases[name], surfaces, askings, count, seed=seed))
    return out


def ask(
    database: Database, surfaces: Surfaces, askings: Sequence[Asking], count: int, *, seed: int = 0
) -> list[dspy.Example]:
    """Up to `count` different examples over the tables with long text; fewer when patterns do not fit."""
    rng = random.Random(seed)
    tables = [t for t in database.text_tables if surfaces.knows(t.name) and t.rows]
    topics = _topics(database, rng)
    ways = Counter(asking.route for asking in askings)
    often = [(DECLINES if a.route == "decline" else 1.0) / ways[a.route] for a in askings]
    made: dict[str, dspy.Example] = {}
    for _ in range(count * 3 if tables and topics else 0):
        if len(made) >= count:
            break
        if rng.random() < NONSENSE:
            asking, question = None, nonsense(rng)
        else:
            asking = rng.choices(askings, often)[0]
            draw = Draw(rng, asking.lang, rng.choice(tables), surfaces)
            filled = _fill(draw, asking.q, topics)
            if filled is None:
                continue
            question = filled
        route, reason = (asking.route, asking.reason) if asking else ("decline", "too-vague")
        example = dspy.Example(
            question=question,
            database=database.name,
            route=route,
            tags=[reason] if reason else [],
            also_ok=[],
            is_nonsense=asking is None,
        )
        made.setdefault(question, example.with_inputs("question", "database"))
    return list(made.values())


def nonsense(rng: random.Random) -> str:
    """Letters that are no words: runs along a keyboard, or anything."""
    said = []
    for _ in range(rng.randint(1, 6)):
        row, length = rng.choice(_KEYS), rng.randint(2, 8)
        start = rng.randint(0, 4)
        run = row[start : start + length] if rng.random() < 0.5 else ""
        said.append(run or "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(length)))
    return " ".join(said)


def _topics(database: Database, rng: random.Random, most: int = 400) -> list[str]:
    """Pairs of longer words that stand side by side in the texts."""
    found: set[str] = set()
    for table in database.text_tables:
        columns = list(table.text_columns)
        for row in list(database.source.scan(table.name, columns))[:200]:
            for text in row:
                if isinstance(text, str):
                    found.update(re.findall(r"\b[^\W\d_]{5,} [^\W\d_]{6,}\b", text))
    return rng.sample(sorted(found), min(most, len(found)))


def _fill(draw: Draw, q: str, topics: Sequence[str]) -> str | None:
    """One question of a pattern, or None when the table lacks what it speaks of."""
    rng = draw.rng
    while (match := _CHOICE.search(q)) is not None:
        chosen = rng.choice(match.group(1).split("|"))
        said = _slot(draw, chosen, topics) if chosen in SLOTS else chosen
        if said is None:
            return None
        q = q[: match.start()] + said.replace("{", " ").replace("}", " ") + q[match.end() :]
    q = re.sub(r"\s+([?.,:;])", r"\1", re.sub(r"\s+", " ", q)).strip()
    return q[:1].upper() + q[1:] if rng.random() < 0.3 else q


SLOTS = frozenset(
    {"table", "tables", "row", "column", "columns", "number", "value", "value2", "person", "topic", "topic2"}
    | {"year", "year2", "future", "month", "n", "max", "min"}
)
"""What a pattern may ask for; a choice that is one of these words stands for the slot."""


def _slot(draw: Draw, name: str, topics: Sequence[str]) -> str | None:
    rng, lang = draw.rng, draw.lang
    if name in ("topic", "topic2"):
        topic = rng.choice(topics)
        return topic.split()[-1] if rng.random() < 0.3 else topic
    if name in ("year", "year2", "future"):
        return str(rng.randint(2025, 2040) if name == "future" else rng.randint(2008, 2023))
    if name == "month":
        return rng.choice(_MONTHS[lang])
    if name in ("row", "table", "tables"):
        return draw.noun(None, name == "tables")
    if name in ("value", "value2"):
        found = value_of(draw, "category")
        return found[2] if found is not None else None
    if name == "person":
        found = value_of(draw, "person")
        return found[2] if found is not None else None
    sort = "any" if name.startswith("column") else "number"
    column = draw.pick(sort)
    if column is None:
        return None
    if name == "n":
        top: Any = column.profile.maximum
        return str(round_number(rng.uniform(0, top))) if isinstance(top, (int, float)) and top > 0 else None
    if name in ("max", "min"):
        return draw.surfaces.word(rng, lang, draw.table.name, column.name, name)
    return draw.noun(column, name == "columns")
