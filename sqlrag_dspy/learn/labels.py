"""Labelled queries: one JSON line each, read with the line number in every error, and as DSPy examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import dspy
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sqlrag_dspy.errors import LabelError
from sqlrag_dspy.learn.jsonl import lines
from sqlrag_dspy.types import Route

SPLITS = ("train", "dev", "test")


class Facts(BaseModel):
    """What a good answer says. Each of `facts` and `never` is a few words as the texts have them, or several
    equally good wordings with " | " between them: it must state every fact, and none of `never`."""

    model_config = ConfigDict(extra="forbid")
    facts: list[str] = Field(min_length=1)
    never: list[str] = Field(default_factory=list)

    @staticmethod
    def told(said: str, answer: str) -> bool:
        """Whether the answer holds any wording of what is said, letter case aside."""
        plain = answer.casefold()
        return any(words.strip().casefold() in plain for words in said.split(" | "))


class Label(BaseModel):
    """One labelled query. docs/labels.md says what makes a question sql, vector, hybrid or decline.

    `answer`: what a good answer says, as Facts; a string or a list of strings is facts alone.
    """

    model_config = ConfigDict(extra="forbid")
    id: str
    database: str
    table: str | None = None
    question: str = Field(min_length=1)
    lang: Literal["en", "es", "nl"]
    route: Route
    also_ok: list[Route] = Field(default_factory=list)
    sql: str | None = None
    filter_sql: str | None = None
    keys: list[Any] = Field(default_factory=list)
    answer: Facts | list[str] | str | None = None
    tags: list[str] = Field(default_factory=list)
    note: str | None = None

    @property
    def facts(self) -> Facts | None:
        """What a good answer says, where somebody wrote it down."""
        if isinstance(self.answer, Facts):
            return self.answer
        said = [self.answer] if isinstance(self.answer, str) else self.answer
        return Facts(facts=said) if said else None

    @model_validator(mode="after")
    def _complete(self) -> Label:
        if not self.question.strip():
            raise ValueError("the question is blank")
        if self.route == "sql" and not self.sql:
            raise ValueError("an sql label needs its gold query under 'sql'")
        if self.route in ("vector", "hybrid") and not self.table:
            raise ValueError(f"a {self.route} label needs the searched table under 'table'")
        return self


def read(path: Path) -> list[Label]:
    """The labels of one JSONL file, in order. Raises LabelError naming file, line and what is wrong."""
    labels: list[Label] = []
    seen: dict[str, int] = {}
    for number, line in lines(path):
        try:
            label = Label.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "line"
            raise LabelError(f"{path}, line {number}: {where}: {first['msg']}; correct that label") from error
        if label.id in seen:
            raise LabelError(
                f"{path}, line {number}: id {label.id!r} is already used in line {seen[label.id]}"
            )
        seen[label.id] = number
        labels.append(label)
    return labels


def files(path: Path, split: str | None = None) -> list[Path]:
    """The label files that a path names: a file itself, or the splits of a folder.

    Raises LabelError when there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise LabelError(f"no label file or folder {path}")
    wanted = [split] if split else list(SPLITS)
    found = [path / f"{name}.jsonl" for name in wanted if (path / f"{name}.jsonl").is_file()]
    if not found and any(child.is_dir() for child in path.iterdir()):
        found = [f for child in sorted(path.iterdir()) if child.is_dir() for f in _maybe(child, wanted)]
    if not found:
        raise LabelError(f"{path} holds no {' or '.join(name + '.jsonl' for name in wanted)}")
    return found


def _maybe(folder: Path, splits: list[str]) -> list[Path]:
    return [folder / f"{name}.jsonl" for name in splits if (folder / f"{name}.jsonl").is_file()]


def load(path: str | Path, split: str | None = None) -> list[dspy.Example]:
    """Labels as dspy.Examples whose inputs are `question` and `database`.

    The other fields of the label are the example's labels, `gold` being the Label itself.
    """
    return [example(label) for file in files(Path(path), split) for label in read(file)]


def example(label: Label) -> dspy.Example:
    """One label as a dspy.Example."""
    return dspy.Example(**label.model_dump(), gold=label).with_inputs("question", "database")
