"""Which words name which table or column of a catalog.

A name is split into words, its abbreviations spelt out, and found by the whole, by its head, by what it counts
("words" for word_count) and by synonyms of the glossary in three languages; adjectives ("longest") lead to the
column they measure. Leaves out stored values, and choosing between equal names of several tables: the linker does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlrag_dspy.link.glossary import load
from sqlrag_dspy.link.nearby import Nearby
from sqlrag_dspy.link.text import phrase_key, stem, word_set, word_texts
from sqlrag_dspy.types import Catalog, Column, Table


@dataclass(frozen=True)
class Named:
    """What a phrase may name: a table (column "") or a column; how well, and the concept when not by its own name."""

    table: str
    column: str
    score: float
    concept: str = ""
    end: str = ""
    """ "max" or "min" when a superlative named it."""
    language: str = ""
    """The language of the synonym that named it; empty for the name's own words."""
    is_counted: bool = False
    """Named by what the column counts ("words" for word_count): so only in the plural."""


_CAMEL = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)
_TABLE_PREFIXES = word_set("tbl dim fact fct ref vw v t stg")
_QUANTITIES = word_set("count number total quantity amount size length sum")
_NUMBERS = word_set("count number total quantity")
_LABELS = word_set("name title code type text description label value details date time day status")
_UNIT_WORDS = word_set(
    "euro dollar pound eur usd gbp cm mm km kg g m minutes hours days seconds utc percent percentage millions"
)
_LEADS = word_set("en is has es esta was are")
_TAILS = word_set("at on by from to utc in")
_MAIN_DATE_WORDS = (
    "publish",
    "creat",
    "submit",
    "open",
    "order",
    "date",
    "start",
    "receiv",
    "regist",
    "relea",
    "report",
    "sign",
    "join",
    "hire",
)
_LATE_DATE_WORDS = (
    "updat",
    "modif",
    "clos",
    "resol",
    "end",
    "delet",
    "due",
    "deadlin",
    "expir",
    "decid",
    "deci",
    "death",
    "birth",
    "born",
    "nacimiento",
    "geboorte",
)
VERB = "verb"
"""The concept of a table that is named by what is done when a row of it comes about."""
_PERCENT = word_set("percent percentage")
_NOT_NAMES = word_set(
    "show me all made case like number people time place when hour hours second part rate run ran free post posts "
    "back state thing things work works use used find note notes case cases no data end start head make record los"
)


def name_words(name: str) -> list[str]:
    """The folded words of a column or table name, abbreviations spelt out.

    >>> name_words("custOrderQty"), name_words("Post History Count")
    (['customer', 'order', 'quantity'], ['post', 'history', 'count'])
    """
    abbreviations = load().abbreviations
    found: list[str] = []
    for piece in word_texts(_CAMEL.sub(" ", name)):
        found.extend(abbreviations[piece].split() if piece in abbreviations else [piece])
    return found


