"""A grammar of statements over the tables of the fixtures, as hypothesis strategies: sound ones, and mutated ones."""

from __future__ import annotations

from hypothesis import strategies as st

from sqlrag_dspy.sql.words import words

COLUMNS = {
    "articles": ["title", "authors", "published_date", "article_category", "word_count", "zip", "is_open"],
    "orders": ["id", "customer", "amount"],
    "line": ["id", "order_id", "category"],
    "n": ["x", "rowid"],
    "odd_dates": ["id", "eu", "mixed", "native"],
    '"Odd Table"': ['"Full Name"', '"select"', '"größe"'],
}
LITERALS = [
    "1",
    "0",
    "-3",
    "2.5",
    "'sports'",
    "'2023-04-17'",
    "'%a%'",
    "NULL",
    "TRUE",
    "''",
    "'it''s'",
    '"ink"',
]
UNARY = [
    "{}",
    "lower({})",
    "length({})",
    "abs({})",
    "CAST({} AS INTEGER)",
    "CAST({} AS TEXT)",
    "strftime('%Y', {})",
]
UNARY += ["date({})", "substr({}, 1, 4)", "round({}, 1)", "ifnull({}, 0)", "({})", "-{}", "coalesce({}, 'x')"]
UNARY += [
    "replace({}, 'a', 'bb')",
    "hex({})",
    "upper({}) || '!'",
    "CASE WHEN {} THEN 1 ELSE 0 END",
    "typeof({})",
]
AGGREGATES = [
    "count({})",
    "sum({})",
    "avg({})",
    "min({})",
    "max({})",
    "count(DISTINCT {})",
    "group_concat({})",
]
OPERATORS = [
    "=",
    "<>",
    "<",
    ">=",
    "LIKE",
    "IS",
    "IS NOT",
    "+",
    "*",
    "/",
    "%",
    "||",
    "AND",
    "OR",
    "BETWEEN 1 AND",
]
PIECES = words(
    """
; -- /* */ ' " ` [ ] ( ) , . * :: -> $1 ? @x # {{ }} DROP DELETE INSERT UPDATE ATTACH COPY PRAGMA SET INTO RETURNING
read_text('x') 'secret.csv' "x.csv" sqlite_master information_schema.tables duckdb_settings() getenv('HOME')
query('SELECT_1') sqlite_scan('x','y') glob('*') WITH RECURSIVE UNION LATERAL TABLESAMPLE PIVOT UNPIVOT COLUMNS(*)
EXCLUDE REPLACE QUALIFY LIMIT OFFSET ALL ANY range(9) unnest([1]) repeat('x',99) x->x+1 e'\\'' $$a$$ 1e9 0x1F ٣ е
"""
)


@st.composite
def expressions(draw, columns, depth=2):
    leaf = draw(st.sampled_from([*columns, *columns, *LITERALS]))
    if depth == 0 or draw(st.booleans()):
        return leaf
    if draw(st.booleans()):
        return draw(st.sampled_from(UNARY)).format(draw(expressions(columns, depth - 1)))
    left, right = draw(expressions(columns, depth - 1)), draw(expressions(columns, depth - 1))
    return f"{left} {draw(st.sampled_from(OPERATORS))} {right}"


@st.composite
def queries(draw, depth=1):
    """A SELECT over one table or two, plain or grouped, now and then with a subquery, WITH or a set operation."""
    table = draw(st.sampled_from(list(COLUMNS)))
    columns = COLUMNS[table]
    source, kind = table, draw(st.sampled_from(["plain", "plain", "join", "subquery", "with", "union"]))
    if kind == "join":
        source = f"{table} AS a JOIN n ON n.x = a.{columns[0]}"
        columns = [f"a.{each}" for each in columns] + ["n.x"]
    elif kind == "subquery" and depth:
        source = f"(SELECT * FROM {table} WHERE {draw(expressions(columns, 1))}) AS t"
    shown = [draw(expressions(columns)) for _ in range(draw(st.integers(1, 3)))]
    is_grouped = draw(st.booleans())
    if is_grouped:
        shown.append(draw(st.sampled_from(AGGREGATES)).format(draw(expressions(columns, 1))))
    statement = f"SELECT {', '.join(shown)} FROM {source}"
    if draw(st.booleans()):
        statement += f" WHERE {draw(expressions(columns))}"
    if depth and draw(st.booleans()):
        inner = draw(queries(depth=0))
        glue = " AND" if " WHERE " in statement.rpartition(" FROM ")[2] else " WHERE"
        statement += f"{glue} EXISTS ({inner})"
    if is_grouped:
        statement += f" GROUP BY {draw(st.sampled_from(['1', *columns]))}"
        statement += draw(st.sampled_from(["", " HAVING count(*) > 0"]))
    statement += draw(st.sampled_from(["", " ORDER BY 1", " ORDER BY 1 DESC", f" ORDER BY {columns[0]}"]))
    statement += draw(st.sampled_from(["", " LIMIT 3", " LIMIT 2 OFFSET 1"]))
    if kind == "with":
        return f"WITH w AS ({statement}) SELECT * FROM w"
    return (
        f"SELECT * FROM ({statement}) UNION ALL SELECT * FROM ({statement})" if kind == "union" else statement
    )


@st.composite
def mutated(draw):
    """A sound statement with words taken out, doubled, moved, or replaced by what attacks are made of."""
    parts = draw(queries()).split(" ")
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(parts) - 1))
        change = draw(st.sampled_from(["out", "double", "insert", "replace", "move"]))
        if change == "out" and len(parts) > 1:
            del parts[place]
        elif change == "double":
            parts.insert(place, parts[place])
        elif change == "insert":
            parts.insert(place, draw(st.sampled_from(PIECES)))
        elif change == "replace":
            parts[place] = draw(st.sampled_from(PIECES))
        else:
            parts.insert(draw(st.integers(0, len(parts) - 1)), parts.pop(place))
    return draw(st.sampled_from([" ", " ", "\n", "\t", "/**/"])).join(parts)
