"""The options with which a kernel file is entered (design, section 4), turned into a source."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import Session
from agent.knowledge import Library, open_library
from agent.records import Entry, KernelSource
from agent.sandbox import SandboxPolicy
from indexer.errors import BadInput, StoreError

FileSpec = Annotated[str, typer.Argument(metavar="FILE[:FUNCTION]", help="kernel.file")]
KernelName = Annotated[str, typer.Option("--kernel", metavar="NAME", help="kernel.kernel")]
Signature = Annotated[str, typer.Option("--signature", metavar="TYPES", help="kernel.signature")]
Constexprs = Annotated[list[str] | None, typer.Option("--constexpr", metavar="NAME=VALUE", help="kernel.constexpr")]
Grid = Annotated[str, typer.Option("--grid", metavar="N[,N[,N]]", help="kernel.grid")]

_FUNCTION = re.compile(r"^(?P<path>.+):(?P<name>[A-Za-z_]\w*)$")


def read_entry(kernel: str, signature: str, constexprs: list[str] | None, grid: str, function: str = "") -> Entry:
    """Turn the options into an `Entry`; raises `BadInput` naming the value that is off."""
    types = tuple(part.strip() for part in signature.split(",")) if signature else ()
    values = dict(_constexpr(text) for text in constexprs or [])
    return Entry(function, kernel, types, values, _grid(grid) if grid else None)


def split_function(spec: str) -> tuple[Path, str]:
    """Split `FILE:FUNCTION`; a path that exists as it stands is a path."""
    found = _FUNCTION.match(spec)
    if found is None or Path(spec).exists():
        return Path(spec), ""
    return Path(found["path"]), found["name"]


def read_kernel(spec: str, kernel: str, signature: str, constexprs: list[str] | None, grid: str) -> KernelSource:
    """Read the kernel file that the command line names."""
    from agent.request import read_source  # noqa: PLC0415 - the compilers' side loads only when a command runs

    path, function = split_function(spec)
    return read_source(path, read_entry(kernel, signature, constexprs, grid, function))


def open_library_if_built(session: Session) -> Library | None:
    """Open the index; without one, say on stderr that nothing can be cited and go on."""
    try:
        return open_library(session.settings.store)
    except StoreError as error:
        session.output.progress(error.note)
        return None


def sandbox_policy(session: Session) -> SandboxPolicy:
    """Return the policy under which host code runs."""
    return SandboxPolicy(seconds=session.settings.host_seconds, unsafe=session.settings.unsafe_no_sandbox)


def _constexpr(text: str) -> tuple[str, object]:
    name, sep, value = text.partition("=")
    if not sep or not name.isidentifier():
        raise BadInput("kernel.bad_constexpr", value=text)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a word, such as a dtype's or an activation's name


def _grid(text: str) -> tuple[int, int, int]:
    parts = text.replace("x", ",").split(",")
    try:
        sizes = [int(part) for part in parts]
    except ValueError as error:
        raise BadInput("kernel.bad_grid", value=text) from error
    if len(sizes) > 3 or min(sizes) < 1:
        raise BadInput("kernel.bad_grid", value=text)
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
