"""What the data of each column say: type found, blanks, distinct values, range, length, date formats.

Declared types are hints only, since SQLite stores anything anywhere. One pass over the table keeps a short
prefix, the length and a hash of each value in the worker's memory; everything else is measured on that. Over
SAMPLE rows a fixed random sample decides the types, and `whole` asks the table itself for the rest; distinct
counts are then estimates. Leaves out which columns are keys, filters or searched texts: see `choose`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlrag_dspy import declared
from sqlrag_dspy.source import counting, dates, grouped, quoting, sampling
from sqlrag_dspy.source.counting import PREFIX, Counts
from sqlrag_dspy.source.introspect import RawColumn, RawTable
from sqlrag_dspy.source.measured import Measured
from sqlrag_dspy.source.pool import Engine
from sqlrag_dspy.source.whole import refine
from sqlrag_dspy.types import Found, Profile

SAMPLE = 100_000
SAMPLE_CELLS = 4_000_000
"""Values kept in memory at most: a very wide table is sampled by fewer rows."""
FIT = 0.95
"""Share of the values that must fit a number type."""
DATE_FIT = 0.9
PROBE = 1000
"""Distinct values whose shape is looked at before dates are tried on all."""
MOST_VALUES = 200
"""Distinct values that a categorical column may have."""
PROSE_LENGTH, PROSE_WORDS = 100, 12
"""Mean characters and words from which a text is prose: reviews have 149 and 24, titles 66 and 11."""


def measure(engine: Engine, table: RawTable) -> tuple[int, list[Measured]]:
    """The number of rows, and every column measured. Raises QueryFailed when the table cannot be read."""
    rows = int(engine.trusted(f"SELECT count(*) FROM {table.relation}")[0][0])
    most = min(SAMPLE, SAMPLE_CELLS // max(len(table.columns), 1))
    share = most / rows if rows > most else 1.0
    try:
        counts = sampling.counted(engine, table, rows, most)
        native = engine.place.kind == "duckdb"
        measured = []
        for place, (column, own) in enumerate(zip(table.columns, counts, strict=True)):
            done = _native(engine, column, own, place, share) if native else None
            measured.append(done or _text(engine, table, column, own, place, share, native))
        return rows, refine(engine, table, measured, rows, MOST_VALUES) if rows > most else measured
    finally:
        engine.trusted("DROP TABLE IF EXISTS profiled")


# --- columns whose type DuckDB knows ----------------------------------------------------------------

_INTEGERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
}


def _native_found(kind: str) -> Found | None:
    if kind in _INTEGERS or kind == "UHUGEINT":
        return "integer"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        return "number"
    if kind.startswith("TIMESTAMP"):
        return "datetime"
    return {"BOOLEAN": "boolean", "DATE": "date"}.get(kind)  # type: ignore[return-value]


def _native(engine: Engine, column: RawColumn, counts: Counts, place: int, share: float) -> Measured | None:
    found = _native_found(column.type)
    if found is None:
        return None
    stored = quoting.name(column.name)
    # A zoned timestamp would print its offset and compare oddly with plain ones: it is read in UTC.
    reading = f"CAST({stored} AS TIMESTAMP)" if column.type.startswith("TIMESTAMP") else stored
    cast = {"integer": "HUGEINT", "number": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE"}.get(
        found, "TIMESTAMP"
    )
    expression = f"TRY_CAST(t{place} AS {cast})"
    profile = _numeric_profile(engine, found, counts, place, expression, share)
    return Measured(column, profile, reading, (), counting.is_unique(counts), 1.0, counts.max_length)


def _numeric_profile(
    engine: Engine, found: Found, counts: Counts, place: int, expression: str, share: float
) -> Profile:
    """The profile of numbers, booleans and native dates; few distinct integers are listed as values."""
    if counts.filled == 0:
        return Profile("empty", 1.0 if counts.rows else 0.0)
    values = counting.values(engine, f"t{place}", expression, MOST_VALUES + 1)
    low, high, fitting = counting.span(engine, expression)
    few = len(values) <= 50 and len(values) * 5 <= counts.filled
    is_listed = found == "boolean" or (found == "integer" and few)
    return Profile(
        found,
        counts.null_share,
        min(counting.scaled(counts, share), counts.filled if share == 1.0 else 10**18),
        counts.present - fitting,
        tuple(values) if is_listed else (),
        () if is_listed else tuple(value for value, _ in values[:5]),
        low,
        high,
        round(counts.mean_length, 1),
    )


# --- columns read as text ---------------------------------------------------------------------------


def _text(
    engine: Engine,
    table: RawTable,
    column: RawColumn,
    counts: Counts,
    place: int,
    share: float,
    native: bool,
) -> Measured:
    stored, t = quoting.name(column.name), f"t{place}"
    place_name = f"{table.name}.{column.name}"
    family = "text" if native and column.type != "BLOB" else declared.family(column.type)
    as_text = f"CAST({stored} AS VARCHAR)" if native else stored
    is_binary = family == "blob" and counts.bad * 2 >= max(counts.present, 1)
    if native and column.type == "BLOB":
        reading = f"COALESCE(TRY(decode({stored})), lower(hex({stored})))"
    else:
        legible = quoting.clean if counts.bad else quoting.guarded
        reading = quoting.clean_or_hex(as_text) if is_binary else legible(as_text)
    if column.is_nocase:
        reading = f"({reading}) COLLATE NOCASE"
    warnings: list[str] = []
    if counts.bad and family != "blob":
        where = _where_bad(engine, table, place)
        warnings.append(
            f"{place_name} holds bytes that are not UTF-8 in {counts.bad} row(s){where}; they read as U+FFFD"
        )
    unique = counting.is_unique(counts)
    common = (unique, counts.words, counts.max_length)
    if counts.filled == 0:
        reading = _empty_reading(column.type, stored, reading) if not native else reading
        if counts.blank and family in ("number", "bool"):
            warnings.append(_misfit_warning(place_name, counts.blank))
        return Measured(
            column, Profile("empty", 1.0 if counts.rows else 0.0), reading, tuple(warnings), *common
        )
    if not native and not is_binary:
        found, style, doubt = _number_found(column, family, counts), None, ""
        if counts.compact_dates < FIT * counts.filled:
            style, doubt = grouped.style_of(engine, column, counts, place, FIT)
        if style is not None:
            found = "number"
            warnings.append(
                f"{place_name} writes numbers such as {grouped.example(engine, place, style)!r}; they read as numbers"
            )
        if found is not None:
            of = _as if style is None else lambda _, text: style.value(quoting.strict(text))
            profile = _numeric_profile(engine, found, counts, place, of(found, t), share)
            if profile.misfits:
                warnings.append(_misfit_warning(place_name, profile.misfits))
            return Measured(column, profile, of(found, stored), tuple(warnings), *common)
        if family == "date":
            dated = _declared_date(engine, column, counts, place, place_name, share)
            if dated is not None:
                profile, iso_reading, more = dated
                reading = iso_reading.replace("@", reading) if iso_reading else reading
                return Measured(column, profile, reading, (*warnings, *more), *common)
    if _may_be_dates(counts, family):
        dated_profile = _dated(engine, counts, place, t, share)
        if dated_profile is not None:
            warnings += _date_warnings(engine, t, place_name, dated_profile)
            return Measured(column, dated_profile, reading, tuple(warnings), *common)
    if family == "number":
        odd = f"{place_name} is declared {column.type} and reads as text: {grouped.example(engine, place, None)!r} "
        warnings.append(odd + (doubt or "is no number") + "; CAST it in SQL, or mend the values in a view")
    profile = _text_profile(engine, counts, place, share, is_binary)
    return Measured(column, profile, reading, tuple(warnings), *common)


def _as(found: Found, expression: str) -> str:
    """SQL: a text as an integer, a number or a boolean, NULL where it is none."""
    if found == "number":
        return quoting.number(expression)
    return f"TRY_CAST({expression} AS {'BIGINT' if found == 'integer' else 'BOOLEAN'})"


def _misfit_warning(place_name: str, misfits: int) -> str:
    return f"{place_name} holds {misfits} value(s) that do not fit its type; they read as NULL"


def _where_bad(engine: Engine, table: RawTable, place: int) -> str:
    if table.rowid != "rowid":
        return ""
    rows = engine.trusted(f"SELECT r FROM profiled WHERE b{place} ORDER BY r LIMIT 3")
    return " (rowid " + ", ".join(str(row[0]) for row in rows) + (", …" if len(rows) == 3 else "") + ")"


def _empty_reading(type_declared: str, stored: str, text: str) -> str:
    """SQL: a column without values, as its declared type has it."""
    kind = declared.kind_when_empty(type_declared)
    if kind in ("date", "timestamp"):
        return f"TRY_CAST({quoting.strict(stored)} AS {kind.upper()})"
    if kind in ("integer", "number", "boolean"):
        return _as(kind, stored)
    return text


def _number_found(column: RawColumn, family: str, counts: Counts) -> Found | None:
    """Integer, number or boolean when the values fit; None for text and dates.

    A column declared as text is a number only when nothing is lost by it: every value fits and is finite, none has
    leading zeros (codes), none has two spellings (3.1 and 3.10 are versions), and none is a date without dashes.
    """
    filled = counts.filled
    said = filled - counts.placeholders
    if family == "bool" and counts.bits >= FIT * filled:
        return "boolean"
    if counts.compact_dates >= FIT * filled and (family == "date" or filled >= 3):
        return None
    if family == "number":
        fits = counts.numbers >= FIT * said > 0
    elif family in ("any", "bool"):
        fits = counts.numbers >= FIT * said > 0 and counts.padded == 0 and counts.infinite == 0
    elif family == "text":
        fits = (
            counts.numbers == filled
            and counts.padded == 0
            and counts.infinite == 0
            and counts.max_length <= 15
            and counts.distinct_numbers == counts.distinct
        )
    else:
        return None
    if not fits:
        return None
    return "integer" if counts.integers == counts.numbers else "number"


# --- dates ------------------------------------------------------------------------------------------


def _may_be_dates(counts: Counts, family: str) -> bool:
    if family == "number":
        return counts.compact_dates >= FIT * counts.filled
    return (
        5 <= counts.mean_length <= 36
        and counts.digits >= DATE_FIT * (counts.filled - counts.placeholders) > 0
    )


def _dated(engine: Engine, counts: Counts, place: int, expression: str, share: float) -> Profile | None:
    """The profile of texts that are dates in known formats, or None when too few parse."""
    some = engine.trusted(
        f"SELECT v FROM (SELECT DISTINCT {expression} AS v FROM profiled WHERE t{place} IS NOT NULL) "
        f"WHERE trim(v) <> '' USING SAMPLE reservoir({PROBE} ROWS) REPEATABLE (7)"
    )
    shapes, likely = dates.candidates([row[0] for row in some])
    if not shapes or likely < 0.7 * len(some):
        return None
    masks = engine.trusted(
        f"SELECT {dates.mask('v', shapes)} AS m, sum(n) FROM (SELECT {expression} AS v, count(*) AS n FROM profiled "
        f"WHERE t{place} IS NOT NULL GROUP BY 1) GROUP BY 1"
    )
    formats, read = dates.cover([(bits, int(n)) for bits, n in masks], shapes)
    if read < DATE_FIT * (counts.filled - counts.placeholders):
        return None
    stamp = dates.any_parsed(expression, formats)
    timed = any(dates.has_time(form) for form in formats)
    low, high, _ = counting.span(engine, stamp if timed else f"CAST({stamp} AS DATE)")
    samples = tuple(value for value, _ in counting.values(engine, f"t{place}", expression, 5))
    found: Found = "datetime" if timed else "date"
    return Profile(
        found,
        counts.null_share,
        counting.scaled(counts, share),
        counts.filled - read,
        (),
        samples,
        low,
        high,
        round(counts.mean_length, 1),
        False,
        formats,
    )


def _date_warnings(engine: Engine, expression: str, place_name: str, profile: Profile) -> list[str]:
    """That dates are written in several ways, or in one that does not tell day from month."""
    written = dates.days(profile.date_formats)
    if len(written) > 1:
        return [f"{place_name} writes dates in several ways ({'; '.join(written)}); all read as dates"]
    form = profile.date_formats[0]
    other = dates.turned(form)
    if other is None:
        return []
    either = counting.fitting(engine, dates.parsed(expression, other))
    if either < counting.fitting(engine, dates.parsed(expression, form)):
        return []
    return [f"{place_name} does not tell days from months; its dates are read as {form}"]


def _declared_date(
    engine: Engine, column: RawColumn, counts: Counts, place: int, place_name: str, share: float
) -> tuple[Profile, str, list[str]] | None:
    """A DATE or TIMESTAMP column of SQLite: read as ISO text when any value is a number. None: not dates."""
    t = f"t{place}"
    rows = engine.trusted(
        f"SELECT {dates.encoding(t)} AS e, count(*) FROM profiled WHERE {t} IS NOT NULL GROUP BY 1"
    )
    kinds = {str(kind): int(n) for kind, n in rows if kind != "blank"}
    if set(kinds) == {"year"}:
        kind = "BIGINT"
        profile = _numeric_profile(engine, "integer", counts, place, f"TRY_CAST({t} AS {kind})", share)
        return profile, f"TRY_CAST({quoting.name(column.name)} AS {kind})", []
    if kinds.keys() <= {"text"}:
        return None
    profile_or_none = _dated(engine, counts, place, f"({dates.iso(t)})", share)
    if profile_or_none is None:
        return None
    # The same expression as was measured, now over the stored column.
    reading = dates.iso(quoting.strict(quoting.name(column.name)))
    warnings = []
    if len(kinds) > 1:
        mixture = ", ".join(f"{kind} ({n})" for kind, n in sorted(kinds.items(), key=lambda item: -item[1]))
        warnings.append(f"{place_name} mixes date encodings: {mixture}; all read as ISO dates")
    return profile_or_none, reading, warnings


# --- texts ------------------------------------------------------------------------------------------


def _text_profile(engine: Engine, counts: Counts, place: int, share: float, is_binary: bool) -> Profile:
    t = f"t{place}"
    is_long = not is_binary and is_prose(counts.mean_length, counts.words, counts.max_length)
    profile = Profile(
        "text", counts.null_share, counting.scaled(counts, share), 0, mean_length=round(counts.mean_length, 1)
    )
    if is_long or is_binary or counts.max_length > PREFIX:
        samples = (
            [value for value, _ in counting.values(engine, t, f"left({t}, 80)", 3)] if not is_binary else []
        )
        return replace(profile, is_long_text=is_long, samples=tuple(samples))
    values = counting.values(engine, t, t, MOST_VALUES + 1)
    low, high, _ = counting.span(engine, f"CASE WHEN trim({t}) <> '' THEN {t} END")
    is_listed = is_categorical(len(values), counts.filled, counts.mean_length, counts.rows)
    return replace(
        profile,
        values=tuple(values) if is_listed else (),
        samples=() if is_listed else tuple(counting.shorten(value) for value, _ in values[:5]),
        minimum=counting.shorten(low),
        maximum=counting.shorten(high),
    )


def is_prose(mean_length: float, words: float, max_length: int) -> bool:
    """Whether texts are long enough to search by meaning: sentences, or a few very long ones."""
    if words >= PROSE_WORDS and mean_length >= PROSE_LENGTH:
        return True
    return max_length >= 1000 and words >= 8 and mean_length >= 60


def is_categorical(distinct: int, filled: int, mean_length: float, rows: int) -> bool:
    """Whether all values are worth listing: few, short, and not one a row (unless there are few rows)."""
    if not 0 < distinct <= MOST_VALUES or mean_length > 60:
        return False
    return distinct < filled or rows <= 50
