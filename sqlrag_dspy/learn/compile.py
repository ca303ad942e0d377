"""From labelled queries to a compiled program, through the gate: a worse program never replaces a better one."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from sqlrag_dspy.errors import GateRefused, LabelError, ProgramError, SqlRagError
from sqlrag_dspy.learn import labels, report, synthesize
from sqlrag_dspy.learn.asked import asked_questions
from sqlrag_dspy.learn.databases import check_databases, open_all
from sqlrag_dspy.learn.evaluate import Judged, run, summarise
from sqlrag_dspy.learn.fit import FitRouter, FitThresholds
from sqlrag_dspy.learn.fit_depth import FitDepth, observe
from sqlrag_dspy.learn.fit_sketch import FitSketch
from sqlrag_dspy.learn.optimize import OPTIMIZERS, check_optimizer, optimize
from sqlrag_dspy.learn.synthesize import Made
from sqlrag_dspy.program import SqlRag, artifact
from sqlrag_dspy.program.artifact import CHECKOUT, Card
from sqlrag_dspy.program.database import Database
from sqlrag_dspy.settings import Settings

Progress = Callable[[str], None]
GATE = ("route_accuracy", "execution_accuracy", "filter_exact", "recall_at_5")
"""The dev figures whose mean must not fall."""
MADE = 2500
"""Made questions a database."""


def quality(judged: Sequence[Judged]) -> float:
    """The mean of the gate's figures over judged dev labels."""
    figures = summarise(judged)
    values = [figures[name] for name in GATE if figures[name] is not None]
    return sum(values) / len(values) if values else 0.0


def compile_program(
    train: Sequence[Path],
    dev: Path | None,
    *,
    out: Path,
    settings: Settings,
    optimizer: str | None = None,
    start: Path | None = None,
    budget: Mapping[str, float] | None = None,
    resume: bool = False,
    force: bool = False,
    seed: int = 0,
    lm: str | None = None,
    progress: Progress | None = None,
) -> Card:
    """Fits the learned tier on the train labels, and the LM tier when an LM is set; saves program and card.

    `train` are label files or folders (their train split), `dev` the same (its dev split). A program already
    at `out` is scored on the same dev labels: GateRefused when the new one is worse, or when there are no dev
    labels to tell, unless `force`. `start` is a program whose prompts are taken over. `resume` takes over the
    learned tier of an interrupted run on the same labels, databases and seed.
    Raises LabelError, SourceError, ProgramError (for `start`) or LmError as well.
    """
    tell = progress or (lambda message: None)
    # What can be wrong is looked at before anything takes time.
    engine = _engine(lm, optimizer)
    if start is not None:
        start = artifact.find(str(start))
        artifact.read_card(start)
    is_kept = (out / "program.json").is_file() and not force
    if is_kept and dev is None:
        raise GateRefused(
            f"there is a program in {out} and no dev labels to compare with it; pass --dev, or --force to replace it"
        )
    train_files = [file for path in train for file in labels.files(path, "train")]
    dev_files = labels.files(dev, "dev") if dev is not None else []
    trained = [label for file in train_files for label in labels.read(file)]
    wanted = [label for file in dev_files for label in labels.read(file)]
    if not trained:
        raise LabelError(f"there are no labels in {', '.join(map(str, train_files))}; add some")
    examples = [labels.example(label) for label in trained]
    partial = out.with_name(out.name + ".partial")
    _check_writable(out, partial)
    folders = dict.fromkeys(file.parent for file in (*train_files, *dev_files))
    databases = open_all(folders, settings, progress=tell)
    hashes = {_relative(file): _hash(file) for file in train_files}
    try:
        check_databases([*trained, *wanted], databases)
        program = SqlRag(databases)
        if start is not None:
            artifact.restore(program, start)
        if resume and _take_over(program, partial, _card(program, out, hashes, databases, settings, seed)):
            tell("resuming: the learned tier is already fitted")
        else:
            tell(f"fitting the router on {len(examples)} labels")
            routing = FitRouter(seed=seed, made=asked_questions(databases, folders, seed=seed))
            program = routing.compile(program, trainset=examples)
            questions = made_questions(databases, folders, seed=seed)
            tell(f"fitting the sketcher on the labels and {len(questions)} made questions")
            fitting = FitSketch(seed=seed, made=questions)
            program = fitting.compile(program, trainset=examples)
            tell("choosing thresholds")
            choosing = FitThresholds(seed=seed, trusted=fitting.trusted, routed=routing.routed)
            program = choosing.compile(program, trainset=examples)
        card = _card(program, out, hashes, databases, settings, seed)
        artifact.write(program, partial, card)
        if engine is not None:
            tell(f"compiling the prompts for {lm}")
            chosen = optimizer or OPTIMIZERS[0]
            program = optimize(program, examples, engine, optimizer=chosen, budget=budget, seed=seed)
            card.lm, card.optimizer = lm, chosen
            if compared := int((budget or {}).get("depths", 0)):
                tell(f"comparing depths on {compared} sql questions")
                records = observe(program, examples, engine, most=compared, seed=seed)
                program = FitDepth(records).compile(program, trainset=examples)
        if wanted:
            tell(f"scoring on {len(wanted)} dev labels")
            judged = run(program, wanted)
            scored = quality(judged)
            card.scores["dev"] = {k: v for k, v in summarise(judged).items() if k != "failures"}
            before = _quality_of(out, databases, wanted, tell) if is_kept else None
            if before is not None and scored < before:
                artifact.write(program, partial, card)
                raise GateRefused(
                    f"the new program scores {scored:.4f} on the dev labels and the one in {out} {before:.4f}; "
                    f"it was kept (the new one is in {partial}; --force replaces)"
                )
        artifact.write(program, out, card)
        report.write_html({"program": out.name, **(card.scores.get("dev") or {})}, out / "report.html")
        shutil.rmtree(partial, ignore_errors=True)
        return card
    finally:
        for database in databases.values():
            database.close()


