"""An Answer as a person reads it: the text, where it comes from, and with a trace every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrag_dspy.cli.markup import read
from sqlrag_dspy.cli.output import NOTE, Screen, one_line

if TYPE_CHECKING:
    from sqlrag_dspy.program import Answer
    from sqlrag_dspy.program.result import Document, Search

DOCUMENTS = 10
"""Documents listed in a trace."""
MOST = 600
"""Characters shown of what goes into a step or comes out of it; --json has all that was kept."""


def show(answer: Answer, screen: Screen, *, is_traced: bool = False) -> None:
    """The answer, then dim lines of how it came about, then warnings. With --quiet the answer alone."""
    if is_traced:
        trace(answer, screen)
    screen.text(read(answer) or answer.error or "")
    if screen.is_quiet:
        return
    screen.text()
    told = [
        f"route {answer.route}",
        f"confidence {answer.confidence:.2f}",
        *_deciders(answer),
    ]
    if answer.usage.lm_calls:
        told.append(f"{answer.usage.lm_calls} model calls")
    screen.text(" · ".join([*told, f"{answer.usage.seconds:.2f} s"]), "dim")
    if answer.explanation:
        screen.text(one_line(answer.explanation), "dim")
    if answer.sql and not is_traced:
        screen.text(f"SQL: {one_line(answer.sql)}", "dim")
    if cited := sources(answer):
        screen.text(f"sources: {cited}", "dim")
    for assumption in answer.assumptions:
        screen.text(f"assumed: {one_line(assumption)}", "dim")
    for warning in answer.warnings:
        line = one_line(warning)
        if line.startswith(NOTE):
            screen.text(line, "dim")
        else:
            screen.text(f"warning: {line}", "yellow")


def _deciders(answer: Answer) -> list[str]:
    """Who chose the route and who wrote the SQL, in one piece where that is the same."""
    names = {False: "learned tier", True: "the language model"}
    router = names[answer.decided_by == "lm"]
    if answer.sql is None or answer.depth is None:
        return [f"decided by {router}"]
    writer = names[answer.depth != "sketch"]
    return [f"decided by {router}"] if writer == router else [f"route by {router}", f"SQL by {writer}"]


def sources(answer: Answer) -> str:
    """The rows that the answer's text is cited from, each once."""
    cited = [f"{c.table} {_key(c.key)}" for c in answer.citations if c.kind == "passage"]
    return "; ".join(dict.fromkeys(cited))


def trace(answer: Answer, screen: Screen) -> None:
    """Every step with its input, output, error and time, then the documents that were selected."""
    screen.text(f"question: {answer.question}", "bold")
    for step in answer.steps:
        cost = f"{step.seconds:.3f} s"
        if step.lm_calls:
            cost += f", {step.lm_calls} model calls, {step.tokens_in} + {step.tokens_out} tokens"
        screen.text(f"  {step.name} ({cost})", "cyan")
        # What the last step gives follows below, whole.
        out = None if step.name == "answer" else step.output
        for label, value in (("in", step.input), ("out", out), ("error", step.error)):
            if value and value.strip():
                value = value.strip()
                lines = (value if len(value) <= MOST else value[: MOST - 1] + "…").splitlines()
                screen.text(f"    {label + ':':<6} {lines[0]}", "red" if label == "error" else "dim")
                for line in lines[1:]:
                    screen.text(f"           {line}", "dim")
    if answer.sql:
        screen.text("  tool search_database", "cyan")
        screen.text(f"    sql:   {one_line(answer.sql)}")
        screen.text(f"    gives: {len(answer.rows)} rows of {', '.join(answer.columns)}")
    if answer.search is not None:
        screen.text("  tool search_documents", "cyan")
        _search(answer.search, screen)
        documents(answer.documents, screen)
    screen.text("  answer:", "cyan")


def _search(search: Search, screen: Screen) -> None:
    if search.filters:
        screen.text("    filters: " + "; ".join(f"{column} = {value!r}" for column, value in search.filters))
    if search.key_sql:
        screen.text(f"    rows chosen by: {one_line(search.key_sql)}")
    how = "exactly" if search.exact else "approximately"
    where_from = f" in {', '.join(search.tables)}" if search.tables else ""
    screen.text(
        f"    searched {how} {search.rows_searched} of {search.rows_allowed} rows allowed{where_from}"
    )


def documents(found: list[Document], screen: Screen, *, most: int = DOCUMENTS) -> None:
    """Documents, best first, one line each with its best passage."""
    for number, document in enumerate(found[:most], 1):
        screen.text(f"    {number:>2}. {document.score:.2f}  {document.table} {_key(document.key)}")
        if document.passages:
            best = document.passages[0]
            text = one_line(best.text)
            text = text if len(text) <= 160 else text[:159] + "…"
            screen.text(f"              {best.column} {best.start}–{best.end}: {text}", "dim")


def _key(key: object) -> str:
    return " / ".join(map(str, key)) if isinstance(key, list) else str(key)
