"""Linkers over four databases, made once."""

from __future__ import annotations

import link_databases
import pytest
from link_catalogs import articles_connection, catalog_of, linker_of

from sqlrag_dspy.link import Linker


@pytest.fixture(scope="session")
def linkers() -> dict[str, Linker]:
    """A linker for each of four databases, by the name of its file of cases."""
    sample, projects, movies = articles_connection(), link_databases.grants(), link_databases.films()
    text_filters = {
        "articles": ["articles.authors", "articles.article_category"],
        "grants": [
            "projects.status", "projects.theme", "projects.leadName", "projects.priority", "organisations.country",
        ],
        "films": ["films.genre", "films.director name", "films.language"],
        "shop": ["orders.status"],
    }  # fmt: skip
    connections = {"articles": sample, "grants": projects, "films": movies, "shop": link_databases.shop()}
    return {name: linker_of(c, catalog_of(c, text_filters[name])) for name, c in connections.items()}


@pytest.fixture(scope="session")
def articles(linkers: dict[str, Linker]) -> Linker:
    return linkers["articles"]
