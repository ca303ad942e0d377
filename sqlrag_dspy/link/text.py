"""A question or a stored value as folded words with their places, and what is known of words in general.

Folding lower-cases and drops accents; every folded character remembers where it came from, so that any
match is reported as a span of the original. Stemming only brings singular and plural together, in English,
Spanish and Dutch at once. Leaves out grammar, lemmas and any word that belongs to one database.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

LANGUAGES = ("en", "es", "nl")


def word_set(listed: str) -> frozenset[str]:
    """The words of a text, written out as one string for the reader's sake."""
    return frozenset(listed.split())


_WORD = re.compile(r"[^\W_]+")


def ends_with(pattern: re.Pattern[str], text: str, place: int, reach: int = 80) -> re.Match[str] | None:
    """The match of a pattern ending in "$" in the `reach` characters before a place: cost does not grow with text."""
    return pattern.search(text, max(0, place - reach), place)


@dataclass(frozen=True)
class Word:
    """A run of letters and digits: folded text, its span in the folded text and in the original."""

    text: str
    start: int
    end: int
    is_capital: bool = False
    """Begins with a capital letter in the original."""


@dataclass(frozen=True)
class Folded:
    """Folded text; `at[i]` is where folded character i came from (one more entry: the end)."""

    original: str
    text: str
    at: tuple[int, ...] | range

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that the folded span [start, end) came from."""
        while end < len(self.text) and self.at[end] == self.at[end - 1]:
            end += 1  # one letter of the original may fold to several ("ß")
        return self.at[start], self.at[end]

    def replace(self, changes: list[tuple[int, int, str]]) -> Folded:
        """A copy in which non-overlapping folded spans read otherwise; places still lead to the original."""
        if not changes:
            return self
        text: list[str] = []
        at: list[int] = []
        last = 0
        for start, end, new in sorted(changes):
            text.append(self.text[last:start])
            at.extend(self.at[last:start])
            text.append(new)
            at.extend(self.at[min(start + i, end - 1)] for i in range(len(new)))
            last = end
        text.append(self.text[last:])
        at.extend(self.at[last:])
        return Folded(self.original, "".join(text), tuple(at))


def fold(text: str) -> Folded:
    """Lower-cased text without accents; curly quotes and long dashes become plain ones."""
    if text.isascii():
        return Folded(text, text.lower().replace("`", "'"), range(len(text) + 1))
    letters: list[str] = []
    at: list[int] = []
    for place, letter in enumerate(text):
        for plain in _fold_letter(letter):
            letters.append(plain)
            at.append(place)
    at.append(len(text))
    return Folded(text, "".join(letters), tuple(at))


@lru_cache(maxsize=4096)
def _fold_letter(letter: str) -> str:
    if letter in _PLAIN:
        return _PLAIN[letter]
    if unicodedata.category(letter) == "No":
        return letter  # "¼" is not "1/4" to the number reader
    parts = unicodedata.normalize("NFKD", letter.lower())
    return "".join(p for p in parts.casefold() if not unicodedata.combining(p))


_PLAIN = {"`": "'", "’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}
_PLAIN |= {"–": "-", "—": "-", "−": "-", "‐": "-", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "ı": "i", "đ": "d"}


def words(folded: Folded) -> list[Word]:
    """The words of a folded text, in order."""
    original, at = folded.original, folded.at
    return [
        Word(m.group(), m.start(), m.end(), original[at[m.start()]].isupper())
        for m in _WORD.finditer(folded.text)
    ]


def word_texts(text: str) -> list[str]:
    """The folded words of a text, without places."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return _WORD.findall(fold(text).text)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A key that singular and plural share; not a word of any language. Short words stay as they are."""
    if len(word) <= 3 or not word.isalpha():
        return word[:-1] if _CODE_PLURAL.fullmatch(word) else word
    if word[-1] == "e" and len(word) == 4:
        return word
    if len(word) == 5 and word.endswith("es"):
        return word[:-1]
    for ending, new in _BY_LAST.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + new
            break
    if len(word) >= 5 and word[-1] == word[-2] and word[-1] in "bdfgklmnprt":
        word = word[:-1]
    if len(word) >= 5 and word[-1] in "zv" and word[-2] not in "aeiou":
        word = word[:-1] + ("s" if word[-1] == "z" else "f")
    if len(word) >= 6 and word[-3] == word[-2] and word[-2] in "aeou":
        word = word[:-2] + word[-1]
    return word


