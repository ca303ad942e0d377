"""An evaluation as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

ROWS = (
    ("route_accuracy", "Route accuracy"),
    ("accuracy_when_answered", "… of those answered"),
    ("route_macro_f1", "Route macro F1"),
    ("coverage", "Answered without a model"),
    ("execution_accuracy", "SQL: gold rows"),
    ("wrong_unflagged", "SQL: wrong rows, unflagged"),
    ("filter_exact", "Search: exactly the gold rows allowed"),
    ("recall_at_5", "Search: recall at 5"),
    ("recall_at_20", "Search: recall at 20"),
    ("mrr", "Search: mean reciprocal rank"),
    ("decline_precision", "Decline precision"),
    ("decline_recall", "Decline recall"),
    ("citation_valid", "Citations that match the source"),
    ("sentences_supported", "Sentences with a citation"),
    ("answer_coverage", "Facts that the answer states"),
    ("answer_false", "Wrong claims that it makes"),
    ("ece", "Calibration error of the route"),
    ("lm_calls_per_question", "LM calls a question"),
    ("seconds_p50", "Seconds, median"),
    ("seconds_p95", "Seconds, 95th percentile"),
)

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid #dde3ea}
th:first-child,td:first-child{text-align:left}small{color:#5b6775}
code{background:#f1f4f8;padding:.1rem .3rem;border-radius:.2rem}
@media (prefers-color-scheme:dark){body{background:#14181f;color:#e4e8ee}th,td{border-color:#2c3440}
code{background:#212833}small{color:#9aa6b4}}
"""


def write_html(result: Mapping[str, Any], path: Path) -> None:
    """Writes the page for one evaluation result (the JSON of `sqlrag eval`)."""
    groups = {"all": result, **result.get("by_route", {}), **result.get("by_lang", {})}
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width,initial-scale=1'>",
        f"<title>{escape(str(result.get('program')))}: evaluation</title><style>{STYLE}</style>",
        f"<h1>{escape(str(result.get('program')))}</h1>",
        f"<p>{result.get('n', 0)} labelled queries"
        + (f" of <code>{escape(', '.join(result['set']))}</code>" if result.get("set") else "")
        + ". Brackets: 95% bootstrap interval.</p>",
        _table(groups),
        *_breakdown("split", result.get("by_split") or {}),
        *_breakdown("database", result.get("by_database") or {}),
        _confusion(result.get("confusion") or {}),
        _baselines(result.get("baselines") or {}),
        _failures(result.get("failures") or []),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _breakdown(what: str, groups: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"<h2>By {what}</h2>", _table(groups)] if len(groups) > 1 else []


def _cell(figures: Mapping[str, Any], name: str) -> str:
    value = figures.get(name)
    if value is None:
        return "<td>–</td>"
    interval = (figures.get("intervals") or {}).get(name)
    bounds = f"<br><small>{interval[0]:.2f}–{interval[1]:.2f}</small>" if interval else ""
    return f"<td>{value:.3f}{bounds}</td>"


def _table(groups: Mapping[str, Mapping[str, Any]]) -> str:
    head = "".join(
        f"<th>{escape(name)}<br><small>{figures.get('n', '')}</small></th>"
        for name, figures in groups.items()
    )
    rows = "".join(
        f"<tr><td>{escape(told)}</td>"
        + "".join(_cell(figures, name) for figures in groups.values())
        + "</tr>"
        for name, told in ROWS
    )
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def _confusion(confusion: Mapping[str, Mapping[str, int]]) -> str:
    if not confusion:
        return ""
    told = list(next(iter(confusion.values())))
    head = "".join(f"<th>{escape(name)}</th>" for name in told)
    rows = "".join(
        f"<tr><td>{escape(right)}</td>" + "".join(f"<td>{counts[name]}</td>" for name in told) + "</tr>"
        for right, counts in confusion.items()
    )
    return (
        f"<h2>Routes: label (rows) against answer (columns)</h2><table><tr><th></th>{head}</tr>{rows}</table>"
    )


def _baselines(baselines: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{figures['route_accuracy']:.3f}<br><small>{figures['interval'][0]:.2f}–"
        f"{figures['interval'][1]:.2f}</small></td></tr>"
        for name, figures in baselines.items()
        if isinstance(figures, dict)
    )
    if not rows:
        return ""
    return (
        f"<h2>Plain routers trained on the same {baselines.get('labels')} labels</h2>"
        f"<table><tr><th></th><th>route accuracy</th></tr>{rows}</table>"
    )


def _failures(failures: list[Any]) -> str:
    if not failures:
        return ""
    items = "".join(
        f"<li><code>{escape(str(f.get('id')))}</code> {escape(str({k: v for k, v in f.items() if k != 'id'}))}</li>"
        for f in failures
    )
    return f"<h2>{len(failures)} labels with something wrong</h2><ul>{items}</ul>"
