"""Writes sqlrag_dspy/sql/checking/functions.txt: DuckDB functions that a query from outside may call.

Taken from duckdb_functions() of the pinned DuckDB: scalar and aggregate functions that give the same result
for the same input, less those that read settings, sessions, files or the catalog, that make text or lists of
any length, or that take a lambda. Macros are added by name. Run it again when DuckDB moves a version, and read
the difference before it is committed:

    python scripts/list_functions.py && git diff sqlrag_dspy/sql/checking/functions.txt
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

TARGET = Path(__file__).resolve().parent.parent / "sqlrag_dspy" / "sql" / "checking" / "functions.txt"

LEFT_OUT = re.compile(
    r"""
    ^__ | setting | getvariable | secret | ^current_(?!date$|localtime) | schema | database | catalog | session
    | ^user$ | connection | transaction | txid | ^pg_ | ^has_ | ^inet_ | _description$ | in_search_path
    | nextval | currval | setseed | random | uuid | sleep | ^error$ | write_log | log_message | ^stats$
    | ^query | _scan | ^read_ | ^glob | ^sniff | ^parse_(dir|file|path)
    | ^json_(execute|serialize|deserialize|transform|structure)
    | ^from_json | ^icu_ | ^st_ | ^variant | ^enum_ | ^union_ | ^struct_ | ^map | ^make_type | ^get_type | cast
    | vector_type | constant_or_null | combine | finalize | create_sort_key | remap_struct | replace_type
    | ^bar$ | resize | bitstring | ^set_bit$ | ^get_bit$ | ^bit_position$ | equi_width | ^to_base$ | ^fill$ | _histogram
    | histogram | (^|_)(apply|transform|filter|reduce|aggregate|aggr)$ | unpivot | ^row$ | bytes
    | _internal | wkb | wkt | ^switch$ | ^(add|subtract|multiply|divide)$ | timetz | timestamptz$
    | reservoir | ^version$ | ^alias$ | ^approx_top_k$ | generate_subscripts | ^typeof$ | ^user | ^cross | cross_product
    """,
    re.VERBOSE,
)

MACROS = [
    "nullif",
    "split_part",
    "date_add",
    "fdiv",
    "fmod",
    "days_in_month",
    "round_even",
    "roundbankers",
    "weighted_avg",
    "wavg",
    "geomean",
    "geometric_mean",
    "list_avg",
    "list_sum",
    "list_min",
    "list_max",
    "list_count",
    "list_first",
    "list_last",
    "list_string_agg",
    "list_reverse",
    "list_append",
    "list_prepend",
    "array_append",
    "array_prepend",
    "array_to_string",
    "json_group_array",
    "json_group_object",
    "typeof",
    "ago",
]


def pure_functions() -> list[str]:
    """Names, sorted, each once."""
    rows = duckdb.connect().execute(
        """
        SELECT DISTINCT function_name FROM duckdb_functions()
        WHERE function_type IN ('scalar', 'aggregate') AND coalesce(stability, '') <> 'VOLATILE'
          AND function_name NOT IN (
            SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE')
        """
    )
    names = {name for (name,) in rows.fetchall() if re.fullmatch(r"[a-z][a-z0-9_]*", name)}
    return sorted({name for name in names if not LEFT_OUT.search(name)} | set(MACROS) | {"grouping"})


if __name__ == "__main__":
    found = pure_functions()
    TARGET.write_text("\n".join(found) + "\n", encoding="utf-8")
    print(f"{len(found)} functions written to {TARGET.name}")
