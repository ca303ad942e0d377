"""How long a text or list an expression may make: an upper bound, so that nothing grows beyond reason.

A bound is linear in what is stored: so many characters made by the statement itself, plus so many times the
longest stored text. Functions that lengthen what they are given (replace, hex, repeat, array_to_string) multiply
it, and names carry it through WITH, subqueries and aggregates. Leaves out how many rows a join makes: names.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.kinds import Field, function_name, kind_of
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.sql.words import words

MAX_MADE = 10_000_000
"""Characters of one value that the statement itself may make."""
MAX_TIMES = 1_000
"""How many times as long as the stored text one value may become."""
MAX_ITEMS = 10_000_000
"""Elements of one list."""
STORED = 100.0
"""Characters taken for a stored text where it multiplies another."""

_FACTORS = {
    **dict.fromkeys(words("hex to_hex to_base64 base64 regexp_escape unhex md5 sha1 sha256 encode"), 2.0),
    **dict.fromkeys(words("bin to_binary"), 8.0),
    **dict.fromkeys(words("url_encode strftime"), 12.0),
    **dict.fromkeys(
        words(
            """
            to_json json_quote array_to_json row_to_json json_array json_object json_merge_patch json_pretty
            json_group_array json_group_object
            """
        ),
        6.0,
    ),
}
"""How many times as long as its arguments together a function's text may be; 1 for what is not named here."""
_OVER_ROWS = frozenset(
    words("string_agg group_concat listagg list array_agg json_group_array json_group_object")
)
_JOINING = frozenset(words("array_to_string list_string_agg concat_ws"))
_SPLITTING = frozenset(
    words(
        """
        string_split str_split split string_to_array string_split_regex str_split_regex regexp_split_to_array
        regexp_extract_all
        """
    )
)
_GROWING = (
    frozenset(_FACTORS)
    | _OVER_ROWS
    | _JOINING
    | _SPLITTING
    | frozenset(
        words(
            """
            repeat lpad rpad replace regexp_replace concat printf format range generate_series unnest flatten
            list_select array_select list_concat list_cat array_concat array_cat json_extract
            """
        )
    )
)
_SMALL = ("integer", "number", "boolean", "date", "timestamp", "interval")


@dataclass(frozen=True)
class Size:
    """At most `made` characters, `stored` times the longest stored text, and `items` elements."""

    made: float = 0.0
    stored: float = 0.0
    items: float = 0.0

    @property
    def length(self) -> float:
        return self.made + STORED * self.stored

    def times(self, factor: float) -> Size:
        return Size(self.made * factor, self.stored * factor, self.items)


def grows(node: exp.Expr) -> bool:
    """Whether a node may give more than it is given, so that the statement must be measured."""
    return isinstance(node, exp.DPipe | exp.Unnest) or function_name(node) in _GROWING


