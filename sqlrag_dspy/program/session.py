"""The policy of one session: the settings' rules with the parameters of whoever asks, and where its files lie.

Leaves out what a policy does: the source room reads everything through it.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlrag_dspy import private
from sqlrag_dspy.errors import PolicyError, SqlRejected
from sqlrag_dspy.settings import PolicySettings
from sqlrag_dspy.types import Policy, SessionValue

SESSIONS = "sessions"
"""Folder of the store with one folder for each policy and session."""
SECRET = "policy.key"
"""File of the store that keys the hashes of masked values."""


def needed(rules: PolicySettings) -> tuple[str, ...]:
    """The session parameters that the row conditions name. Raises PolicyError for one that is no condition."""
    from sqlrag_dspy import sql

    names: dict[str, None] = {}
    for table, condition in rules.rows.items():
        try:
            names |= dict.fromkeys(sql.parameters(condition))
        except SqlRejected as error:
            raise PolicyError(f"[policy.rows] {table}: {error}") from error
    return tuple(names)


def bind(
    rules: PolicySettings, session: Mapping[str, Any] | None, store: Path, *, is_whole: bool = False
) -> Policy | None:
    """The policy with its parameters; None when the settings have none. `is_whole` leaves out the row conditions.

    Raises PolicyError for a parameter that is missing, unknown or no value: never is a missing one "all".
    """
    if session is not None and not isinstance(session, Mapping):
        raise PolicyError(
            f"the session is a {type(session).__name__}; give its parameters by name, as in "
            'session={"tenant": 7}'
        )
    given = {name: _value(name, value) for name, value in (session or {}).items()}
    asked = needed(rules)
    unknown = [name for name in given if name not in asked]
    if unknown:
        known = f"it asks for {', '.join(asked)}" if asked else "no row condition in [policy] names one"
        raise PolicyError(f"the session parameter {unknown[0]!r} is not used: {known}")
    if rules.is_open:
        return None
    missing = [name for name in asked if name not in given]
    if missing and not is_whole:
        raise PolicyError(
            f"[policy] asks for the session parameter {missing[0]!r}; pass --session {missing[0]}=VALUE, or "
            f'session={{"{missing[0]}": …}} in Python'
        )
    is_hashing = "hash" in rules.masks.values()
    return Policy(
        None if rules.allow_tables is None else tuple(rules.allow_tables),
        tuple(rules.deny_tables),
        tuple(rules.allow_views),
        tuple(rules.allow_columns),
        tuple(rules.deny_columns),
        () if is_whole else tuple(rules.rows.items()),
        tuple(rules.masks.items()),
        () if is_whole else tuple(given.items()),
        _secret(store) if is_hashing else "",
    )


def folder_of(policy: Policy | None, store: Path) -> Path:
    """Where everything that is kept of a session lies: nothing there is read by another."""
    return store if policy is None else store / SESSIONS / policy.digest


def _value(name: str, value: Any) -> SessionValue:
    if isinstance(value, list | tuple | set | frozenset):
        several = []
        for one in value:
            if isinstance(kept := _value(name, one), tuple):
                raise PolicyError(
                    f"the session parameter {name!r} is a list of lists; give one list of values"
                )
            several.append(kept)
        return tuple(several)
    if value is None:
        raise PolicyError(f"the session parameter {name!r} is None; give a text, a number, true or false")
    if isinstance(value, str | int | float):
        return value
    raise PolicyError(
        f"the session parameter {name!r} is a {type(value).__name__}; give a text, a number, true or false"
    )


def _secret(store: Path) -> str:
    """The key of this store, made when first needed; one for this process alone where nothing can be written."""
    path = store / SECRET
    with suppress(OSError):
        private.make_folder(store)
        if not path.exists():
            # Readable by its owner alone, and put in place whole: the first process to do so decides.
            with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=store) as file:
                file.write(secrets.token_hex(32))
                file.flush()
                with suppress(FileExistsError):
                    os.link(file.name, path)
    try:
        kept = path.read_text(encoding="ascii").strip()
    except OSError:
        return _OF_THIS_PROCESS
    if len(kept) < 32:
        raise PolicyError(f"{path} is cut short; delete it (masked values then get other hashes)")
    return kept


_OF_THIS_PROCESS = secrets.token_hex(32)
