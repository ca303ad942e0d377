"""The forms that a stored value is recognised by: whole, plural, translated, a person's surname, a title's first part.

What kind of value a column holds (category, person, title or other) is judged by its values. Leaves out misspelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from sqlrag_dspy.link.glossary import Synonym, load
from sqlrag_dspy.link.names import name_words
from sqlrag_dspy.link.text import LANGUAGES, STOPS, is_ordinary, phrase_key, stem, word_set, word_texts
from sqlrag_dspy.types import Column

Kind = Literal["category", "person", "title", "other"]
Part = Literal["whole", "synonym", "person", "surname", "first", "segment", "word"]


class Form(NamedTuple):
    """One way to mention a value: stemmed key, exact folded words, how good (0 to 1), and which part it is.

    `language` is that of a translation, else empty. A tuple, since a large store makes a hundred thousand.
    """

    key: str
    words: str
    score: float
    part: Part
    language: str = ""

    @property
    def joined(self) -> str:
        """The letters without spaces."""
        return self.words.replace(" ", "")


_PARTICLES = word_set("van von de der den del della di da dos du la le ten ter bin al el")
_PEOPLE = re.compile(r"\s*(?:,|;|/|\||&|\band\b|\by\b|\ben\b)\s*")
_NAME = re.compile(r"[^\W\d_][\w.'’‘-]*(?:\s+[^\W\d_][\w.'’‘-]*){1,4}$")
_GENERIC = word_set(
    "inc ltd llc bv nv sl sa gmbh plc co corp company group holding foundation fundacion stichting fonds association "
    "asociacion vereniging institute instituto instituut university universidad universiteit the de het la el los"
)
"""Words of an organisation's name that people leave out."""
_SEGMENTS = re.compile(r"\s+[|–—-]\s+|:\s+|\s\|\s|\?\s+")
_PERSON_COLUMN = (
    "author",
    "writer",
    "person",
    "people",
    "name",
    "artist",
    "director",
    "customer",
    "employee",
    "agent",
)


def kind_of(column: Column, values: Sequence[str]) -> Kind:
    """What a column's values are: people (mostly two to five capitalised words), titles, categories or other."""
    if not values:
        return "other"
    sample = values[:300]
    people = sum(all(_is_person(p) for p in split_people(v)) for v in sample) / len(sample)
    ordinary = sum(_all_ordinary(v) for v in sample) / len(sample)
    named = any(w in column.name.casefold() for w in _PERSON_COLUMN)
    if people >= (0.6 if named else 0.9) and ordinary < 0.2 and (named or len(sample) >= 8):
        return "person"
    if column.profile.is_categorical or (
        len(values) <= 60 and sum(len(v.split()) <= 3 for v in sample) > 0.8 * len(sample)
    ):
        return "category" if len(values) <= 200 else "other"
    long = sum(len(v.split()) >= 4 for v in sample) / len(sample)
    return "title" if long >= 0.4 else "other"


def split_people(value: str) -> list[str]:
    """The single names of "A. Keane, B. Sylla and C. Ray"."""
    return [p for p in _PEOPLE.split(value.strip()) if p]


def _is_person(text: str) -> bool:
    match = _NAME.match(text)
    if not match:
        return False
    words = text.split()
    capitals = sum(w[0].isupper() for w in words)
    return capitals >= 2 and all(w[0].isupper() or w.casefold() in _PARTICLES for w in words)


def _all_ordinary(text: str) -> bool:
    return all(is_ordinary(w) for w in word_texts(text))


def _form(words: Sequence[str], score: float, part: Part, language: str = "") -> Form:
    return Form(phrase_key(words), " ".join(words), score, part, language)


