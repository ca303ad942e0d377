"""What the engine says of a statement that it cannot run, as one line with a remedy.

Each rule is a kind of message of DuckDB's. Leaves out limits, locks and lost workers: see `execute`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CLASS = re.compile(
    r"^(?:(?:Binder|Conversion|Invalid Input|Out of Range|Mismatch Type|Catalog|Syntax|Parser|Not implemented"
    r"|Invalid Type|Parameter Not Allowed|Decimal|Invalid) Error: )+",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"No function matches the given name and argument types '(\S+?)\((.*?)\)'\. .*?$")
_WORDS = {
    "text": ("VARCHAR", "STRING_LITERAL", "ENUM"),
    "a date": ("DATE", "TIMESTAMP", "TIME"),
    "an interval": ("INTERVAL",),
    "a true-or-false value": ("BOOLEAN", "BOOL"),
    "a whole number": ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "INT32", "INT64", "INT128"),
    "a number": ("DOUBLE", "FLOAT", "DECIMAL"),
}  # fmt: skip


def _kind(type_named: str) -> str:
    """A type of the engine in words."""
    if type_named.rstrip().endswith("]"):
        return "a list"
    name = re.sub(r"_LITERAL$", "", type_named.strip().upper())
    for words, names in _WORDS.items():
        if name.startswith("STRING") and words == "text":
            return words
        if name.split("(")[0].split(" ")[0].removeprefix("U") in names:
            return words
    return type_named


def _signature(found: re.Match[str]) -> str:
    name = found[1]
    given = [_kind(each) for each in re.split(r", (?![^(]*\))", found[2])] if found[2] else []
    if re.fullmatch(r"\W+", name):
        told = f"'{name}' does not work on {' and '.join(given)}"
    elif given:
        told = f"{name}() does not take {' and '.join(given)}"
    else:
        return f"{name}() needs an argument; write the column that it is about"
    taken = re.search(rf"Candidate functions: {re.escape(name)}\((.*?)\) ->", found[0])
    if taken and set(given) <= {"a whole number", "a number"}:
        return f"{name}() does not take {found[2]}; CAST the argument AS {taken[1]}"
    return f"{told}; {_remedy(given)}"


def _remedy(given: list[str]) -> str:
    if "a list" in given:
        return "take the list apart with unnest(…) first"
    if given.count("a date") and given.count("a date") < len(given):
        return "add days with date + INTERVAL 7 DAY, or take a part of the date with EXTRACT(YEAR FROM …)"
    if "a date" in given or "an interval" in given:
        return "count days with date_diff('day', first, last), or take a part with EXTRACT(YEAR FROM …)"
    if "text" in given:
        return "read the text as a number with TRY_CAST(… AS DOUBLE)"
    return "CAST the argument to the type that it takes, as in CAST(… AS VARCHAR)"


def _mixed(found: re.Match[str]) -> str:
    one, other = _kind(found[1]), _kind(found[2])
    place = f" in one {found[3]}" if found.lastindex == 3 and found[3] else ""
    return f"{one} and {other} are mixed{place}; CAST one of them, as in CAST(… AS VARCHAR) or TRY_CAST(… AS DOUBLE)"


_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), told)
    for pattern, told in (
        (_SIGNATURE.pattern, _signature),
        (r"Cannot mix values of type (.+?) and (.+?) in (\w+) (?:operator|expression)", _mixed),
        (
            r"Cannot (?:combine|compare|concatenate)(?: values of)? types?(?: of)? (.+?) and (?:type )?(.+?) -",
            _mixed,
        ),
        (
            r"Could not convert string '(.*?)' to (\w+)(?: when casting from source column (.+))?$",
            lambda m: (
                f"{m[1]!r}{f' in {m[3]}' if m[3] else ''} cannot be read as {_kind(m[2])}; "
                "use TRY_CAST, which gives NULL for it, or leave such rows out"
            ),
        ),
        (
            r"[Uu]nimplemented type for cast \((.+?) -> (.+?)\)",
            lambda m: f"{_kind(m[1])} cannot be read as {_kind(m[2])}; compare it with a value instead",
        ),
        (
            r"invalid (?:date|timestamp) field format: \"(.*?)\"|"
            r"(?:date|timestamp) field value out of range: \"(.*?)\"|"
            r"[Dd]ate out of range: (\S+)",
            lambda m: f"{m[1] or m[2] or m[3]!r} is no date; write dates as '2023-04-17'",
        ),
        (
            r"with value (\S+) can't be cast because the value is out of range for the destination type (\w+)",
            lambda m: f"{m[1]} is too large for {m[2]}; CAST to BIGINT or DOUBLE instead",
        ),
        (
            r"Overflow in (\w+) of \w+ \((.+?)\)",
            lambda m: f"the {m[1]} {m[2]} is too large for a whole number; CAST one side AS DOUBLE",
        ),
        (
            r"cannot take (square root|logarithm) of (a negative number|zero)",
            lambda m: f"the {m[1]} of {m[2]} does not exist; leave such rows out, as in WHERE x > 0",
        ),
        (
            r"More than one row returned by a subquery",
            lambda m: (
                "a subquery that stands for one value gives several rows; add LIMIT 1 or an aggregate, or use IN"
            ),
        ),
        (
            r"extract specifier \"(.*?)\" not recognized",
            lambda m: f"a date has no part {m[1]!r}; write year, quarter, month, week, day, hour or minute",
        ),
        (
            r"Failed to parse format specifier (\S+?):?(?: |$)",
            lambda m: f"{m[1]!r} is no format of a date; use %Y, %m, %d, %H, %M and %S",
        ),
        (
            r"Could not parse string \"(.*?)\" according to format specifier \"(.*?)\"",
            lambda m: f"{m[1]!r} is not written as {m[2]!r}; use try_strptime, which gives NULL for it",
        ),
        (
            r"Invalid type specifier \"(.*?)\" for formatting a value of type (\w+)",
            lambda m: f"%{m[1]} does not write a {m[2]}; use %s, or CAST the value",
        ),
        (
            r"column \"(.*?)\" must appear in the GROUP BY clause",
            lambda m: (
                f"{m[1]!r} is neither grouped nor aggregated; add it to GROUP BY, or show any_value({m[1]})"
            ),
        ),
    )
)


def advised(message: str) -> str:
    """A message of the engine as one line that says what is wrong and what to write; at most 300 characters."""
    bare = _CLASS.sub("", message).removeprefix("No matching aggregate function ")
    bare = _CLASS.sub("", bare)
    for pattern, told in _RULES:
        found = pattern.search(bare)
        if found:
            return told(found)[:300]
    if bare == message:
        return message
    first = re.split(r"(?<=[.!?]) (?=[A-Z])", bare)[0].rstrip(".! ")
    return f"the database cannot run this: {first[:220]}; change that part of the query"
