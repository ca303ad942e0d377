"""Ages told by the date of birth: "older than 60", "over 50 years old", counted back from today.

Leaves out ages that a number column holds, and how old things are that were not born.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

from sqlrag_dspy.link.numbers.find import NumberMention
from sqlrag_dspy.link.reading import Reading
from sqlrag_dspy.types import Column, Link, Table

_OLD = re.compile(r"\s+(?:years?\s+(?:old|of\s+age)|anos\s+de\s+edad|jaar\s+oud)(?!\w)")
_YEARS = re.compile(r"\s+(?:years?|anos|jaar)(?!\w)(?!\s+(?:ago|geleden))")
_MOST = 150


def age_links(reading: Reading, mention: NumberMention) -> Iterable[Link]:
    """The link of a bound on an age, as the dates of birth that it allows; none when no date of birth is near."""
    said = _OLD.match(reading.text, mention.number_end)
    if not mention.op or mention.is_average or mention.is_money or not (said or mention.concept == "age"):
        return
    home = _born(reading)
    if home is None or not all(0 <= n < _MOST for n in (mention.value, mention.upper or 0)):
        return
    first, last = _born_between(mention, reading.today)
    after = said or _YEARS.match(reading.text, mention.number_end)
    yield reading.link(
        "date",
        mention.start,
        max(mention.end, after.end() if after else 0),
        table=home[0].name,
        column=home[1].name,
        value=first.isoformat() if first else None,
        upper=last.isoformat() if last else None,
        grain="range",
        concept=f"ages are counted on {reading.today.isoformat()}",
        score=1.0,
    )


def _born(reading: Reading) -> tuple[Table, Column] | None:
    """The date of birth of the first table asked about, or beside those, that has one."""
    births = {t.name: (t, c) for t, c in reading.measured(("birth date", "born")) if c.is_date}
    around = (*reading.tables, *reading.neighbours())
    return next((births[table.name] for table in around if table.name in births), None)


def _born_between(mention: NumberMention, today: date) -> tuple[date | None, date | None]:
    """The dates of birth of the ages that a bound allows, the last one left out."""
    day = timedelta(days=1)
    low, high = int(mention.value), int(mention.upper if mention.upper is not None else mention.value)
    if mention.op == ">":
        return None, _years_before(today, low)
    if mention.op == ">=":
        return None, _years_before(today, low) + day
    if mention.op == "<":
        return _years_before(today, low) + day, None
    first = _years_before(today, high + 1) + day
    return first, None if mention.op == "<=" else _years_before(today, low) + day


def _years_before(today: date, years: int) -> date:
    try:
        return today.replace(year=today.year - years)
    except ValueError:  # the 29th of February
        return today.replace(year=today.year - years, day=28)
