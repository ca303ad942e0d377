"""SQLite's SQL in DuckDB's words, where the meaning is certain."""
