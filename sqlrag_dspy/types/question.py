"""What a question says: its route, and the links of its words to a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlrag_dspy.types.values import Value

Route = Literal["sql", "vector", "hybrid", "decline"]
ROUTES: tuple[Route, ...] = ("sql", "vector", "hybrid", "decline")

LinkKind = Literal["table", "column", "value", "date", "number", "part"]


@dataclass(frozen=True)
class Link:
    """A stretch of the question tied to the database.

    `start`, `end`: half-open character span of the question. By kind:
    - table: `table`.
    - column: `table`, `column`; `concept` when a synonym or adjective ("longest") named it; `op` is "max" or
      "min" for a superlative; `grain` is what the column holds: number, date, text or bool. With `since`, and the
      grain "days", the days from that date column of the table to this one ("how long did it take").
    - value: `table`, `column`, `value` (as stored), `op` "=" or "!=" (negated: "not in sports"); `also` holds
      other stored values of that column that the stretch names as well (a surname that two people share,
      lists of people that hold the name); `concept` is category, person, title or other; or word, and then `value` is
      a pattern and `op` "like" or "not like" ("titles with the word bank"); or state, with `op` "null" or "not null"
      ("still open", told by closed_on).
    - date: `value` and `upper` are ISO dates, a half-open interval [value, upper); either may be None
      (open). `grain` is day, month, quarter, year or range. `table`/`column` when the question says which
      date column, else the table's only or main date column. `op` is "!=" when negated. `concept` states
      the year that was assumed, if any.
    - number: `value`, and `upper` for a closed range; `op` is "=", ">", ">=", "<", "<=", "between", or ""
      for a bare number (a top-k, say), or "nth" for a place in an order (2 for "second longest"). `column` when a
      unit or noun names one ("words"). `grain` "average" compares with the column's average ("longer than average");
      `value` is then None. With `since`, the number is one of days.
    - part: a date part asked for by name ("by year", "each month"): `grain` is the part, with its column. A
      named weekday ("on a Thursday", "at the weekend") has `value` 1 (Monday) to 7, `upper` the last of a
      range, and `op` "=" or "between".
    `score`: 0 to 1, how sure.
    """

    kind: LinkKind
    start: int
    end: int
    text: str
    table: str | None = None
    column: str | None = None
    op: str = ""
    value: Value = None
    upper: Value = None
    grain: str = ""
    concept: str = ""
    score: float = 1.0
    also: tuple[Value, ...] = ()
    since: str = ""


@dataclass(frozen=True)
class Links:
    """All links of one question. `chosen` do not overlap and are in order; `others` lost to them."""

    question: str
    chosen: tuple[Link, ...]
    others: tuple[Link, ...] = ()
