"""Tables that are copies of another: archives, staging tables, last year's, renamed ones.

A copy holds nearly all columns of its original. Which of the tables that look alike is the original is told by
its name (no "archive", "old" or "2019" in it), by the references to and from it, and by its rows. Leaves out
comparing the rows themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from sqlrag_dspy.link.names import name_words
from sqlrag_dspy.link.text import stem, word_set
from sqlrag_dspy.types import Catalog

ENOUGH = 0.9
"""Share of the original's columns that a copy has."""
LEAST = 2
"""Columns of a table that may have copies."""
_MARKS = word_set(
    "archive archived arc arch staging stage stg old backup bak bkp copy tmp temp temporary history hist historic "
    "historical legacy deprecated obsolete test import imported export snapshot snap audit deleted raw landing "
    "mirror shadow version rpt archivo historico respaldo copia antiguo archief oud kopie"
)
_ASKED = {
    "archive": "archive archived archives archivo archivado archivada archivados archivadas archief gearchiveerd "
    "gearchiveerde",
    "staging": "staging staged stage",
    "old": "old antiguo antigua antiguos antiguas viejo vieja oud oude",
    "backup": "backup respaldo reservekopie",
    "history": "history historic historical historico historica historial historie historisch historische",
    "deleted": "deleted borrado borrada borrados borradas eliminado verwijderd verwijderde",
    "imported": "import imported importado importada importados geimporteerd geimporteerde",
    "audit": "audit audited auditoria",
    "test": "test",
    "snapshot": "snapshot",
    "legacy": "legacy",
}
_MEANT = {stem(word): frozenset(map(stem, listed.split())) for word, listed in _ASKED.items()}


def copies(catalog: Catalog) -> dict[str, str]:
    """Each copy's name to that of its original; tables that are no copies are left out."""
    columns = {t.name: frozenset(c.name.casefold() for c in t.columns) for t in catalog.tables}
    holders: dict[str, set[str]] = defaultdict(set)
    for name, held in columns.items():
        for column in held:
            holders[column].add(name)
    rank = _ranks(catalog)
    found: dict[str, str] = {}
    for table in sorted(catalog.tables, key=lambda t: rank[t.name], reverse=True):
        own = columns[table.name]
        if table.name in found or len(own) < LEAST:
            continue
        shared = Counter(name for column in own for name in holders[column])
        for other, count in shared.items():
            alike = count >= ENOUGH * len(own) and rank[other] < rank[table.name]
            if alike and other not in found and (_is_named_after(other, table.name) or len(own) > 3):
                found[other] = table.name
    return found


def _ranks(catalog: Catalog) -> Mapping[str, tuple[object, ...]]:
    """What makes a table rather the original than a copy, the greater the rather."""
    referred: Counter[str] = Counter()
    for table in catalog.tables:
        for key in table.foreign_keys:
            referred[table.name] += key.is_declared
            referred[key.table] += key.is_declared and key.table != table.name
    return {
        t.name: (-marks(t.name), bool(referred[t.name]), t.rows, -len(t.name), t.name) for t in catalog.tables
    }


def marks(name: str) -> int:
    """How many words of a table's name say that it is a copy; years and "v2" count."""
    return sum(w in _MARKS or w.isdigit() for w in name_words(name))


def _is_named_after(other: str, original: str) -> bool:
    return {stem(w) for w in name_words(original)} <= {stem(w) for w in name_words(other)}


def words_for(copy: str, original: str) -> frozenset[str]:
    """The stemmed words by which a question asks for the copy: what its name adds to the original's, and the like.

    A year is none of them: it is a date more often than a table.
    """
    added = {stem(w) for w in name_words(copy) if not w.isdigit()} - {stem(w) for w in name_words(original)}
    return frozenset(added).union(*(_MEANT.get(word, frozenset()) for word in added))
