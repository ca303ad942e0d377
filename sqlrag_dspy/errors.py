"""Errors that a user can act on: each message names the thing, the place and the remedy."""

from __future__ import annotations


class SqlRagError(Exception):
    """Base of every error this package raises on purpose; the CLI prints it as one line and exits 1."""


class SettingsError(SqlRagError):
    """`sqlrag.toml` or an environment variable is wrong."""


class PolicyError(SettingsError):
    """[policy] does not fit the source, or the session lacks what it asks for; nothing is shown then."""

    wall = "policy"


class SourceError(SqlRagError):
    """The database cannot be opened or read."""


class SourceBusy(SourceError):
    """No worker became free for a query in time; the same query may be asked again later."""

    wall = "limit"


class SqlRejected(SqlRagError):
    """A statement was refused before it ran. The message is advice, written for whoever wrote the SQL.

    `wall` names what stopped it: check, connection, limit or policy.
    """

    def __init__(self, advice: str, *, wall: str = "check") -> None:
        super().__init__(advice)
        self.wall = wall


class QueryFailed(SqlRagError):
    """A checked statement ran and failed, or overstayed a limit (`wall` is connection or limit)."""

    def __init__(self, message: str, *, wall: str = "connection") -> None:
        super().__init__(message)
        self.wall = wall


class Cancelled(SqlRagError):
    """A question or query was cancelled by the application; nothing answers in its place."""


class IndexUnusable(SqlRagError):
    """The search index is missing, stale, foreign or broken."""


class ProgramError(SqlRagError):
    """A compiled program is incomplete, newer than this package, or does not fit the schema."""


class LabelError(SqlRagError):
    """A labelled query cannot be read; the message has the file and line number."""


class LmError(SqlRagError):
    """A language model failed: time-out, refusal, quota, or an answer that cannot be parsed."""


class GateRefused(SqlRagError):
    """A newly compiled program is not better than the one it would replace."""