def forms_of(value: str, kind: Kind, holds: str = "", alone: Container[str] = ()) -> list[Form]:
    """Every form of a value; `holds` is country or language when the column is known to hold codes of those.

    `alone` are words that stand for the value of their column that has them.
    """
    whole = word_texts(value)
    if not whole:
        return []
    if kind == "other" and len(whole) == 1:
        return [_form(whole, 1.0, "whole")]
    found: dict[str, Form] = {}

    def add(form: Form) -> None:
        old = found.get(form.key)
        if form.key and (old is None or form.score > old.score):
            found[form.key] = form

    add(_form(whole, 1.0, "whole"))
    if kind == "category":
        for synonym in _synonyms(value, phrase_key(tuple(whole)), holds):
            score = 0.7 if synonym.is_loose else 0.92 if synonym.language != "en" else 0.88
            key = synonym.key
            add(Form(key, key, score, "synonym", synonym.language))
    elif kind == "person":
        for person in split_people(value):
            _add_person(person, add)
    elif kind in ("title", "other") and len(whole) >= 4:
        for segment in _SEGMENTS.split(value):
            words = word_texts(segment)
            if len(words) >= 4 and sum(w not in STOPS for w in words) >= 2:
                add(_form(words, 0.9, "segment"))
    if kind == "category" and 2 <= len(whole) <= 3:
        for word in whole:
            if word in alone:
                add(_form([word], 0.85, "word"))
        for pair, language in _translated(whole):
            add(_form(pair, 0.85, "synonym", language))
    if kind != "person" and 2 <= len(whole) <= 5:
        kept = [w for w in whole if w not in _GENERIC]
        if len(kept) < len(whole) and kept and not all(is_ordinary(w) for w in kept):
            add(_form(kept, 0.88, "whole"))
    return list(found.values())


def _translated(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """A value of two nouns in each other language, in both orders: "tienda web" for "Web shop"."""
    glossary = load()
    if len(words) != 2:
        return
    meant = [[name for name in glossary.concepts.get(stem(word), ()) if not word.isdigit()] for word in words]
    for language in LANGUAGES:
        one, other = (
            stem(word)
            if _is_shared(word, names)
            else next((s.key for n in names for s in glossary.members[n] if s.language == language), "")
            for word, names in zip(words, meant, strict=True)
        )
        if one and other and (one, other) != tuple(stem(word) for word in words):
            yield (one, other), language
            yield (other, one), language


def _is_shared(word: str, names: Sequence[str]) -> bool:
    """Whether a word is the same in several languages ("web")."""
    return any(s.key == stem(word) and not s.language for name in names for s in load().members[name])


@lru_cache(maxsize=4096)
def _synonyms(value: str, key: str, holds: str) -> tuple[Synonym, ...]:
    """Other words for a categorical value: by its code, its own concept, or what it abbreviates."""
    glossary = load()
    concept = glossary.codes.get(holds, {}).get(value.strip().casefold())
    if concept:
        return glossary.members[f"values.{concept}"]
    found = tuple(s for _, s in glossary.synonyms(key, kinds=("values",)))
    if not found:
        found = tuple(s for _, s in glossary.synonyms(key, kinds=("nouns",)) if s.is_first)
    if not found and 3 <= len(value) <= 5 and value.isalpha() and value.isupper():
        found = _spelt_out(value.casefold())
    return found


def _spelt_out(code: str) -> tuple[Synonym, ...]:
    """The status that a short code stands for: "CLSD" for closed, "PEND" for pending."""
    for name, members in load().members.items():
        word = name.partition(".")[2]
        if not name.startswith("values.") or len(word) <= len(code) or "_" in word:
            continue
        rest = iter(word)
        if word.startswith(code) or (
            word[0] == code[0] and word[-1] == code[-1] and all(c in rest for c in code)
        ):
            return members
    return ()


def holds_codes(column: str) -> str:
    """ "country" or "language" when a column's name says that it holds one of those, else ""."""
    words = {w for word in name_words(column) for w in load().concepts.get(phrase_key((word,)), ())}
    return "country" if "nouns.country" in words else "language" if "nouns.language" in words else ""


def _add_person(person: str, put: Callable[[Form], None]) -> None:
    groups = [word_texts(g) for g in person.split()]
    groups = [g for g in groups if g]
    words = [w for g in groups for w in g]
    if not words:
        return
    put(_form(words, 0.98, "person"))
    if len(groups) < 2:
        return
    start = next(
        (n for n, g in enumerate(groups) if n and g[0] in _PARTICLES and n < len(groups) - 1), len(groups) - 1
    )
    surname = [w for g in groups[start:] for w in g]
    last = groups[-1]
    first = groups[0]
    put(_form([*first, *last], 0.95, "person"))
    put(_form([*last, *first], 0.9, "person"))
    put(_form(surname, 0.86, "surname"))
    put(_form(last, 0.84, "surname"))
    if len(last) > 1:
        put(_form([*first, last[0]], 0.88, "person"))
        put(_form([*first, last[-1]], 0.85, "person"))
        for piece in (last[0], last[-1]):
            if len(piece) > 3:
                put(_form([piece], 0.75, "surname"))
    if len(first[0]) > 2:
        put(_form(first, 0.72, "first"))
