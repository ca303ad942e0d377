"""What kind of value an expression gives, as far as the catalog and the expression itself tell.

Kinds are coarse: integer, number, boolean, text, date, timestamp, interval, list; None is unknown, and a
repair that needs a kind leaves the unknown alone. A text column that holds dates is text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from sqlrag_dspy.declared import kind_when_empty
from sqlrag_dspy.sql.words import words
from sqlrag_dspy.types import Column, Table

Kind = Literal["integer", "number", "boolean", "text", "date", "timestamp", "interval", "list"]


@dataclass(frozen=True)
class Field:
    """One column that a query can name: how it is spelt, its kind, and the stored column behind it."""

    name: str
    kind: Kind | None
    table: Table | None = None
    column: Column | None = None
    origins: tuple[exp.Expr | Field, ...] = field(default=(), compare=False, repr=False)
    """What a query computes it from; nothing for a stored column itself."""
    via: str = ""
    """The column by which rows of the table refer to the row that this is a column of; "" for the row itself."""

    def __deepcopy__(self, memo: object) -> Field:
        return self  # a copied tree still speaks of the same stored column


def column_kind(column: Column) -> Kind:
    """The kind that the source's view of this column has."""
    found = column.profile.found
    if found in ("date", "datetime"):
        if column.profile.date_formats:
            return "text"
        return "timestamp" if found == "datetime" or "TIME" in column.type.upper() else "date"
    if found == "empty":
        return kind_when_empty(column.type)
    kinds: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean"}
    return kinds.get(found, "text")