class Growth:
    """Bounds of one resolved statement's expressions, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[exp.Expr, Size]] = {}

    def of(self, root: exp.Expr) -> Size:
        """The bound of `root`. Raises SqlRejected when it or anything inside it may grow too much."""
        if id(root) not in self._known:
            for node in reversed(nodes_of(root)):
                if id(node) not in self._known:
                    found = self._one(node)
                    _refuse_beyond(found, node)
                    self._known[id(node)] = node, found  # the node is kept, so that its id stays its own
        return self._known[id(root)][1]

    def _one(self, node: exp.Expr) -> Size:
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal):
            return Size(float(len(node.this)))
        if isinstance(node, exp.Query):
            fields = node.meta.get("fields") or ()
            return _longest([self._field(each) for each in fields[:1]])
        if isinstance(node, exp.Anonymous):
            return self._function(node, function_name(node))
        if isinstance(node, exp.Unnest):
            return self._sum(node)
        if kind_of(node) in _SMALL:
            return Size(32.0)
        if isinstance(node, exp.Array):
            inner = self._sum(node)
            return Size(inner.made, inner.stored, len(node.expressions) + inner.items)
        return self._sum(node)

    def _sum(self, node: exp.Expr) -> Size:
        parts = [self._known[id(child)][1] for child in node.iter_expressions() if id(child) in self._known]
        return Size(sum(p.made for p in parts), sum(p.stored for p in parts), sum(p.items for p in parts))

    def _column(self, node: exp.Column) -> Size:
        found = node.meta.get("field")
        return self._field(found) if isinstance(found, Field) else Size()

    def _field(self, found: Field) -> Size:
        if found.origins:
            return _longest(
                [self._field(each) if isinstance(each, Field) else self.of(each) for each in found.origins]
            )
        return Size(32.0) if found.kind in _SMALL else Size(0.0, 1.0)

    def _function(self, node: exp.Anonymous, name: str) -> Size:
        arguments = [self.of(each) for each in node.expressions]
        whole = self._sum(node)
        first = arguments[0] if arguments else Size()
        if name in _OVER_ROWS:
            return _over_rows(node, whole.times(_FACTORS.get(name, 1.0)))
        if name in ("range", "generate_series"):
            return _series(node)
        if name in ("repeat", "lpad", "rpad"):
            count = _plain_number(node.expressions[1]) if len(arguments) > 1 else 0.0
            if name == "repeat":
                return Size(first.made * count, first.stored * count, first.items * count)
            return Size(max(count, 0.0), 0.0)
        if name in ("printf", "format"):
            pattern = str(node.expressions[0].this)
            widths = sum(float(each) for each in re.findall(r"\d+", pattern))
            # An argument that is named by its place may be written as often as the pattern likes.
            times = len(re.findall(r"[{%]", pattern)) if re.search(r"\{\d|%\d+\$", pattern) else 1
            return Size(whole.made * max(times, 1) + widths, whole.stored * max(times, 1))
        if name == "json_pretty":
            deepest = whole.made / 2  # each level is indented by four more, on a line of its own
            return Size(whole.made * (_FACTORS[name] + 4 * deepest), whole.stored * _FACTORS[name])
        if name == "replace" and len(arguments) == 3:
            old = node.expressions[1]
            at_least = len(old.this) if isinstance(old, exp.Literal) and old.this else 1
            whole_text = Size(first.made, max(first.stored, 1.0))  # a literal may be as long as a stored text
            return whole_text.times(max(1.0, arguments[2].length / at_least))
        if name == "regexp_replace" and len(arguments) >= 3:
            return Size(
                first.made * (1 + arguments[2].length) + arguments[2].made,
                first.stored * (1 + arguments[2].length) + arguments[2].stored,
            )
        if name in _JOINING:
            return _joined(first, whole, arguments)
        if name in _SPLITTING:
            return Size(first.made, first.stored, first.length + 1)
        if name in ("list_select", "array_select") and len(arguments) == 2:
            picked = arguments[1].items
            return Size(first.made * picked, first.stored * picked, picked)
        if name == "json_extract" and len(arguments) == 2:
            return first.times(max(1.0, arguments[1].items))
        if name not in _FACTORS and kind_of(node) in _SMALL:
            return Size(32.0)
        return whole.times(_FACTORS.get(name, 1.0))


def _joined(first: Size, whole: Size, arguments: list[Size]) -> Size:
    """A separator between elements, or between the further arguments of concat_ws."""
    separator = arguments[1] if len(arguments) > 1 and arguments[0].items else first
    count = max(whole.items, float(len(arguments)))
    return Size(whole.made + separator.made * count, whole.stored + separator.stored * count)


def _over_rows(node: exp.Expr, each: Size) -> Size:
    """One value of all rows: what is made is made for each, what is stored is there once."""
    select = node.find_ancestor(exp.Select)
    rows = float(select.meta.get("rows", 1.0)) if select is not None else 1.0
    return Size(each.made * rows, each.stored, rows + each.items)


def _series(node: exp.Anonymous) -> Size:
    from sqlrag_dspy.sql.checking.functions import generated_rows

    count = generated_rows(node, function_name(node))
    return Size(20.0 * count, 0.0, count)


def _plain_number(node: exp.Expr) -> float:
    while isinstance(node, exp.Paren):
        node = node.this
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else 0.0


def _longest(sizes: list[Size]) -> Size:
    return Size(
        max((each.made for each in sizes), default=0.0),
        max((each.stored for each in sizes), default=0.0),
        max((each.items for each in sizes), default=0.0),
    )


def _refuse_beyond(found: Size, node: exp.Expr) -> None:
    name = f"{function_name(node)}(…)" if function_name(node) else "an expression"
    if found.made > MAX_MADE:
        raise SqlRejected(
            f"{name} would make a text of {found.made:,.0f} characters, more than {MAX_MADE:,}; make it shorter"
        )
    if found.stored > MAX_TIMES:
        raise SqlRejected(
            f"{name} would make a text {found.stored:,.0f} times as long as what is stored, more than "
            f"{MAX_TIMES:,}; use shorter replacements"
        )
    if found.items > MAX_ITEMS:
        raise SqlRejected(
            f"{name} would make a list of {found.items:,.0f} elements, more than {MAX_ITEMS:,}; make it shorter"
        )
