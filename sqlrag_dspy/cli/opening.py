"""Opening what a command works on: the database of the settings, or a compiled program over it."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlrag_dspy.cli.arguments import session_of, settings_of

if TYPE_CHECKING:
    from sqlrag_dspy.program import Database, SqlRag


@contextmanager
def database(args: argparse.Namespace) -> Iterator[Database]:
    """The database of the settings as --session sees it, without a program (and so without DSPy).

    Raises SourceError, or PolicyError.
    """
    from sqlrag_dspy.program.database import open_database

    opened = open_database(settings_of(args), session=session_of(args))
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def indexed(args: argparse.Namespace) -> Iterator[Database]:
    """The same for indexing: without --session the rows of every session, to which alone they are shown."""
    from sqlrag_dspy.program.database import open_database
    from sqlrag_dspy.program.session import needed

    settings, session = settings_of(args), session_of(args)
    is_whole = not session and bool(needed(settings.policy))
    opened = open_database(settings, session=session, is_whole=is_whole)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def program(args: argparse.Namespace) -> Iterator[SqlRag]:
    """The compiled program over the source; --program and --lm win over the settings.

    Raises SettingsError, SourceError, PolicyError, ProgramError or LmError.
    """
    settings = settings_of(args, program=args.program, lm=args.lm)
    with brisk():
        from sqlrag_dspy.program import artifact

        rag = artifact.load(settings.program, settings=settings, session=session_of(args))
    with rag:
        yield rag


@contextmanager
def brisk() -> Iterator[None]:
    """Imports and loads faster: no garbage is looked for meanwhile, and threads take turns more often.

    Nearly all that is made while loading stays; and the thread that loads the encoders needs Python for moments
    only, for each of which it would wait 5 ms.
    """
    interval, collects = sys.getswitchinterval(), gc.isenabled()
    gc.disable()
    sys.setswitchinterval(0.0005)
    try:
        yield
    finally:
        if collects:
            gc.enable()
        sys.setswitchinterval(interval)
