"""What the engine cannot run is told in one line, with what to write instead, and nothing of its own words' shape."""

from __future__ import annotations

import pytest

from sqlrag_dspy.errors import QueryFailed, SourceError
from sqlrag_dspy.source.failures import advised
from sqlrag_dspy.types import CheckedSql

KINDS = [
    ("SELECT sum(CAST(day AS DATE)) FROM t", "sum() does not take a date; count days with date_diff"),
    ("SELECT factorial(id) FROM t", "factorial() does not take BIGINT; CAST the argument AS INTEGER"),
    ("SELECT id + CAST(day AS DATE) FROM t", "'+' does not work on a whole number and a date; add days with"),
    ("SELECT avg(name) FROM t", "avg() does not take text; read the text as a number with TRY_CAST"),
    ("SELECT [id] + 1 FROM t", "'+' does not work on a list and a whole number; take the list apart"),
    ("SELECT coalesce(id, name) FROM t", "a whole number and text are mixed in one COALESCE; CAST one of them"),
    ("SELECT greatest(id, name) FROM t", "a whole number and text are mixed; CAST one of them"),
    ("SELECT CAST(name AS INTEGER) FROM t", "'Ada' in name cannot be read as a whole number; use TRY_CAST"),
    ("SELECT CAST('2024-13-45' AS DATE)", "'2024-13-45' is no date; write dates as '2023-04-17'"),
    ("SELECT CAST(3e12 * id AS INTEGER) FROM t", "is too large for INT32; CAST to BIGINT or DOUBLE"),
    ("SELECT 9223372036854775807 + id FROM t", "is too large for a whole number; CAST one side AS DOUBLE"),
    ("SELECT sqrt(-1)", "the square root of a negative number does not exist; leave such rows out"),
    ("SELECT (SELECT id FROM t)", "gives several rows; add LIMIT 1 or an aggregate, or use IN"),
    ("SELECT date_trunc('moon', CAST('2024-01-01' AS DATE))", "a date has no part 'moon'; write year"),
    ("SELECT strftime(CAST('2024-01-01' AS DATE), '%Q')", "'%Q' is no format of a date; use %Y"),
    ("SELECT strptime('abc', '%Y')", "'abc' is not written as '%Y'; use try_strptime"),
    ("SELECT id, sum(id) FROM t", "'id' is neither grouped nor aggregated; add it to GROUP BY"),
    ("SELECT sum(sum(id)) FROM t", "the database cannot run this: aggregate function calls cannot be nested; change"),
    ("SELECT regexp_extract(name, '(') FROM t", "the database cannot run this: missing ): (; change"),
]  # fmt: skip


@pytest.fixture
def source(make):
    return make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, day DATE);"
        "INSERT INTO t VALUES (1, 'Ada', '2024-01-01'), (2, 'Bo', '2024-01-02');"
    )


@pytest.mark.parametrize(("statement", "said"), KINDS)
def test_each_kind_is_one_line_with_a_remedy(statement, said, source):
    with pytest.raises(QueryFailed) as caught:
        source.execute(CheckedSql(statement, ("t",), ()))
    message = str(caught.value)
    assert said in message
    assert not any(shape in message for shape in ("Error", "Candidate", "\n"))
    assert len(message) <= 300
    assert caught.value.wall == "connection"


def test_what_is_no_message_of_the_engine_stays():
    assert advised("shop.db is locked by another program") == "shop.db is locked by another program"


def test_a_closed_source_still_says_so(source):
    source.close()
    with pytest.raises((QueryFailed, SourceError), match="was closed"):
        source.execute(CheckedSql("SELECT 1", (), ()))
