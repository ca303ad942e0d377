"""Numbers written with thousands separators or a decimal comma: 1,234.50 or 1.234,50 or 1 234,50.

A column is read so only when its values, or its declared type, leave no doubt which mark is which. Leaves out
currency signs and units: such texts stay texts.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlrag_dspy import declared
from sqlrag_dspy.source import counting, quoting
from sqlrag_dspy.source.counting import Counts
from sqlrag_dspy.source.introspect import RawColumn
from sqlrag_dspy.source.pool import Engine

_SPACES = "' \u00a0\u202f\u2019"
_PLAIN = r"\s*[+-]?\d+(\.0)?\s*"
"""Whole numbers, also as SQLite writes those of a REAL column."""


@dataclass(frozen=True)
class Style:
    """How a column writes numbers: the mark before decimals, and the one between thousands."""

    decimal: str
    group: str

    @property
    def _groups(self) -> str:
        return f"[{self.group}{_SPACES}]"

    @property
    def pattern(self) -> str:
        """The whole of one number, as a regular expression."""
        return rf"\s*[+-]?(\d+|\d{{1,3}}({self._groups}\d{{3}})+)([{self.decimal}]\d+)?\s*"

    @property
    def both(self) -> str:
        """One number with thousands and decimals."""
        return rf"\s*[+-]?\d{{1,3}}({self._groups}\d{{3}})+[{self.decimal}]\d+\s*"

    def value(self, text: str) -> str:
        """SQL: the number that a text is, NULL when it is none. The text must be UTF-8."""
        bare = f"regexp_replace({text}, {quoting.text(self._groups)}, '', 'g')"
        if self.decimal != ".":
            bare = f"replace({bare}, {quoting.text(self.decimal)}, '.')"
        other = quoting.number(text) if self.decimal == "." else "NULL"
        return (
            f"CASE WHEN regexp_full_match({text}, {quoting.text(_PLAIN)}) THEN {quoting.number(text)} "
            f"WHEN regexp_full_match({text}, {quoting.text(self.pattern)}) THEN {quoting.number(bare)} ELSE {other} END"
        )


POINT, COMMA = Style(".", ","), Style(",", ".")


def style_of(
    engine: Engine, column: RawColumn, counts: Counts, place: int, fit: float
) -> tuple[Style | None, str]:
    """How a column's numbers are written, and what to say when that cannot be told; None for plain numbers.

    `fit`: the share of the values that must be such numbers in a column that is not declared as text. Declared as
    text, all must be, each value written one way, and some with thousands and decimals: 101,202 may be a list.
    """
    said, family = counts.filled - counts.placeholders, declared.family(column.type)
    if family not in ("number", "any", "text") or counts.numbers >= said or counts.digits < fit * said:
        return None, ""
    if counts.mean_length > 30 or (family != "number" and (counts.padded or counts.max_length > 30)):
        return None, ""
    if not _may_be(engine, place):
        return None, ""
    measures = [_measure(engine, place, one, other) for one, other in ((POINT, COMMA), (COMMA, POINT))]
    for style, (fitting, alone, both, numbers, differ, needed), against in (
        (POINT, measures[0], measures[1]),
        (COMMA, measures[1], measures[0]),
    ):
        if fitting < fit * said or not needed or against[1]:
            continue
        if family == "number":
            is_whole = "INT" in column.type.upper() and style is POINT
            if alone or not differ or is_whole:
                return style, ""
        elif both and (family == "any" or (fitting == counts.filled and numbers == counts.distinct)):
            return style, ""
    if family == "number" and measures[0][0] >= fit * said and measures[0][4]:
        return None, "may mean thousands or decimals"
    return None, ""


def _may_be(engine: Engine, place: int) -> bool:
    """Whether any of a few values has nothing but digits and marks: most texts, dates too, are done with then."""
    t, marks = f"t{place}", quoting.text(rf"[\s+-]*\d[\d.,{_SPACES}]*\s*")
    rows = engine.trusted(
        f"SELECT 1 FROM (SELECT {t} FROM profiled WHERE trim({t}) <> '' LIMIT 500) "
        f"WHERE regexp_full_match({t}, {marks}) LIMIT 1"
    )
    return bool(rows)


def _measure(engine: Engine, place: int, style: Style, other: Style) -> tuple[int, ...]:
    """Values that fit, that fit no other style, with both marks; distinct numbers; values that both read, but
    differently; values that are no plain numbers."""
    t = f"t{place}"
    fits, not_other = _is(t, style.pattern), f"NOT {_is(t, other.pattern)}"
    plain = _is(t, _PLAIN)
    row = engine.trusted(
        f"SELECT count(*) FILTER ({fits} OR {plain}), count(*) FILTER ({fits} AND {not_other} AND NOT {plain}), "
        f"count(*) FILTER ({_is(t, style.both)}), count(DISTINCT {style.value(t)}), "
        f"count(*) FILTER ({fits} AND NOT ({not_other}) AND ({style.value(t)}) <> ({other.value(t)})), "
        f"count(*) FILTER ({fits} AND ({quoting.number(t)}) IS NULL) "
        f"FROM profiled WHERE l{place} <= 40"
    )[0]
    return tuple(int(each) for each in row)


def _is(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {quoting.text(pattern)})"


def example(engine: Engine, place: int, style: Style | None) -> str:
    """A value of the column that is no plain number, written in that style if one is given."""
    t = f"t{place}"
    fits = f" AND {_is(t, style.pattern)}" if style is not None else ""
    odd = f"CASE WHEN TRY_CAST({t} AS DOUBLE) IS NULL{fits} THEN {t} END"
    found = counting.values(engine, odd, odd, 1)
    return str(counting.shorten(found[0][0])) if found else ""
