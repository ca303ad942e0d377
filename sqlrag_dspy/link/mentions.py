"""Where a question mentions stored values: exactly, inflected, translated, in part, split, joined or misspelt.

How sure a mention is depends on its form, on typing errors, and on signs in the question: quotes, capitals, "by",
a column or table named beside it. Leaves out choosing among overlapping mentions: the linker does.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz import fuzz

from sqlrag_dspy.link.forms import Form, split_people
from sqlrag_dspy.link.text import STOPS, Folded, Word, fold, is_ordinary, stem, word_set, word_texts
from sqlrag_dspy.link.values import Entry, ValueStore
from sqlrag_dspy.link.windows import Window, look_at, quoted

MOST_LOOKUPS = 160
"""How many look-ups of misspelt words one question may cost."""
_MOST_CAPITALS = 6


@dataclass(frozen=True)
class Mention:
    """A stretch of folded text that mentions an entry, how sure, and whether it is negated."""

    start: int
    end: int
    entry: Entry
    form: Form
    score: float
    is_negated: bool = False


_NOT = re.compile(
    r"(?:\b(?:not|no|isn't|aren't|except(?:\s+for)?|excluding|exclude|excludes|without|other\s+than|apart\s+from|neither|"
    r"leave\s+out|leaving\s+out|skip|but\s+not|(?:anything|anyone|anybody|everything|everyone|any|all)\s+but|rather\s+than|outside(?:\s+of)?|excepto|salvo|menos|sin|"
    r"excluyendo|excluidos?|excluidas?|fuera\s+de|aparte\s+de|ni|niet|behalve|zonder|geen|uitgezonderd|exclusief|"
    r"buiten|noch|anders\s+dan)|\bnon-?)"
    r"(?:[\s,]+(?:in|en|the|la|el|los|las|lo|de|del|het|from|of|for|any|section|sections|seccion|secciones|category|"
    r"categories|categoria|categorias|rubriek|categorie|sean|sea|es|son|is|are|be|being|uit|bij|van|over|about|a|an|"
    r"with|status|estado|articles|article|articulos|artikelen|stories|pieces|stukken|by|por|door|tagged|marked|those|"
    r"ones|que|esten|pertenezcan|behoren|tot|were|was|"
    r"use|uses|using|include|includes|including|have|having|contain|contains|belong|belongs|come|comes|live|lives|speak|"
    r"to|hablan|hablen|vienen|vengan|tienen|tengan|komen|hebben|gebruiken|handled|written|called|named))*\W*$"
)
_AND_ANOTHER = re.compile(
    r"\s*(?:,|;|/|\bnor\b|\bor\b|\band\b|\by\b|\bo\b|\bu\b|\bni\b|\ben\b|\bof\b|\bnoch\b|&|\s|\bin\b|\bthe\b)+\s*"
)


def find_mentions(
    folded: Folded,
    words: list[Word],
    store: ValueStore,
    languages: frozenset[str],
    names: set[int],
    nouns: Container[str],
) -> list[Mention]:
    """Every mention of a value, overlapping ones too.

    `names` are places of words that name a table or column; `nouns` the stems of words that name tables.
    """
    quotes = quoted(folded.text)
    found: list[Mention] = []
    exact: set[int] = set()
    whole: set[int] = set()
    stems = [stem(w.text) for w in words]
    for first in range(len(words)):
        longest = min(store.longest_from(stems[first]), len(words) - first)
        for count in range(longest, 0, -1):
            entries = store.find(" ".join(stems[first : first + count]))
            if not entries:
                continue
            window = look_at(folded, words, first, count, quotes, names)
            kept = [m for e, f in entries if (m := _weigh_exact(window, e, f, languages, folded)) is not None]
            found.extend(kept)
            for mention in kept:
                if mention.score >= 0.5:
                    exact.update(range(first, first + count))
                    if mention.form.part not in ("surname", "first"):
                        whole.update(range(first, first + count))
    found.extend(_compounds(words, store, nouns))
    found.extend(_titles(folded, words, stems, store, quotes))
    found.extend(_misspelt(folded, words, store, quotes, names, exact, whole))
    found.extend(_in_source(folded, words, store, quotes, exact))
    return _negate(folded.text, found)


def _weigh_exact(
    window: Window, entry: Entry, form: Form, languages: frozenset[str], folded: Folded
) -> Mention | None:
    words = window.words
    if len(words) == 1 and (words[0].text in STOPS or len(words[0].text) < 2) and not window.is_quoted:
        original = folded.original[slice(*folded.span(window.start, window.end))]
        if original != entry.value or original.islower():
            return None
    if _is_broken(folded.text, window):
        return None
    if form.part == "word" and not (window.is_capital or window.is_quoted):
        return None  # "broken" is no "broken chair"
    score = form.score
    text = " ".join(w.text for w in words)
    if form.part == "synonym":
        if form.language and form.language not in languages:
            score *= 0.75
    elif text != form.words:
        score *= 0.93 if len(words) == 1 else 0.97
    if window.is_hyphenated and not window.is_quoted and not (window.is_capital or words[0].is_capital):
        score *= 0.6
    ordinary = all(is_ordinary(w.text) for w in words)
    kind = entry.home.kind
    if kind == "category":
        original = folded.original[slice(*folded.span(window.start, window.end))]
        is_code = original == entry.value and original.isupper() and not folded.original.isupper()
        if (
            not window.is_quoted
            and not is_code
            and (ordinary or len(text) <= 3)
            and text.isalpha()
            and not window.is_supported
        ):
            score *= 0.66 if len(text) > 3 else 0.45
    elif kind == "person" and form.part in ("surname", "first"):
        sure = window.is_named or window.is_quoted or window.is_capital
        if (ordinary or window.is_place) and not (sure and not window.is_place):
            return None
        if window.is_named and not ordinary:
            score += 0.08
        if form.part == "first" and not sure:
            score *= 0.75
    elif kind in ("title", "other") and form.part in ("whole", "segment") and not window.is_quoted:
        content = sum(w.text not in STOPS for w in words)
        original = folded.original[slice(*folded.span(window.start, window.end))]
        as_stored = original == entry.value and not original.islower() and window.start > 0 and len(words) > 1
        as_stored = as_stored or len(original) == len(folded.original.strip(" ?!."))
        if not as_stored and (content <= 1 or (ordinary and content <= 2)):
            score *= (
                0.9
                if window.is_capital
                else 0.72
                if not ordinary or (window.is_supported and entry.home.is_filter)
                else 0.45
            )
    return Mention(window.start, window.end, entry, form, min(score, 1.0))


def _is_broken(text: str, window: Window) -> bool:
    """A sentence ends inside the window."""
    return (
        len(window.words) > 1
        and bool(re.search(r"[?!;]\s|\.\s+(?=\w{4})|\n", text[window.start : window.end]))
        and len(window.words) < 4
    )


_HEADS = word_set(
    "stuk stukken artikel artikelen bericht berichten verhaal verhalen nieuws auteur auteurs schrijvers rubriek sectie "
    "categorie tickets ticket projecten project aanvragen aanvraag voorstellen voorstel klanten producten thema "
    "onderwerp pagina boeken films gesprekken gesprek incidenten incident redactie afdeling trends "
    "meldingen journalisten redacteuren"
)


def _compounds(words: list[Word], store: ValueStore, nouns: Container[str]) -> Iterable[Mention]:
    """Dutch compounds: "modestukken" mentions the category that "mode" translates."""
    for word in words:
        if len(word.text) < 8:
            continue
        for cut in range(3, len(word.text) - 3):
            if word.text[cut:] not in _HEADS and stem(word.text[cut:]) not in nouns:
                continue
            for letters in dict.fromkeys((word.text[:cut], word.text[:cut].removesuffix("s"))):
                entries = [(e, f) for e, f in store.find(stem(letters)) if e.home.kind == "category"]
                for entry, form in entries:
                    yield Mention(word.start, word.start + cut, entry, form, 0.85 * form.score)
                if entries:
                    break


def _titles(
    folded: Folded, words: list[Word], stems: list[str], store: ValueStore, quotes: list[tuple[int, int]]
) -> Iterable[Mention]:
    """Long values quoted in part, or with slips: compared only with those that share rare words."""
    spans = [(a, b) for a, b in quotes if b - a >= 6]
    if not spans and len(words) < 5:
        return
    for entry in store.containing(s for s in stems[:200] if len(s) > 3)[:12]:
        title = fold(entry.value).text
        for start, end in spans:
            quoted = folded.text[start:end].strip(" .,?!")
            similar = fuzz.ratio(quoted, title)
            within = (
                fuzz.partial_ratio(quoted, title) if len(quoted) >= 10 and len(quoted.split()) >= 2 else 0
            )
            if similar >= 85 or within >= 94:
                score = max(similar, within - 4) / 100
                yield Mention(start, end, entry, _part_form(quoted), score)
        if len(title) < 18 or len(title) > len(folded.text) + 6:
            continue
        aligned = fuzz.partial_ratio_alignment(title, folded.text, score_cutoff=88)
        if aligned is not None and aligned.dest_end - aligned.dest_start >= 0.85 * len(title):
            inside = [w for w in words if aligned.dest_start <= w.start and w.end <= aligned.dest_end + 2]
            if len(inside) >= 4:
                yield Mention(
                    inside[0].start, inside[-1].end, entry, _part_form(title), aligned.score / 100 - 0.03
                )


def _part_form(text: str) -> Form:
    return Form("", text, 0.9, "segment")


def _misspelt(
    folded: Folded,
    words: list[Word],
    store: ValueStore,
    quotes: list[tuple[int, int]],
    names: set[int],
    exact: set[int],
    whole: set[int],
) -> Iterable[Mention]:
    lookups = 0
    unknown = [w.text.isalpha() and not is_ordinary(w.text) for w in words]
    for first in range(len(words)):
        for count in (1, 2, 3, 4):
            places = range(first, first + count)
            if first + count > len(words) or lookups >= MOST_LOOKUPS:
                break
            run = words[first : first + count]
            if whole.issuperset(places) or (count == 1 and first in exact):
                continue
            if any(p in names for p in places) and count == 1:
                continue
            edges_stop = run[0].text in STOPS or run[-1].text in STOPS
            if not any(unknown[p] for p in places) or edges_stop or not _adjoin(folded.text, run):
                continue
            window = look_at(folded, words, first, count, quotes, names)
            letters = window.letters
            if not 4 <= len(letters) <= 40:
                continue
            joined = store.find_joined(letters)
            for entry, form in joined:
                if count > 1 or " " in form.words:
                    yield from _weigh_near(window, entry, form, 0)
            if joined:
                continue
            lookups += 1
            for entry, form, errors in store.find_misspelt(letters):
                yield from _weigh_near(window, entry, form, errors)


def _adjoin(text: str, run: list[Word]) -> bool:
    return all(b.start - a.end <= 2 and text[a.end : b.start].strip(" '-.") == "" for a, b in pairwise(run))


def _weigh_near(window: Window, entry: Entry, form: Form, errors: int) -> Iterable[Mention]:
    """A joined, split or misspelt form: people's names need a sign that a name is meant."""
    words, kind = window.words, entry.home.kind
    if form.part in ("segment", "word") or (form.part == "synonym" and errors and len(form.joined) < 6):
        return
    letters = window.letters
    if (
        errors > 1
        and kind == "category"
        and (letters.startswith(form.joined) or form.joined.startswith(letters))
    ):
        return  # a derived word ("photographer"), not a slip
    pieces = form.words.split()
    if len(words) == 1 and errors and kind == "person" and form.part in ("surname", "first"):
        sure = window.is_named or window.is_capital or window.is_quoted
        if window.is_place or (not sure and (errors > 1 or len(form.joined) < 7)):
            return
    if errors and len(words) > 1:
        matched = len(words) == len(pieces)
        if not matched and sum(is_ordinary(w.text) for w in words) > len(words) - 1:
            return
        if not matched and kind != "person" and errors > 1:
            return
        if matched and not _words_alike([w.text for w in words], pieces):
            return
        if (
            not matched
            and form.part in ("surname", "first")
            and (errors > 1 or not (window.is_named or window.is_capital))
        ):
            return
    if kind == "other" and errors and (len(form.joined) < 6 or (len(words) == 1 and errors > 1)):
        return
    score = form.score - 0.07 * errors - (0.04 if len(words) != len(pieces) else 0)
    if errors and kind == "category" and len(form.joined) < 6 and not window.is_supported:
        score -= 0.12
    if (
        errors
        and kind in ("title", "other")
        and len(words) == 1
        and not window.is_capital
        and not window.is_quoted
    ):
        score -= 0.2
    yield Mention(window.start, window.end, entry, form, max(score, 0.0))


