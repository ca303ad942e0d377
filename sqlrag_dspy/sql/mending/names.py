"""A statement whose names do not fit, made to fit: joins that it leaves out, columns looked for in the wrong table.

Language models forget a join far more often than they mean another column, and the catalog knows the join. Every
change is told, since it is likely and not certain. What has no likely reading is left as it is, for the check to
refuse. Leaves out the check itself, and statements that pass it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from sqlrag_dspy.errors import SqlRejected
from sqlrag_dspy.sql.checking.advice import nearest
from sqlrag_dspy.sql.checking.grammar import parse, render
from sqlrag_dspy.sql.joins import Hop, connect
from sqlrag_dspy.sql.scopes import conjuncts, stands_for_text
from sqlrag_dspy.sql.walking import nodes_of
from sqlrag_dspy.types import Catalog, Table

MOST_MENDED = 20_000
"""Characters of a statement that is mended; names are few in a longer one, and it takes seconds to go through."""
_ALIKE = 84
"""How alike, of 100, two names are spelt for one to be taken for the other."""


@dataclass(frozen=True)
class Mended:
    """The statement as it may have been meant, and what was changed, a line each."""

    text: str
    changes: tuple[str, ...]


def mend(sql: str, catalog: Catalog) -> Mended | None:
    """The statement with its names fitted to the catalog; None when it is long or unreadable, or nothing was found."""
    if len(sql) > MOST_MENDED:
        return None
    try:
        tree = parse(sql, brackets=catalog.dialect == "sqlite")
        named = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        changes: dict[str, None] = {}
        for select in [node for node in nodes_of(tree) if isinstance(node, exp.Select)]:
            _Select(select, catalog, named, changes).mend()
        text = render(tree) if changes else ""
    except (SqlRejected, RecursionError):
        return None
    return Mended(text, tuple(changes)) if changes else None


@dataclass
class _Select:
    """One SELECT: `sources` are its tables by folded alias, None for a subquery or WITH name."""

    node: exp.Select
    catalog: Catalog
    ctes: set[str]
    changes: dict[str, None]
    sources: dict[str, Table | None] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    added: bool = False

    def mend(self) -> None:
        start = self.node.args.get("from_")
        if start is None:
            return
        self._name(start.this)
        for join in list(self.node.args.get("joins") or ()):
            self._name(join.this)
            self._condition(join)
        columns = list(self._columns())
        owners = {id(column): self._owner(column) for column in columns}
        if self.added:
            self._widened(columns, owners)
        for column in columns:
            if (owner := owners[id(column)]) is not None and (column.table or self.added):
                column.set("table", exp.to_identifier(self.aliases[owner], quoted=True))

    # --- sources ---------------------------------------------------------------------------------------

    def _name(self, node: exp.Expr) -> None:
        """Takes note of one source, under the name that its table really has."""
        table = None
        if isinstance(node, exp.Table) and node.name.casefold() not in self.ctes:
            table = self.catalog.table(node.name)
            if table is None and (
                guess := nearest(node.name, [t.name for t in self.catalog.tables], cutoff=_ALIKE)
            ):
                table = self.catalog.table(guess)
                self._tell(f"took table {node.name!r} for {guess!r}")
                if not node.alias:
                    node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
                node.set("this", exp.to_identifier(guess, quoted=True))
        alias = node.alias or node.name
        self.sources[alias.casefold()] = table
        self.aliases[alias.casefold()] = alias

    def _condition(self, join: exp.Join) -> None:
        """Joins along the foreign key where ON names a column that is not there, or is missing."""
        condition, joined = join.args.get("on"), (join.this.alias or join.this.name).casefold()
        table = self.sources.get(joined)
        if condition is None or table is None:
            return
        columns = list(condition.find_all(exp.Column))
        if all(self._fits(column) for column in columns):
            return
        before = {alias: each for alias, each in self.sources.items() if alias != joined and each is not None}
        hops = connect(self.catalog, [each.name for each in before.values()], table.name)
        if not hops or any(hop.right in {each.name for each in before.values()} for hop in hops):
            return
        *between, last = hops
        for hop in between:
            self._add(hop, before=join)
        rest = [term for term in conjuncts(condition) if all(map(self._fits, term.find_all(exp.Column)))]
        join.set("on", exp.and_(self._equality(last, right=joined), *[term.copy() for term in rest]))
        self._tell(f"joined {table.name} on {_spelt(last)}")

    def _fits(self, column: exp.Column) -> bool:
        """Whether a column of ON is there as it is written."""
        if not column.table:
            return any(each is None or each.column(column.name) for each in self.sources.values())
        folded = column.table.casefold()
        if folded not in self.sources:
            return False
        source = self.sources[folded]
        return source is None or source.column(column.name) is not None

    def _add(self, hop: Hop, before: exp.Join | None = None) -> None:
        """Joins one more table, last or before another join."""
        folded = hop.right.casefold()
        if folded in self.sources:
            if self.sources[folded] is None or self.sources[folded].name != hop.right:  # type: ignore[union-attr]
                raise SqlRejected(f"{hop.right!r} is the name of something else here")
            return
        self.sources[folded], self.aliases[folded] = self.catalog.table(hop.right), hop.right
        join = exp.Join(this=exp.to_table(hop.right, quoted=True), on=self._equality(hop, right=folded))
        join.this.set("this", exp.to_identifier(hop.right, quoted=True))
        joins = list(self.node.args.get("joins") or ())
        joins.insert(next((n for n, each in enumerate(joins) if each is before), len(joins)), join)
        self.node.set("joins", joins)
        self.added = True
        self._tell(f"joined {hop.right} on {_spelt(hop)}")

    def _equality(self, hop: Hop, *, right: str) -> exp.Expr:
        left = next(
            alias for alias, each in self.sources.items() if each is not None and each.name == hop.left
        )
        pairs = [
            exp.EQ(this=_column(self.aliases[left], a), expression=_column(self.aliases[right], b))
            for a, b in zip(hop.left_columns, hop.right_columns)
        ]
        return exp.and_(*pairs)

    # --- columns ---------------------------------------------------------------------------------------

    def _columns(self) -> Iterator[exp.Column]:
        for column in self.node.find_all(exp.Column):
            if column.parent_select is self.node and not isinstance(column.this, exp.Star):
                yield column

    def _owner(self, column: exp.Column) -> str | None:
        """The alias of the source that a column is taken from, joined or found first; None to leave it alone."""
        name, qualifier = column.name, column.table.casefold()
        if qualifier:
            if qualifier in self.sources:
                source = self.sources[qualifier]
                if source is None or source.column(name) is not None or name.casefold() == "rowid":
                    return None
            elif self._is_outer(qualifier):
                return None
        else:
            outputs = {each.alias.casefold() for each in self.node.expressions if isinstance(each, exp.Alias)}
            is_text = bool(column.this.args.get("quoted")) and stands_for_text(column)
            if (
                name.casefold() in outputs
                or name.casefold() == "rowid"
                or (is_text and not self._holders(name))
            ):
                return None
        if holders := self._holders(name):
            if qualifier:
                self._tell(f"took {column.sql()} for {self.aliases[holders[0]]}.{name}")
            elif len(holders) > 1:
                self._tell(f"took {name} for {self.aliases[holders[0]]}.{name}")
                column.set("table", exp.to_identifier(self.aliases[holders[0]], quoted=True))
            return holders[0]
        if any(each is None for each in self.sources.values()) or (not qualifier and self._is_around(name)):
            return None
        return self._referred(column) or self._joined(qualifier, name) or self._alike(column)

    def _holders(self, name: str) -> list[str]:
        return [alias for alias, each in self.sources.items() if each is not None and each.column(name)]

    def _referred(self, column: exp.Column) -> str | None:
        """The key of a source that is looked for under the name of what refers to it: order.order_id for order.id."""
        for other in self.catalog.tables:
            for key in other.foreign_keys:
                if [each.casefold() for each in key.columns] != [column.name.casefold()]:
                    continue
                for alias, table in self.sources.items():
                    if table is not None and table.name == key.table and table.column(key.to_columns[0]):
                        self._tell(f"took {column.name} for {table.name}.{key.to_columns[0]}")
                        column.set("this", exp.to_identifier(key.to_columns[0], quoted=True))
                        return alias
        return None

    def _joined(self, qualifier: str, name: str) -> str | None:
        """The nearest table that has the column, joined along foreign keys."""
        having = [each for each in self.catalog.tables if each.column(name) is not None]
        wanted = [each for each in having if each.name.casefold() == qualifier] or having
        starts = [each.name for each in self.sources.values() if each is not None]
        paths = [found for each in wanted if (found := connect(self.catalog, starts, each.name))]
        if not paths:
            return None
        for hop in min(paths, key=len):
            self._add(hop)
        return min(paths, key=len)[-1].right.casefold()

    def _alike(self, column: exp.Column) -> str | None:
        """A column of the sources that is spelt nearly the same."""
        if column.this.args.get("quoted"):
            return None
        names = {
            c.name: alias for alias, each in self.sources.items() if each is not None for c in each.columns
        }
        guess = nearest(column.name, names, cutoff=_ALIKE)
        if guess is None:
            return None
        self._tell(f"took {column.name} for {guess}")
        column.set("this", exp.to_identifier(guess, quoted=True))
        return names[guess]

    def _is_outer(self, alias: str) -> bool:
        return any(alias in _aliases(select) for select in _around(self.node))

    def _is_around(self, name: str) -> bool:
        """Whether a query around this one may offer the column."""
        for select in _around(self.node):
            for alias in _aliases(select).values():
                table = self.catalog.table(alias)
                if table is None or table.column(name) is not None:
                    return True
        return False

    def _widened(self, columns: list[exp.Column], owners: dict[int, str | None]) -> None:
        """Keeps what was meant before a table was joined: unqualified columns, and all columns of `*`."""
        for column in columns:
            if owners[id(column)] is None and not column.table and (holders := self._holders(column.name)):
                owners[id(column)] = holders[0]
        added = {
            join.this.name.casefold() for join in self.node.args.get("joins") or () if not join.this.alias
        }
        shown: list[exp.Expr] = []
        for each in self.node.expressions:
            if isinstance(each, exp.Star) and not each.args.get("except_"):
                kept = [alias for alias in self.sources if alias not in added] or list(self.sources)[:1]
                shown += [
                    exp.Column(this=exp.Star(), table=exp.to_identifier(self.aliases[a], quoted=True))
                    for a in kept
                ]
            else:
                shown.append(each)
        self.node.set("expressions", shown)

    def _tell(self, change: str) -> None:
        self.changes.setdefault(change)


def _around(node: exp.Expr) -> Iterator[exp.Select]:
    select = node.parent_select
    while select is not None:
        if isinstance(select, exp.Select):
            yield select
        select = select.parent_select


def _aliases(select: exp.Select) -> dict[str, str]:
    """Names of a query's sources by folded alias; a subquery has none."""
    start = select.args.get("from_")
    nodes = [start.this] if start is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    return {(node.alias or node.name).casefold(): node.name for node in nodes}


def _column(alias: str, name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))


def _spelt(hop: Hop) -> str:
    pairs = zip(hop.left_columns, hop.right_columns)
    return " and ".join(f"{hop.left}.{left} = {hop.right}.{right}" for left, right in pairs)
