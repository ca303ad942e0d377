"""Fixtures of the lm room: a running local Gemini and the environment that points to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from gemini_server import Gemini


@pytest.fixture(autouse=True)
def _bundled_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """DSPy and LiteLLM download their price lists unless told not to."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "true")


@pytest.fixture
def gemini() -> Iterator[Gemini]:
    state = Gemini()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # head and body in one packet, else each reply waits 40 ms

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, asked))
            play = state.script.pop(0) if len(state.script) > 1 else state.script[0]
            try:
                play(self, asked)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()


@pytest.fixture
def environ(gemini: Gemini) -> dict[str, str]:
    return {"GEMINI_API_KEY": "secret-key", "GOOGLE_GEMINI_BASE_URL": gemini.url}