def _check_writable(*folders: Path) -> None:
    """Raises ProgramError when a program could not be saved there; nothing is left behind."""
    for folder in folders:
        missing = list(takewhile(lambda place: not place.exists(), (folder, *folder.parents)))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ProgramError(
                f"no program can be saved in {folder} ({error.strerror}); give another folder"
            ) from error
        finally:
            for made in filter(Path.is_dir, missing):
                made.rmdir()


def _engine(lm: str | None, optimizer: str | None) -> Any:
    """The model that the prompts are compiled for, or None. Raises LmError, or SqlRagError for the optimizer."""
    if optimizer is not None:
        check_optimizer(optimizer)
        if not lm:
            raise SqlRagError(
                f"the optimizer {optimizer} compiles prompts, and no model is set; name one with --lm"
            )
    if not lm:
        return None
    from sqlrag_dspy.lm import connect

    return connect(lm)


def _take_over(program: SqlRag, partial: Path, card: Card) -> bool:
    """Loads an interrupted run's program when it was fitted on the same; a broken one is not taken over."""
    try:
        found = artifact.read_card(partial)
        same = ("trainsets", "schemas", "seed", "package", "embedder")
        if any(getattr(found, name) != getattr(card, name) for name in same):
            return False
        artifact.restore(program, partial)
    except ProgramError:
        return False
    return True


def _quality_of(
    out: Path, databases: Mapping[str, Database], wanted: Sequence[labels.Label], tell: Progress
) -> float | None:
    """The quality of the program that would be replaced; None when it no longer loads, and so is no better.

    Raises ProgramError for one of a newer version, which is not ours to judge.
    """
    other = SqlRag(databases)
    try:
        artifact.restore(other, out)
    except artifact.NewerProgram:
        raise
    except ProgramError as error:
        tell(f"the program that is replaced no longer loads: {error}")
        return None
    return quality(run(other, wanted))


def made_questions(
    databases: Mapping[str, Database], folders: Iterable[Path], *, seed: int = 0, count: int = MADE
) -> list[tuple[str, Made]]:
    """Made questions over every database that has surfaces, from the `patterns` folder beside the trainsets."""
    out: list[tuple[str, Made]] = []
    for folder in folders:
        surfaces = synthesize.Surfaces.read(folder)
        skeletons, restrictions = synthesize.read_patterns(folder.parent / "patterns")
        name = folder.resolve().name
        if surfaces is not None and name in databases:
            made = synthesize.make(databases[name], surfaces, skeletons, restrictions, count, seed=seed)
            out.extend((name, question) for question in made)
    return out


def _card(
    program: SqlRag,
    out: Path,
    hashes: Mapping[str, str],
    databases: Mapping[str, Any],
    settings: Settings,
    seed: int,
) -> Card:
    thresholds = program.thresholds
    return Card(
        name=out.name,
        versions=artifact.package_versions(),
        seed=seed,
        trainsets=dict(hashes),
        signatures=artifact.signature_hashes(),
        schemas={name: database.catalog.fingerprint for name, database in databases.items()},
        columns={
            name: {table.name: [column.name for column in table.columns] for table in database.catalog.tables}
            for name, database in databases.items()
        },
        embedder=list(settings.embedder),
        thresholds=thresholds.dump_state(),
    )


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _relative(path: Path) -> str:
    """A label file as the card names it: below the checkout when it lies there."""
    resolved = path.resolve()
    return str(resolved.relative_to(CHECKOUT)) if resolved.is_relative_to(CHECKOUT) else str(path)