_CODE_PLURAL = re.compile(r"[a-z]+\d+s")
_ENDINGS = (
    ("ieen", "i"),
    ("ies", "i"),
    ("ie", "i"),
    ("y", "i"),
    ("sses", "ss"),
    ("ss", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("us", "us"),
    ("sis", "s"),
    ("is", "is"),
    ("ions", "ion"),
    ("iones", "ion"),
    ("ores", "or"),
    ("ades", "ad"),
    ("ales", "al"),
    ("enes", "en"),
    ("ezen", "ez"),
    ("nnen", "n"),
    ("ssen", "s"),
    ("lden", "ld"),
    ("nden", "nd"),
    ("rden", "rd"),
    ("ten", "t"),
    ("len", "l"),
    ("ken", "k"),
    ("pen", "p"),
    ("gen", "g"),
    ("men", "m"),
    ("ren", "r"),
    ("den", "d"),
    ("zen", "z"),
    ("ven", "v"),
    ("es", ""),
    ("s", ""),
    ("e", ""),
)
_BY_LAST = {
    last: tuple(pair for pair in _ENDINGS if pair[0][-1] == last)
    for last in {ending[-1] for ending, _ in _ENDINGS}
}
"""The endings by their last letter, in the same order: a word is held against its own only."""


def phrase_key(texts: Sequence[str]) -> str:
    """The stems of several words, joined: what equal phrases share."""
    return " ".join([stem(t) for t in texts])


@cache
def ordinary_words() -> tuple[frozenset[str], ...]:
    """Common words of English, Spanish and Dutch that are not names, folded: one set a language.

    Taken from word counts of film subtitles, kept when also found in lower case in free technical and news
    texts. Such a word is never taken for a misspelt value.
    """
    text = resources.files(__package__).joinpath("ordinary.txt").read_text(encoding="utf-8")
    return tuple(frozenset(line.split()) for line in text.splitlines())


@lru_cache(maxsize=16384)
def is_ordinary(word: str) -> bool:
    """Is the folded word, or its singular, a common word of one of the languages?"""
    if not word.isalpha():
        return False
    if len(word) < 3 or word in STOPS:
        return True
    forms = {word, *(word[: -len(e)] for e in ("s", "es", "n", "en") if word.endswith(e) and len(word) > 4)}
    return any(not forms.isdisjoint(known) for known in ordinary_words())


def likely_languages(texts: list[str]) -> frozenset[str]:
    """The languages a question may be in, judged by its function words, then by its ordinary ones; all if unclear."""
    counts = {language: sum(t in marks for t in texts) for language, marks in _MARKS.items()}
    if list(counts.values()).count(max(counts.values())) > 1:
        for language, known in zip(LANGUAGES, ordinary_words(), strict=True):
            counts[language] += sum(t in known or (len(t) > 4 and t[:-1] in known) for t in texts)
    best = max(counts.values())
    return frozenset(language for language, n in counts.items() if n == best)


_MARK_WORDS = {
    "en": "the of and is are was were what which how many much by with about from have has had do does did that this "
    "these those for on at me show list give tell find any there who when where why it its than all articles more "
    "less between before after since each every their been not or",
    "es": "el la los las de del que y en un una cuantos cuantas cual cuales quien por con para sobre es son fue como "
    "donde cuando se al lo su sus mas menos entre antes despues desde hasta hay articulos dame muestra todos todas "
    "cada no o este esta ha han",
    "nl": "de het een van en is zijn was waren wat welke hoeveel door met uit heb heeft hebben dat die deze dit voor "
    "op aan mij toon geef laat zien wie wanneer waar waarom meer minder tussen na sinds elke elk per er artikelen "
    "alle niet of naar bij ik je zou geen dan wordt werden geschreven staan staat",
}
_STOP_WORDS = (
    "a an i you he she we they my your our us in to as if so no be can could would should will may might must into "
    "out up down over under only just also too very then there here please pls hi hello thanks some most one two them "
    "his her him ok am yes un uno unos unas le les mi tu te me ya si muy tan ese esa esos esas nos cuanto cuanta cual "
    "he ser era hacen te ze zo ook nog wel al maar toch als om tot hun ons onze mijn jouw u we wij jij hij zij men kan "
    "kun kunnen wil graag even eens iets alles per via versus vs s t d ll re ve don isn aren"
)
_MARKS = {language: frozenset(listed.split()) for language, listed in _MARK_WORDS.items()}

STOPS = (frozenset().union(*_MARKS.values()) | frozenset(_STOP_WORDS.split())) - {
    "articles",
    "articulos",
    "artikelen",
}
"""Function words of the three languages, folded."""