def _words_alike(asked: list[str], stored: list[str]) -> bool:
    """Word by word, more than half of each must agree: two errors may not turn one short word into another."""
    return all(fuzz.ratio(a, b) >= 60 for a, b in zip(asked, stored, strict=True))


_CODE = re.compile(r"(?<![\w-])(?=[\w.-]*[a-z])(?=[\w.-]*[\d_-])[a-z0-9][\w-]*(?:\.\w+)*\w(?![\w-])")
"""A code or a technical name: letters with digits, hyphens or underscores."""


def _in_source(
    folded: Folded, words: list[Word], store: ValueStore, quotes: list[tuple[int, int]], exact: set[int]
) -> Iterable[Mention]:
    """Capitalised or quoted stretches looked up in the source, for columns that are kept only in part."""
    partial = [c for c in store.columns if c.is_partial]
    if not partial or store.matching is None:
        return
    stretches = [*quotes, *(m.span() for m in _CODE.finditer(folded.text))]
    run: list[Word] = []
    for place, word in enumerate([*words, None]):
        if (
            word is not None
            and word.is_capital
            and place not in exact
            and (place > 0 or not is_ordinary(word.text))
        ):
            run.append(word)
            continue
        if run:
            stretches.append((run[0].start, run[-1].end))
        run = []
    for start, end in stretches[:_MOST_CAPITALS]:
        text = folded.original[slice(*folded.span(start, end))].strip()
        asked = word_texts(text)
        if len("".join(asked)) < 3:
            continue
        for column in partial:
            for value in store.matching(column.table, column.column, text, 20):
                if not isinstance(value, str):
                    continue
                same = word_texts(value) == asked
                person = column.kind == "person" and any(
                    set(asked) <= set(word_texts(p)) for p in split_people(value)
                )
                if same or person:
                    form = Form("", " ".join(asked), 1.0 if same else 0.85, "whole" if same else "surname")
                    yield Mention(start, end, Entry(column, value, 1), form, form.score)


def is_negated(text: str, start: int) -> bool:
    """Does "not", "except", "zonder" or the like stand before a place in folded text?"""
    return bool(_NOT.search(text[max(0, start - 80) : start]))


def _negate(text: str, found: list[Mention]) -> list[Mention]:
    """Marks mentions after "not", "except", "zonder" and the like, and those listed on after one of them."""
    spans = sorted({(m.start, m.end) for m in found})
    negated: set[int] = set()
    ends: list[int] = []
    for start, end in spans:
        continued = any(
            e <= start
            and _AND_ANOTHER.fullmatch(text[e:start])
            and not re.search(r"\bbut\b|\bpero\b|\bmaar\b", text[e:start])
            for e in ends
        )
        if continued or is_negated(text, start):
            negated.add(start)
            ends.append(end)
    return [
        Mention(m.start, m.end, m.entry, m.form, m.score, True) if m.start in negated else m for m in found
    ]
