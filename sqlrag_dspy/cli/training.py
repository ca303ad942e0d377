"""`sqlrag compile` and `sqlrag eval`: labelled queries to a program, and a program to its scores."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlrag_dspy.cli import arguments
from sqlrag_dspy.cli.output import Screen

METRICS = (
    ("route_accuracy", "route accuracy"),
    ("accuracy_when_answered", "  of those answered"),
    ("route_macro_f1", "route macro F1"),
    ("coverage", "answered"),
    ("execution_accuracy", "SQL gives the gold rows"),
    ("wrong_unflagged", "SQL wrong, unflagged"),
    ("filter_exact", "search allows exactly the gold rows"),
    ("recall_at_5", "recall at 5"),
    ("recall_at_20", "recall at 20"),
    ("mrr", "mean reciprocal rank"),
    ("decline_precision", "decline precision"),
    ("decline_recall", "decline recall"),
    ("ece", "calibration error"),
    ("citation_valid", "valid citations"),
    ("sentences_supported", "sentences with a citation"),
    ("answer_coverage", "facts covered by the answer"),
    ("answer_false", "wrong claims that it makes"),
    ("lm_calls_per_question", "LM calls a question"),
    ("tokens_per_question", "tokens a question"),
)
"""What a person is shown, in this order; --json has everything."""
BRIEFLY = ("route_accuracy", "coverage", "execution_accuracy", "filter_exact", "recall_at_5")
"""What is shown of each split and database of a larger set."""


def add(commands: arguments.Commands) -> None:
    """Adds `compile` and `eval`."""
    parser = arguments.add(
        commands,
        "compile",
        run_compile,
        does="fit a program to labelled queries and save it, unless it is worse than the one it replaces",
        example="sqlrag compile --train trainsets/articles --dev trainsets/articles -o compiled/articles",
    )
    parser.add_argument(
        "--train",
        nargs="+",
        action="extend",
        type=Path,
        required=True,
        metavar="FILE|FOLDER",
        help="labels to learn from",
    )
    parser.add_argument(
        "--dev", type=Path, metavar="FILE|FOLDER", help="labels that decide whether it got better"
    )
    parser.add_argument(
        "-o", dest="out", type=Path, required=True, metavar="DIR", help="where the program is saved"
    )
    parser.add_argument(
        "--optimizer", metavar="NAME", help="DSPy optimizer for the prompts, when --lm is set"
    )
    parser.add_argument(
        "--from", dest="start", type=Path, metavar="DIR", help="start from this program's prompts"
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        default={},
        metavar="calls=N,minutes=M,depths=Q",
        help="most that compiling prompts may cost; Q sql questions on which depths are compared",
    )
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run")
    parser.add_argument("--force", action="store_true", help="replace a better program too")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)"
    )
    parser.add_argument("--lm", metavar="NAME", help="language model whose prompts are compiled")

    parser = arguments.add(
        commands,
        "eval",
        run_eval,
        does="score a program on labelled queries",
        example="sqlrag eval --set trainsets/articles --split test --report report.html",
    )
    parser.add_argument(
        "--set", dest="labels", type=Path, required=True, metavar="FILE|FOLDER", help="labels to score on"
    )
    parser.add_argument("--split", metavar="NAME", help="of a folder: train, dev or test (default: all)")
    parser.add_argument("--program", metavar="DIR", help="compiled program: a folder or a shipped name")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="another program, compared question by question"
    )
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="also write a page to read")
    parser.add_argument(
        "--lm", metavar="NAME", help="language model that answers what the learned tier leaves"
    )


def _budget(text: str) -> dict[str, float]:
    budget = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, amount = part.partition("=")
        if name.strip() not in ("calls", "minutes", "depths"):
            raise argparse.ArgumentTypeError(
                f"{part!r}: a budget is calls=N, minutes=M, depths=Q, or several with commas"
            )
        try:
            budget[name.strip()] = arguments.seconds(amount)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{part!r}: {amount!r} is not a number above 0") from error
    return budget


def run_compile(args: argparse.Namespace, screen: Screen) -> int:
    """Compiles through the gate; a worse program is refused with exit code 1."""
    settings = arguments.settings_of(args)
    from sqlrag_dspy.learn.compile import compile_program

    with screen.stages() as stage:
        card = compile_program(
            args.train,
            args.dev,
            out=args.out,
            settings=settings,
            optimizer=args.optimizer,
            start=args.start,
            budget=args.budget,
            resume=args.resume,
            force=args.force,
            seed=args.seed,
            lm=args.lm or settings.lm or None,
            progress=stage,
        )
    if screen.is_json:
        screen.json({"program": str(args.out), "card": card.model_dump()})
        return 0
    screen.text(f"wrote {args.out}")
    for name, figures in card.scores.items():
        if isinstance(figures, Mapping):
            screen.text(f"on the {name} labels:")
            show(figures, screen)
    return 0


def run_eval(args: argparse.Namespace, screen: Screen) -> int:
    """Scores the program; writes the page of --report."""
    settings = arguments.settings_of(args)
    from sqlrag_dspy.learn.evaluate import evaluate_set

    with screen.stages() as stage:
        result = evaluate_set(
            args.labels,
            split=args.split,
            program=args.program or settings.program,
            settings=settings,
            against=args.against,
            lm=args.lm or settings.lm or None,
            progress=stage,
        )
    if screen.is_json:
        screen.json(result)
    else:
        _show_all(result, args, screen)
    if args.report is not None:  # last: a page that cannot be written does not cost the figures
        from sqlrag_dspy.learn.report import write_html

        write_html(result, args.report)
        screen.note(f"wrote {args.report}")
    return 0


def _show_all(result: Mapping[str, Any], args: argparse.Namespace, screen: Screen) -> None:
    """The figures of an evaluation, and those of its parts."""
    show(result, screen)
    for kind in ("by_route", "by_lang"):
        for name, figures in (result.get(kind) or {}).items():
            accuracy = figures.get("route_accuracy")
            screen.text(f"{name}: {figures.get('n')} labels, route accuracy {_number(accuracy)}")
    for kind in ("by_split", "by_database"):
        if len(result.get(kind) or {}) > 1:
            heads = ["n", *BRIEFLY]
            rows = [[name, *(_number(f.get(head)) for head in heads)] for name, f in result[kind].items()]
            screen.table([kind.removeprefix("by_"), "labels", *map(_told, BRIEFLY)], rows)
    for name, gap in (result.get("against") or {}).items():
        low, high = gap["interval"]
        screen.text(f"{name} against {args.against}: {gap['difference']:+.3f} [{low:+.3f}, {high:+.3f}]")
    if result.get("failures"):
        screen.note(f"labels with something wrong: {len(result['failures'])}; --json or --report lists them")
    # Times differ from run to run; kept off stdout, two evaluations of one program print the same.
    screen.note(
        f"seconds a question: median {result.get('seconds_p50')}, 95th percentile {result.get('seconds_p95')}"
    )


def show(figures: Mapping[str, Any], screen: Screen) -> None:
    """The metrics that apply, with their intervals."""
    intervals = figures.get("intervals") or {}
    rows: list[list[str]] = [["labels", str(figures.get("n", 0)), ""]]
    for name, told in METRICS:
        if (value := figures.get(name)) is not None:
            bounds = intervals.get(name)
            rows.append([told, _number(value), f"{bounds[0]:.3f}–{bounds[1]:.3f}" if bounds else ""])
    screen.table(["", "value", "95% interval"], rows)


def _told(metric: str) -> str:
    return dict(METRICS)[metric].strip("… ")


def _number(value: float | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
