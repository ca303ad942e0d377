"""`sqlrag.toml` and `SQLRAG_…` variables to `Settings`: data only, nothing is opened here."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sqlrag_dspy.errors import SettingsError


class TableSettings(BaseModel):
    """What a user says of one table; anything left out is found by profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    key: str | list[str] | None = None
    text: list[str] | None = None
    filters: list[str] | None = None
    synonyms: dict[str, list[str]] = Field(default_factory=dict)
    """Other words for a column, or for the table itself under the name "" (two quotes)."""

    @property
    def key_columns(self) -> tuple[str, ...] | None:
        return None if self.key is None else ((self.key,) if isinstance(self.key, str) else tuple(self.key))


class Limits(BaseModel):
    """What one query may cost, and how many run at once (docs/security.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    seconds: float = Field(default=10, gt=0)
    rows: int = Field(default=1000, gt=0)
    memory: str = Field(default="1GB", pattern=r"^\d+(\.\d+)?\s?[KMG]i?B$")
    threads: int = Field(default=2, gt=0)
    workers: int = Field(default=3, gt=0, le=64)
    """Worker processes of one source, at most; they share `memory`."""
    wait: float = Field(default=30, gt=0)
    """Seconds that a query waits for a free worker, at most."""


class Budget(BaseModel):
    """What one question may cost in calls of a model; `usd` counts where prices are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    calls: int = Field(default=24, gt=0)
    tokens: int = Field(default=200_000, gt=0)
    seconds: float = Field(default=300, gt=0)
    usd: float = Field(default=1.0, gt=0)

    def overdrawn(self, used: Used) -> str | None:
        """Which limit is reached, in a few words; None when none is."""
        if used.lm_calls + used.cached_calls >= self.calls:
            return f"{self.calls} calls"
        if used.tokens_in + used.tokens_out >= self.tokens:
            return f"{self.tokens} tokens"
        if used.seconds >= self.seconds:
            return f"{self.seconds:g} s"
        return f"{self.usd:g} US dollars" if used.cost_usd >= self.usd else None


class Used(Protocol):
    """A bill so far."""

    lm_calls: int
    cached_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    seconds: float


class SearchSettings(BaseModel):
    """How a search orders rows, beyond what the index does by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rerank: str = ""
    """A model that reads the first rows again: "fastembed:MODEL", or "" for none."""


class PolicySettings(BaseModel):
    """Who may see what: tables and columns ("table.column"), row conditions, masks (docs/security.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    allow_tables: list[str] | None = None
    deny_tables: list[str] = Field(default_factory=list)
    allow_views: list[str] = Field(default_factory=list)
    """Views and virtual tables of the source that may be seen though they are computed past this policy."""
    allow_columns: list[str] = Field(default_factory=list)
    deny_columns: list[str] = Field(default_factory=list)
    rows: dict[str, str] = Field(default_factory=dict)
    masks: dict[str, str] = Field(default_factory=dict)

    @field_validator("allow_columns", "deny_columns")
    @classmethod
    def _are_columns(cls, value: list[str]) -> list[str]:
        for name in value:
            _column(name)
        return value

    @field_validator("rows")
    @classmethod
    def _are_said(cls, value: dict[str, str]) -> dict[str, str]:
        for table, condition in value.items():
            if not condition.strip():
                raise ValueError(f"the condition of {table} is empty; deny the table, or leave it out")
        return value

    @field_validator("masks")
    @classmethod
    def _are_masks(cls, value: dict[str, str]) -> dict[str, str]:
        for name, mask in value.items():
            _column(name)
            if mask not in ("hash", "null") and not mask.startswith("text:"):
                raise ValueError(f"the mask of {name} is {mask!r}; write 'hash', 'null' or 'text:…'")
        return value

    @property
    def is_open(self) -> bool:
        """Whether it says nothing, so that everything may be seen."""
        return self == PolicySettings()


def _column(name: str) -> None:
    if not all(name.partition(".")):
        raise ValueError(f"{name!r} names no column; write 'table.column'")


OVERRIDDEN: dict[str, type[BaseModel]] = {"limits": Limits, "budget": Budget, "search": SearchSettings}
"""The parts of the settings whose keys a variable overrides, as SQLRAG_LIMITS_SECONDS does."""


def _known(where: str) -> type[BaseModel]:
    """The part of the settings that a key of that path belongs to."""
    parts: dict[str, type[BaseModel]] = {**OVERRIDDEN, "policy": PolicySettings, "tables": TableSettings}
    return parts.get(where.partition(".")[0], Settings) if "." in where else Settings


class Settings(BaseModel):
    """All settings, with the defaults of the contract."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str = ""
    program: str = "articles"
    store: str = ".sqlrag"
    embedder: list[str] = Field(default_factory=lambda: ["wordllama", "use-multilingual"])
    lm: str = ""
    lm_small: str = ""
    tables: dict[str, TableSettings] = Field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = Budget()
    search: SearchSettings = SearchSettings()
    policy: PolicySettings = PolicySettings()

    @field_validator("embedder", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


def load(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings of a TOML file (default: `sqlrag.toml` here, if there is one), overridden by the environment.

    `SQLRAG_LM`, `SQLRAG_LIMITS_SECONDS`, `SQLRAG_BUDGET_CALLS` and so on override the key of that name.
    Raises SettingsError naming file, key and remedy.
    """
    environ = os.environ if environ is None else environ
    named = path is not None
    path = path or Path("sqlrag.toml")
    table: dict[str, Any] = {}
    if path.is_file():
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} is not valid TOML: {error}; correct that line") from error
        except OSError as error:
            raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    elif named:
        raise SettingsError(f"no settings file {path}; write one with 'sqlrag init URL'")
    overriding: dict[str, str] = {}
    for name in ("source", "program", "store", "lm", "lm_small", "embedder"):
        if (value := environ.get(f"SQLRAG_{name.upper()}")) is not None:
            table[name] = value.split(",") if name == "embedder" else value
    for part, model in OVERRIDDEN.items():
        for name in model.model_fields:
            variable = f"SQLRAG_{part.upper()}_{name.upper()}"
            keys = table.setdefault(part, {})
            if (value := environ.get(variable)) is not None and isinstance(keys, dict):
                keys[name], overriding[f"{part}.{name}"] = value, variable
    try:
        return Settings.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(_known(where).model_fields)
        remedy = (
            f"known keys: {known}" if first["type"] == "extra_forbidden" else "see the README, Configuration"
        )
        place = overriding.get(where) or f"{path}: {where}"
        raise SettingsError(f"{place}: {first['msg']} ({remedy})") from error
