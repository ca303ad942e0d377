"""Which language a text is written in, told by its commonest words.

Enough to choose between an English encoder and a multilingual one. Leaves out: languages without spaces
between words (told by their letters instead) and dialects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = {
    "en": "the of and to in is that for it with was on are be this have from or by not but what which who "
    "how when where why do does did can about tell me any there their they you your we our all has "
    "had were an as at if will would than then into over after before show find give list some most "
    "many much more less under between per us them his her its only also just so out up now very "
    "been being other such no yes hello thanks please",
    "es": "el la los las de del que y en un una es por con para se su sus al lo como más pero qué cuáles "
    "cuál quién cómo cuándo dónde cuántos cuántas sobre hay este esta estos fue ha han son era entre "
    "desde hasta me dime muestra tienes no si también muy sin algún alguna algo ese esa cada año "
    "hola gracias buenas mayor menor después antes hacia según otros otras todos todas cuánto cuánta "
    "haber había ser tiene tienen unos unas nos mi tu te le les mucho menos tras durante quiero "
    "puedes busca lista resume resúmeme",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als maar bij wat welke wie "
    "hoe wanneer waar waarom hebben heeft over uit naar door dan nog wel deze dit die je jullie ik "
    "we wij ons werd worden wordt geen meer kan kun zoek geef toon laat iets alle tussen vanaf tot "
    "of hoi hallo alles hoeveel welk gaven rond onder mij haar hun ze hij zij gaat gaan had kunnen "
    "moet zou zullen vat samen iemand zoals want toen sinds tijdens per eens even graag lijst staat "
    "staan meeste minste",
    "de": "der die das und ist nicht von zu den mit sich des auf für im dem ein eine als auch es an werden "
    "aus er hat dass sie nach wird bei welche was wie wer wo über gibt einen zum zur sind oder wir "
    "ich mehr weniger vor alle haben wurde wurden kann",
    "fr": "le la les des et est une un du que qui dans pour pas sur au ce il elle avec par plus sont aux "
    "ne se quels quelles quel quelle comment où quand cette ces mais ou vous nous je y a été être "
    "combien ont leur leurs tous toutes",
    "pt": "o a os as de do da dos das que e em um uma é por com para se não mais como mas ao quais qual "
    "quem sobre são foi ou pelo pela seu sua há também isso você nos na no quantos quantas nas",
    "it": "il lo la gli le di del della dei che e è in un una per con non si come più ma al dalla quali "
    "quale chi su sono nel nella anche questo questa delle ha i quanti quante dal sul",
}
_TELLING = {
    "en": "january february march april june july august october december average total number longest "
    "shortest first last pieces stories written",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "publicado publicados media suma importe títulos textos palabras total primer primera último "
    "última artículos",
    "nl": "aantal gemiddeld gemiddelde januari februari maart mei juni juli augustus oktober eerste tweede "
    "laatste stukken artikel artikelen woorden",
    "de": "artikel januar februar märz mai juni juli oktober dezember",
    "fr": "janvier février mars avril juin juillet août septembre octobre novembre décembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio settembre ottobre articoli",
}
"""Words that tell the language, and may also be what a question is about."""
_PROFILES = {
    language: frozenset(f"{words} {_TELLING[language]}".split()) for language, words in _WORDS.items()
}
STOP_WORDS = frozenset(f"{_WORDS['en']} {_WORDS['es']} {_WORDS['nl']}".split())
"""Words that say nothing of the topic, in the languages that labels are written in."""
_SHARED = {
    word: sum(word in words for words in _PROFILES.values()) for words in _PROFILES.values() for word in words
}
_VOTES = {
    word: tuple((language, 1 / count) for language, words in _PROFILES.items() if word in words)
    for word, count in _SHARED.items()
}
"""The languages that a word may be of, and its vote for each."""
_MARKS = {
    "en": re.compile(r"tion\b|ness\b|'s\b|\bth|wh|ght\b|ould\b"),
    "es": re.compile(r"[ñ¿¡]|ción\b|ciones\b|dad\b|[áéíóú]"),
    "nl": re.compile(r"ij|aa|sch|heid\b|[aeiou]{2}l?en\b|tie\b"),
    "de": re.compile(r"[äöüß]|ung\b|keit\b|sch"),
    "fr": re.compile(r"[èêçâîôû]|\b[ldqcsn]'|eux\b|eau"),
    "pt": re.compile(r"[ãõ]|ção\b|ções\b|nh|lh"),
    "it": re.compile(r"zione\b|zioni\b|\bdell|gli|[àèìòù]\b"),
}
"""Letters and endings that one of these languages has more than the others."""
_ANY_MARK = re.compile("|".join(pattern.pattern for pattern in _MARKS.values()))
_MARK_VOTE = 0.3
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)


def detect(text: str, limit: int = 2000) -> str | None:
    """ISO 639-1 code of the text's language, judged by its first `limit` characters; None when unsure.

    Foreign letters decide first; otherwise each common word votes for its languages, less when many share it.
    """
    head = text[:limit]
    if not head.isascii():
        letters = sum(map(str.isalpha, head)) or 1
        for language, pattern in _LETTERS:
            if len(pattern.findall(head)) > 0.2 * letters:
                return language
    votes = dict.fromkeys(_PROFILES, 0.0)
    marks = dict.fromkeys(_MARKS, 0)
    for signs in filter(None, map(_SIGNS.__getitem__, head.casefold().split())):
        spoken, marked = signs
        for language, vote in spoken:
            votes[language] += vote
        for language, count in marked:
            marks[language] += count
    for language, count in marks.items():
        votes[language] += _MARK_VOTE * count
    best, second = sorted(votes.values(), reverse=True)[:2]
    if best < 0.5 or best < 1.2 * second:
        return None
    return max(votes, key=lambda language: votes[language])


_Signs = tuple[tuple[tuple[str, float], ...], tuple[tuple[str, int], ...]]


class _Remembered(dict[str, _Signs | None]):
    """What stretches without spaces say: votes of their words, in order, and how many marks of each language; None
    for nothing. Commonly asked for again, so it is kept."""

    def __missing__(self, stretch: str) -> _Signs | None:
        spoken = [
            vote
            for word in ([stretch] if stretch.isalpha() else _WORD.findall(stretch))
            if word in _VOTES
            for vote in _VOTES[word]
        ]
        marked: tuple[tuple[str, int], ...] = ()
        if _ANY_MARK.search(stretch):
            marks = [(language, len(pattern.findall(stretch))) for language, pattern in _MARKS.items()]
            marked = tuple((language, count) for language, count in marks if count)
        found = (tuple(spoken), marked) if spoken or marked else None
        if len(self) >= _KEPT:
            self.clear()
        self[stretch] = found
        return found


_KEPT = 1 << 16
_SIGNS = _Remembered()


def majority(languages: Iterable[str | None], share: float = 0.8) -> str | None:
    """The language of at least `share` of the known ones; None when they are mixed or all unknown."""
    counts: dict[str, int] = {}
    for language in languages:
        if language is not None:
            counts[language] = counts.get(language, 0) + 1
    if not counts:
        return None
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= share * sum(counts.values()) else None
