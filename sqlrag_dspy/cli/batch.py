"""JSON lines in, JSON lines out: same order, `id` kept, and no line stops the others.

Leaves out what is done with a line: a command passes that in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO

from sqlrag_dspy.cli.output import Screen, one_line
from sqlrag_dspy.errors import SqlRagError

Line = dict[str, Any]


def run(
    path: str,
    screen: Screen,
    *,
    answer: Callable[[Line], Line],
    failed: Callable[[Line, str, BaseException | None], Line],
) -> int:
    """Writes one result for every line of `path` ("-" is stdin), each as soon as it is known.

    `answer` takes the object of a line; `failed` makes the result of a line that cannot be read or answered
    from what of it is known, the message, and the error. Blank lines at the end are no lines.
    Returns the exit code 0; raises OSError when the file cannot be read.
    """
    for number, raw in lines(path):
        asked: Line = {}
        try:
            asked = read(raw, number)
            result = answer(asked)
        except SqlRagError as error:
            result = failed(asked, one_line(error), error)
        except OSError as error:
            result = failed(asked, f"line {number}: {one_line(error)}", error)
        except Exception as error:  # noqa: BLE001 - whatever one line sets off, the next one is answered
            result = failed(
                asked, f"line {number}: unexpected {type(error).__name__}: {one_line(error)}", error
            )
        # Written outside the `try`: a reader that has gone ends the batch.
        screen.json({"id": asked.get("id"), **{key: value for key, value in result.items() if key != "id"}})
    return 0


def lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, read as they come."""
    with ExitStack() as stack:
        stream: BinaryIO = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
        blank = 0
        for number, raw in enumerate(iter(stream.readline, b""), 1):
            if not raw.strip():
                blank += 1
                continue
            for earlier in range(number - blank, number):
                yield earlier, b""
            blank = 0
            yield number, raw


def read(raw: bytes, number: int) -> Line:
    """The object of one line. Raises SqlRagError naming the line and what is wrong with it."""
    try:
        value = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise SqlRagError(
            f"line {number}: not UTF-8 text (byte {error.start}); save the file as UTF-8"
        ) from error
    except RecursionError as error:
        raise SqlRagError(f"line {number}: nested too deeply; write one flat JSON object") from error
    except ValueError as error:
        raise SqlRagError(f"line {number}: not JSON ({error}); write one object a line") from error
    if not isinstance(value, dict):
        raise SqlRagError(f"line {number}: not a JSON object; write one object a line")
    return value


def text_of(asked: Line, name: str) -> str:
    """The text under `name` of a line. Raises SqlRagError when it is missing, blank or no text."""
    value = asked.get(name)
    if not isinstance(value, str):
        told = "missing" if name not in asked else "not a text"
        raise SqlRagError(f"{name!r} is {told}; write {{{name!r}: …}}".replace("'", '"'))
    if not value.strip():
        raise SqlRagError(f'"{name}" is empty')
    return value.encode("utf-8", "replace").decode("utf-8")


def only(asked: Line, *known: str) -> None:
    """Raises SqlRagError when a line says more than `known` and `id`: what was mistyped must not be left out."""
    unknown = [name for name in asked if name not in known and name != "id"]
    if unknown:
        told = ", ".join(f'"{name}"' for name in (*known, "id"))
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise SqlRagError(f"unknown key {json.dumps(unknown[0][:80])}{more}; a line may have {told}")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
