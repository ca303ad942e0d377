"""Evidence by meaning: which rows may be searched, and the search inside exactly those."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import dspy

from sqlrag_dspy.errors import QueryFailed, SqlRejected
from sqlrag_dspy.program.across import search_across
from sqlrag_dspy.program.answer import Written
from sqlrag_dspy.program.calling import can_ask, note_failure
from sqlrag_dspy.program.database import STALE
from sqlrag_dspy.program.inquiry import Inquiry, without
from sqlrag_dspy.program.parts import Parts
from sqlrag_dspy.program.plan import Plan
from sqlrag_dspy.program.prompt import WRITTEN, bare, describe_links, describe_schema
from sqlrag_dspy.program.sketching.restricting import first_rows, predicates
from sqlrag_dspy.program.sketching.slots import main_table
from sqlrag_dspy.types import CheckedSql, Document, Item, Predicate, Rows, Search, Sketch, Table

DOCUMENTS = 10
"""Rows returned by a search."""


@dataclass
class Evidence:
    """What an answer may rest on: rows, or documents with how they were searched. All empty for a decline."""

    sql: CheckedSql | None = None
    rows: Rows | None = None
    documents: tuple[Document, ...] = ()
    search: Search | None = None
    needs_model: bool = False
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """What may be quietly wrong with the SQL, each with advice."""
    assumptions: tuple[str, ...] = ()
    """What the sketch that wrote the SQL took for granted."""
    is_doubtful: bool = False
    """Whether the SQL found nothing because of a condition that no row passes."""
    told: str = ""
    """What the SQL does, in a model's words."""
    written: Written | None = None
    """The answer of an agent, whose citations were checked."""


def prepare(rag: Parts, inquiry: Inquiry, plan: Plan) -> None:
    """Completes the plan: the sketch of an sql question, or the table, topic and filters of a search."""
    catalog = inquiry.database.catalog
    if plan.route == "sql":
        with inquiry.step("sketch", inquiry.masked) as step:
            read = rag.sketcher(links=inquiry.links, masked=inquiry.masked, catalog=catalog)
            plan.sketch, plan.trust = read.sketch, read.confidence
            plan.assumptions = tuple(read.draft.assumptions)
            step.output = (
                f"{read.draft.skeleton.text() if read.draft.skeleton else 'no sketch'} ({plan.trust:.2f})"
            )
        return
    table, others = text_tables(inquiry)
    plan.table, plan.text = table.name, inquiry.question
    with inquiry.step("filters", inquiry.question) as step:
        restricting, surest = rag.sketcher.filters(inquiry.links, inquiry.masked, catalog)
        chosen = [(inquiry.links.chosen[number], role) for number, role in restricting]
        plan.filters = predicates(chosen, table, catalog, inquiry.assumptions)
        plan.first = first_rows(chosen, table)
        plan.text = topic(inquiry, [number for number, _ in restricting])
        if can_ask(rag, inquiry) and not (rag.gate_open and surest >= rag.thresholds.filters):
            plan.condition = _choose(rag, inquiry, table)
            if plan.condition and (equal := _equalities(plan.condition, inquiry, table)):
                plan.condition, plan.filters = None, equal
        settle(plan, table)
        if others:
            _settle_tables(plan, others, inquiry)
        if plan.condition is None:
            unused(inquiry, {number for number, _ in restricting})
        step.output = plan.condition or describe_filters(plan) or "none"


def unused(inquiry: Inquiry, used: set[int]) -> None:
    """Flags the answer when a bound that the question states ("over 300") found no column and restricts nothing."""
    for number, link in enumerate(inquiry.links.chosen):
        if link.kind == "number" and link.op and (number not in used or link.column is None):
            inquiry.flagged = True
            inquiry.warnings.append(
                f"{link.text!r} restricts nothing: it is not clear which column it bounds"
            )


def text_tables(inquiry: Inquiry) -> tuple[Table, tuple[str, ...]]:
    """The table to search, and others that may be meant as well.

    The question's own where it has long text, else the only one that refers to it or that it refers to; where
    nothing tells, the largest, and all others.
    """
    tables = inquiry.database.text_tables
    if not tables:
        raise SqlRejected(
            f"no table of {inquiry.database.name} has a long text column, so nothing can be searched by meaning; "
            "name one under [tables.…] text in sqlrag.toml"
        )
    named = {link.table for link in inquiry.links.chosen}
    table = main_table(inquiry.links, inquiry.database.catalog)
    if table is not None and table.name in named:
        if table.text_columns:
            return table, ()
        if len(beside := [each for each in tables if _are_tied(each, table)]) == 1:
            return beside[0], ()
    table = max(tables, key=lambda table: (not table.is_view, table.rows))
    return table, tuple(each.name for each in tables if each is not table)