def field_of(node: exp.Expr) -> Field | None:
    """The field that a resolved column node refers to."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column):
        return None
    found = node.meta.get("field")
    return found if isinstance(found, Field) else None


_TEXT_FUNCTIONS = frozenset(
    words(
        """
        strftime lower upper ltrim rtrim trim substr replace concat concat_ws left right printf format
        monthname dayname string_agg group_concat lpad rpad reverse repeat regexp_replace regexp_extract
        split_part ucase lcase chr char hex md5 sha256 typeof datetime time strip_accents nfc_normalize
        translate json_extract_string
        """
    )
)
_INTEGER_FUNCTIONS = frozenset(
    words(
        """
        length strlen len instr strpos year month day hour minute second quarter week dayofweek weekday
        dayofyear date_part datepart date_diff datediff row_number rank dense_rank ntile
        approx_count_distinct count_if unicode ascii sign levenshtein unixepoch trunc weekofyear isodow
        yearweek decade century count_star countif isoyear dayofmonth
        """
    )
)
_NUMBER_FUNCTIONS = frozenset(
    words(
        """
        sqrt pow power exp ln log log10 log2 epoch julianday julian median stddev stddev_samp stddev_pop
        variance var_samp var_pop total random percent_rank cume_dist jaro_similarity
        jaro_winkler_similarity mean ceil ceiling floor pi
        """
    )
)
_TIMESTAMP_FUNCTIONS = frozenset(
    words(
        """
    strptime try_strptime now date_trunc to_timestamp make_timestamp
    """
    )
)
_SAME_AS_FIRST = frozenset(
    words(
        """
        max min any_value first last abs arg_max arg_min max_by min_by mode greatest least first_value
        last_value lag lead nth_value arbitrary argmax argmin quantile_disc
        """
    )
)
_BOOLEAN_FUNCTIONS = frozenset(
    words(
        """
        regexp_matches regexp_full_match contains starts_with ends_with prefix suffix bool_and bool_or isnan
        isinf isfinite
        """
    )
)
_BOOLEAN_NODES = (
    exp.And,
    exp.Or,
    exp.Xor,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.Glob,
    exp.SimilarTo,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Exists,
    exp.Boolean,
)
_AS_INSIDE = (
    exp.Paren,
    exp.Neg,
    exp.Window,
    exp.Filter,
    exp.Distinct,
    exp.Collate,
    exp.Any,
    exp.All,
    exp.IgnoreNulls,
    exp.RespectNulls,
)


def kind_of(node: exp.Expr | None) -> Kind | None:
    """The kind of an expression whose columns are resolved; None when it cannot be told."""
    if node is None:
        return None
    if isinstance(node, exp.Column):
        found = field_of(node)
        return found.kind if found else None
    if isinstance(node, exp.Literal):
        if node.is_string:
            return "text"
        return "integer" if node.this.isdigit() else "number"
    if isinstance(node, _BOOLEAN_NODES):
        return "boolean"
    if isinstance(node, _AS_INSIDE):
        if isinstance(node, exp.Distinct):
            return kind_of(node.expressions[0]) if len(node.expressions) == 1 else None
        return kind_of(node.this)
    if isinstance(node, exp.Cast):  # TryCast is one
        return type_kind(node.to)
    if isinstance(node, exp.Anonymous):
        return _function_kind(node)
    if isinstance(node, exp.Count | exp.StrPosition | exp.IntDiv | exp.Extract):
        return "integer"
    if isinstance(node, exp.Substring | exp.Trim | exp.DPipe):
        return "text"
    if isinstance(node, exp.Avg | exp.Pow):
        return "number"
    if isinstance(node, exp.Sum):
        return "integer" if kind_of(node.this) in ("integer", "boolean") else "number"
    if isinstance(node, exp.Add | exp.Sub):
        return _sum_kind(node)
    if isinstance(node, exp.Mul | exp.Div | exp.Mod):
        both = {kind_of(node.this), kind_of(node.expression)}
        if "interval" in both:
            return "interval"
        if isinstance(node, exp.Div):
            return "number"
        return "integer" if both == {"integer"} else "number" if both <= {"integer", "number"} else None
    if isinstance(node, exp.Case):
        results = [branch.args.get("true") for branch in node.args.get("ifs", ())]
        return _common([*results, node.args.get("default")])
    if isinstance(node, exp.If):
        return _common([node.args.get("true"), node.args.get("false")])
    if isinstance(node, exp.Coalesce):
        return _common([node.this, *node.expressions])
    if isinstance(node, exp.Nullif):
        return kind_of(node.this)
    if isinstance(node, exp.CurrentDate):
        return "date"
    if isinstance(node, exp.CurrentTimestamp):
        return "timestamp"
    if isinstance(node, exp.Interval):
        return "interval"
    if isinstance(node, exp.Array):
        return "list"
    if isinstance(node, exp.Subquery | exp.Select):
        kinds = node.meta.get("kinds")
        return kinds[0] if isinstance(kinds, list) and len(kinds) == 1 else None
    return None


def type_kind(to: exp.DataType) -> Kind | None:
    kind = to.this
    if kind in exp.DataType.INTEGER_TYPES or kind == exp.DType.INT128:
        return "integer"
    if kind in exp.DataType.FLOAT_TYPES or kind == exp.DType.DECIMAL:
        return "number"
    if kind in exp.DataType.TEXT_TYPES:
        return "text"
    if kind == exp.DType.DATE:
        return "date"
    if kind in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME):
        return "timestamp"
    return "boolean" if kind == exp.DType.BOOLEAN else None


def function_name(node: exp.Expr) -> str:
    """The lower-case name of a function kept as written, "" for anything else."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def _function_kind(node: exp.Anonymous) -> Kind | None:
    name = function_name(node)
    if name in _TEXT_FUNCTIONS:
        return "text"
    if name in _INTEGER_FUNCTIONS:
        return "integer"
    if name in _NUMBER_FUNCTIONS:
        return "number"
    if name in _TIMESTAMP_FUNCTIONS:
        return "timestamp"
    if name in _BOOLEAN_FUNCTIONS:
        return "boolean"
    if name in ("last_day", "today", "make_date", "current_date", "date"):
        return "date"
    if name in _SAME_AS_FIRST and node.expressions:
        return kind_of(node.expressions[0])
    if name == "round" and node.expressions:
        return "number" if len(node.expressions) > 1 else "integer"
    return None


def _sum_kind(node: exp.Add | exp.Sub) -> Kind | None:
    left, right = kind_of(node.this), kind_of(node.expression)
    if left == right == "integer":
        return "integer"
    if {left, right} <= {"integer", "number"}:
        return "number"
    if "interval" in (left, right) and {left, right} & {"date", "timestamp"}:
        return "timestamp"
    if left == "date" and right == "integer":
        return "date"
    if left == right == "date":
        return "integer"
    return None


def _common(nodes: list[exp.Expr | None]) -> Kind | None:
    kinds = {kind_of(node) for node in nodes if node is not None and not isinstance(node, exp.Null)}
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"integer", "number"} else None
