"""What to compute, before it is written as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlrag_dspy.types.values import Value

Aggregate = Literal["", "count", "count_distinct", "sum", "avg", "min", "max", "range"]
"""`range` is the greatest less the least; of dates, in days."""
Part = Literal["", "year", "month", "quarter", "day", "weekday", "year_month"]


@dataclass(frozen=True)
class Item:
    """One expression of a sketch: an aggregate over a column, a date part of it, or the days that lead to it.

    `column` None with aggregate "count" is COUNT(*). `since` names another date column of the table: the item is
    the days from that one to `column`, with fractions where either has a time of day. `via` names a column by which
    rows of the table refer to others of it: the item is then that of the other row (the manager's name).
    """

    table: str
    column: str | None
    aggregate: Aggregate = ""
    part: Part = ""
    since: str = ""
    via: str = ""


@dataclass(frozen=True)
class Predicate:
    """A restriction on one column. `op`: = != < <= > >= in, not in, like, not like, null, not null.

    Values of date columns are ISO dates, whatever the column's own format. `value` is a tuple for in / not in.
    `than` "average" compares with the average of the column over all rows of its table; `value` is then None.
    With `since`, the days from that date column to `column` are compared with `value`. With `via`, the row that this
    one refers to by that column, in the same table, is restricted.
    """

    table: str
    column: str
    op: str
    value: Value | tuple[Value, ...] = None
    part: Part = ""
    than: Literal["", "average"] = ""
    since: str = ""
    via: str = ""


@dataclass(frozen=True)
class Absence:
    """That no row of `table` which passes `filters` belongs to the row in question.

    Rows belong together along foreign keys ("proposals without a review"); with `column`, `table` is the sketch's
    own and rows belong together by that column ("sections that published nothing in June").
    """

    table: str
    filters: tuple[tuple[Predicate, ...], ...] = ()
    column: str | None = None


@dataclass(frozen=True)
class Same:
    """That a row has the same value of `item` as the rows which pass `filters`, and is none of those.

    "Who else lives in the town of Ana": both are of the sketch's own table.
    """

    item: Item
    filters: tuple[tuple[Predicate, ...], ...]


@dataclass(frozen=True)
class Beside:
    """Two parts of the rows, each satisfying its condition, whose aggregate `of` is set beside each other.

    `how`: "both" shows the two; "difference" the first less the second; "gap" how far apart they are; "change" by
    how many percent of the first the second differs from it; "more" and "less" keep the groups in which the first
    exceeds, or falls short of, the second. `is_shown` False: a difference or change is only ordered by.
    """

    of: Item
    first: tuple[tuple[Predicate, ...], ...]
    second: tuple[tuple[Predicate, ...], ...]
    how: Literal["both", "difference", "gap", "change", "more", "less"]
    is_shown: bool = True

    @property
    def conditions(self) -> tuple[tuple[Predicate, ...], ...]:
        """What either part is restricted to."""
        return (*self.first, *self.second)


@dataclass(frozen=True)
class Sketch:
    """A query as slots: what the learned tier predicts and `sql.build` writes.

    `filters` is a conjunction of alternatives: every inner tuple must have one true predicate.
    `share` set: the percentage (0-100, or 0-1 with `is_fraction`) of the filtered rows that also satisfy it, or of
    the amount `share_of` that they hold; `select` is then empty (or the group items come first). `each` set: order
    and limit hold within each of these, ties kept. `over`: the number of groups, or the mean of what each shows.
    `beside` set: two parts are compared; `select` then holds the groups alone, and what is ordered by may be its item.
    """

    table: str
    select: tuple[Item, ...]
    distinct: bool = False
    filters: tuple[tuple[Predicate, ...], ...] = ()
    without: Absence | None = None
    share: tuple[tuple[Predicate, ...], ...] = ()
    is_fraction: bool = False
    share_of: Item | None = None
    group: tuple[Item, ...] = ()
    having: tuple[tuple[Item, str, Value], ...] = ()
    order: tuple[tuple[Item, bool], ...] = ()
    """(item, descending) pairs."""
    limit: int | None = None
    offset: int = 0
    """Rows left out before `limit` counts: 1, with a limit of 1, is the second."""
    each: tuple[Item, ...] = ()
    over: Literal["", "count", "avg"] = ""
    beside: Beside | None = None
    same: Same | None = None
