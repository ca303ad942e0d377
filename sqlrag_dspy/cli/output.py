"""What a person or a program sees: text and tables on stdout, notes and progress on stderr, or JSON lines.

Rich is loaded only when a terminal looks on. Leaves out what the commands say: each renders its own result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from sqlrag_dspy.types import Value

WIDEST = 80
"""Characters of one cell of a table shown to a person; --json has the whole value."""

NOTE = "note: "
"""How a warning begins that tells a fact and no likely mistake."""

_CONTROLS = {code: "�" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def clean(text: str) -> str:
    """Text without terminal control sequences and lone surrogates: stored values must not steer a terminal."""
    return text.replace("\r\n", "\n").translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def dumps(value: Any) -> str:
    """JSON on one line, readable where it can be encoded. Raises ValueError for NaN and infinities."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, from an id that somebody sent
        return json.dumps(value, allow_nan=False)
    return text


def one_line(error: BaseException | str) -> str:
    """A message on one line."""
    return " ".join(clean(str(error)).split())


def cell(value: Value) -> str:
    """A value as a cell of a table."""
    text = "NULL" if value is None else str(value).replace("\n", " ").replace("\t", " ")
    return clean(text if len(text) <= WIDEST else text[: WIDEST - 1] + "…")


class Screen:
    """Where one command writes. `is_json`: machine output only; `is_quiet`: results and errors only."""

    def __init__(
        self,
        *,
        is_json: bool = False,
        is_quiet: bool = False,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.is_json = is_json
        self.is_quiet = is_quiet
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.is_terminal = not is_json and self.out.isatty()
        self._console: Any = None

    @property
    def console(self) -> Any:
        """The Rich console of stdout; only for terminals."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self.out, highlight=False, markup=False, emoji=False)
        return self._console

    def json(self, value: Any) -> None:
        """One JSON value on a line of stdout, at once."""
        self.out.write(dumps(value) + "\n")
        self.out.flush()

    def text(self, text: str = "", style: str = "") -> None:
        """Text for a person on stdout; `style` is Rich's, and plain elsewhere."""
        if self.is_json:
            return
        if self.is_terminal and style:
            from rich.text import Text

            self.console.print(Text(clean(text), style=style), soft_wrap=True)
        else:
            self.out.write(clean(text) + "\n")

    def note(self, text: str) -> None:
        """A remark for a person on stderr; not with --quiet or --json."""
        if not (self.is_quiet or self.is_json):
            self.err.write(clean(text) + "\n")
            self.err.flush()

    def warn(self, text: str) -> None:
        """A warning, or what calls itself a note, on one line of stderr; --json has it in its result."""
        line = one_line(text)
        self.note(f"sqlrag: {line}" if line.startswith(NOTE) else f"sqlrag: warning: {line}")

    def fail(self, error: BaseException | str) -> None:
        """The one line of an error, whatever the options."""
        self.err.write(f"sqlrag: {one_line(error)}\n")
        self.err.flush()

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """A table for a person."""
        if self.is_json:
            return
        if self.is_terminal:
            from rich.box import SIMPLE_HEAD
            from rich.table import Table
            from rich.text import Text

            drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
            for number, name in enumerate(columns):
                numeric = bool(rows) and all(isinstance(row[number], int | float | None) for row in rows)
                drawn.add_column(Text(clean(name)), justify="right" if numeric else "left", overflow="fold")
            for row in rows:
                drawn.add_row(*(Text(cell(value)) for value in row))
            self.console.print(drawn)
            return
        lines = [[cell(name) for name in columns], *([cell(value) for value in row] for row in rows)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(columns))]
        for number, line in enumerate(lines):
            self.out.write(" | ".join(part.ljust(width) for part, width in zip(line, widths)).rstrip() + "\n")
            if number == 0:
                self.out.write("-+-".join("-" * width for width in widths) + "\n")

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar with time left on stderr, fed (done, total); None when no terminal looks on."""
        if self.is_quiet or self.is_json or not self.err.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(file=self.err), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def stages(self) -> Iterator[Callable[[str], None] | None]:
        """A line of stderr for each stage of long work; None when nobody wants to read it."""
        yield None if self.is_quiet or self.is_json else self.note
