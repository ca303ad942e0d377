"""Which arguments of DuckDB's functions are dates, text or numbers: data for the repairs in dialect.py."""

from __future__ import annotations

from sqlrag_dspy.sql.words import words

DATE_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        words(
            """
            year month day hour minute second quarter week dayofweek weekday dayofyear dayname monthname
            last_day epoch isodow weekofyear yearweek decade century isoyear dayofmonth julian date_add
            days_in_month epoch_ms
            """
        ),
        (0,),
    ),
    **dict.fromkeys(["date_trunc", "datetrunc", "date_part", "datepart", "time_bucket"], (1,)),
    **dict.fromkeys(["date_diff", "datediff", "date_sub", "datesub"], (1, 2)),
    "age": (0, 1),
}

TEXT_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        words(
            """
            lower upper ltrim rtrim length strlen substr left right reverse ucase lcase split_part
            regexp_extract regexp_replace regexp_matches regexp_full_match strip_accents lpad rpad md5 len
            char_length string_split str_split
            """
        ),
        (0,),
    ),
    **dict.fromkeys(
        words(
            """
        instr strpos contains starts_with ends_with prefix suffix levenshtein
        """
        ),
        (0, 1),
    ),
    "replace": (0, 1, 2),
}

NUMBER_ARGUMENTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        words(
            """
        abs round sqrt ln log ceil ceiling floor median stddev variance exp
        """
        ),
        (0,),
    ),
    "pow": (0, 1),
    "power": (0, 1),
}

TEXT_SLICES: dict[tuple[str, str], str] = {
    ("1", "4"): "%Y",
    ("6", "2"): "%m",
    ("9", "2"): "%d",
    ("1", "7"): "%Y-%m",
    ("1", "10"): "%Y-%m-%d",
}
"""substr(date, start, length) over ISO text, as the format that gives the same from any other storage."""
