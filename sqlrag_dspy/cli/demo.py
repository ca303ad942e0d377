"""`sqlrag demo`: the tour over the sample database. No network, no key, no model unless --lm names one."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrag_dspy.cli import answers, arguments, index, init
from sqlrag_dspy.cli.output import Screen
from sqlrag_dspy.errors import SqlRagError

if TYPE_CHECKING:
    from sqlrag_dspy.settings import Settings
    from sqlrag_dspy.source import Source

QUESTIONS = (
    "what are the articles by year and category?",
    "what articles about children do you have",
    "what are the trends in fashion",
    "tell me technology articles about crypto in 2023",
    "summarize articles about Doo ley in politics on 17th apr 2023",
)
NAME = "articles"


def add(commands: arguments.Commands) -> None:
    """Adds `demo`."""
    parser = arguments.add(
        commands,
        "demo",
        run,
        does="build and index the sample database and answer five questions, showing every step",
        example="sqlrag demo --folder /tmp/demo",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path(".sqlrag-demo"), metavar="DIR", help="default: .sqlrag-demo"
    )
    parser.add_argument("--lm", metavar="NAME", help="a language model to put on top (default: none)")


def run(args: argparse.Namespace, screen: Screen) -> int:
    """Builds, indexes, loads the shipped program, asks."""
    from sqlrag_dspy.program import artifact

    corpus = find_corpus()
    artifact.read_card(artifact.find(NAME))  # before anything slow
    database, settings = prepare(args.folder, corpus, lm=args.lm or "")
    screen.note(f"built {database} from {corpus}")
    with artifact.load(NAME, settings=settings) as rag:
        bound = rag.bound()
        write_settings(args.folder, settings, bound.source)
        report = index.sync(bound, screen)
        screen.note(f"indexed {index.told(report)}")
        given = []
        for number, question in enumerate(QUESTIONS, 1):
            screen.text(f"\n{'─' * 78}\n{number}. {question}\n", "bold")
            answer = rag.ask(question, trace=True)
            given.append(answer.model_dump())
            answers.show(answer, screen, is_traced=not screen.is_quiet)
    if screen.is_json:
        screen.json(
            {"folder": str(args.folder), "database": str(database), "index": asdict(report), "answers": given}
        )
    config = shlex.quote(str(args.folder / init.FILE))
    screen.note(f'\nnow ask your own: sqlrag ask --config {config} "…"   (or sqlrag search, sqlrag sql)')
    return 0


def find_corpus() -> Path:
    """The folder of the sample corpus: of the checkout, or of the installed package."""
    from sqlrag_dspy.program.artifact import CHECKOUT, SHIPPED

    places = [CHECKOUT / "trainsets" / NAME, SHIPPED / "trainsets" / NAME]
    for folder in places:
        if (folder / "source.toml").is_file():
            return folder
    raise SqlRagError(
        f"the sample corpus is missing (looked in {' and '.join(map(str, places))}); install sqlrag_dspy again"
    )


def prepare(folder: Path, corpus: Path, *, lm: str = "") -> tuple[Path, Settings]:
    """Builds the sample database in `folder`; settings that name it, whatever the environment says."""
    import tomllib

    from sqlrag_dspy.learn.databases import build
    from sqlrag_dspy.settings import Settings

    spec: dict[str, Any] = tomllib.loads((corpus / "source.toml").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    database = folder.resolve() / f"{NAME}.db"
    build(corpus, database)
    settings = Settings.model_validate(
        {
            "source": f"sqlite:///{database}",
            "store": str(folder.resolve() / ".sqlrag"),
            "program": NAME,
            "lm": lm,
            "tables": spec.get("tables", {}),
        }
    )
    return database, settings


def write_settings(folder: Path, settings: Settings, source: Source) -> None:
    """A sqlrag.toml beside the sample database, so that one can go on asking; paths are absolute."""
    from sqlrag_dspy.source import describe

    text = init.toml(settings.source, source.catalog, describe(source), store=settings.store)
    init.write(folder / init.FILE, text)
