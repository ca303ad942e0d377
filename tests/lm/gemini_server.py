"""A local server that speaks the Gemini REST protocol from a script, and fails loudly off it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

Send = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def body(text: str | None = "hello", *, finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """A generateContent reply with one candidate."""
    candidate: dict[str, Any] = {"index": 0}
    if text is not None:
        candidate["content"] = {"role": "model", "parts": [{"text": text}]}
    if finish is not None:
        candidate["finishReason"] = finish
    counts = {"promptTokenCount": 11, "candidatesTokenCount": 3, "totalTokenCount": 14}
    return {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": "gemini-2.5-flash-001",
        "responseId": "r1",
        **more,
    }


def failure(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    """Google's error body."""
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def send(value: Any, code: int = 200, **headers: str) -> Send:
    """A whole reply: a JSON value, or bytes as they are."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, content in headers.items():
            handler.send_header(name.replace("_", "-"), content)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def stream(*chunks: Any, cut: bool = False) -> Send:
    """A server-sent-event reply; with `cut` the connection breaks before its last chunk is announced."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in chunks:
            data = f"data: {json.dumps(chunk)}\r\n\r\n".encode()
            handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            handler.wfile.flush()
        if not cut:
            handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = True

    return reply


def hang(seconds: float) -> Send:
    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return reply


def drop(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Announces more than it sends, and hangs up."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"candidates": [')
    handler.close_connection = True


def echo(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    """The last turn's own words."""
    send(body(asked["contents"][-1]["parts"][0]["text"]))(handler, asked)


def vectors(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    """Embeddings that can be told apart: (length of the text, 1)."""
    texts = [part["text"] for request in asked["requests"] for part in request["content"]["parts"]]
    send({"embeddings": [{"values": [float(len(text)), 1.0]} for text in texts]})(handler, asked)


class Gemini:
    """The server: `script` is played once, its last entry for ever; `asked` holds (path, headers, body)."""

    def __init__(self) -> None:
        self.script: list[Send] = []
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""

    def says(self, *script: Send) -> None:
        self.script = list(script)

    def bodies(self) -> list[dict[str, Any]]:
        return [asked for _, _, asked in self.asked]