def _are_tied(one: Table, other: Table) -> bool:
    """Whether one of two tables refers to the other."""
    return any(key.table == other.name for key in one.foreign_keys) or any(
        key.table == one.name for key in other.foreign_keys
    )


def _settle_tables(plan: Plan, others: tuple[str, ...], inquiry: Inquiry) -> None:
    """All tables are searched where nothing is restricted; restrictions are on one, and that is told."""
    if plan.route == "vector" and not plan.mirrored:
        plan.also = others
        return
    inquiry.assumptions.append(
        f"{plan.table} was searched and not {', '.join(others)}, since the question names none of them"
    )


def settle(plan: Plan, table: Table) -> None:
    """Splits the filters into those the index mirrors and those that need SQL; the route follows them.

    By definition (docs/labels.md) a search restricted by anything but equality on a mirrored column is hybrid,
    and one restricted by nothing or by a single such equality is not. Several equalities may go either way,
    so there the router's word stands.
    """
    if plan.condition is not None or plan.first is not None:
        plan.route = "hybrid"
        return
    mirrored: dict[str, Any] = {}
    for alternatives in plan.filters:
        only = alternatives[0]
        fits = (
            len(alternatives) == 1
            and only.op == "="
            and only.table == table.name
            and only.column in table.filter_columns
            and only.column not in mirrored
        )
        if not fits:
            plan.route = "hybrid"
            return
        mirrored[only.column] = only.value
    if len(mirrored) > 1 and plan.route == "hybrid":
        return
    plan.mirrored = mirrored
    plan.route = "vector"


def search(rag: Parts, inquiry: Inquiry, plan: Plan) -> Evidence:
    """Search by meaning: over everything, inside mirrored filters, or inside the rows that SQL chooses."""
    from sqlrag_dspy import sql as sql_room

    database, table = inquiry.database, plan.table
    if table is None:
        return Evidence()
    allowed = None
    if plan.route == "hybrid" and plan.condition:
        try:
            allowed = _allowed(inquiry, plan, table)
        except QueryFailed as error:
            inquiry.fail("lm", f"the model's row filter was not used ({error})")
            plan.condition = plan.key_sql = None
            if (known := database.catalog.table(table)) is not None:
                settle(plan, known)
    if plan.route == "hybrid" and allowed is None:
        allowed = _allowed(inquiry, plan, table)
    with inquiry.step("search", f"{plan.text!r} in {', '.join((table, *plan.also))}") as step:
        if allowed is not None and not allowed:
            notes = (
                sql_room.explain_empty(plan.key_sql, database.catalog, database.run) if plan.key_sql else []
            )
            step.output = "no rows allowed"
            empty = Search(0, 0, True, key_sql=plan.key_sql.text if plan.key_sql else None)
            return Evidence(search=empty, notes=list(notes))
        meant = inquiry.meant(plan.text)
        if plan.also:
            hits = search_across(database, plan.text, (table, *plan.also), DOCUMENTS, meant)
        else:
            hits = database.search(
                plan.text,
                table,
                k=DOCUMENTS,
                allowed=allowed,
                filters=plan.mirrored or None,
                known=meant,
            )
        step.output = "; ".join(f"{document.key!r} {document.score:.2f}" for document in hits.documents[:5])
    done = hits.search
    key_sql = plan.key_sql.text if plan.key_sql else None
    told = replace(done, key_sql=key_sql)
    return Evidence(documents=hits.documents, search=told, notes=[STALE] if database.is_stale else [])


