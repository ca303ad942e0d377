"""Half-open date intervals: days, months, quarters, years, and moving a date by months. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

FIRST_YEAR, LAST_YEAR = 1000, 2999


@dataclass(frozen=True)
class Interval:
    """[start, end); None is open. `grain` is day, month, quarter, year or range.

    `needs_year` when the text named no year: then the interval lies in a placeholder year.
    """

    start: date | None
    end: date | None
    grain: str
    needs_year: bool = False

    def in_year(self, year: int) -> Interval:
        """The same stretch of that year; a 29 February that the year lacks becomes the 28th."""
        if not self.needs_year or self.start is None or self.end is None:
            return self
        shift = year - self.start.year
        return Interval(move_years(self.start, shift), move_years(self.end, shift), self.grain)


def day(year: int, month: int, number: int, *, needs_year: bool = False) -> Interval | None:
    """One day; None when there is no such day."""
    try:
        start = date(year, month, number)
        return Interval(start, start + timedelta(days=1), "day", needs_year)
    except (ValueError, OverflowError):
        return None


def months(year: int, month: int, count: int, grain: str, *, needs_year: bool = False) -> Interval | None:
    """`count` months from a month on; None when out of the calendar."""
    if not (FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12):
        return None
    start = date(year, month, 1)
    return Interval(start, move_months(start, count), grain, needs_year)


def years(year: int, count: int = 1) -> Interval | None:
    """`count` years from a year on."""
    return months(year, 1, 12 * count, "year" if count == 1 else "range")


def move_months(start: date, count: int) -> date:
    """The same day, `count` months on (or back), cut to the end of a shorter month."""
    total = start.year * 12 + start.month - 1 + count
    year, month = divmod(total, 12)
    for number in range(start.day, 27, -1):
        try:
            return date(year, month + 1, number)
        except ValueError:
            continue
    return date(year, month + 1, min(start.day, 28))


def move_years(start: date, count: int) -> date:
    """The same day, `count` years on (or back)."""
    return move_months(start, 12 * count)


def week_of(moment: date) -> date:
    """The Monday of that day's week."""
    return moment - timedelta(days=moment.weekday())
