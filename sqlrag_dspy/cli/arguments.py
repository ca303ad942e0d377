"""Arguments that commands share: the three global options, the settings they name, and checks of values.

Leaves out the commands' own arguments; each command file adds those.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrag_dspy.cli.output import Screen
    from sqlrag_dspy.settings import Settings

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

Run = Callable[[argparse.Namespace, "Screen"], int]


def common() -> argparse.ArgumentParser:
    """The options that every command takes, before or after its name."""
    # SUPPRESS: a default of the subcommand would overwrite what was given before its name.
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("options of every command")
    group.add_argument("--config", metavar="FILE", help="settings file (default: sqlrag.toml here)")
    group.add_argument("--json", action="store_true", help="machine output on stdout, nothing else there")
    group.add_argument("--quiet", action="store_true", help="results and errors only")
    return parser


def add(commands: Commands, name: str, run: Run, *, does: str, example: str) -> argparse.ArgumentParser:
    """A command with its help, an example at the end of it."""
    parser = commands.add_parser(
        name,
        parents=[common()],
        help=does,
        description=does[0].upper() + does[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, usage_error=parser.error)
    return parser


def add_session(parser: argparse.ArgumentParser) -> None:
    """The parameters that [policy] asks for."""
    parser.add_argument(
        "--session",
        action="append",
        default=[],
        type=_pair,
        metavar="NAME=VALUE",
        help="who asks: a parameter of [policy]; give it again for more",
    )


def session_of(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of --session; a name that was given several times has several values."""
    found: dict[str, Any] = {}
    for name, value in getattr(args, "session", ()):
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _pair(value: str) -> tuple[str, str]:
    name, equals, said = text(value).partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{value!r} is not NAME=VALUE")
    return name.strip(), said


def one_of(args: argparse.Namespace, name: str) -> None:
    """Exits with bad usage unless either the argument of that name or --batch was given, not both."""
    if (getattr(args, name) is None) == (args.batch is None):
        args.usage_error(f"give either {name.upper()} or --batch FILE")


def settings_path(args: argparse.Namespace) -> Path | None:
    """The file of --config, or None for the default."""
    return Path(args.config) if args.config is not None else None


def settings_of(args: argparse.Namespace, **changes: Any) -> Settings:
    """The settings that the command runs with; `changes` that are not None win. Raises SettingsError."""
    from sqlrag_dspy import settings

    loaded = settings.load(settings_path(args))
    return loaded.model_copy(update={key: value for key, value in changes.items() if value is not None})


def text(value: str) -> str:
    """Text from the command line; bytes that are no text become the replacement character."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def positive(value: str) -> int:
    """A whole number above 0."""
    number = int(value) if value.strip().isdecimal() else 0
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number above 0")
    return number


def seconds(value: str) -> float:
    """A time above 0, in seconds."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{value!r} is not a number of seconds above 0")
    return number
