"""Scores of a program over labelled queries, with intervals, by route and by language.

Everything is measured on what `ask` returns, exactly as a user gets it. Text generation is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sqlrag_dspy.errors import SqlRagError
from sqlrag_dspy.learn import baselines, gold, labels, metrics
from sqlrag_dspy.learn.databases import check_databases, missing_variable, open_all, path_of
from sqlrag_dspy.learn.labels import Label
from sqlrag_dspy.program import Answer, SqlRag, artifact
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.program.sentences import sentences
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import ROUTES, Predicate

RESAMPLES = 1000

MEANS = (
    "coverage", "route_accuracy", "accuracy_when_answered", "lm_calls_per_question", "execution_accuracy",
    "wrong_unflagged", "filter_exact", "recall_at_5", "recall_at_20", "mrr", "citation_valid",
    "sentences_supported", "answer_coverage", "answer_false", "tokens_per_question", "cost_usd",
)  # fmt: skip
"""Metrics that are means over the labels they apply to (None where a label has no say)."""


@dataclass
class Judged:
    """One label with the program's answer and its scores."""

    label: Label
    answer: Answer
    scores: dict[str, float | None]
    failure: dict[str, Any] | None = None


def judge(label: Label, answer: Answer, database: Database) -> Judged:
    """Scores one answer against its label."""
    answered = not answer.needs_model and answer.error is None
    routed = answered and (answer.route == label.route or answer.route in label.also_ok)
    scores: dict[str, float | None] = dict.fromkeys(MEANS)
    scores["coverage"] = float(answered)
    scores["route_accuracy"] = float(routed)
    scores["accuracy_when_answered"] = float(routed) if answered else None
    scores["lm_calls_per_question"] = float(answer.usage.lm_calls + answer.usage.cached_calls)
    scores["tokens_per_question"] = float(answer.usage.tokens_in + answer.usage.tokens_out)
    scores["cost_usd"] = answer.usage.cost_usd
    failure: dict[str, Any] = {}
    if not routed:
        failure["route"] = [label.route, answer.route if answered else "needs_model"]
    if label.route == "sql":
        expected = gold.rows(label, path_of(database))
        ordered = gold.is_ordered(label.sql or "")
        right = (
            answer.route == "sql"
            and answered
            and metrics.rows_match(expected, answer.rows, is_ordered=ordered)
        )
        scores["execution_accuracy"] = float(right)
        wrong = answered and not right and not answer.flagged and answer.route == "sql"
        scores["wrong_unflagged"] = float(wrong)
        if not right:
            failure["sql"] = answer.sql
    if label.route in ("vector", "hybrid"):
        found = answer.keys
        if label.keys:  # where nobody said which rows answer, nothing can be said of what was found
            scores["recall_at_5"] = metrics.recall_at(label.keys, found, 5)
            scores["recall_at_20"] = metrics.recall_at(label.keys, found, 20)
            scores["mrr"] = metrics.reciprocal_rank(label.keys, found)
        scores["filter_exact"] = float(_same_rows(label, answer, database))
        if not scores["filter_exact"]:
            failure["filter"] = (
                answer.search.model_dump(include={"filters", "key_sql"}) if answer.search else None
            )
        if scores["recall_at_5"] is not None and scores["recall_at_5"] < 1:
            failure["recall_at_5"] = scores["recall_at_5"]
    if answer.documents and answered:
        scores["citation_valid"], scores["sentences_supported"] = _citations(answer, database)
    if label.facts is not None:
        for name, said in (("answer_coverage", label.facts.facts), ("answer_false", label.facts.never)):
            if said:
                scores[name] = sum(label.facts.told(words, answer.answer) for words in said) / len(said)
    if failure:
        failure = {"id": label.id, "lang": label.lang, "tags": label.tags, **failure}
    return Judged(label, answer, scores, failure or None)


def _same_rows(label: Label, answer: Answer, database: Database) -> bool:
    """Whether the search was allowed exactly the rows that the gold filter allows."""
    from sqlrag_dspy.sql import keys_query

    table = database.catalog.table(label.table or "")
    if answer.search is None or answer.route not in ("vector", "hybrid") or table is None:
        return False
    if answer.documents and answer.documents[0].table != table.name:
        return False
    wanted = gold.allowed(label, path_of(database), table.key)
    if answer.search.key_sql:
        allowed = database.all_keys(database.check_keys(answer.search.key_sql))
    else:
        filters = tuple(
            (Predicate(table.name, column, "=", value),) for column, value in answer.search.filters
        )
        allowed = database.all_keys(database.check_keys(keys_query(table.name, filters, database.catalog)))
    return {metrics.key_plain(key) for key in allowed} == {metrics.key_plain(key) for key in wanted}


