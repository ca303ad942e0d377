"""Evidence to an answer whose every sentence can be traced: learned tier (verbatim) and checks for the LM tier.

The learned tier renders result rows, or quotes the sentences of the passages that are nearest to the
question. It never paraphrases, so nothing in it can be made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlrag_dspy.program.features import Floats
from sqlrag_dspy.program.result import Citation, key_json
from sqlrag_dspy.program.sentences import sentences
from sqlrag_dspy.types import Document, Rows, Table, Value

SHOWN_ROWS = 20
"""Result rows spelled out in the answer's text; `rows` has them all."""

_MARK = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")


@dataclass
class Written:
    """An answer's text with its citations; `unsupported` sentences carry no valid citation."""

    text: str
    citations: list[Citation] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)


# --- rows -------------------------------------------------------------------------------------------


def show(value: Value) -> str:
    """A value as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:g}"
    text = str(value)
    return text if len(text) <= 300 else text[:297] + "…"


def render_rows(rows: Rows, explanation: str) -> Written:
    """The result as text: one value, a list, or a small table, cited to the query and its rows."""
    if not rows.values:
        return Written("No rows match.", [Citation(kind="query", answer_span=(0, len("No rows match.")))])
    if len(rows.values) == 1 and len(rows.columns) == 1:
        text = show(rows.values[0][0])
        return Written(text, [Citation(kind="row", answer_span=(0, len(text)), key=0)])
    lines: list[str] = []
    if len(rows.columns) > 1:
        lines.append(" | ".join(rows.columns))
    for row in rows.values[:SHOWN_ROWS]:
        lines.append(("- " if len(rows.columns) == 1 else "") + " | ".join(show(value) for value in row))
    rest = len(rows.values) - SHOWN_ROWS
    if rest > 0 or rows.truncated:
        more = f"{rest} more rows" if not rows.truncated else f"at least {max(rest, 1)} more rows"
        lines.append(f"… and {more}.")
    text = "\n".join(lines)
    return Written(text, [Citation(kind="query", answer_span=(0, len(text)))])


# --- passages ---------------------------------------------------------------------------------------


def quote(
    question: str,
    documents: Sequence[Document],
    tables: dict[str, Table],
    label: Callable[[Document], str],
    encode: Callable[[list[str]], Floats],
    *,
    most_documents: int = 3,
    most_sentences: int = 3,
) -> Written:
    """The sentences of the best passages nearest to the question, verbatim, document by document.

    `encode` gives unit vectors. A lone document is summarised by more of its sentences.
    """
    chosen = [d for d in documents[:most_documents] if d.passages]
    per_document = most_sentences if len(chosen) > 1 else most_sentences + 2
    spoken = [(document, spans) for document in chosen if (spans := _spans(document))]
    # All at once: some embedders take a moment for every call.
    vectors = (
        encode([question, *(span[3] for _, spans in spoken for span in spans)])
        if spoken
        else np.empty((0, 0))
    )
    text, citations, seen = "", [], 1
    for document, spans in spoken:
        scores = vectors[seen : seen + len(spans)] @ vectors[0]
        seen += len(spans)
        best = sorted(np.argsort(-scores)[:per_document], key=lambda n: (spans[n][0], spans[n][1]))
        heading = f"{label(document)}:\n"
        text += ("\n\n" if text else "") + heading
        for place, number in enumerate(best):
            column, start, end, sentence = spans[number]
            text += "\n" if place else ""
            citations.append(
                Citation(
                    kind="passage",
                    answer_span=(len(text), len(text) + len(sentence)),
                    table=document.table,
                    key=key_json(document.key),
                    column=column,
                    start=start,
                    end=end,
                )
            )
            text += sentence
    rest = [document for document in documents if document not in chosen]
    if rest and chosen:
        text += "\n\nAlso: " + "; ".join(label(document) for document in rest[:5])
    if not text and documents:
        text = "Rows without text: " + "; ".join(label(document) for document in documents[:10])
    return Written(text, citations)


def _spans(document: Document) -> list[tuple[str, int, int, str]]:
    """The sentences of a document's best passages, each as (column, start, end, text)."""
    spans = [
        (passage.column, passage.start + start, passage.start + end, passage.text[start:end])
        for passage in document.passages[:3]
        for start, end in sentences(passage.text)
        if end - start >= 20
    ]
    return list(dict.fromkeys(spans))[:60]


# --- what a model wrote ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """One numbered piece of evidence for the model, and the citation it stands for (no span yet)."""

    text: str
    citation: Citation


def evidence_of(
    rows: Rows | None, documents: Sequence[Document], label: Callable[[Document], str]
) -> list[Evidence]:
    """Rows, then passages: the best of every document, then the second best."""
    out: list[Evidence] = []
    if rows is not None:
        for number, row in enumerate(rows.values[:40]):
            told = ", ".join(f"{name}: {show(value)}" for name, value in zip(rows.columns, row))
            out.append(Evidence(told, Citation(kind="row", answer_span=(0, 0), key=number)))
    # Every document's best passage before anyone's second: the model may be shown only the first pieces.
    for rank in range(2):
        for document, passage in ((d, d.passages[rank]) for d in documents[:8] if len(d.passages) > rank):
            citation = Citation(
                kind="passage", answer_span=(0, 0), table=document.table, key=key_json(document.key),
                column=passage.column, start=passage.start, end=passage.end,
            )  # fmt: skip
            out.append(Evidence(f"{label(document)}: {passage.text}", citation))
    return out


def check_citations(text: str, evidence: Sequence[Evidence]) -> Written:
    """The model's text without its [n] marks, each turned into a citation of the sentence before it.

    A mark that follows no sentence, or whose number stands for no evidence, supports nothing.
    """
    text = text.strip()
    clean, position = "", 0
    citations: list[Citation] = []
    for match in _MARK.finditer(text):
        piece = text[position : match.start()].rstrip(" ")
        clean += piece if clean else piece.lstrip()  # spans count from the first character that is kept
        position = match.end()
        before = sentences(clean)
        for number in match.group(1).split(","):
            if before and len(number.strip()) < 4 and 1 <= int(number) <= len(evidence):
                base: dict[str, Any] = evidence[int(number) - 1].citation.model_dump()
                citations.append(Citation(**{**base, "answer_span": before[-1]}))
    clean = (clean + text[position:]).strip()
    covered = [c.answer_span for c in citations]
    unsupported = [
        clean[begin:end]
        for begin, end in sentences(clean)
        if not any(s < end and e > begin for s, e in covered)
    ]
    return Written(clean, citations, unsupported)
