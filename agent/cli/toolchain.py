"""`tritonkb toolchain`: the compilers' private environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from agent.cli.options import Session
from agent.toolchain.cuda_install import cuda_environment, find_cuda
from agent.toolchain.install import find_ascend, private_environment
from indexer.errors import BadInput, ToolchainError
from indexer.messages import message

NAMES = ("ascend", "cuda")

_Row = tuple[dict[str, object], Sequence[str]]

Name = Annotated[str, typer.Argument(metavar="[NAME]", help="toolchain.name_help")]


def install(
    session: Session,
    name: Name = "ascend",
    python: Annotated[Path | None, typer.Option("--python", help="toolchain.python_help")] = None,
    torch_index: Annotated[str | None, typer.Option("--torch-index", help="toolchain.torch_index_help")] = None,
    ascendnpu_ir: Annotated[
        str | None, typer.Option("--ascendnpu-ir", metavar="VERSION", help="toolchain.ascendnpu_ir_help")
    ] = None,
    build: Annotated[Path | None, typer.Option("--bin", metavar="DIR", help="toolchain.bin_help")] = None,
    triton: Annotated[str | None, typer.Option("--triton", metavar="VERSION", help="toolchain.triton_help")] = None,
) -> int:
    """Install the pinned compilers; says so at once where they are there."""
    _check(name)
    if name == "cuda":
        _refuse({"--ascendnpu-ir": ascendnpu_ir, "--bin": build}, "toolchain.ascend_only")
        return _install_cuda(session, python, torch_index, triton)
    _refuse({"--triton": triton}, "toolchain.cuda_only")
    return _install_ascend(session, python, torch_index, ascendnpu_ir, build)


def _install_ascend(
    session: Session, python: Path | None, torch_index: str | None, ascendnpu_ir: str | None, build: Path | None
) -> int:
    from agent.toolchain.provision import Choice, install_ascend  # noqa: PLC0415 - not needed by the others

    choice = Choice(ascendnpu_ir, build)
    installed, made = install_ascend(session.output.progress, python=python, torch_index=torch_index, choice=choice)
    rest = {"commits": installed.commits, "bin": installed.build or None}
    _tell_installed(session, "ascend", private_environment(), installed.versions, rest, made=made)
    return 0


def _install_cuda(session: Session, python: Path | None, torch_index: str | None, triton: str | None) -> int:
    from agent.toolchain.cuda_install import install_cuda  # noqa: PLC0415 - not needed by the others

    installed, made = install_cuda(session.output.progress, python=python, torch_index=torch_index, triton=triton)
    _tell_installed(session, "cuda", cuda_environment(), installed.versions, {"commits": {}, "bin": None}, made=made)
    return 0


def _tell_installed(
    session: Session, name: str, folder: Path, versions: Mapping[str, str], rest: Mapping[str, object], *, made: bool
) -> None:
    executable = folder / "bin" / "python"
    note = message("toolchain.installed" if made else "toolchain.already", python=executable)
    document = {"name": name, "python": executable, "installed_now": made, "versions": versions, **rest}
    session.output.answer(document, lambda console: console.print(session.output.text(note)))


def show(session: Session) -> int:
    """List the toolchains that would be used, with versions; exit 4 without any, as a command that needs one."""
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    missing: list[ToolchainError] = []
    for describe in (_ascend_row, _cuda_row):
        found = _described(describe, session)
        if isinstance(found, ToolchainError):
            missing.append(found)
        else:
            rows.append(found[0])
            lines += found[1]
    if not rows:
        if not session.output.as_json:
            raise missing[0]
        session.output.complain(missing[0].note)
        session.output.write_document({"toolchains": []})
        return missing[0].exit_code
    lines += [session.output.text(error.note) for error in missing]
    session.output.answer({"toolchains": rows}, lambda console: console.print("\n".join(lines)))
    return 0


def _described(describe: Callable[[Session], _Row], session: Session) -> _Row | ToolchainError:
    try:
        return describe(session)
    except ToolchainError as error:
        return error


def _ascend_row(session: Session) -> _Row:
    from agent.toolchain.commits import read_commits, read_versions  # noqa: PLC0415

    found = find_ascend()
    versions, commits = read_versions(found.site), read_commits(found)
    private = found.python == private_environment() / "bin" / "python"
    row: dict[str, object] = {
        "name": "ascend", "python": found.python, "private": private, "versions": versions, "commits": commits,
        "bin": found.build,
    }  # fmt: skip
    lines = [f"ascend  {found.python}"]
    lines += [f"  {key} {versions.get(key, '?')}" for key in ("triton-ascend", "ascendnpu-ir", "torch", "numpy")]
    if found.build is not None:
        lines.append("  " + session.output.text(message("toolchain.build", folder=found.build)))
    return row, lines + [f"  {corpus}@{commit}" for corpus, commit in commits.items()]


def _cuda_row(_session: Session) -> _Row:
    from agent.toolchain.commits import read_versions  # noqa: PLC0415

    found = find_cuda()
    versions = read_versions(found.site)
    private = found.python == cuda_environment() / "bin" / "python"
    row: dict[str, object] = {
        "name": "cuda", "python": found.python, "private": private, "versions": versions, "commits": {}, "bin": None,
    }  # fmt: skip
    lines = [f"cuda  {found.python}", *(f"  {key} {versions.get(key, '?')}" for key in ("triton", "torch", "numpy"))]
    return row, lines


def remove(session: Session, name: Name = "ascend") -> int:
    """Remove the private environment; nothing there is no error."""
    from agent.toolchain.cuda_install import remove_cuda  # noqa: PLC0415
    from agent.toolchain.provision import remove_ascend  # noqa: PLC0415

    _check(name)
    of_cuda = name == "cuda"
    removed = (remove_cuda if of_cuda else remove_ascend)(session.output.progress)
    key = "toolchain.removed" if removed else "toolchain.nothing_to_remove"
    note = message(key, folder=cuda_environment() if of_cuda else private_environment())
    session.output.answer({"name": name, "removed": removed}, lambda console: console.print(session.output.text(note)))
    return 0


def _check(name: str) -> None:
    if name not in NAMES:
        raise BadInput("toolchain.unknown", name=name, known=", ".join(NAMES))


def _refuse(given: Mapping[str, object], key: str) -> None:
    for option, value in given.items():
        if value is not None:
            raise BadInput(key, option=option)