def _allowed(inquiry: Inquiry, plan: Plan, table: str) -> Any:
    """The keys of the rows that may be searched."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    catalog = database.catalog
    with inquiry.step("choose rows") as step:
        if plan.condition:
            text = sql_room.keys_where(table, plan.condition, catalog)
        elif plan.first is not None:
            text = sql_room.write(first_keys(plan, inquiry), catalog)
        else:
            text = sql_room.keys_query(table, plan.filters, catalog)
        plan.key_sql = database.check_keys(text)
        step.input = plan.key_sql.text
        allowed = database.all_keys(plan.key_sql)
        step.output = f"{len(allowed)} rows"
    return allowed


def first_keys(plan: Plan, inquiry: Inquiry) -> Sketch:
    """The keys of the first rows by a column, as a sketch."""
    name = plan.table or ""
    table = inquiry.database.catalog.table(name)
    column, descending, count = plan.first or ("", False, 0)
    keys = tuple(Item(name, key) for key in (table.key if table is not None else ()))
    return Sketch(name, keys, filters=plan.filters, order=((Item(name, column), descending),), limit=count)


def topic(inquiry: Inquiry, numbers: list[int]) -> str:
    """The question without the stretches that became filters; the whole question when little is left."""
    text = without(inquiry.links, numbers)
    return text if sum(len(word) > 2 for word in text.split()) >= 2 else inquiry.question


def describe_filters(plan: Plan) -> str:
    """The filters in a line."""
    if plan.first is not None:
        column, descending, count = plan.first
        told = f"among the first {count} by {column}" + (", highest first" if descending else "")
        return " and ".join([*(" or ".join(_tell(p) for p in some) for some in plan.filters), told])
    return " and ".join(" or ".join(_tell(p) for p in alternatives) for alternatives in plan.filters)


def _tell(predicate: Predicate) -> str:
    value = "" if predicate.op in ("null", "not null") else f" {predicate.value!r}"
    return f"{predicate.column} {predicate.op}{value}"


def _equalities(condition: str, inquiry: Inquiry, table: Table) -> tuple[tuple[Predicate, ...], ...] | None:
    """The condition as filters when it says no more than that mirrored columns equal values of the question.

    Those cost the search no SQL. None for any other condition.
    """
    from sqlrag_dspy import sql as sql_room

    catalog = inquiry.database.catalog
    read = sql_room.read(sql_room.keys_where(table.name, condition, catalog), catalog)
    named = {(k.table, k.column, k.value) for k in inquiry.links.chosen if k.kind == "value"}
    if read is None or not all(
        len(alternatives) == 1
        and alternatives[0].op == "="
        and alternatives[0].column in table.filter_columns
        and (alternatives[0].table, alternatives[0].column, alternatives[0].value) in named
        for alternatives in read.filters
    ):
        return None
    return read.filters


def _choose(rag: Parts, inquiry: Inquiry, table: Table) -> str | None:
    """The LM's condition, checked; None when it restricts nothing or fails (the linked filters then stand)."""
    from sqlrag_dspy import sql as sql_room

    database = inquiry.database
    shown = rag.demonstrations(
        inquiry.masked, rag.router.vocabulary, k=6, schema=database.catalog.fingerprint, want="condition"
    )
    examples = [
        dspy.Example(
            dialect=database.catalog.dialect, database_schema="(as below)", found_in_question="(left out)",
            table=table.name, question=d.question, condition=d.condition,
        )
        for d in shown
    ]  # fmt: skip
    try:
        answered = rag.choose_rows(
            dialect=database.catalog.dialect,
            database_schema=describe_schema(
                database.catalog, inquiry.links, likely=lambda: (table.name, *inquiry.likely_tables())
            ),
            found_in_question=describe_links(inquiry.links),
            table=table.name,
            question=inquiry.question,
            demos=[*rag.choose_rows.demos, *examples],
        )
    except Exception as error:  # noqa: BLE001 - a model may fail in any way; the linked filters still stand
        note_failure(inquiry, error, "write a row filter", "the filters found in the question are used")
        return None
    condition = bare(str(answered.condition or ""))
    if condition.casefold().startswith("where "):
        condition = condition[6:].strip()
    if condition.casefold() in ("", "true", "1=1", "1 = 1", "none", "null", "empty"):
        return None
    if len(condition) > WRITTEN:
        inquiry.fail("lm", f"the model's row filter was not used (it has {len(condition):,} characters)")
        return None
    try:
        database.check_keys(sql_room.keys_where(table.name, condition, database.catalog))
    except SqlRejected as error:
        inquiry.fail("lm", f"the model's row filter was not used ({error})")
        return None
    return condition
