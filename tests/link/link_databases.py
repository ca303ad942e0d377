"""Small seeded databases for the linker's tests: grants with day-first dates, films with years as numbers, a shop with
what happened to its rows told by dates that may be missing."""

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


def shop() -> sqlite3.Connection:
    """Orders, staff, stores and customers, with dates that only some rows have."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(
        """
        CREATE TABLE stores (
            id INTEGER PRIMARY KEY, name TEXT, country TEXT, opened_on TEXT, closed_on TEXT, floor_area_m2 INTEGER);
        CREATE TABLE staff (
            id INTEGER PRIMARY KEY, name TEXT, store_id INTEGER REFERENCES stores (id), birth_date TEXT,
            hired_on TEXT, left_on TEXT);
        CREATE TABLE customers (
            id INTEGER PRIMARY KEY, name TEXT, billing_country TEXT, shipping_country TEXT, signed_up_on TEXT);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
            staff_id INTEGER REFERENCES staff (id), ordered_at TEXT, status TEXT, delivered_on TEXT, expiry_date TEXT);
        CREATE TABLE products (
            id INTEGER PRIMARY KEY, name TEXT, list_price_eur REAL, cost_eur REAL,
            discontinued_on TEXT, vitamin TEXT, essential TEXT);
        CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT, established INTEGER);
        """
    )
    countries = ["Spain", "Ireland", "Germany"]
    for n in range(1, 31):
        day = f"{2018 + n % 5}-{n % 12 + 1:02d}-{n % 28 + 1:02d}"
        late = f"{2020 + n % 5}-{n % 12 + 1:02d}-{n % 28 + 1:02d}" if n % 3 else None
        land = countries[n % 3]
        connection.execute(
            "INSERT INTO stores VALUES (?, ?, ?, ?, ?, ?)", (n, f"Shop{n}", land, day, late, 9 * n)
        )
        connection.execute(
            "INSERT INTO staff VALUES (?, ?, ?, ?, ?, ?)",
            (n, f"Person{n}", n, f"{1960 + n}-01-05", day, late),
        )
        connection.execute("INSERT INTO customers VALUES (?, ?, ?, ?, ?)", (n, f"Client{n}", land, land, day))
        connection.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)",
            (n, n, n if n % 2 else None, day, ["delivered", "pending"][n % 2], late, late),
        )
        connection.execute(
            "INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)",
            (n, f"Thing{n}", 5.0 + n, 2.0 + n, late, ["K", "B12"][n % 2], "yes" if n % 7 == 0 else None),
        )
        connection.execute("INSERT INTO makers VALUES (?, ?, ?)", (n, f"Maker{n}", 1900 + n))
    return connection
