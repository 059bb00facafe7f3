"""A real HTTP server that speaks the chat completions API, as a test scripts it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """What the server answers to one request: a status and a body, after a while."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass
class Asked:
    """A request as it came: its body, and its headers."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def form(self) -> str:
        return str(self.body.get("response_format", {}).get("type", "text"))


@dataclass
class ChatServer:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked]


Script = Callable[[Asked], Said]


def completion(content: str | None, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": "toy",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }  # fmt: skip


def say(value: object, finish: str = "stop") -> Said:
    return Said(completion(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), finish))


def stream(value: object, pieces: int = 3, *, ends: bool = True) -> Said:
    """Answer as a stream of events; one that does not end breaks off in the middle of the text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    size = max(1, -(-len(text) // pieces))
    parts: list[dict[str, Any]] = [{"delta": {"content": text[at : at + size]}} for at in range(0, len(text), size)]
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "toy"}
    parts = [*parts, {"delta": {}, "finish_reason": "stop"}] if ends else parts[:-1]
    chunks: list[dict[str, Any]] = [{**head, "choices": [{"index": 0, **part}]} for part in parts]
    if ends:
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        chunks.append({**head, "choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if ends else [])
    return Said("".join(lines), headers={"content-type": "text/event-stream"})


def fail(status: int, text: str, **headers: str) -> Said:
    return Said(
        {"error": {"message": text, "type": "error"}}, status, {k.replace("_", "-"): v for k, v in headers.items()}
    )


@contextmanager
def chat_server(script: Script) -> Iterator[ChatServer]:
    """Serve on a free port of this machine; `script` gives the answer to each request."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(Asked(body, {name.lower(): value for name, value in self.headers.items()}))
            said = script(asked[-1])
            time.sleep(said.delay)
            text = said.body if isinstance(said.body, str) else json.dumps(said.body)
            try:
                self.send_response(said.status)
                for name, value in {"content-type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())
            except OSError:
                return  # the client has given up waiting

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ChatServer(f"http://127.0.0.1:{server.server_address[1]}/v1", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_turn(*answers: Said) -> Script:
    """Give the answers one after another, the last one for ever."""
    left = list(answers)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]
