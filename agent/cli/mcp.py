"""`tritonkb mcp`."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from agent.cli.output import OutputClosed
from indexer.errors import BadInput, StoreError
from indexer.messages import message

if TYPE_CHECKING:
    from agent.mcp.http import Door
    from agent.mcp.server import Serving

TOKEN = "TRITONKB_MCP_TOKEN"  # noqa: S105 - the variable's name, not a token
_ADDRESS = re.compile(r"^(?:(?P<host>\[[0-9a-fA-F:]+\]|[^:\[\]]+):)?(?P<port>\d{1,5})$")


def mcp(
    session: Session,
    http: Annotated[str, typer.Option("--http", metavar="[HOST:]PORT", help="mcp.http_help")] = "",
    root: Annotated[Path, typer.Option("--root", metavar="DIR", help="mcp.root_help")] = Path(),
    token_file: Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="mcp.token_help")] = None,
    origin: Annotated[list[str] | None, typer.Option("--origin", metavar="URL", help="mcp.origin_help")] = None,
    call_seconds: Annotated[float, typer.Option("--call-seconds", min=1, metavar="S", help="mcp.seconds_help")] = 600.0,
) -> int:
    """Serve until the client leaves (stdio) or Ctrl-C (HTTP)."""
    if not root.is_dir():
        raise BadInput("mcp.no_root", path=root)
    door = _door(http, _token(token_file), origin or []) if http else None
    from agent.knowledge import store_folder  # noqa: PLC0415 - heavy, and not for --help
    from agent.mcp.reading import Reader  # noqa: PLC0415
    from agent.mcp.server import Serving, build_server  # noqa: PLC0415 - the SDK costs a second

    settings = session.settings
    passed = ["--host-seconds", str(settings.host_seconds)]
    if settings.store:
        passed += ["--store", settings.store]
    if settings.toolchain_python:
        passed += ["--toolchain-python", str(settings.toolchain_python)]
    if settings.unsafe_no_sandbox:
        passed += ["--unsafe-no-sandbox"]
    serving = Serving(root.resolve(), session.output.lang, call_seconds, settings.target, tuple(passed))
    reader = Reader(store_folder(settings.store))
    server = build_server(serving, reader)
    try:
        reader.warm_up()
    except StoreError as error:  # told now and with each call; the index may be built while the server runs
        session.output.progress(error.note)
    if door is None:
        # The SDK's thread that waits for a line of stdin would keep Ctrl-C from ending us; calls end with their parent.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            server.run("stdio")
        except Exception as error:
            if not _is_closed_pipe(error):
                raise
            raise OutputClosed from error
    else:
        from agent.mcp.http import serve_http  # noqa: PLC0415 - not for stdio

        serve_http(server, door, lambda address: _tell(session, serving, address))
    return 0


def _is_closed_pipe(error: BaseException) -> bool:
    """Tell whether the client closed our stdout; the SDK's tasks wrap what they raise in groups."""
    inner = getattr(error, "exceptions", ())
    return isinstance(error, BrokenPipeError) or (bool(inner) and all(map(_is_closed_pipe, inner)))


def _tell(session: Session, serving: Serving, address: str) -> None:
    session.output.progress(message("mcp.listening", address=address, root=serving.root))


def _door(value: str, token: str, origins: list[str]) -> Door:
    from agent.mcp.http import Door  # noqa: PLC0415 - not for --help

    found = _ADDRESS.match(value)
    if not found or int(found["port"]) > 65535:
        raise BadInput("mcp.bad_address", value=value)
    return Door((found["host"] or "127.0.0.1").strip("[]"), int(found["port"]), token, tuple(origins))


def _token(path: Path | None) -> str:
    if path is None:
        return os.environ.get(TOKEN, "")
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("mcp.no_token_file", path=path, reason=error) from error
