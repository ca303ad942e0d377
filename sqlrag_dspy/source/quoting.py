"""Names and texts quoted for this room's own SQL, and the expression that makes any stored text valid UTF-8.

Leaves out SQL from outside: that is checked elsewhere and runs as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

_TAIL = "[89AB]."
# Pairs of hexadecimal digits: every well-formed UTF-8 sequence (RFC 3629), in runs; else one stray byte.
_VALID = "|".join(
    [
        "[0-7].",
        f"(?:C[2-9A-F]|D.){_TAIL}",
        f"E0[AB].{_TAIL}",
        f"E[1-9ABCEF]{_TAIL}{_TAIL}",
        f"ED[89].{_TAIL}",
        f"F0[9AB].{_TAIL}{_TAIL}",
        f"F[123]{_TAIL}{_TAIL}{_TAIL}",
        f"F48.{_TAIL}{_TAIL}",
    ]
)
_RUNS = f"(?:{_VALID})+|.."


def name(text: str) -> str:
    """An identifier, quoted."""
    return '"' + text.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def strict(expression: str) -> str:
    """The text when its bytes are UTF-8, else NULL. Costs about nothing beside reading the rows."""
    return f"TRY(decode(encode({expression})))"


def mend(blob: str) -> str:
    """A blob as text, with each byte that is not UTF-8 replaced by U+FFFD."""
    runs = f"regexp_extract_all(hex({blob}), {text(_RUNS)})"
    parts = (
        f"list_transform({runs}, lambda part: "
        "CASE WHEN length(part) = 2 AND part >= '80' THEN 'EFBFBD' ELSE part END)"
    )
    return f"decode(unhex(array_to_string({parts}, '')))"


def clean(expression: str) -> str:
    """The text as stored, with each byte that is not UTF-8 replaced by U+FFFD.

    DuckDB's text functions crash or hang on such bytes, and the SQLite scanner lets them through, so every
    text column is read through this.
    """
    return f"COALESCE({strict(expression)}, {mend(f'encode({expression})')})"


def guarded(expression: str) -> str:
    """The text as stored, for a column in which every byte was UTF-8 when it was profiled.

    A text that has been spoilt since reads as U+FFFD alone, until the changed source is profiled anew. `clean`
    would mend it, but binding its expression costs more than all the rest of a small query.
    """
    return f"CASE WHEN {expression} IS NOT NULL THEN COALESCE({strict(expression)}, chr(65533)) END"


def number(expression: str) -> str:
    """The text as a finite DOUBLE, else NULL: a NaN or an infinity would spoil every sum it gets into."""
    value = f"TRY_CAST({expression} AS DOUBLE)"
    return f"CASE WHEN isfinite({value}) THEN {value} END"


def clean_or_hex(expression: str) -> str:
    """The text when its bytes are UTF-8, else its bytes in hexadecimal: for columns of binary values."""
    return f"COALESCE({strict(expression)}, lower(hex(encode({expression}))))"


def digest(expressions: Sequence[str]) -> str:
    """A digest of the values, 32 hexadecimal digits; NULL, the empty text and where one value ends all count."""
    texts = [f"CAST({expression} AS VARCHAR)" for expression in expressions]
    parts = ", ".join(f"COALESCE(length({part}) || ':' || {part}, '-')" for part in texts)
    return f"md5(concat({parts}))"
