"""Who calls Google and where: key or cloud project, address, time limit; and the client made of them.

Leaves out what is asked of the client (`genai`, `embed`) and how its failures are read (`failures`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlrag_dspy.errors import LmError

if TYPE_CHECKING:
    from google.genai import Client

KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
HOW_TO_SIGN_IN = (
    "set GEMINI_API_KEY or GOOGLE_API_KEY, "
    "or for Vertex AI GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT"
)


@dataclass(frozen=True)
class Account:
    """One way to reach Google: the Gemini API with a key, or Vertex AI with a project (or a key).

    `timeout` is in seconds and bounds every wait for the server. The key is never shown nor saved.
    """

    api_key: str | None = field(default=None, repr=False)
    vertexai: bool = False
    project: str | None = None
    location: str | None = None
    base_url: str | None = None
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float):
            raise LmError(f"timeout is {self.timeout!r}; give a number of seconds above 0")
        if not math.isfinite(self.timeout) or self.timeout <= 0:
            raise LmError(f"timeout is {self.timeout!r}; give a number of seconds above 0")
        if self.base_url is not None:
            check_address(self.base_url)

    @property
    def is_complete(self) -> bool:
        return bool(self.api_key or (self.vertexai and self.project))

    def check(self, wanted: str) -> None:
        """Raises LmError, naming the variables, when `wanted` cannot be reached for want of a key."""
        if not self.is_complete:
            raise LmError(f"no key for {wanted}; {HOW_TO_SIGN_IN}")

    def client(self) -> Client:
        """A google-genai client that makes one attempt a call; whoever calls it owns the retries."""
        from google import genai
        from google.genai import types

        options = types.HttpOptions(
            base_url=self.base_url,
            # System instructions and JSON schemas are served by v1beta; v1, the client's default, is not
            # documented to take them.
            api_version=None if self.vertexai else "v1beta",
            timeout=max(1, math.ceil(self.timeout * 1000)),
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        if not self.vertexai:
            return genai.Client(vertexai=False, api_key=self.api_key, http_options=options)
        if self.project:
            return genai.Client(
                vertexai=True, project=self.project, location=self.location or "global", http_options=options
            )
        return genai.Client(vertexai=True, api_key=self.api_key, http_options=options)

    def state(self) -> dict[str, Any]:
        """Everything but the key, as JSON values."""
        return {
            "vertexai": self.vertexai,
            "project": self.project,
            "location": self.location,
            "base_url": self.base_url,
            "timeout": self.timeout,
        }


def account(environ: Mapping[str, str] | None = None, **given: Any) -> Account:
    """The account that the environment describes; what is `given` (fields of Account) comes first.

    GEMINI_API_KEY is taken before GOOGLE_API_KEY. The result may lack a key: see `Account.check`.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    found.setdefault(
        "vertexai", environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").strip().lower() in ("1", "true", "yes")
    )
    if "api_key" not in found:
        keys = (environ.get(name, "").strip() for name in KEY_VARIABLES)
        found["api_key"] = next((key for key in keys if key), None)
    if found["vertexai"]:
        found.setdefault("project", environ.get("GOOGLE_CLOUD_PROJECT") or None)
        found.setdefault("location", environ.get("GOOGLE_CLOUD_LOCATION") or None)
    variable = "GOOGLE_VERTEX_BASE_URL" if found["vertexai"] else "GOOGLE_GEMINI_BASE_URL"
    found.setdefault("base_url", environ.get(variable) or None)
    return Account(**found)


def check_address(address: str) -> None:
    """Raises LmError unless `address` is an http(s) URL without a user name, password or query."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise LmError(f"the model's address {address!r} is not a URL; write it as https://HOST[:PORT]/PATH")
    # A saved program records the address, so it must not carry a secret.
    if parts.username or parts.password or parts.query:
        raise LmError(
            f"the model's address for {parts.hostname} holds a user name, password or query; "
            "take it out and give the key in its own variable"
        )
