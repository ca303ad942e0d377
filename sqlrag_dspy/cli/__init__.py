"""The `sqlrag` command. `main` parses, runs one command, and turns every expected failure into one line.

Nothing heavy is imported here: `sqlrag --help` must be fast.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from sqlrag_dspy import __version__
from sqlrag_dspy.cli.arguments import common
from sqlrag_dspy.cli.output import Screen
from sqlrag_dspy.errors import SqlRagError

__all__ = ["main", "script"]

HOMES = {
    "demo": "demo",
    "init": "init",
    "schema": "schema",
    "index": "index",
    "search": "tools",
    "sql": "tools",
    "ask": "ask",
    "compile": "training",
    "eval": "training",
    "doctor": "doctor",
}
"""Commands in the order of the help, and the modules that add them."""

INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell reports for a process that SIGINT or SIGPIPE ended."""

EPILOG = """\
example:
  sqlrag init sqlite:///articles.db && sqlrag index
  sqlrag ask "technology articles about crypto in 2023"

exit codes: 0 done, 1 something you can put right (one line on stderr), 2 bad usage
"""


def script() -> int:
    """The entry point of `sqlrag`: `main`, after which the process ends without dismantling its modules.

    That takes 0.2 s and frees memory that ends with the process anyway. Everything registered for exit runs.
    """
    code = 1

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)

    # Registered first, so run last.
    atexit.register(leave)
    code = main()
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0, 1 (a user's error), 2 (bad usage), 130 (Ctrl-C)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    screen = Screen(is_json=args.json, is_quiet=args.quiet)
    try:
        code: int = args.run(args, screen)
        sys.stdout.flush()
    except SystemExit as stop:  # bad usage that only the command could see
        return stop.code if isinstance(stop.code, int) else 2
    except SqlRagError as error:
        screen.fail(error)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        screen.fail(f"{place}{error.strerror or error}; check the path and its permissions")
        return 1
    except Exception as error:
        if os.environ.get("SQLRAG_TRACEBACK"):
            raise
        screen.fail(
            f"unexpected {type(error).__name__}: {error}; this is a fault of sqlrag: please report it "
            "(SQLRAG_TRACEBACK=1 shows where it happened)"
        )
        return 1
    return code


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of one call. Exits (SystemExit) with 0 after --help and --version, with 2 on bad usage."""
    parser = argparse.ArgumentParser(
        prog="sqlrag",
        description="Questions in plain language, answered from the SQL database that you already have.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common()],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sqlrag {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # Only the commands that may be meant: each module costs a few milliseconds.
    for home in dict.fromkeys(HOMES[word] for word in argv if word in HOMES) or dict.fromkeys(HOMES.values()):
        import_module(f"{__name__}.{home}").add(commands)
    defaults = argparse.Namespace(config=None, json=False, quiet=False)
    return parser.parse_args(list(argv), defaults)
