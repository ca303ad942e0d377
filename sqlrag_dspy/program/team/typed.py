"""What the stages of the team say to each other, as types a model's reply is read into.

Lenient where a weak model is sloppy and nothing is lost by it: one text for a list of texts, null for nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sqlrag_dspy.program.inquiry import whole


def _texts(value: Any) -> Any:
    if value is None:
        return []
    value = [value] if isinstance(value, str) else value
    return (
        [whole(each) if isinstance(each, str) else each for each in value]
        if isinstance(value, list)
        else value
    )


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    return "" if value is None else value


Texts = Annotated[list[str], BeforeValidator(_texts)]
Text = Annotated[str, BeforeValidator(_text)]


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Intent(_Said):
    """One thing that a question asks for."""

    description: Text = Field(default="", description="what is asked for, in a few words")
    metric: Text = Field(default="", description="what is counted, summed or compared; empty for a list")
    filters: Texts = Field(default_factory=list, description="restrictions, as the question says them")
    time_range: Text = Field(default="", description="dates or periods, as the question says them")
    source: Literal["rows", "texts"] = Field(
        default="rows", description="texts when only reading what the stored texts say can tell, else rows"
    )

    def told(self) -> str:
        """The intent in a line."""
        parts = [self.description or self.metric]
        if self.metric and self.metric not in parts:
            parts.append(f"measured by {self.metric}")
        if self.filters:
            parts.append(f"only {'; '.join(self.filters)}")
        if self.time_range:
            parts.append(f"in {self.time_range}")
        return ", ".join(part for part in parts if part)


class Coverage(_Said):
    """What of a question no intent covers; nothing when all is covered."""

    missing: Texts = Field(default_factory=list, description="parts of the question that no intent covers")


class SchemaLinks(_Said):
    """What of a schema a question needs."""

    tables: Texts = Field(default_factory=list, description="names of the tables that are needed")
    columns: Texts = Field(default_factory=list, description="columns that are needed, as table.column")
    joins: Texts = Field(default_factory=list, description="how the tables join, as a.x = b.y")
    values: Texts = Field(default_factory=list, description="stored values, as table.column = 'value'")


class Issue(_Said):
    """One thing that is wrong with a statement."""

    kind: Literal["intent", "filter", "aggregation", "join", "time", "shape", "value", "other"] = "other"
    intent: int = Field(default=0, description="number of the intent that it fails, 0 for none")
    severity: Literal["severe", "minor"] = "severe"
    said: Text = Field(default="", description="what is wrong, and what to write instead")


class Verdict(_Said):
    """What a critic says of a statement and its result."""

    issues: list[Issue] = Field(default_factory=list)
    approved: bool = False

    @property
    def severe(self) -> list[Issue]:
        return [issue for issue in self.issues if issue.severity == "severe"]


class Told(_Said):
    """What a statement does, for a person."""

    explanation: Text = Field(default="", description="what the statement does, in one plain sentence")
    assumptions: Texts = Field(
        default_factory=list, description="what was assumed, such as: 'top' taken as highest total"
    )


def numbered(intents: list[Intent]) -> str:
    """Intents as numbered lines, as the critic names them."""
    return "\n".join(f"{number}. {intent.told()}" for number, intent in enumerate(intents, 1))
