"""The server over streamable HTTP: on this machine only, unless a token guards it."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from indexer.errors import BadInput

MAX_BODY_BYTES = 4 * 1024 * 1024
MIN_TOKEN = 16
# Of pages that this machine serves.
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Door:
    """Where the server listens, what opens it, and which further web origins may call it."""

    host: str
    port: int
    token: str = ""
    origins: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Tell whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def serve_http(server: MCPServer, door: Door, listening: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `listening` is told the address once it answers.

    Raises `BadInput` for an address that cannot be had, and for one beyond this machine without a token.
    """
    if not door.is_local and not door.token:
        raise BadInput("mcp.token_wanted", host=door.host)
    if door.token and len(door.token) < MIN_TOKEN:
        raise BadInput("mcp.token_short", least=MIN_TOKEN)
    bound = _bind(door)
    port = bound.getsockname()[1]
    config = uvicorn.Config(http_app(server, door), log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    name = f"[{door.host}]" if ":" in door.host else door.host
    listening(f"http://{name}:{port}/mcp")
    uvicorn.Server(config).run(sockets=[bound])


def http_app(server: MCPServer, door: Door) -> ASGIApp:
    """Make the web application: the SDK's own, which also checks the Host header, behind our guard."""
    local = [f"{name}{port}" for name in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=door.is_local,  # beyond this machine the token is what keeps others out
        allowed_hosts=local,
        allowed_origins=[*(f"{scheme}://{name}" for scheme in _SCHEMES for name in local), *door.origins],
    )
    app = server.streamable_http_app(
        transport_security=security, max_request_body_size=MAX_BODY_BYTES, json_response=False, host=door.host
    )
    return _Guard(app, door)


class _Guard:
    """Refuses requests with another site's Origin, or without the token."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refuse = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        answer: Callable[[Scope, Receive, Send], Awaitable[None]] = refuse or self._app
        await answer(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        origin = headers.get("origin")
        if origin and origin not in self._door.origins and not (self._door.is_local and _is_local_origin(origin)):
            return PlainTextResponse("this Origin may not call tritonkb", 403)
        given = headers.get("authorization", "")
        if self._door.token and not hmac.compare_digest(given.encode(), f"Bearer {self._door.token}".encode()):
            return PlainTextResponse("a bearer token is wanted", 401, {"WWW-Authenticate": "Bearer"})
        return None


def _is_local_origin(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and parts.hostname in {"127.0.0.1", "localhost", "::1"}


def _bind(door: Door) -> socket.socket:
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((door.host, door.port))
        bound.listen()  # who reads the address may connect at once, before the server has started to answer
    except OSError as error:
        bound.close()
        raise BadInput("mcp.no_address", host=door.host, port=door.port, reason=error.strerror) from error
    return bound
