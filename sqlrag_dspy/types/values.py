"""What a database's cells and keys are once they are read."""

from __future__ import annotations

Value = str | int | float | bool | None
"""A JSON value: dates and timestamps are ISO text, decimals are floats, bytes and NaN never appear."""

Key = Value | tuple[Value, ...]
"""What identifies a row: one value, or a tuple for a composite key."""
