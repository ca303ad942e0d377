"""From a matched date pattern to its interval: one reader a kind of date.

The patterns are in atoms.py; the groups they share are day, month, year, ordinal, count and unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from sqlrag_dspy.link.calendar_words import CENTURIES, COUNTS, DECADES, LAST, MONTHS, ORDINALS, SEASONS, UNITS
from sqlrag_dspy.link.dates.intervals import Interval, day, months, move_months, week_of, years


@dataclass(frozen=True)
class DateMention:
    """A date in folded text: its span, interval, how sure (0 to 1), and the year that was assumed, if any."""

    start: int
    end: int
    interval: Interval
    score: float = 1.0
    assumed_year: int | None = None
    is_negated: bool = False
    bound: str = ""
    """How an open interval was said: since, after, before or until."""


@dataclass(frozen=True)
class Known:
    """What reading a date needs to know: today, the data's first and last day, and 04/03 read month first."""

    today: date
    earliest: date | None = None
    latest: date | None = None
    month_first: bool = False


Reader = Callable[[re.Match[str], Known], Interval | None]


def _year_of(match: re.Match[str], known: Known) -> tuple[int, bool]:
    """(year, missing): a missing year gets a leap year as placeholder."""
    text = match.groupdict().get("year")
    if not text:
        return 2024, True
    if text.startswith("'"):
        short = int(text[1:])
        return (2000 if short <= known.today.year % 100 + 5 else 1900) + short, False
    return int(text), False


def read_iso(match: re.Match[str], known: Known) -> Interval | None:
    return day(int(match["year"]), int(match["m"]), int(match["d"]))


def read_numeric(match: re.Match[str], known: Known) -> Interval | None:
    a, b, year = int(match["a"]), int(match["b"]), int(match["y"])
    if len(match["y"]) == 2:
        year += 2000 if year <= known.today.year % 100 + 5 else 1900
    if known.month_first and a <= 12:
        a, b = b, a
    return day(year, b, a) or day(year, a, b)


def read_iso_month(match: re.Match[str], known: Known) -> Interval | None:
    return months(int(match["year"]), int(match["m"]), 1, "month")


def read_days(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = MONTHS[match["month"]]
    first, last = day(year, month, int(match["day"])), day(year, month, int(match["day2"]))
    if first is None or last is None or first.start is None or last.end is None or first.start >= last.end:
        return None
    return Interval(first.start, last.end, "range", missing)


def read_day(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    return day(year, MONTHS[match["month"]], int(match["day"]), needs_year=missing)


def read_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    return months(year, MONTHS[match["month"]], 1, "month", needs_year=missing)


def _number(match: re.Match[str]) -> int | None:
    """The ordinal as 1 to 4; None for "last"."""
    return ORDINALS.get(match["ordinal"])


def read_week_of_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = months(year, MONTHS[match["month"]], 1, "month")
    if month is None or month.start is None or month.end is None:
        return None
    number = _number(match)
    if number is None:
        return Interval(month.end - timedelta(days=7), month.end, "range", missing)
    start = month.start + timedelta(days=7 * (number - 1))
    return Interval(start, start + timedelta(days=7), "range", missing)


def read_half_of_month(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    month = months(year, MONTHS[match["month"]], 1, "month")
    if month is None or month.start is None or month.end is None:
        return None
    middle = month.start + timedelta(days=15)
    if _number(match) == 1:
        return Interval(month.start, middle, "range", missing)
    return Interval(middle, month.end, "range", missing)


def read_quarter(match: re.Match[str], known: Known) -> Interval | None:
    year, missing = _year_of(match, known)
    groups = match.groupdict()
    number = int(groups["q"]) if groups.get("q") else (_number(match) or 4)
    return months(year, 3 * number - 2, 3, "quarter", needs_year=missing)


def read_half(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    groups = match.groupdict()
    number = int(groups["h"]) if groups.get("h") else (_number(match) or 2)
    return months(year, 1 if number == 1 else 7, 6, "range")


def read_season(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    return months(year, SEASONS[match["season"]], 3, "range")


def read_decade(match: re.Match[str], known: Known) -> Interval | None:
    groups = match.groupdict()
    if groups.get("full"):
        return years(int(groups["full"]), 10)
    if groups.get("short"):
        return years(1900 + int(groups["short"]), 10)
    return years(DECADES[match["word"]], 10)


def read_century(match: re.Match[str], known: Known) -> Interval | None:
    groups = match.groupdict()
    number = int(groups["n"]) if groups.get("n") else CENTURIES[match["word"]]
    return years(100 * number - 99, 100) if 10 < number < 23 else None


def read_months_of_year(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    count = _count(match)
    if match["unit"] not in ("month", "months", "mes", "meses", "maand", "maanden") or not 1 <= count <= 12:
        return None
    is_last = match["edge"] in LAST or match["edge"].startswith(("ultim", "laatst", "final"))
    return months(year, 13 - count if is_last else 1, count, "range")


def _count(match: re.Match[str]) -> int:
    text = match.groupdict().get("count") or "1"
    return int(text) if text.isdigit() else COUNTS[text]


def _back(today: date, unit: str, count: int) -> date:
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    return move_months(today, -count * {"month": 1, "quarter": 3, "year": 12}[unit])


def read_last_count(match: re.Match[str], known: Known) -> Interval | None:
    count = _count(match)
    if count > 200:
        return None
    return Interval(_back(known.today, UNITS[match["unit"]], count), known.today + timedelta(days=1), "range")


def read_ago(match: re.Match[str], known: Known) -> Interval | None:
    count, unit = _count(match), UNITS[match["unit"]]
    if count > 200:
        return None
    return _unit_of(_back(known.today, unit, count), unit, 0)


def _unit_of(moment: date, unit: str, shift: int) -> Interval | None:
    """The calendar day, week, month, quarter or year around a moment, moved by `shift` units."""
    if unit == "day":
        moment += timedelta(days=shift)
        return Interval(moment, moment + timedelta(days=1), "day")
    if unit == "week":
        monday = week_of(moment) + timedelta(days=7 * shift)
        return Interval(monday, monday + timedelta(days=7), "range")
    if unit == "year":
        return years(moment.year + shift)
    size = 3 if unit == "quarter" else 1
    first = move_months(date(moment.year, (moment.month - 1) // size * size + 1, 1), shift * size)
    return months(first.year, first.month, size, unit)


def relative(shift: int) -> Reader:
    return lambda match, known: _unit_of(known.today, UNITS[match["unit"]], shift)


def near_day(shift: int) -> Reader:
    return lambda match, known: _unit_of(known.today, "day", shift)


def read_year(match: re.Match[str], known: Known) -> Interval | None:
    year, _ = _year_of(match, known)
    return years(year)


def read_named_month(match: re.Match[str], known: Known) -> Interval | None:
    """ "last March", "this March": the one nearest to today on that side."""
    month = MONTHS[match["month"]]
    year = known.today.year
    if match.groupdict().get("past") and month >= known.today.month:
        year -= 1
    return months(year, month, 1, "month")
