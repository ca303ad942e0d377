"""Small seeded databases for the linker's tests: grants with day-first dates, films with years as numbers."""

from __future__ import annotations

import sqlite3

PARAGRAPH = "A long summary of what is planned, why it matters and who will take part in the work. " * 4


def grants() -> sqlite3.Connection:
    """Projects with DD/MM/YYYY dates, budgets, statuses and a table of organisations."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(
        """
        CREATE TABLE organisations (id INTEGER PRIMARY KEY, name TEXT, country TEXT, staff_count INTEGER);
        CREATE TABLE projects (
            id INTEGER PRIMARY KEY, title TEXT, org_id INTEGER REFERENCES organisations (id), budget_eur INTEGER,
            status TEXT, theme TEXT, submitted_on TEXT, decided_on TEXT, leadName TEXT, panel_score REAL,
            priority TEXT, summary TEXT);
        """
    )
    organisations = [
        "Häagen-Dazs Foundation",
        "Northern Light",
        "Instituto del Mar",
        "Waddenfonds",
        "Solar Works",
        "Bridge",
    ]
    countries = ["Netherlands", "Spain", "Spain", "Netherlands", "Germany", "Ireland"]
    connection.executemany(
        "INSERT INTO organisations VALUES (?, ?, ?, ?)",
        [(n, o, c, 10 * n) for n, (o, c) in enumerate(zip(organisations, countries, strict=True), 1)],
    )
    leads = [
        "Maarten van Dijk",
        "Siobhán Rafferty",
        "Inés Quiroga",
        "Jonas Wielandt",
        "Aino Leppäkorpi",
        "Nikos Velissaris",
    ]
    leads += ["Teresa Falcão", "Ruggero Bassani"]
    statuses, themes = (
        ["approved", "rejected", "pending", "withdrawn"],
        ["health", "energy", "water", "education"],
    )
    titles = ["Salt Bodies", "Wind Farms for Small Islands", "The Quiet Classroom", "Rivers without Plastic"]
    rows = []
    for n in range(1, 61):
        title = f"{titles[n % 4]} {n}" if n > 4 else titles[n - 1]
        submitted, decided = (f"{n % 28 + 1:02d}/{n % 12 + 1:02d}/{y + n % 5}" for y in (2018, 2019))
        rows.append((
            n, title, n % 6 + 1, 10_000 * n, statuses[n % 4], themes[n % 4], submitted, decided, leads[n % 8],
            5 + n % 5 / 2, ["high", "medium", "low"][n % 3], f"{PARAGRAPH} {n}",
        ))  # fmt: skip
    connection.executemany(f"INSERT INTO projects VALUES ({', '.join('?' * 12)})", rows)
    return connection


def films() -> sqlite3.Connection:
    """Films whose year is a whole number, in camelCase and spaced columns; no dates at all."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(
        """
        CREATE TABLE films (
            filmId INTEGER PRIMARY KEY, title TEXT, year INTEGER, genre TEXT, "director name" TEXT, runtimeMinutes
            INTEGER, rating REAL, language TEXT, boxOfficeUsd INTEGER, plot TEXT);
        """
    )
    titles = ["Parasite", "The Long Harbour", "Up", "Night Train to Lisbon", "El camino", "De stilte"]
    directors = [
        "Ana Torrent",
        "Bong Joon-ho",
        "Greta Solvang",
        "Pieter de Boer",
        "Luis Ortega",
        "Mary O'Neil",
        "Kofi Brandreth",
    ]
    genres, languages = ["drama", "comedy", "horror", "documentary"], ["en", "es", "nl", "fr"]
    rows = [
        (
            n, titles[n - 1] if n <= 6 else f"Untitled Sequel Number {n}", 1960 + n, genres[n % 4], directors[n % 7],
            80 + n, 5 + n % 9 / 2, languages[n % 4], 100_000 * n, f"{PARAGRAPH} {n}",
        )
        for n in range(1, 60)
    ]  # fmt: skip
    connection.executemany(f"INSERT INTO films VALUES ({', '.join('?' * 10)})", rows)
    return connection
