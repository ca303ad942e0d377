"""Common database words in three languages, read from glossary.toml: which words mean the same thing.

Leaves out whatever belongs to one database: a user adds that as synonyms.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from sqlrag_dspy.link.text import LANGUAGES, phrase_key, word_texts


@dataclass(frozen=True)
class Synonym:
    """A phrase (stemmed key) that means the same, and the language it is in (empty when in several).

    `is_loose`: marked "~" in the glossary, it often means something else. `is_first`: the concept's main word.
    """

    key: str
    language: str
    is_loose: bool = False
    is_first: bool = False


@dataclass(frozen=True)
class Adjective:
    """A word such as "longest": the concept, the columns it speaks of, and "max" or "min"."""

    concept: str
    columns: tuple[str, ...]
    end: str
    language: str


@dataclass(frozen=True)
class State:
    """A word such as "closed" or "unsold": the date columns that tell the state, and whether one must be there."""

    columns: tuple[str, ...]
    is_there: bool


@dataclass(frozen=True)
class Glossary:
    """Phrase keys to concepts and back; states, adjectives and abbreviations. Made by `load`."""

    concepts: Mapping[str, tuple[str, ...]]
    members: Mapping[str, tuple[Synonym, ...]]
    adjectives: Mapping[str, tuple[Adjective, ...]]
    verbs: Mapping[str, tuple[Synonym, ...]]
    """Concepts ("nouns.review") to the verbs that say that such a row came about."""
    doers: Mapping[str, frozenset[str]]
    """Concepts of persons to the folded words for what they do."""
    states: Mapping[str, tuple[State, ...]]
    """Folded phrases to what they say of a date."""
    abbreviations: Mapping[str, str]
    codes: Mapping[str, Mapping[str, str]]
    """What a column holds (country, language) to code to concept."""

    def synonyms(
        self, key: str, *, kinds: tuple[str, ...] = ("nouns", "values")
    ) -> Iterator[tuple[str, Synonym]]:
        """(concept, synonym) for every phrase that shares a concept with this key, itself left out."""
        for name in self.concepts.get(key, ()):
            if name.partition(".")[0] in kinds:
                for synonym in self.members[name]:
                    if synonym.key != key:
                        yield name.partition(".")[2], synonym


def _inflected(listed: str, language: str) -> dict[str, None]:
    """The phrases of a list, folded; Spanish ones in the plural as well."""
    keys = dict.fromkeys(" ".join(word_texts(phrase)) for phrase in listed.split(","))
    if language == "es":
        keys |= dict.fromkeys(f"{key}s" for key in list(keys) if key[-1] in "aeo")
    return keys


@cache
def load() -> Glossary:
    """The glossary that ships with the package."""
    text = resources.files(__package__).joinpath("glossary.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    concepts: dict[str, list[str]] = {}
    members: dict[str, tuple[Synonym, ...]] = {}
    for kind in ("nouns", "values"):
        for name, by_language in data[kind].items():
            found: dict[str, Synonym] = {}
            for language in LANGUAGES:
                for number, phrase in enumerate(by_language[language].split(",")):
                    key = phrase_key(word_texts(phrase))
                    is_loose = phrase.endswith("~")
                    if key not in found:
                        found[key] = Synonym(key, language, is_loose, number == 0)
                        if not is_loose:
                            concepts.setdefault(key, []).append(f"{kind}.{name}")
                    elif found[key].language != language:
                        found[key] = replace(found[key], language="", is_loose=is_loose)
            members[f"{kind}.{name}"] = tuple(found.values())
    adjectives: dict[str, list[Adjective]] = {}
    for name, entry in data["adjectives"].items():
        columns = tuple(entry["columns"].split(", "))
        for end, prefix in (("max", "more"), ("min", "less")):
            for language in LANGUAGES:
                for key in _inflected(entry[f"{prefix}_{language}"], language):
                    adjectives.setdefault(key, []).append(Adjective(name, columns, end, language))
    verbs = {
        f"nouns.{name}": tuple(
            Synonym(phrase_key(word_texts(phrase)), language)
            for language in LANGUAGES
            for phrase in by_language[language].split(",")
        )
        for name, by_language in data["verbs"].items()
    }
    doers = {
        f"nouns.{name}": frozenset(
            word for language in LANGUAGES for word in word_texts(by_language[language])
        )
        for name, by_language in data["doers"].items()
    }
    states: dict[str, list[State]] = {}
    for entry in data["states"].values():
        for side in ("is", "not"):
            state = State(tuple(entry["columns"].split(", ")), side == "is")
            for language in LANGUAGES:
                for phrase in entry[f"{side}_{language}"].split(","):
                    states.setdefault(" ".join(word_texts(phrase)), []).append(state)
    return Glossary(
        {key: tuple(names) for key, names in concepts.items()},
        members,
        {key: tuple(found) for key, found in adjectives.items()},
        verbs,
        doers,
        {key: tuple(found) for key, found in states.items()},
        data["abbreviations"],
        data["codes"],
    )
