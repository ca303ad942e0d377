"""Ties every name of a query to the catalog, scope by scope, and spells it as stored, quoted.

Each source must be a table of the catalog, a WITH name, a subquery or one of three bounded table functions.
Each resolved column node carries its `Field` in `meta["field"]` and its source in `meta["source"]`; each query
node carries the kinds of its output in `meta["kinds"]`. Functions and types are not looked at here.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking import advice
from sqlrag_dspy.sql.checking.columns import SCHEMAS, ColumnNames
from sqlrag_dspy.sql.checking.functions import generated_rows
from sqlrag_dspy.sql.checking.growth import Growth, grows
from sqlrag_dspy.sql.checking.products import Links, is_constant, joined_rows
from sqlrag_dspy.sql.kinds import Field, Kind, column_kind, field_of, function_name, kind_of
from sqlrag_dspy.sql.scopes import (
    Scope,
    Source,
    by_name,
    children,
    has_own_aggregate,
    quote,
    renamed,
    spell,
)
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.types import Catalog

MAX_SOURCES = 24
"""Tables and subqueries named in one statement."""
MAX_QUERIES = 60
MAX_ROWS = 1e10
ELEMENTS = 100.0
"""Elements taken for a list of which nothing is known."""


class Resolver:
    """Resolves one statement; `tables` are what it reads in order of first mention, `columns` sorted."""

    def __init__(self, catalog: Catalog, *, quotes_make_text: bool) -> None:
        self.catalog = catalog
        self.tables: dict[str, None] = {}
        self._columns = ColumnNames(catalog, quotes_make_text=quotes_make_text)
        self._growth = Growth()
        self._lists: list[exp.Expr] = []
        self._sources = 0
        self._queries = 0

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self._columns.read))

    def statement(self, tree: exp.Query) -> None:
        self._query(tree, {}, None)
        if any(map(grows, nodes_of(tree))):
            self._growth.of(tree)

    # --- queries ------------------------------------------------------------------------------------

    def _query(
        self, node: exp.Expr, ctes: dict[str, Source], outer: Scope | None
    ) -> tuple[list[Field], float]:
        self._queries += 1
        if self._queries > MAX_QUERIES:
            raise SqlRejected(f"the statement holds more than {MAX_QUERIES} subqueries; simplify it")
        ctes = self._with(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            fields, rows = self._query(node.this, ctes, outer)
            self._output_modifiers(node, fields, ctes, outer)
        elif isinstance(node, exp.SetOperation):
            fields, rows = self._set_operation(node, ctes, outer)
        elif isinstance(node, exp.Select):
            fields, rows = self._select(node, ctes, outer)
        elif isinstance(node, exp.Values):
            return self._values(node, ctes, outer)
        else:
            raise SqlRejected("write one SELECT query")
        if rows > MAX_ROWS:
            raise SqlRejected("the statement would make too many rows; join on keys and select fewer of them")
        limit = node.args.get("limit")
        if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal):
            rows = min(rows, float(limit.expression.this))
        node.meta["kinds"] = [each.kind for each in fields]
        node.meta["fields"] = fields
        return fields, rows

    def _with(self, node: exp.Expr, ctes: dict[str, Source], outer: Scope | None) -> dict[str, Source]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        ctes, named = dict(ctes), set[str]()
        for cte in clause.expressions:
            fields, rows = self._query(cte.this, ctes, outer)
            if cte.alias.casefold() in named:
                raise SqlRejected(f"WITH names {cte.alias!r} twice; give each query its own name")
            named.add(cte.alias.casefold())
            alias = cte.args["alias"]
            quote(alias.this)
            fields = renamed(fields, alias)
            ctes[cte.alias.casefold()] = Source(cte.alias, by_name(fields), rows)
        return ctes

    def _set_operation(
        self, node: exp.SetOperation, ctes: dict[str, Source], outer: Scope | None
    ) -> tuple[list[Field], float]:
        branches: list[exp.Expr] = []
        left: exp.Expr = node
        while isinstance(left, exp.SetOperation) and (left is node or not left.args.get("with_")):
            branches.append(left.expression)
            left = left.this
        branches.append(left)
        fields: list[Field] = []
        total = 0.0
        for branch in reversed(branches):
            found, rows = self._query(branch, ctes, outer)
            total += rows
            if not fields:
                fields = found
            elif len(found) != len(fields):
                raise SqlRejected(
                    f"the parts of a {node.key.upper()} give {len(fields)} and {len(found)} columns; "
                    "select as many in each"
                )
            else:
                fields = [
                    replace(a, origins=(a, b)) if a.kind == b.kind else Field(a.name, None, origins=(a, b))
                    for a, b in zip(fields, found)
                ]
        self._output_modifiers(node, fields, ctes, outer)
        return fields, total

    def _output_modifiers(
        self, node: exp.Expr, fields: list[Field], ctes: dict[str, Source], outer: Scope | None
    ) -> None:
        """ORDER BY after a set operation or bracketed query: it sees output names alone."""
        order = node.args.get("order")
        if order is not None:
            scope = Scope({"": Source("", by_name(fields))}, outer=None)
            self._expressions(order, scope, ctes, records=False)

    def _values(
        self, node: exp.Values, ctes: dict[str, Source], outer: Scope | None
    ) -> tuple[list[Field], float]:
        scope = Scope(outer=outer)
        for row in node.expressions:
            self._expressions(row, scope, ctes)
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        fields = [
            Field(f"col{number}", kind_of(cells[0]), origins=cells) for number, cells in enumerate(zip(*rows))
        ]
        return fields, float(len(node.expressions))

    # --- one SELECT ---------------------------------------------------------------------------------

    def _select(
        self, node: exp.Select, ctes: dict[str, Source], outer: Scope | None
    ) -> tuple[list[Field], float]:
        scope = Scope(outer=outer)
        joins = list(node.args.get("joins") or ())
        start = node.args.get("from_")
        if start is not None:
            self._source(start.this, scope, ctes)
            joins = [*(start.this.args.get("joins") or ()), *joins]
        links = Links()
        for join in joins:
            self._join(join, scope, ctes, links)
        lists = len(self._lists)
        fields = self._projections(node, scope, ctes)
        made = max((self._elements(each) for each in self._lists[lists:]), default=1.0)
        del self._lists[lists:]
        for part in ("distinct", "where", "group", "having", "qualify", "windows", "order"):
            self._clause(node, part, scope, ctes)
        where = node.args.get("where")
        if where is not None:
            links.note(where.this)
        for key in ("limit", "offset"):
            clause = node.args.get(key)
            count = clause and (clause.args.get("count") or clause.args.get("expression"))
            if count is not None and not (isinstance(count, exp.Literal) and count.this.isdigit()):
                if isinstance(count, exp.Neg):
                    node.set(key, None)  # SQLite's LIMIT -1 is no limit
                else:
                    raise SqlRejected(f"{key.upper()} needs a plain number")
        rows = joined_rows(scope, links, self.catalog) * made
        node.meta["rows"] = rows
        if not node.args.get("group") and has_own_aggregate(node):
            rows = 1.0
        return fields, rows

    def _clause(self, node: exp.Select, part: str, scope: Scope, ctes: dict[str, Source]) -> None:
        value = node.args.get(part)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expr):
                self._expressions(each, scope, ctes, outputs_first=part == "order")

    def _source(self, node: exp.Expr, scope: Scope, ctes: dict[str, Source]) -> str:
        self._sources += 1
        if self._sources > MAX_SOURCES:
            raise SqlRejected(f"the statement names more than {MAX_SOURCES} tables; join only those it needs")
        alias = node.args.get("alias")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            source = self._table(node, ctes)
        elif isinstance(node, exp.Table | exp.Unnest):
            source = self._table_function(node, scope, ctes)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise SqlRejected(
                "brackets around a join may only come first in FROM; join the tables one by one"
            )
        elif isinstance(node, exp.Subquery | exp.Values):
            fields, rows = self._query(node, ctes, scope.outer)
            source = Source(node.alias, by_name(renamed(fields, alias)), rows)
        else:
            raise SqlRejected("read from a table, a subquery or a WITH query")
        if isinstance(alias, exp.TableAlias) and alias.this is not None:
            quote(alias.this)
            for column in alias.columns:
                quote(column)
            if isinstance(node, exp.Table) and alias.columns and isinstance(node.this, exp.Identifier):
                source.fields = by_name(renamed(list(source.fields.values()), alias))
            source.alias = alias.name
        folded = source.alias.casefold() or f"?{len(scope.sources)}"
        if folded in scope.sources:
            raise SqlRejected(
                f"two sources are called {source.alias!r}; give each its own alias, as in {source.alias} AS b"
            )
        scope.sources[folded] = source
        for join in (node.args.get("joins") or ()) if isinstance(node, exp.Subquery) else ():
            self._join(join, scope, ctes, Links())
        return folded

    def _table(self, node: exp.Table, ctes: dict[str, Source]) -> Source:
        qualifier = ".".join(part for part in (node.catalog, node.db) if part)
        name = node.name
        if not qualifier and name.casefold() in ctes:
            cte = ctes[name.casefold()]
            node.set("this", exp.to_identifier(cte.alias, quoted=True))
            return Source(cte.alias, dict(cte.fields), cte.rows)
        if name.casefold() in ctes and qualifier.casefold() in SCHEMAS:
            raise SqlRejected(f"WITH names a query {name!r} like the table; give the query another name")
        table = self.catalog.table(name)
        if table is None or qualifier.casefold() not in ("", *SCHEMAS):
            shown = f"{qualifier}.{name}" if qualifier else name
            raise SqlRejected(advice.no_table(shown, self.catalog, [cte.alias for cte in ctes.values()]))
        node.set("this", exp.to_identifier(table.name, quoted=True))
        for part in ("db", "catalog", "indexed"):
            node.set(part, None)
        self.tables.setdefault(table.name)
        fields = {
            each.name.casefold(): Field(each.name, column_kind(each), table, each) for each in table.columns
        }
        hides = table.key == ("rowid",) and "rowid" not in fields
        if hides:
            fields["rowid"] = Field("rowid", "integer", table)
        return Source(table.name, fields, float(max(table.rows, 1)), shows_rowid=not hides)

    def _table_function(self, node: exp.Expr, scope: Scope, ctes: dict[str, Source]) -> Source:
        call = node.this if isinstance(node, exp.Table) else node
        name = "unnest" if isinstance(call, exp.Unnest) else function_name(call)
        if name not in ("unnest", "range", "generate_series"):
            raise SqlRejected(advice.no_table_function(name or "this"))
        self._expressions(call, Scope(outer=scope), ctes, root_is_source=True)
        rows = self._elements(call) if name == "unnest" else generated_rows(call, name)
        alias = node.args.get("alias")
        columns = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        kind: Kind | None = (
            "integer" if name != "unnest" and kind_of(call.expressions[0]) == "integer" else None
        )
        label = (alias.name if isinstance(alias, exp.TableAlias) and alias.this else "") or name
        fields = [Field(each, kind) for each in columns or [label if name == "unnest" else name]]
        return Source(label, by_name(fields), rows)

    def _elements(self, call: exp.Expr) -> float:
        """Rows that unnest makes: the elements of the list, as far as they can be told."""
        if len(call.expressions) != 1:
            raise SqlRejected("unnest needs one list, as in unnest([1, 2, 3])")
        return self._growth.of(call.expressions[0]).items or ELEMENTS

    def _join(self, join: exp.Join, scope: Scope, ctes: dict[str, Source], links: Links) -> None:
        before = dict(scope.sources)
        folded = self._source(join.this, scope, ctes)
        offered = {name for source in before.values() for name, _ in source.starred()}
        shared = [name for name, _ in scope.sources[folded].starred() if name in offered]
        using = join.args.get("using")
        if join.method.upper() == "NATURAL":
            if shared and not all(source.shows_rowid for source in scope.sources.values()):
                # The source's view has the row number as a column, and it would be joined on as well.
                join.set("method", None)
                join.set("using", [exp.to_identifier(name, quoted=True) for name in shared])
            scope.merged |= set(shared)
            for source in scope.sources.values():
                for name in shared:
                    if name in source.fields:
                        self._columns.record(source.fields[name])
            if not shared:
                raise SqlRejected(
                    "NATURAL JOIN finds no column on both sides; write JOIN … ON a.x = b.y instead"
                )
            if not all(is_constant(scope.sources[folded].fields[name]) for name in shared):
                links.equal.append({folded, *before})
        elif using:
            for column in using:
                if column.name.casefold() not in shared:
                    raise SqlRejected(
                        f"USING ({column.name}) needs the column on both sides; write ON a.x = b.y instead"
                    )
                scope.merged.add(column.name.casefold())
                holder = next(s for s in before.values() if column.name.casefold() in s.fields)
                stored = holder.fields[column.name.casefold()]
                self._columns.record(stored)
                self._columns.record(scope.sources[folded].fields[column.name.casefold()])
                spell(column if isinstance(column, exp.Identifier) else column.this, stored.name)
                if not is_constant(stored):
                    links.equal.append({folded, next(key for key, s in before.items() if s is holder)})
        condition = join.args.get("on")
        if condition is not None:
            self._expressions(join, scope, ctes, only=condition)
            links.note(condition)
        if join.kind.upper() in ("SEMI", "ANTI"):
            scope.sources[folded].fields = {}

    # --- expressions --------------------------------------------------------------------------------

    def _projections(self, node: exp.Select, scope: Scope, ctes: dict[str, Source]) -> list[Field]:
        fields: list[Field] = []
        written: list[exp.Expr] = []
        for projection in node.expressions:
            star = projection if isinstance(projection, exp.Star) else projection.this
            if isinstance(star, exp.Star) and isinstance(projection, exp.Star | exp.Column):
                shown = self._columns.star(projection, star, scope)
                fields += [each for _, each in shown]
                if not all(source.shows_rowid for source in scope.sources.values()):
                    written += [self._columns.shown(*each, scope) for each in shown]
                else:
                    written.append(projection)
                continue
            written.append(projection)
            copies = self._columns.copies
            self._expressions(projection, scope, ctes)
            if isinstance(projection, exp.Alias):
                self._columns.note_copies(projection, copies)
                quote(projection.args["alias"])
                scope.outputs.setdefault(projection.alias.casefold(), projection)
                inner = field_of(projection.this)
                kind = kind_of(projection.this)
                fields.append(
                    Field(
                        projection.alias,
                        kind,
                        inner.table if inner else None,
                        inner.column if inner else None,
                        (projection.this,),
                    )
                )
            else:
                found = field_of(projection)
                fields.append(found or Field("", kind_of(projection), origins=(projection,)))
        if written != node.expressions:
            node.set("expressions", written)
        return fields

    def _expressions(
        self,
        root: exp.Expr,
        scope: Scope,
        ctes: dict[str, Source],
        *,
        outputs_first: bool = False,
        records: bool = True,
        only: exp.Expr | None = None,
        root_is_source: bool = False,
    ) -> None:
        """Resolve every column under `root` (or under `only` of it); queries inside see this scope as outer."""
        stack = [only if only is not None else root]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Column):
                if isinstance(node.this, exp.Star):
                    self._columns.star(node, node.this, scope)
                else:
                    self._columns.resolve(node, scope, outputs_first=outputs_first, records=records)
                continue
            if isinstance(node, exp.Query | exp.Values) and not (root_is_source and node is root):
                self._query(node, ctes, scope)
                continue
            if isinstance(node, exp.TableAlias):
                continue
            if isinstance(node, exp.Anonymous) and node.this == "unnest":
                self._lists.append(node)
            stack.extend(children(node))
