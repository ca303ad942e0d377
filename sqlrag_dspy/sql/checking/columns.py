"""Ties column names to the sources in scope, nearest scope first; says where a missing one lives."""

from __future__ import annotations

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking import advice
from sqlrag_dspy.sql.kinds import Field, field_of, kind_of
from sqlrag_dspy.sql.scopes import Scope, Source, inside_aggregate, spell, stands_for_text
from sqlrag_dspy.types import Catalog

SCHEMAS = ("main", "public")
"""What may stand before a table's name; it has no meaning, every table is in one place."""


MAX_COPIES = 1_000
"""Expressions that an output may stand for: DuckDB copies each output into those that name it."""


class ColumnNames:
    """Resolves the columns of one statement; `read` are the stored ones, in order of first mention.

    `copies` is how many expressions the names of outputs stand for, each spelt out, as DuckDB does.
    """

    def __init__(self, catalog: Catalog, *, quotes_make_text: bool) -> None:
        self.catalog = catalog
        self.quotes_make_text = quotes_make_text
        self.read: dict[tuple[str, str], None] = {}
        self.copies = 0

    def resolve(self, node: exp.Column, scope: Scope, *, outputs_first: bool, records: bool) -> None:
        """Tie one column node: to a source, to an output name, or to a query around this one."""
        name, folded = node.name, node.name.casefold()
        if node.table:
            source = self._named_source(node, scope)
            found = source.fields.get(folded)
            if found is None:
                raise SqlRejected(advice.no_column(name, source.alias, source.fields, self.catalog))
            self._tie(node, found, source.alias.casefold(), records=records)
            return
        if outputs_first and folded in scope.outputs and not inside_aggregate(node):
            self._tie_output(node, scope.outputs[folded])
            return
        level: Scope | None = scope
        while level is not None:
            holders = [key for key, source in level.sources.items() if folded in source.fields]
            if len(holders) > 1 and folded not in level.merged:
                names = " or ".join(f"{level.sources[key].alias}.{name}" for key in holders)
                raise SqlRejected(f"column {name!r} is in several sources; write {names}")
            if holders:
                self._tie(node, level.sources[holders[0]].fields[folded], holders[0], records=records)
                return
            if folded in level.outputs:
                self._tie_output(node, level.outputs[folded])
                return
            level = level.outer
        if self.quotes_make_text and node.this.args.get("quoted") and stands_for_text(node):
            node.replace(exp.Literal.string(name))
            return
        nearest: dict[str, Field] = {}
        aliases: list[str] = []
        level = scope
        while level is not None:
            for source in level.sources.values():
                nearest.update(source.fields)
                aliases.append(source.alias)
            level = level.outer
        is_quoted = bool(node.this.args.get("quoted"))
        raise SqlRejected(
            advice.no_column(name, " or ".join(aliases), nearest, self.catalog, is_quoted=is_quoted)
        )

    def _named_source(self, node: exp.Column, scope: Scope) -> Source:
        level: Scope | None = scope
        wanted = node.table.casefold()
        while level is not None:
            if wanted in level.sources:
                source = level.sources[wanted]
                if node.args.get("db") and node.text("db").casefold() not in SCHEMAS:
                    raise SqlRejected(
                        f"write {node.table}.{node.name}, without {node.text('db')!r} before it"
                    )
                node.set("table", exp.to_identifier(source.alias, quoted=True))
                node.set("db", None)
                node.set("catalog", None)
                return source
            level = level.outer
        known = [source.alias for source in scope.sources.values()]
        raise SqlRejected(advice.no_source(node.table, known, self.catalog))

    def _tie(self, node: exp.Column, found: Field, key: str, *, records: bool) -> None:
        spell(node.this, found.name)
        node.meta["field"] = found
        node.meta["source"] = key
        if records:
            self.record(found)

    def _tie_output(self, node: exp.Column, output: exp.Alias) -> None:
        spell(node.this, output.alias)
        self.copies += output.meta["copies"]
        inner = field_of(output.this)
        node.meta["field"] = Field(
            output.alias,
            kind_of(output.this),
            inner.table if inner else None,
            inner.column if inner else None,
            (output.this,),
        )
        node.meta["output"] = True

    def note_copies(self, output: exp.Alias, before: int) -> None:
        """Note how many expressions an output is made of. Raises SqlRejected when they multiply beyond bounds."""
        output.meta["copies"] = copies = 1 + self.copies - before
        if copies > MAX_COPIES:
            raise SqlRejected(
                f"{output.alias!r} is built from other columns of the same SELECT, {copies:,} times over; compute them "
                "in a WITH query first"
            )

    def record(self, found: Field) -> None:
        """Note that the query reads this stored column."""
        if found.table is not None:
            self.read.setdefault((found.table.name, found.column.name if found.column else found.name))

    def star(self, projection: exp.Expr, star: exp.Star, scope: Scope) -> list[tuple[Source, Field]]:
        """The fields that `*` or `table.*` shows, each with its source."""
        if isinstance(projection, exp.Column) and projection.table:
            source = self._named_source(projection, scope)
            shown = [(source, each) for _, each in source.starred()]
        else:
            if not scope.sources:
                raise SqlRejected("SELECT * needs a FROM clause")
            shown, seen = [], set[str]()
            for source in scope.sources.values():
                for folded, each in source.starred():
                    if folded not in seen or folded not in scope.merged:
                        shown.append((source, each))
                        seen.add(folded)
        hidden: set[str] = set()
        for name in star.args.get("except_") or ():
            column = next((each for _, each in shown if each.name.casefold() == name.name.casefold()), None)
            if column is None:
                raise SqlRejected(f"EXCLUDE names {name.name!r}, which is no column here")
            spell(name if isinstance(name, exp.Identifier) else name.this, column.name)
            hidden.add(column.name.casefold())
        shown = [(source, each) for source, each in shown if each.name.casefold() not in hidden]
        for _, each in shown:
            self.record(each)
        return shown

    def shown(self, source: Source, found: Field, scope: Scope) -> exp.Column:
        """The column that stands for one field of `*` when `*` itself would show more than it should."""
        folded, is_alone = found.name.casefold(), len(scope.sources) == 1 or not source.alias
        qualifier = (
            None if is_alone or folded in scope.merged else exp.to_identifier(source.alias, quoted=True)
        )
        column = exp.Column(this=exp.to_identifier(found.name, quoted=True), table=qualifier)
        self._tie(column, found, source.alias.casefold(), records=False)
        return column