def _citations(answer: Answer, database: Database) -> tuple[float | None, float | None]:
    """Share of passage citations that match the source character for character, and of supported sentences."""
    cited = [c for c in answer.citations if c.kind == "passage"]
    valid = 0
    for citation in cited:
        key = tuple(citation.key) if isinstance(citation.key, list) else citation.key
        stored = list(database.source.scan(citation.table or "", [citation.column or ""], [key]))
        text = stored[0][0] if stored else None
        piece = text[citation.start : citation.end] if isinstance(text, str) else ""
        told = answer.answer[slice(*citation.answer_span)]
        shown = any(piece in p.text or p.text in piece for d in answer.documents for p in d.passages)
        valid += bool(piece) and (
            piece == told or (answer.usage.lm_calls + answer.usage.cached_calls > 0 and shown)
        )
    spans = [c.answer_span for c in answer.citations]
    told_ = [(s, e) for s, e in sentences(answer.answer) if not answer.answer[s:e].endswith(":")]
    told_ = [(s, e) for s, e in told_ if not answer.answer[s:e].startswith("Also: ")]
    supported = [any(s < end and e > start for s, e in spans) for start, end in told_]
    return (
        valid / len(cited) if cited else None,
        sum(supported) / len(supported) if supported else None,
    )


def run(
    program: SqlRag,
    wanted: Sequence[Label],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Judged]:
    """Asks every label's question and judges the answer; an error becomes an answer with `error` set."""
    out = []
    for number, label in enumerate(wanted, 1):
        database = program.bound(label.database)
        try:
            answer = program.ask(label.question, database=label.database)
        except SqlRagError as error:
            answer = Answer(question=label.question, error=str(error))
        out.append(judge(label, answer, database))
        if progress:
            progress(number, len(wanted))
    return out


def summarise(judged: Sequence[Judged], *, seed: int = 0) -> dict[str, Any]:
    """The metrics of the contract over judged labels, overall and by route and language, with intervals."""
    result = _figures(judged, seed)
    result["by_route"] = {
        route: _figures([j for j in judged if j.label.route == route], seed)
        for route in ROUTES
        if any(j.label.route == route for j in judged)
    }
    result["by_lang"] = {
        lang: _figures([j for j in judged if j.label.lang == lang], seed)
        for lang in sorted({j.label.lang for j in judged})
    }
    result["failures"] = [j.failure for j in judged if j.failure]
    return result


