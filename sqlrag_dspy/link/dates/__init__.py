"""Dates and date parts in questions: found, read as half-open intervals, and tied to columns."""
