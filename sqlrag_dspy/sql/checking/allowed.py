"""What parts a query may have: a list of node types, and of what they may say; the first half of the first wall.

What is not listed (INTO, PIVOT, lambdas, parameters, samples) is refused by name. Names and functions are checked
elsewhere.
"""

from __future__ import annotations

import re
from math import prod

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.grammar import READING
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.sql.words import words

MAX_CHAIN = 500
MAX_GROUPINGS = 64

ALLOWED: frozenset[type[exp.Expr]] = frozenset(
    getattr(exp, name)
    for name in words(
        """
        Select Union Intersect Except Subquery With CTE From Join Where Group Having Qualify Order Ordered
        Limit Offset Fetch LimitOptions Distinct Table TableAlias Values Tuple Unnest Alias Column
        Identifier Star Literal Null Boolean Paren Window WindowSpec Filter Cube Rollup
        GroupingSets And Or Not Xor EQ NEQ LT LTE GT GTE Is In Between Like ILike Escape Glob SimilarTo
        NullSafeEQ NullSafeNEQ Add Sub Mul Div IntDiv Mod Neg DPipe BitwiseAnd BitwiseOr BitwiseXor
        BitwiseNot BitwiseLeftShift BitwiseRightShift Pow Case If Cast TryCast DataType DataTypeParam
        Interval Var Extract Exists All Any Coalesce Nullif Count Sum Avg Substring Trim StrPosition Anonymous
        CurrentDate CurrentTimestamp Collate Bracket Slice Array IgnoreNulls RespectNulls
        """
    )
)

_SAY = {
    "Into": "SELECT … INTO writes a table",
    "Lateral": "LATERAL joins are not supported; use a subquery with GROUP BY and join it",
    "Pivot": "PIVOT is not supported; use an aggregate with FILTER (WHERE …) for each column",
    "Placeholder": "there are no parameters here; write the value itself",
    "Parameter": "there are no parameters here; write the value itself",
    "SessionParameter": "there are no variables here; write the value itself",
    "TableSample": "sampling is not supported; use ORDER BY and LIMIT",
    "Lock": "row locks are not supported; leave out FOR UPDATE",
    "Lambda": "lambda functions are not supported",
    "JSONExtract": "use json_extract_string(column, '$.path') instead of ->",
    "JSONExtractScalar": "use json_extract_string(column, '$.path') instead of ->>",
    "RegexpLike": "use regexp_matches(text, pattern) instead of ~",
    "RegexpFullMatch": "use regexp_full_match(text, pattern) instead of ~",
    "ArrayOverlaps": "write AND between conditions; && is something else here",
    "PropertyEQ": "structs are not supported; select the columns one by one",
    "Dot": "write a column as table.column, without a database or a field after it",
}

_TYPES = {
    *exp.DataType.INTEGER_TYPES,
    *exp.DataType.FLOAT_TYPES,
    *exp.DataType.TEXT_TYPES,
    exp.DType.DECIMAL,
    exp.DType.BOOLEAN,
    exp.DType.DATE,
    exp.DType.TIME,
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ,
    exp.DType.DATETIME,
    exp.DType.INTERVAL,
    exp.DType.INT128,
}

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_PLAIN_TABLE_ARGS = {"this", "alias", "db", "catalog", "joins"}