class Names:
    """All phrases that name a table or column of one catalog, by stemmed key."""

    def __init__(self, catalog: Catalog, synonyms: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._catalog = catalog
        self._found: dict[str, dict[tuple[str, str], Named]] = defaultdict(dict)
        table_words = {stem(w) for t in catalog.tables for w in name_words(t.name)}
        for table in catalog.tables:
            self._add_table(table)
            for column in table.columns:
                self._add_column(table, column, table_words)
        for table_name, by_column in synonyms.items():
            for column_name, phrases in by_column.items():
                for phrase in phrases:
                    self._add(phrase_key(word_texts(phrase)), Named(table_name, column_name, 0.97, "synonym"))
        self._nearby = Nearby(
            k for k, found in self._found.items() if max(n.score for n in found.values()) >= 0.6
        )
        self.table_nouns = frozenset(
            k
            for k, found in self._found.items()
            if any(not n.column and n.score >= 0.6 for n in found.values())
        )
        """Stemmed words that name a table."""
        self._events: dict[str, list[Named]] = defaultdict(list)
        """What may be meant by the root of a verb: the dates of what it says happened."""
        for key, found in self._found.items():
            for named in found.values():
                home = catalog.table(named.table) if named.column and " " not in key else None
                held = home.column(named.column) if home is not None else None
                if held is not None and held.is_date and named.score >= 0.55 and key not in _NO_EVENTS:
                    self._events[root(key)].append(replace(named, score=named.score * 0.9))
        self.longest = max((len(k.split()) for k in self._found), default=0)

    def find(self, key: str) -> list[Named]:
        """What a stemmed phrase names, best first."""
        found = self._found.get(key)
        return sorted(found.values(), key=lambda n: -n.score) if found else []

    def find_event(self, word: str) -> list[Named]:
        """The date columns of what a verb says happened, in whatever form ("expire" for expiry_date), best first."""
        return sorted(self._events.get(root(word), ()), key=lambda n: -n.score)

    def find_misspelt(self, key: str) -> list[Named]:
        """What a stemmed word of one or two typing errors names, best first."""
        near = self._nearby.find(key)
        if not near:
            return []
        return [replace(n, score=n.score * (0.9 if near[0][1] == 1 else 0.8)) for n in self.find(near[0][0])]

    def measured_by(self, columns: Iterable[str], table: Table) -> Column | None:
        """The column of a table that measures a concept, given the names such columns go by, best first.

        One called so itself comes before one that a synonym calls so: a list price is more of a price than a cost.
        """
        for name in columns:
            if name == "*date":
                return main_date(table)
            key = phrase_key(word_texts(name))
            found = [
                (not named.concept, named.score, column)
                for named in self.find(key)
                if named.table == table.name and named.score >= 0.6
                if (column := table.column(named.column)) and (column.is_number or column.is_date)
            ]
            if found:
                return max(found, key=lambda each: each[:2])[2]
        return None

    def _add(self, key: str, named: Named) -> None:
        if not key or (" " not in key and len(key) < 2):
            return
        place = (named.table, named.column)
        old = self._found[key].get(place)
        if old is None or named.score > old.score:
            self._found[key][place] = named

    def _add_table(self, table: Table) -> None:
        parts = [w for w in name_words(table.name) if w not in _TABLE_PREFIXES] or name_words(table.name)
        phrases = {phrase_key(parts): 1.0}
        if len(parts) > 1:
            phrases.setdefault(stem(parts[-1]), 0.7)
        self._add_phrases(phrases, Named(table.name, "", 0.0), synonym_factor=0.85)
        for concept in {c for key in (*phrases, stem(parts[0])) for c in load().concepts.get(key, ())}:
            for verb in load().verbs.get(concept, ()):
                self._add(verb.key, Named(table.name, "", 0.66, VERB, language=verb.language))
        if table == main_table(self._catalog):
            self._add(stem("record"), Named(table.name, "", 0.58, "record"))
            for word in (
                "row",
                "entry",
                "item",
                "document",
                "texto",
                "registro",
                "stuk",
                "piece",
                "fila",
            ):
                self._add(stem(word), Named(table.name, "", 0.62, "record"))

    def _add_column(self, table: Table, column: Column, table_words: set[str]) -> None:
        parts = name_words(column.name)
        if not parts:
            return
        own = {stem(w) for w in name_words(table.name)}
        phrases = {phrase_key(parts): 1.0}
        if len(parts) > 2 and parts[-1] in ("2", "3") and parts[-2] in _UNIT_WORDS:  # "floor_area_m2"
            parts = parts[:-1]
        while len(parts) > 1 and (parts[-1] in _TAILS or parts[-1] in _UNIT_WORDS):
            # "what percentage of orders" asks for a share, not for a column
            if parts[-1] in _UNIT_WORDS - _PERCENT and column.is_number:
                phrases.setdefault(stem(parts[-1]), 0.8)
            parts = parts[:-1]
        phrases.setdefault(phrase_key(parts), 0.97)
        counted = ""
        rest = [p for p in parts if stem(p) not in own]
        if rest and len(rest) < len(parts) and not (len(rest) == 1 and rest[0] in _NUMBERS):
            phrases.setdefault(phrase_key(rest), 0.93)
        if len(parts) > 1 and parts[0] in _LEADS:
            parts = parts[1:]
            phrases.setdefault(phrase_key(parts), 0.9)
        if len(parts) > 1 and _is_spanish_noun(parts[0]) and not _is_spanish_noun(parts[-1]):
            phrases.setdefault(stem(parts[0]), 0.8)
        if len(parts) > 2 and parts[0] in ("number", "no") and parts[1] == "of":
            parts = [*parts[2:], "count"]
        if "per" in parts[1:]:  # "eur_per_unit" holds euros, not units
            parts = parts[: parts.index("per", 1)]
        head, modifiers = parts[-1], parts[:-1]
        if modifiers:
            is_id = head in ("id", "identifier", "key", "reference")
            in_table = any(stem(m) in table_words for m in modifiers)
            weak = is_id or head in ("name", "code", "type", "value")
            phrases.setdefault(
                stem(head), 0.45 if head in ("count", "number", "total") else 0.65 if weak else 0.8
            )
            if head in _QUANTITIES and column.is_number:
                counted = phrase_key(modifiers) if head in _NUMBERS else ""
                phrases.setdefault(phrase_key(modifiers), 0.55 if in_table else 0.85)
            elif head in _LABELS and not is_id:
                phrases.setdefault(phrase_key(modifiers), 0.5 if in_table else 0.85)
            elif is_id and not in_table and any(column.name in k.columns for k in table.foreign_keys):
                phrases.setdefault(phrase_key(modifiers), 0.93)  # "manager_id" of another employee
            elif not is_id and not in_table:
                phrases.setdefault(phrase_key(modifiers), 0.55)
        if column.is_date:
            phrases.setdefault(stem("date"), 0.7 if column == main_date(table) else 0.55)
        if column.is_number:
            self._add_money(table, column, phrases)
        self._add_phrases(phrases, Named(table.name, column.name, 0.0), synonym_factor=0.88, counted=counted)

    def _add_money(self, table: Table, column: Column, phrases: dict[str, float]) -> None:
        """Amounts of money are also named by their currency: "under 500 euros"."""
        if any(c in MONEY_CONCEPTS for key in phrases for c in load().concepts.get(key, ())):
            for _, synonym in load().synonyms(stem("money")):
                self._add(synonym.key, Named(table.name, column.name, 0.72, "money"))
        if set(name_words(column.name)) & _SUMS and set(name_words(table.name)) & _DEALS:
            for word in ("revenue", "spending", "amount"):
                for concept, synonym in load().synonyms(stem(word)):
                    if concept == word:
                        self._add(synonym.key, Named(table.name, column.name, 0.75, word))
                self._add(stem(word), Named(table.name, column.name, 0.75, word))

    def _add_phrases(
        self, phrases: Mapping[str, float], named: Named, *, synonym_factor: float, counted: str = ""
    ) -> None:
        for key, score in phrases.items():
            self._add(key, replace(named, score=score, is_counted=key == counted))
        for key, score in phrases.items():
            # a word of many senses ("nota": article, comment, grade, note) vouches less for each
            meanings = sum(c.startswith("nouns.") for c in load().concepts.get(key, ()))
            score *= 1.0 if meanings <= 2 else 0.8 if meanings == 3 else 0.6
            for concept, synonym in load().synonyms(key, kinds=("nouns",)):
                if synonym.key in _NOT_NAMES and synonym.key not in phrases:
                    continue
                if concept == "quantity" and stem("euro") in phrases:
                    continue  # an amount of money is no number of units
                weight = score * synonym_factor * (1 if synonym.language != "en" else 0.97)
                self._add(
                    synonym.key,
                    replace(
                        named,
                        score=weight,
                        concept=concept,
                        language=synonym.language,
                        is_counted=key == counted,
                    ),
                )


def _is_spanish_noun(word: str) -> bool:
    """Spanish names begin with their noun: "valor_seguro"."""
    key = stem(word)
    return any(
        s.key == key and s.language == "es"
        for name in load().concepts.get(key, ())
        if name.startswith("nouns.")
        for s in load().members[name]
    )


_SUMS = word_set("total amount sum importe bedrag totaal")
_DEALS = word_set(
    "order orders line lines sale sales invoice invoices purchase purchases payment payments pedido "
    "pedidos venta ventas factura facturas bestelling bestellingen order factuur facturen verkoop"
)
"""Tables whose rows are money coming in: what their sums are called depends on who asks."""
MONEY_CONCEPTS = frozenset(
    f"nouns.{name}"
    for name in [
        "price",
        "cost",
        "budget",
        "amount",
        "revenue",
        "profit",
        "salary",
        "fee",
        "tax",
        "balance",
        "debt",
        "money",
        "donation",
    ]
)


_ROOT_ENDINGS = re.compile(
    r"(?<=\w{4})(?:amiento|imiento|aciones|iciones|ieron|ation|acion|icion|aron|ados|adas|idos|idas|ado|ada|ido|ida|ing|"
    r"ion|an|en|ed|es|ar|er|ir|io|y|e|s|o|a)$"
)
_NO_EVENTS = word_set("dat date dag dai day fech fecha tim time tijd hora moment when")


def root(word: str) -> str:
    """What the forms of a verb and its noun share: "expires", "expired", "expiry"; four letters at least.

    >>> root("delivered"), root("delivery"), root("vendieron"), root("vendido")
    ('deliver', 'deliver', 'vend', 'vend')
    """
    word = _ROOT_ENDINGS.sub("", word)
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


def main_table(catalog: Catalog) -> Table | None:
    """The table a question is about when it names none: with long text, filters, and the most rows."""
    if not catalog.tables:
        return None
    return max(catalog.tables, key=lambda t: (bool(t.text_columns), not t.is_view, t.rows, len(t.columns)))


def main_date(table: Table) -> Column | None:
    """The date column meant when a question names none: of publication, creation or start, seldom empty."""
    dates = [c for c in table.columns if c.is_date]
    if not dates:
        return None

    def rank(column: Column) -> tuple[float, int]:
        text = " ".join(name_words(column.name))
        early = next((10 - n for n, w in enumerate(_MAIN_DATE_WORDS) if w in text), 0)
        late = any(w in text for w in _LATE_DATE_WORDS)
        return early - 12 * late - 10 * column.profile.null_share, -table.columns.index(column)

    return max(dates, key=rank)


def year_column(table: Table) -> Column | None:
    """The whole-number column that holds years, if the table has one."""
    for column in table.columns:
        low, high = column.profile.minimum, column.profile.maximum
        if not column.is_number or {"year", "jaar", "ano"}.isdisjoint(name_words(column.name)):
            continue
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and 1000 <= high <= 2999:
            return column
    return None