def _figures(judged: Sequence[Judged], seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    count = len(judged)
    samples = random.integers(0, count, (RESAMPLES, count)) if count else np.zeros((0, 0), np.int64)
    result: dict[str, Any] = {"n": count}
    intervals: dict[str, list[float]] = {}
    for name in MEANS:
        # Drawn among the labels that it applies to: a draw without any would count as nought.
        values = np.array([v for j in judged if (v := j.scores[name]) is not None], dtype=float)
        if not len(values):
            result[name] = None
            continue
        result[name] = round(float(values.mean()), 4)
        means = values[random.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
        intervals[name] = [round(float(q), 4) for q in np.quantile(means, [0.025, 0.975])]
    gold_routes = np.array([ROUTES.index(j.label.route) for j in judged])
    told = np.array([_told(j) for j in judged])
    for name, function in (
        ("route_macro_f1", _macro_f1),
        ("decline_precision", _decline_precision),
        ("decline_recall", _decline_recall),
    ):
        value = function(gold_routes, told)
        result[name] = None if value is None else round(value, 4)
        if value is not None:
            drawn_ = [v for s in samples if (v := function(gold_routes[s], told[s])) is not None]
            intervals[name] = [round(float(q), 4) for q in np.quantile(drawn_, [0.025, 0.975])]
    result["confusion"] = {
        route: {other: int(((gold_routes == r) & (told == o)).sum()) for o, other in enumerate(ROUTES)}
        for r, route in enumerate(ROUTES)
        if (gold_routes == r).any()
    }
    confidence = np.array([j.answer.confidence for j in judged])
    right = (told == gold_routes).astype(float)
    result["ece"] = round(_ece(confidence, right), 4) if count else None
    if count:
        errors = [_ece(confidence[s], right[s]) for s in samples]
        intervals["ece"] = [round(float(q), 4) for q in np.quantile(errors, [0.025, 0.975])]
    seconds = np.array([j.answer.usage.seconds for j in judged])
    for name, share in (("seconds_p50", 0.5), ("seconds_p95", 0.95)):
        result[name] = round(float(np.quantile(seconds, share)), 5) if count else None
        if count:
            found = np.quantile(seconds[samples], share, axis=1)
            intervals[name] = [round(float(q), 5) for q in np.quantile(found, [0.025, 0.975])]
    result["intervals"] = intervals
    return result


def _told(judged: Judged) -> int:
    """The route answered, the label's own when that is as good; -1 for none."""
    answer, label = judged.answer, judged.label
    if answer.route is None or answer.error is not None:
        return -1
    return ROUTES.index(label.route if answer.route in label.also_ok else answer.route)


def _macro_f1(right: Any, told: Any) -> float | None:
    scores = []
    for route in sorted(set(right.tolist())):
        hit = int(((right == route) & (told == route)).sum())
        total = int((right == route).sum() + (told == route).sum())
        scores.append(2 * hit / total if total else 0.0)
    return float(np.mean(scores)) if scores else None


def _decline_precision(right: Any, told: Any) -> float | None:
    decline = ROUTES.index("decline")
    said = told == decline
    return float((right[said] == decline).mean()) if said.any() else None


def _decline_recall(right: Any, told: Any) -> float | None:
    decline = ROUTES.index("decline")
    asked = right == decline
    return float((told[asked] == decline).mean()) if asked.any() else None


def _ece(confidence: Any, right: Any, bins: int = 10) -> float:
    """Expected calibration error of the route's confidence, 0 to 1."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(place, right, bins) - np.bincount(place, confidence, bins)
    return float(np.abs(gaps).sum() / len(confidence))


def evaluate_set(
    path: Path,
    *,
    split: str | None = None,
    program: Path | str = "articles",
    settings: Settings | None = None,
    against: Path | None = None,
    lm: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Scores a compiled program on the labels of a file or folder: the JSON of `sqlrag eval`.

    Databases open through each folder's source.toml. With `against`, a second program is scored on the same
    labels and the paired differences are given.
    Raises ProgramError, LabelError, SourceError or LmError.
    """
    settings = settings or Settings()
    # Programs and the model are looked at before databases are opened and indexed.
    folder = artifact.find(str(program))
    rag, other = SqlRag(lm=_engine(lm)), SqlRag(lm=_engine(lm))
    card = artifact.restore(rag, folder)
    if against is not None:
        artifact.restore(other, artifact.find(str(against)))
    label_files, skipped = _openable(labels.files(path, split))
    wanted = [label for file in label_files for label in labels.read(file)]
    splits = [file.stem for file in label_files for _ in labels.read(file)]
    for name, why in skipped.items():
        if progress:
            progress(f"left out {name}: {why}")
    databases = open_all(dict.fromkeys(file.parent for file in label_files), settings, progress=progress)
    counted = (
        (lambda done, all_: progress(f"asked {done} of {all_}") if done % 20 == 0 else None)
        if progress
        else None
    )
    try:
        check_databases(wanted, databases)
        for database in databases.values():
            rag.bind(database)
            other.bind(database)
        judged = run(rag, wanted, progress=counted)
        result = {"program": folder.name, "set": [str(file) for file in label_files], **summarise(judged)}
        if len(label_files) > 1:
            result["by_split"] = _grouped(judged, splits)
            result["by_database"] = _grouped(judged, [label.database for label in wanted])
        if skipped:
            result["skipped"] = skipped
        result["baselines"] = baselines.routers(card, wanted, label_files)
        if against is not None:
            result["against"] = compare(judged, run(other, wanted, progress=counted))
    finally:
        for database in databases.values():
            database.close()
    return result


def _openable(label_files: Sequence[Path]) -> tuple[list[Path], dict[str, str]]:
    """The files whose database can be opened here, and why others of a set cannot be. Of one folder alone
    nothing is left out: that it cannot be opened is then an error."""
    folders = list(dict.fromkeys(file.parent for file in label_files))
    missing = {} if len(folders) == 1 else {folder: missing_variable(folder) for folder in folders}
    skipped = {folder.name: f"set {name} to open it" for folder, name in missing.items() if name}
    return [file for file in label_files if not missing.get(file.parent)], skipped


def _grouped(judged: Sequence[Judged], groups: Sequence[str]) -> dict[str, Any]:
    """The figures of every group, and of each language in it."""
    out: dict[str, Any] = {}
    for group in dict.fromkeys(groups):
        own = [j for j, name in zip(judged, groups, strict=True) if name == group]
        langs = sorted({j.label.lang for j in own})
        out[group] = _figures(own, 0)
        out[group]["by_lang"] = {
            lang: _figures([j for j in own if j.label.lang == lang], 0) for lang in langs
        }
    return out


def compare(first: Sequence[Judged], second: Sequence[Judged], *, seed: int = 0) -> dict[str, Any]:
    """Paired differences (first minus second) of every mean metric, with a 95% bootstrap interval."""
    random = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for name in MEANS:
        pairs = [
            (a, b)
            for a, b in ((f.scores[name], s.scores[name]) for f, s in zip(first, second))
            if a is not None and b is not None
        ]
        if not pairs:
            continue
        gaps = np.array([a - b for a, b in pairs])
        means = gaps[random.integers(0, len(gaps), (RESAMPLES, len(gaps)))].mean(axis=1)
        out[name] = {
            "difference": round(float(gaps.mean()), 4),
            "interval": [round(float(q), 4) for q in np.quantile(means, [0.025, 0.975])],
        }
    return out


def _engine(lm: str | None) -> Any:
    if not lm:
        return None
    from sqlrag_dspy.lm import connect

    return connect(lm)