def refuse_unlisted(tree: exp.Expr) -> None:
    """Raise SqlRejected when any part of the tree is not on the list of what a query may hold."""
    for node in nodes_of(tree):
        kind = type(node)
        if kind not in ALLOWED:
            name = kind.__name__
            raise SqlRejected(_SAY.get(name, f"{_spoken(name)} is not supported in a query here"))
        if isinstance(node, exp.Binary) and not isinstance(node, exp.Connector):
            _refuse_long_chain(node)
        if kind is exp.Literal and not node.is_string and not _NUMBER.fullmatch(node.this):
            raise SqlRejected(f"{node.this} is not a number")
        if kind is exp.DataType:
            if node.this not in _TYPES:
                raise SqlRejected(
                    f"a cast to {node.sql(dialect=READING)} is not supported; use INTEGER, DOUBLE, VARCHAR, "
                    "BOOLEAN, DATE or TIMESTAMP"
                )
        elif kind is exp.With:
            if node.args.get("recursive"):
                raise SqlRejected("recursive WITH is not allowed, it may never end; use joins or range(…)")
        elif kind is exp.Table:
            extra = [key for key, value in node.args.items() if value and key not in _PLAIN_TABLE_ARGS]
            if extra:
                raise SqlRejected(
                    f"a table with {extra[0].replace('_', ' ')} is not supported; name the table alone"
                )
        elif kind is exp.Select:
            if node.args.get("kind") or node.args.get("operation_modifiers"):
                raise SqlRejected("write a plain SELECT list")
            if not node.expressions:
                raise SqlRejected("SELECT names nothing to show; list columns or *")
            if node.args.get("joins") and not node.args.get("from_"):
                raise SqlRejected("a JOIN needs a FROM before it")
        elif isinstance(node, exp.Join) and (node.method not in ("", "NATURAL") or node.kind == "POSITIONAL"):
            raise SqlRejected(f"{node.method or node.kind} JOIN is not supported; use JOIN … ON")
        elif kind is exp.Alias:
            if not isinstance(node.parent, exp.Select) or isinstance(node.this, exp.Star):
                raise SqlRejected(f"only a column of the SELECT list can be called {node.alias!r} there")
        elif kind is exp.In:
            if not node.expressions and not any(node.args.get(key) for key in ("query", "field", "unnest")):
                raise SqlRejected("IN needs a list of values or a subquery after it")
        elif isinstance(node, exp.Group):
            if not any(node.args.values()):
                raise SqlRejected("GROUP BY names nothing; list columns after it")
            _refuse_many_groupings(node)
        elif isinstance(node, exp.Rollup | exp.Cube) and not node.expressions:
            raise SqlRejected(f"write GROUP BY {node.key.upper()} (a, b) instead of WITH {node.key.upper()}")
        elif kind is exp.Between and node.args.get("symmetric"):
            raise SqlRejected("BETWEEN SYMMETRIC is not supported; write the smaller bound first")
        elif kind is exp.Star and not _is_whole(node):
            raise SqlRejected("* stands for all columns only after SELECT and in COUNT(*)")
        elif kind is exp.Star and (node.args.get("replace") or node.args.get("rename")):
            raise SqlRejected("* REPLACE and * RENAME are not supported; list the columns")


def _is_whole(star: exp.Expr) -> bool:
    """Whether a star stands where all columns may: in a SELECT list, or counted; `a.*` likewise."""
    holder = star.parent
    if isinstance(holder, exp.Column):
        holder = holder.parent
    return isinstance(holder, exp.Select | exp.Count)


def _refuse_many_groupings(node: exp.Group) -> None:
    """CUBE doubles the groupings with each column, and several CUBEs multiply them."""
    count = _groupings(node)
    if count > MAX_GROUPINGS:
        raise SqlRejected(
            f"GROUP BY asks for {count:,} groupings, {MAX_GROUPINGS} are allowed; name fewer columns"
        )


def _groupings(node: exp.Expr) -> int:
    """How many groupings one item of GROUP BY asks for, or all of them together."""
    if isinstance(node, exp.Cube):
        return int(2 ** min(len(node.expressions), 64))
    if isinstance(node, exp.Rollup):
        return len(node.expressions) + 1
    inner = (
        [_groupings(each) for each in node.expressions]
        if isinstance(node, exp.Group | exp.GroupingSets)
        else []
    )
    if isinstance(node, exp.GroupingSets):
        return sum(inner)
    return prod(inner)


def _refuse_long_chain(node: exp.Binary) -> None:
    """Operators chain to the left; DuckDB's parser gives up at a depth of 1000."""
    if isinstance(node.parent, exp.Binary):
        return
    length, left = 0, node.this
    while isinstance(left, exp.Binary):
        length, left = length + 1, left.this
    if length > MAX_CHAIN:
        raise SqlRejected(f"an expression chains {length:,} operators, {MAX_CHAIN} are allowed; split it")


def _spoken(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()
